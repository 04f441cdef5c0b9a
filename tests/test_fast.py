"""The fast laboratory: the same bench without an arm, exact continuation, and operations that the bench carries out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from labference import doctor
from labference.bench import campaign, wet_hands
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.cli import app as cli
from labference.records import folder, strict
from labference.records.measurements import MeasurementWriter
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.tasks import all_tasks, find_task
from labference.truth.contract import cells_of, ports_of, read_cells, read_ports
from labference.truth.draw import draw, lay_out
from labference.truth.events import Transferred
from labference.truth.identity import FAST, PlanError
from labference.truth.measurement import Block, SensorFault
from labference.truth.referee import Referee
from labference.wire import (
    Capabilities,
    Move,
    Operation,
    Parameter,
    Perform,
    Stop,
    Wait,
)
from labference.wire.wetlab import KINDS, SETTINGS
from labference.world import fast_hands
from labference.world.fast import LONGEST, FastWorld
from labference.world.fast_activities import Stirring
from labference.world.world import World

WET = [name for name, task in all_tasks().items() if FAST in task.fidelities]
PICK, POUR, PLACE = (
    Operation("pick", "acid", "rack"),
    Operation("pour", "acid", "beaker"),
    Operation("place", "acid", "rack"),
)
TAKE, MEASURE = Operation("take_probe", "probe", "probe_holder"), Operation("measure", "probe", "beaker")
RINSE, BACK = Operation("rinse_probe", "probe", "rinse"), Operation("return_probe", "probe", "probe_holder")
STIR = Operation("stir", "rod", "beaker")


def prepared(task: str, index: int = 0, faults: tuple[SensorFault, ...] = ()) -> tuple[FastWorld, Any]:
    contract = find_task(task)
    world = FastWorld(contract.parts())
    instance, seeds = draw(contract, 0, index)
    block = world.prepare(lay_out(contract, instance, seeds, faults))
    assert block.end == 0
    return world, instance


def carry_out(world: FastWorld, kind: str, item: str = "", place: str = "", **given: float) -> list[Block]:
    """Let an operation run to its end; return its blocks."""
    blocks = []
    defaults = {setting.name: setting.default for setting in SETTINGS if setting.kind == kind}
    for ticks in world.perform(Operation(kind, item, place), defaults | given):
        blocks.append(world.step(world.command, ticks)[0])
    return blocks


# --- one bench, two laboratories


@pytest.mark.parametrize("task", WET)
def test_the_same_parts_have_the_same_channels_with_and_without_an_engine(task: str) -> None:
    parts = find_task(task).parts()
    fast, physics = FastWorld(parts).channels, World(parts).channels
    assert replace(fast, timestep=physics.timestep) == physics


@pytest.mark.parametrize(
    "modules", ["labference.world.fast", "labference.tasks, labference.score.audit", "labference.policies.dosing"]
)
def test_no_engine_is_loaded_for_it(modules: str) -> None:
    program = f"import sys, {modules}\nassert 'mujoco' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).returncode == 0


def test_what_only_an_arm_a_video_or_an_interval_needs_is_loaded_by_them() -> None:
    code = "import sys, labference.bench.laboratory; print(*({'mink', 'scipy', 'av'} & sys.modules.keys()))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == ""


@pytest.mark.parametrize(("task", "fidelity"), [("weighing-basic", "fast"), ("ph", "quick")])
def test_a_laboratory_that_cannot_run_a_task_is_refused_with_one_that_can(
    task: str, fidelity: str, tmp_path: Path
) -> None:
    works = find_task(task).fidelities[0]
    with pytest.raises(PlanError, match=f"--fidelity {works}"):
        campaign.register(Plan(task, "still", 1, fidelity=fidelity), tmp_path)


@pytest.mark.parametrize("fidelity", ["fast", "physics"])
def test_a_task_that_needs_chemistry_is_refused_before_the_first_episode_where_the_engine_is_missing(
    fidelity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "phreeqc", None)
    for task in ("ph", "ph-ec"):
        with pytest.raises(
            PlanError, match=r"^ph.* needs the package phreeqc .*pip install 'labference\[wetlab\]' would"
        ):
            campaign.register(Plan(task, "secant", 1, fidelity=fidelity), tmp_path)
    assert not list(tmp_path.iterdir())
    campaign.register(Plan("pouring-water", "best_pd", 1, fidelity=fidelity), tmp_path)


def test_the_doctor_says_that_the_chemistry_engine_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_renders", lambda backend: doctor.Finding(True, backend))
    assert all(finding.good for finding in doctor.diagnose())
    monkeypatch.setitem(sys.modules, "phreeqc", None)
    wrong = [finding for finding in doctor.diagnose() if not finding.good]
    assert len(wrong) == 1 and "phreeqc" in wrong[0].sentence and "labference[wetlab]" in wrong[0].sentence
    assert doctor.diagnose()[-1].good, "everything else works without it"
    printed = CliRunner().invoke(cli, ["doctor"]).output
    assert "labference[wetlab]" in "".join(printed.split()), "brackets are no markup"


def test_a_probe_is_held_as_deep_as_by_the_simulated_arm() -> None:
    assert fast_hands.TIP_OVER_FLOOR == wet_hands.TIP_OVER_FLOOR


# --- time and state


def test_mass_is_conserved_over_a_day_at_the_bench() -> None:
    world, _ = prepared("ph")
    before = world.plumbing.total
    for _ in range(2):
        carry_out(world, "pick", "acid")
        carry_out(world, "pour", "acid", "beaker", amount_g=5.0, kp=0.8, kd=1.2)
        carry_out(world, "place", "acid")
        carry_out(world, "stir")
        carry_out(world, "take_probe")
        carry_out(world, "measure", seconds=20.0)
        carry_out(world, "rinse_probe")
        carry_out(world, "return_probe")
    assert world.plumbing.total == pytest.approx(before, abs=1e-12)
    assert world.things.held() == ""


@pytest.mark.parametrize("when", [1, 2, 4, 5])
def test_a_checkpoint_between_operations_continues_bit_for_bit(when: int) -> None:
    steps = [
        ("pick", "acid", {}),
        ("pour", "acid", {"amount_g": 3.0, "kp": 1.0, "kd": 1.5}),
        ("place", "acid", {}),
        ("take_probe", "probe", {}),
        ("measure", "probe", {"seconds": 15.0}),
        ("rinse_probe", "probe", {}),
    ]
    world, _ = prepared("ph")
    for kind, item, given in steps[:when]:
        carry_out(world, kind, item, **given)
    saved = world.save()
    again, _ = prepared("ph", index=3)
    again.load(saved)
    for kind, item, given in steps[when:]:
        one, two = (carry_out(lab, kind, item, **given) for lab in (world, again))
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            for name in ("pose", "speed", "touch", "opening", "force", "liquid", "sample"):
                assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=name in ("force", "sample"))
        assert world.sense(readings=True).readings == again.sense(readings=True).readings


def test_what_cannot_be_done_leaves_the_bench_as_it_is_and_takes_a_moment() -> None:
    world, _ = prepared("ph")
    before = dict(world.things.where), list(world.things.touch), world.plumbing.masses
    for kind, item in (("pour", "acid"), ("place", "acid"), ("measure", "probe"), ("rinse_probe", "probe")):
        blocks = carry_out(world, kind, item)
        assert sum(block.ticks for block in blocks) == 5
    assert (dict(world.things.where), list(world.things.touch), world.plumbing.masses) == before


def test_a_silenced_balance_does_not_stop_a_pour_for_ever() -> None:
    world, _ = prepared("pouring-water", faults=(SensorFault("balance", 0.0, 1e9, "unplugged"),))
    carry_out(world, "pick", "water")
    blocks = carry_out(world, "pour", "water", "beaker", amount_g=5.0)
    assert sum(block.ticks for block in blocks) * 0.05 < 120.0
    assert world.sense(readings=True).readings[0].value is None


def test_a_block_begins_with_what_the_last_one_left() -> None:
    """A delivery shows the hand where the next block is measured to begin."""
    world, _ = prepared("ph")
    for kind, item in (("pick", "acid"), ("pour", "acid"), ("place", "acid"), ("stir", "rod"), ("take_probe", "probe")):
        shown = world.now()
        first = carry_out(world, kind, item)[0]
        assert np.array_equal(first.pose[0], shown.pose[0]) and np.array_equal(first.opening[0], shown.opening[0])


def test_a_dipped_meter_reads_a_new_sample_wherever_its_liquid_changes() -> None:
    """One sample stands for a block: no longer than a liquid stays as it is, nor across an exchange with the air."""
    shown = []
    for longest in (LONGEST, 1):
        world, _ = prepared("ph", index=1)
        world.longest = longest
        for kind, item, given in (
            ("pick", "acid", {}),
            ("pour", "acid", {"amount_g": 4.0, "kp": 1.0, "kd": 1.5}),
            ("place", "acid", {}),
            ("take_probe", "probe", {}),
        ):
            carry_out(world, kind, item, **given)
        blocks = carry_out(world, "measure", "probe", seconds=100.0)
        samples = np.concatenate([np.repeat(block.sample, block.ticks, axis=0) for block in blocks])
        shown.append((samples[samples[:, 3] >= 0], len(blocks)))
    (coarse, few), (fine, many) = shown
    assert few < 120 < many and len(coarse) == len(fine)
    # At most what mixes in a second, and almost nothing after a minute.
    assert np.abs(coarse[:, 0] - fine[:, 0]).max() < 0.08
    assert np.abs(coarse[1200:, 0] - fine[1200:, 0]).max() < 0.005


# --- what a watch makes of it


def judged(contract: Any, instance: Any, setup: Any, world: FastWorld, blocks: list[Block]) -> list[Any]:
    referee = Referee(contract, instance, world.channels)
    cells = cells_of(contract.parts(), world.channels.timestep)
    for name, cell in zip(world.channels.cells, cells, strict=True):
        cell.zero(np.array([world.zero[name]]))
    ports = ports_of(contract.parts(), world.channels.timestep, setup)
    for block in blocks:
        referee.observe(block, read_cells(cells, block), read_ports(ports, block))
    return referee.history


def cut(block: Block, at: int) -> list[Block]:
    """Return a block through which liquid and sample did not change as two."""
    parts = [(block.tick, slice(0, at)), (block.tick + at, slice(at, None))]
    rows = ("pose", "speed", "touch", "opening", "force")
    return [
        replace(
            block,
            tick=tick,
            pressed=block.pressed if tick == block.tick else 0,
            **{name: getattr(block, name)[where] for name in rows},
        )
        for tick, where in parts
    ]


def copied_out(block: Block) -> Block:
    """Return a block whose rows are no longer known to be the same, as it comes out of the records."""
    return replace(block, **{name: getattr(block, name).copy() for name in ("pose", "speed", "touch", "opening")})


def test_events_do_not_depend_on_how_time_without_change_is_cut() -> None:
    contract = find_task("ph")
    instance, seeds = draw(contract, 0, 0)
    setup = lay_out(contract, instance, seeds)
    world = FastWorld(contract.parts())
    blocks = [world.prepare(setup)]
    for kind, item, given in (
        ("tare", "beaker", {}),
        ("pick", "acid", {}),
        ("pour", "acid", {"amount_g": 4.0, "kp": 1.0, "kd": 1.5}),
        ("place", "acid", {}),
        ("stir", "rod", {}),
        ("take_probe", "probe", {}),
        ("measure", "probe", {"seconds": 60.0}),
        ("rinse_probe", "probe", {}),
        ("return_probe", "probe", {}),
    ):
        blocks += carry_out(world, kind, item, **given)
    whole = judged(contract, instance, setup, world, blocks)
    rng = np.random.default_rng(0)
    pieces: list[Block] = []
    for before, block in zip([blocks[0], *blocks], blocks, strict=False):
        still = np.array_equal(before.liquid, block.liquid) and np.array_equal(before.sample, block.sample, True)
        pieces += cut(block, int(rng.integers(1, block.ticks))) if still and block.ticks > 1 else [block]
    assert len(pieces) > len(blocks) + 20
    assert judged(contract, instance, setup, world, pieces) == whole
    assert sum(block.uniform and block.ticks > 1 for block in blocks) > 20
    copied = [copied_out(block) for block in blocks]
    assert not any(block.uniform and block.ticks > 1 for block in copied)
    assert judged(contract, instance, setup, world, copied) == whole
    names = {type(event).__name__ for event in whole}
    assert names >= {"Tared", "Weighed", "Tilted", "Transferred", "Stirred", "Immersed", "Withdrawn", "Rinsed"}
    assert names >= {"Measured", "Grasped", "Lifted", "Released", "Settled"}


@pytest.mark.parametrize("kind, item", [("stir", "rod"), ("rinse_probe", "probe")])
def test_stirring_at_once_leaves_what_stirring_tick_by_tick_leaves(
    kind: str, item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = find_task("ph")
    setup = lay_out(contract, *draw(contract, 0, 0))
    found = []
    for at_once in (True, False):
        if not at_once:
            monkeypatch.setattr(Stirring, "blind", lambda stirring: 1)
        world = FastWorld(contract.parts())
        world.prepare(setup)
        blocks: list[Block] = []
        for each, thing, given in (
            ("pick", "acid", {}),
            ("pour", "acid", {"amount_g": 4.0, "kp": 1.0, "kd": 1.5}),
            ("place", "acid", {}),
            *([("take_probe", "probe", {}), ("measure", "probe", {"seconds": 2.0})] if item == "probe" else []),
            (kind, item, {"seconds": 31.7}),
        ):
            blocks += carry_out(world, each, thing, **given)
        found.append((blocks, world))
    (one, whole), (two, ticked) = found
    assert [(block.tick, block.ticks, block.still) for block in one] == [
        (block.tick, block.ticks, block.still) for block in two
    ]
    for a, b in zip(one, two, strict=True):
        for name in ("pose", "speed", "touch", "opening", "force", "liquid"):
            assert np.array_equal(getattr(a, name), getattr(b, name)), name
        assert a.sample == pytest.approx(b.sample, rel=1e-9, nan_ok=True)
    vessels = range(len(whole.channels.vessels))
    for mine, theirs in ((whole.plumbing.contents(v), ticked.plumbing.contents(v)) for v in vessels):
        assert dict(mine.moles) == pytest.approx(dict(theirs.moles), rel=1e-12)
    assert whole.plumbing.unmixed == pytest.approx(ticked.plumbing.unmixed, rel=1e-9)


def test_a_flow_ends_at_the_same_tick_however_long_blocks_are() -> None:
    contract = find_task("pouring-water")
    instance, seeds = draw(contract, 0, 0)
    setup = lay_out(contract, instance, seeds)
    told = []
    for longest in (LONGEST, 1):
        world = FastWorld(contract.parts())
        world.longest = longest
        blocks = [world.prepare(setup), *carry_out(world, "pick", "water")]
        blocks += carry_out(world, "pour", "water", "beaker", amount_g=15.0)
        blocks += carry_out(world, "place", "water")
        assert all(0 <= block.still <= block.ticks for block in blocks)
        history = judged(contract, instance, setup, world, blocks)
        told.append([event for event in history if isinstance(event, Transferred)])
    assert told[0] == told[1] and len(told[0]) == 1


# --- operations that the bench carries out


class Scripted:
    """A system that gives the answers of `acts`, then stops."""

    acts: tuple[Any, ...] = ()
    performs = True

    def __init__(self, seed: int = 0) -> None:
        self._left = list(self.acts)
        self.seen: list[Any] = []

    def open(self) -> Capabilities:
        return Capabilities("scripted", "1", readings=True, performs=self.performs)

    def reset(self, goal: Any, spec: Any, session: str) -> None:
        pass

    def act(self, observation: Any) -> Any:
        self.seen.append(observation)
        return self._left.pop(0) if self._left else Stop()

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def labs() -> Iterator[Callable[[str], Laboratory]]:
    built: dict[str, Laboratory] = {}

    def lab(task: str) -> Laboratory:
        if task not in built:
            built[task] = Laboratory(task, fidelity=FAST)
        return built[task]

    yield lab


def play(lab: Laboratory, acts: list[Any], out: Path, index: int = 0, **options: Any) -> Any:
    """Run an episode in which those acts are answered; return its records."""
    from labference.bench import laboratory as module

    kind = type("Now", (Scripted,), {"acts": tuple(acts), **options})
    plan = Plan(lab.contract.name, "scripted:Now", 9, fidelity=FAST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "make_policy", lambda *given, **how: kind())
        result = lab.attempt(plan, index, out)
    run = read_run(result.path)
    assert audit(result.path).difference is None
    return run


def noted(run: Any, event: str) -> list[dict[str, Any]]:
    return [entry for entry in run.lines("events.jsonl") if entry["event"] == event]


def perform(operation: Operation, **given: float) -> Perform:
    return Perform(operation, tuple(Parameter(name, value) for name, value in given.items()))


def test_a_legal_operation_is_a_correct_choice_and_is_confirmed(labs: Any, tmp_path: Path) -> None:
    run = play(labs("ph"), [perform(TAKE), perform(MEASURE, seconds=120.0)], tmp_path)
    chosen, confirmed = noted(run, "Chosen"), noted(run, "Confirmed")
    assert [entry["operation"]["kind"] for entry in chosen] == ["take_probe", "measure"]
    assert all(entry["correct"] for entry in chosen) and len(confirmed) == 2
    assert [entry["opportunity"] for entry in confirmed] == [1, 2]
    assert run.scores["verdict"]["correct_confirmed"] == 2


def test_an_operation_that_is_not_legal_is_a_wrong_choice_and_carried_out_all_the_same(
    labs: Any, tmp_path: Path
) -> None:
    run = play(labs("ph"), [perform(PICK), perform(POUR, amount_g=4.0, kp=1.0, kd=1.5)], tmp_path)
    assert [entry["correct"] for entry in noted(run, "Chosen")] == [False, False]
    assert noted(run, "Transferred") and noted(run, "Lifted")


def test_a_reading_that_has_not_settled_is_a_failed_measurement(labs: Any, tmp_path: Path) -> None:
    run = play(labs("ph"), [perform(TAKE), perform(MEASURE, seconds=4.0)], tmp_path)
    assert [entry["settled"] for entry in noted(run, "Measured")] == [False]
    failed = [entry for entry in noted(run, "Noted") if entry["category"] == "operation_failure"]
    assert [entry["operation"]["kind"] for entry in failed] == ["measure"]


def test_acid_below_the_range_breaks_a_rule(labs: Any, tmp_path: Path) -> None:
    acts = [
        perform(TAKE),
        perform(MEASURE, seconds=150.0),
        perform(RINSE),
        perform(BACK),
        perform(PICK),
        perform(POUR, amount_g=3.0, kp=1.3, kd=2.0),
    ]
    lab = labs("ph")
    index = next(i for i in range(12) if draw(lab.contract, 0, i)[0].kind.water == "acidified")
    run = play(lab, acts, tmp_path, index)
    assert [entry["rule"] for entry in noted(run, "Violated")] == ["acid_below_range"]
    assert not run.scores["verdict"]["valid"]


def test_a_probe_that_was_not_rinsed_since_the_liquid_changed_breaks_a_rule(labs: Any, tmp_path: Path) -> None:
    acts = [perform(TAKE), perform(MEASURE, seconds=20.0), perform(BACK), perform(PICK)]
    acts += [perform(POUR, amount_g=3.0, kp=1.3, kd=2.0), perform(PLACE), perform(STIR), perform(TAKE)]
    run = play(labs("ph"), [*acts, perform(MEASURE, seconds=20.0)], tmp_path)
    assert [entry["rule"] for entry in noted(run, "Violated")] == ["unrinsed_probe"]
    clean = play(labs("ph"), [*acts, perform(RINSE), perform(MEASURE, seconds=20.0)], tmp_path / "rinsed")
    assert not noted(clean, "Violated")


def test_a_reading_of_a_liquid_that_was_not_stirred_does_not_count(labs: Any, tmp_path: Path) -> None:
    acts = [perform(PICK), perform(POUR, amount_g=4.0, kp=1.0, kd=1.5), perform(PLACE), perform(TAKE)]
    run = play(labs("ph"), [*acts, perform(MEASURE, seconds=150.0)], tmp_path)
    assert any(entry["settled"] for entry in noted(run, "Measured"))
    assert not [entry for entry in noted(run, "Confirmed") if entry["operation"]["kind"] == "measure"]


@pytest.mark.parametrize("kind", ["finish", "stop"])
def test_finish_is_another_word_for_stop(labs: Any, tmp_path: Path, kind: str) -> None:
    run = play(labs("ph"), [perform(Operation(kind))], tmp_path)
    assert run.scores["reason"] == "stopped" and run.scores["verdict"]["categories"]["early_termination"] == 1
    assert not noted(run, "Performed")


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (Move(np.array([[0, 0, 0, -1.0, 0, 1.0, 0, 0.04]])), "No arm"),
        (perform(POUR, amount_g=500.0), "0.1 to 50 g works"),
        (perform(POUR, kp=float("nan")), "0.02 to 2 deg/s/g works"),
        (perform(PICK, kp=0.1), "parameters: none"),
        (perform(Operation("melt", "acid")), "unknown"),
        (perform(Operation("pick", "hemlock")), "unknown"),
    ],
)
def test_what_cannot_be_performed_is_refused_with_what_works(labs: Any, tmp_path: Path, act: Any, said: str) -> None:
    run = play(labs("ph"), [act], tmp_path)
    assert run.scores["reason"] == "interface_failure" and said in run.scores["sentence"]


def test_a_system_that_did_not_declare_it_gets_no_hands(labs: Any, tmp_path: Path) -> None:
    run = play(labs("ph"), [perform(PICK)], tmp_path, performs=False)
    assert run.scores["reason"] == "interface_failure" and "performs=True" in run.scores["sentence"]


def test_waiting_lets_simulated_time_pass_and_nothing_else(labs: Any, tmp_path: Path) -> None:
    run = play(labs("ph"), [Wait(30.0), Wait(0.05)], tmp_path)
    ticks = [entry["tick"] for entry in run.lines("observations.jsonl")]
    assert ticks[:3] == [0, 600, 601]


def test_a_kept_display_shows_the_last_values_with_their_own_time(labs: Any, tmp_path: Path) -> None:
    run = play(labs("ph"), [perform(TAKE), perform(MEASURE, seconds=120.0)], tmp_path)
    seen = run.lines("observations.jsonl")
    before, after = ({entry["instrument"]: entry for entry in shown["readings"]} for shown in (seen[0], seen[2]))
    assert before["meter pH"]["status"] == "dry" and before["meter pH"]["value"] is None
    assert after["meter pH"]["value"] == noted(run, "Measured")[-1]["ph"] and after["meter pH"]["stable"]
    assert after["meter pH"]["time"] < after["balance"]["time"]


def test_twins_of_ph_show_what_they_are_only_to_a_dipped_meter() -> None:
    contract = find_task("ph")
    shown = []
    for index in (0, 1):
        instance, seeds = draw(contract, 5, index, 0, "twins")
        world = FastWorld(contract.parts())
        world.prepare(contract.setup(instance, seeds))
        carry_out(world, "take_probe")
        before = world.sense(readings=True).readings
        carry_out(world, "measure", seconds=60.0)
        shown.append((before, world.sense(readings=True).readings))
    assert shown[0][0] == shown[1][0] and shown[0][1] != shown[1][1]


# --- campaigns and audits


def test_results_do_not_depend_on_the_number_of_workers_or_on_the_process(tmp_path: Path) -> None:
    scores = {}
    for name, workers, transport in (("one", 1, "in-process"), ("two", 2, "in-process"), ("child", 1, "process")):
        plan = Plan("pouring-water", "best_pd", 4, fidelity=FAST, transport=transport)
        results = list(campaign.run(plan, tmp_path / name, workers))
        found = [strict.read(result.path / "scores.json") for result in results]
        scores[name] = [{**entry, "runtime": 0, "key": 0, "identity": 0} for entry in found]
        assert all(audit(result.path).difference is None for result in results)
    assert scores["one"] == scores["two"] == scores["child"]


def forged(path: Path, change: Callable[[Block], Block]) -> str | None:
    """Write measurements again, changed, and return what the audit says."""
    blocks = [change(block) for block in read_run(path).blocks()]
    writer = MeasurementWriter(path / folder.MEASUREMENTS)
    for block in blocks:
        writer.write(block)
    writer.close()
    return audit(path).difference


def test_the_audit_recomputes_displays_and_verdict_from_the_records(labs: Any, tmp_path: Path) -> None:
    acts = [perform(Operation("tare", "beaker", "balance")), perform(TAKE), perform(MEASURE, seconds=60.0)]
    changes: dict[str, Callable[[Block], Block]] = {
        "sample": lambda block: replace(block, sample=block.sample + np.array([0.4, 0.0, 0.0, 0.0])),
        "key": lambda block: replace(block, pressed=0),
        "liquid": lambda block: replace(block, liquid=block.liquid + (block.tick > 100) * 10**6),
    }
    for name, change in changes.items():
        run = play(labs("ph"), acts, tmp_path / name)
        assert forged(run.path, lambda block: block) is None
        assert forged(run.path, change) is not None, name


@pytest.mark.parametrize("policy", ["fixed_pd", "adaptive_pd", "best_pd"])
def test_controllers_pour_once_and_put_the_tube_back(labs: Any, tmp_path: Path, policy: str) -> None:
    lab = labs("pouring-water")
    result = lab.attempt(Plan("pouring-water", policy, 9, fidelity=FAST), 0, tmp_path)
    run = read_run(result.path)
    poured = noted(run, "Transferred")
    assert len(poured) == 1 and abs(poured[0]["grams"] - run.run["instance"]["kind"]["amount"]) < 0.6
    assert run.scores["verdict"]["coverage"][0] == run.scores["verdict"]["coverage"][1]
    assert run.run["identity"]["hands"] == "bench" and run.run["identity"]["fidelity"] == FAST


def test_secant_dosing_reaches_a_ph_and_open_loop_dosing_ends_without_knowing(labs: Any, tmp_path: Path) -> None:
    lab = labs("ph")
    ends = {}
    for policy in ("secant", "act"):
        result = lab.attempt(Plan("ph", policy, 9, fidelity=FAST), 3, tmp_path / policy)
        ends[policy] = read_run(result.path).scores
        assert audit(result.path).difference is None
    assert ends["secant"]["reason"] == "completed" and ends["secant"]["verdict"]["valid"]
    assert ends["act"]["verdict"]["categories"]["early_termination"] == 1 and not ends["act"]["verdict"]["valid"]


def test_a_controller_refuses_a_task_that_is_not_its_own(labs: Any, tmp_path: Path) -> None:
    result = labs("pouring-water").attempt(Plan("pouring-water", "secant", 1, fidelity=FAST), 0, tmp_path)
    assert result.reason == "interface_failure" and "'secant' needs to stir" in result.sentence


def test_every_setting_belongs_to_a_kind_and_has_a_default_within_its_range() -> None:
    assert {setting.kind for setting in SETTINGS} <= set(KINDS) and len(KINDS) == 11
    assert all(setting.low <= setting.default <= setting.high for setting in SETTINGS)


def test_a_record_shows_a_tube_lean_while_it_pours(labs: Any, tmp_path: Path) -> None:
    run = read_run(labs("pouring-water").attempt(Plan("pouring-water", "best_pd", 9, fidelity=FAST), 0, tmp_path).path)
    tube = run.channels.items.index("water")
    leans = [np.abs(block.pose[:, tube, 4:6]).max(axis=1) for block in run.blocks() if block.tick >= 0]
    steps = [np.abs(np.diff(lean)).max() for lean in leans if lean.max() > 0 and len(lean) > 40]
    assert steps and all(0 < step < 2500 for step in steps), (
        "it turns from tick to tick, and never faster than a hand does"
    )
