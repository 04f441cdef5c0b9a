"""Every registered task, whatever it is: balanced and repeatable instances, twins, and a reference that completes."""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Attempt
from evaluator import laboratories
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.motion import home
from labference.records.reader import read_run
from labference.records.strict import line, plain
from labference.score.audit import audit
from labference.tasks import all_tasks, find_task
from labference.tasks.weighing import STANDARDS
from labference.truth.contract import ContractError, TaskContract
from labference.truth.draw import draw, find_members, stratum_of
from labference.truth.identity import PlanError, Seeds
from labference.truth.measurement import SensorFault
from labference.truth.referee import WORDLESS
from labference.wire import Observation, Operation, codec

TASKS = all_tasks()
EPISODES = 30
Contract = TaskContract[Any, Any]

every_task = pytest.mark.parametrize("contract", TASKS.values(), ids=TASKS.keys())
weighings = pytest.mark.parametrize(
    "contract", [task for name, task in TASKS.items() if name.startswith("weighing")], ids=lambda task: task.name
)


def instances(contract: Contract, campaign: int = 0, count: int = EPISODES) -> list[Any]:
    return [draw(contract, campaign, index)[0] for index in range(count)]


def layout(contract: Contract, instance: Any, seed: int) -> Any:
    return contract.setup(instance, Seeds(0, seed, 0, colour=7, motion=8))


# --- instances


@every_task
def test_each_stratum_comes_once_before_any_comes_twice(contract: Contract) -> None:
    count = len(contract.strata())
    for campaign, cycle in itertools.product((0, 1, 77), (0, 1, 2)):
        strata = [stratum_of(contract, campaign, cycle * count + position) for position in range(count)]
        assert sorted(strata) == list(range(count))


@every_task
def test_the_order_of_strata_is_shuffled_anew_in_every_cycle_and_campaign(contract: Contract) -> None:
    count = len(contract.strata())
    orders = {
        tuple(stratum_of(contract, campaign, cycle * count + position) for position in range(count))
        for campaign, cycle in itertools.product(range(3), range(3))
    }
    assert len(orders) == 9 if count > 6 else len(orders) >= 5, "four strata have 24 orders, so some come twice"


@every_task
def test_an_episode_is_the_same_whoever_draws_it_and_in_whatever_order(contract: Contract) -> None:
    forward = [line(draw(contract, 5, index)) for index in range(EPISODES)]
    backward = [line(draw(find_task(contract.name), 5, index)) for index in reversed(range(EPISODES))]
    assert forward == backward[::-1]
    assert len(set(forward)) == EPISODES


@every_task
def test_campaigns_differ_and_so_do_their_episodes(contract: Contract) -> None:
    seeds = {draw(contract, campaign, index)[1] for campaign in range(3) for index in range(EPISODES)}
    assert len(seeds) == 3 * EPISODES
    own = {value for entry in seeds for name, value in plain(entry).items() if name != "policy"}
    assert len(own) == 3 * 4 * EPISODES, "streams share no seed"


@every_task
def test_what_a_policy_is_handed_does_not_depend_on_the_campaign_it_is_tested_in(contract: Contract) -> None:
    handed = {tuple(draw(contract, campaign, index)[1].policy for index in range(EPISODES)) for campaign in range(3)}
    assert len(handed) == 1
    assert draw(contract, 0, 0, policy=1)[1].policy not in handed.pop()


@every_task
def test_a_growing_campaign_keeps_the_episodes_it_had(contract: Contract) -> None:
    assert instances(contract, count=7) == instances(contract, count=EPISODES)[:7]


@every_task
def test_the_initial_state_is_not_complete_and_something_is_legal(contract: Contract) -> None:
    for instance in instances(contract):
        legal = contract.legal(contract.start(instance))
        assert legal, instance
        assert Operation("stop") not in legal, instance
        assert any(operation.item for operation in legal), instance


@every_task
def test_legal_operations_are_words_that_a_report_may_use(contract: Contract) -> None:
    for instance in instances(contract):
        goal = contract.goal(instance)
        for operation in contract.legal(contract.start(instance)) | contract.legal(contract.scored(instance)):
            assert operation.kind in goal.kinds
            assert operation.item in ("", *goal.items)
            assert operation.place in ("", *goal.places)


@every_task
def test_an_instance_survives_the_record(contract: Contract) -> None:
    for instance in instances(contract):
        assert contract.restore(json.loads(line(instance))) == instance
        assert contract.start(contract.restore(plain(instance))) == contract.start(instance)


@every_task
def test_where_things_stand_depends_on_the_layout_stream_alone(contract: Contract) -> None:
    for seed in range(8):
        one, other = contract.twins(np.random.default_rng(seed))
        first, second = layout(contract, one, seed), layout(contract, other, seed)
        places = [contract.located(contract.start(twin)) for twin in (one, other)]
        moved = {item for item in first.items if first.items[item] != second.items[item]}
        assert moved <= set(contract.telling)
        assert moved == {item for item in first.items if places[0][item] != places[1][item]}
        assert first.fixtures == second.fixtures and first.colours == second.colours and first.held == second.held
        assert {name: first.after[name] for name in first.after if name in first.fixtures} == {
            name: second.after[name] for name in second.after if name in second.fixtures
        }
        assert first.on_cell == second.on_cell and first.faults == second.faults
        assert layout(contract, one, seed) == first, "the same streams give the same layout"
        assert layout(contract, one, seed + 1).items != first.items


@every_task
def test_streams_of_chance_do_not_shift_each_other(contract: Contract) -> None:
    for index in range(8):
        instance, seeds = draw(contract, 0, index)
        here = contract.setup(instance, seeds)
        for other in (replace(seeds, policy=1), replace(seeds, task_state=1)):
            assert contract.setup(instance, other) == here
        painted = contract.setup(instance, replace(seeds, colour=seeds.colour + 1))
        assert replace(painted, colours=here.colours) == here
        moved = contract.setup(instance, replace(seeds, motion=seeds.motion + 1))
        assert replace(moved, after=here.after) == here
        assert (moved.after == here.after) <= (not getattr(getattr(instance, "kind", None), "move", ""))


@every_task
def test_what_is_asked_depends_on_the_task_stream_alone(contract: Contract) -> None:
    for index in range(8):
        instance, seeds = draw(contract, 0, index)
        stratum = contract.strata()[stratum_of(contract, 0, index)]
        other = Seeds(seeds.task_state, seeds.layout + 1, seeds.policy + 1)
        assert contract.sample(stratum, np.random.default_rng(other.task_state)) == instance


@every_task
def test_a_goal_never_names_what_is_hidden(contract: Contract) -> None:
    for seed in range(20):
        one, other = contract.twins(np.random.default_rng(seed))
        assert one != other
        assert contract.goal(one) == contract.goal(other)
        assert codec.encode(contract.goal(one)) == codec.encode(contract.goal(other))


@every_task
def test_what_is_legal_for_one_twin_is_wrong_for_the_other(contract: Contract) -> None:
    for seed in range(50):
        one, other = contract.twins(np.random.default_rng(seed))
        first, second = (contract.legal(contract.scored(twin)) for twin in (one, other))
        assert first and second
        assert not first & second
        assert all(operation.kind not in WORDLESS for operation in first | second), "behaviour can answer"


@every_task
def test_the_contract_declares_numbers_that_fit_the_laboratory(contract: Contract) -> None:
    ticks = [seconds / 0.002 for seconds in (contract.settle_s, contract.dwell_s, contract.response_s)]
    assert all(value > 0 and value == round(value) for value in ticks)
    assert contract.budget_steps > 0
    assert contract.summary.endswith(".") and contract.version
    assert set(contract.shapes()) >= set(contract.goal(instances(contract, count=1)[0]).items)


# --- registered lists


lists = pytest.mark.parametrize(
    ("contract", "name"),
    [(task, name) for task in TASKS.values() for name in task.lists()],
    ids=[f"{task.name}-{name}" for task in TASKS.values() for name in task.lists()],
)


def members_of(contract: Contract, name: str) -> list[tuple[Any, Any, Seeds]]:
    """Return every member of a list with its instance and seeds."""
    found = find_members(contract, name)
    return [(member, *draw(contract, 3, index, instances=name)) for index, member in enumerate(found)]


@lists
def test_members_of_a_list_have_labels_of_their_own_and_can_be_called_by_them(contract: Contract, name: str) -> None:
    members = find_members(contract, name)
    assert len({member.label for member in members}) == len(members)
    for member, instance, seeds in members_of(contract, name):
        alone = f"{name}:{member.label}"
        assert draw(contract, 3, 0, instances=alone) == (instance, seeds)
        later = members.index(member) + len(members)
        assert draw(contract, 3, 1, instances=alone) == draw(contract, 3, later, instances=name)
        assert ":" not in member.label and " " not in member.label


@lists
def test_a_list_comes_in_order_again_and_again_with_fresh_seeds(contract: Contract, name: str) -> None:
    members = find_members(contract, name)
    count, groups = len(members), {member.group for member in members}
    assert groups == set(range(len(groups)))
    seeds = {draw(contract, 3, index, instances=name)[1] for index in range(3 * count)}
    assert len(seeds) == 3 * len(groups)
    again = [draw(contract, 3, index + count, instances=name)[0].kind for index in range(count)]
    assert again == [instance.kind for _, instance, _ in members_of(contract, name)]


@lists
def test_members_of_a_group_share_seeds_and_differ_in_what_the_list_is_about(contract: Contract, name: str) -> None:
    groups: dict[int, list[tuple[Any, Any, Any]]] = {}
    for member, instance, seeds in members_of(contract, name):
        groups.setdefault(member.group, []).append((instance, seeds, contract.setup(instance, seeds)))
    for (instance, seeds, setup), *others in groups.values():
        for other, shared, layout_ in others:
            assert shared == seeds and other != instance and contract.goal(other) == contract.goal(instance)
            assert layout_.colours == setup.colours and layout_.held == setup.held
            standing = {fixture for fixture in setup.fixtures if setup.fixtures[fixture] != layout_.fixtures[fixture]}
            moved = {item for item in setup.items if setup.items[item] != layout_.items[item]}
            assert len(standing) <= 1 and len(moved) <= len(contract.goal(instance).items)
            if name == "equivariance":
                assert contract.legal(contract.scored(other)) == contract.legal(contract.scored(instance))
                assert standing or setup.after != layout_.after, "something moves rigidly"
            else:
                assert not standing
                assert not contract.legal(contract.scored(other)) & contract.legal(contract.scored(instance))


@lists
def test_the_first_choice_of_every_member_can_be_answered_and_reported(contract: Contract, name: str) -> None:
    for _, instance, _ in members_of(contract, name):
        assert contract.restore(json.loads(line(instance))) == instance
        goal, legal = contract.goal(instance), contract.legal(contract.scored(instance))
        assert legal and all(operation.kind not in WORDLESS for operation in legal)
        assert all(operation.place in ("", *goal.places) for operation in legal)


@every_task
def test_an_unknown_list_or_member_is_answered_with_those_that_exist(contract: Contract) -> None:
    with pytest.raises(PlanError, match=f"registered lists: {next(iter(contract.lists()), 'twins')}"):
        draw(contract, 0, 0, instances="nonesuch")
    for name in contract.lists():
        with pytest.raises(PlanError, match=find_members(contract, name)[0].label):
            draw(contract, 0, 0, instances=f"{name}:nonesuch")


# --- weighing


def subsets() -> Iterator[tuple[int, ...]]:
    for size in range(len(STANDARDS) + 1):
        yield from itertools.combinations(STANDARDS, size)


@weighings
def test_exactly_one_set_of_standards_reaches_the_target(contract: Contract) -> None:
    for instance in instances(contract, count=90):
        solving = [subset for subset in subsets() if abs(instance.sample + sum(subset) - instance.target) <= 1.0]
        assert solving == [instance.goal]
        assert instance.sample > 0


@weighings
def test_initial_and_wanted_sets_are_as_far_apart_as_the_task_says(contract: Contract) -> None:
    for instance in instances(contract, count=90):
        apart = len(set(instance.start) ^ set(instance.goal))
        if contract.name == "weighing-basic":
            assert instance.start == () and len(instance.goal) == 1
        else:
            assert instance.start and len(instance.goal) in (2, 3) and apart >= 2


@weighings
def test_targets_and_answers_are_balanced(contract: Contract) -> None:
    count = 2 * len(contract.strata())
    drawn = instances(contract, count=count)
    for field in ("target", "goal"):
        counts = Counter(getattr(instance, field) for instance in drawn)
        assert len(set(counts.values())) == 1, counts


@weighings
def test_removals_and_additions_are_legal_in_any_order(contract: Contract) -> None:
    for instance in instances(contract):
        legal = contract.legal(contract.start(instance))
        expected = {Operation("remove", f"{grams} g", "table") for grams in set(instance.start) - set(instance.goal)}
        expected |= {Operation("add", f"{grams} g", "pan") for grams in set(instance.goal) - set(instance.start)}
        assert legal == expected


# --- in the laboratory


@pytest.fixture(scope="module", params=laboratories(), ids="-".join)
def bench(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    name, fidelity = request.param
    found = Laboratory(name, fidelity=fidelity)
    yield found
    found.world.close()


def test_twins_look_alike_byte_by_byte_until_evidence_shows_the_difference(bench: Laboratory) -> None:
    """What tells twins apart is a reading, a telling item, or what has yet to act or to be measured."""
    contract, world = bench.contract, bench.world
    cameras = () if contract.telling else world.cameras
    twins = contract.twins(np.random.default_rng(3))
    broken = tuple(SensorFault(cell, 0.0, 1e9, "unplugged") for cell in world.channels.cells)
    commands = _parking(bench)
    seen: list[list[bytes]] = []
    told: list[bytes] = []
    for twin in twins:
        setup = layout(contract, twin, 11)
        assert len(bench.prepare(twin, Seeds(0, 11, 0), setup).block.pose) > 0
        bench.prepare(twin, Seeds(0, 11, 0), replace(setup, faults=broken))
        deliveries = []
        for number, command in enumerate(commands[:3], start=1):
            world.step(command, 25)
            senses = world.sense(cameras, depth=True, readings=True)
            deliveries.append(codec.encode(Observation(number, contract.goal(twin), senses)))
        seen.append(deliveries)
        bench.prepare(twin, Seeds(0, 11, 0), setup)
        world.step(commands[0], 25)
        shown = world.sense(world.cameras[:1] if contract.telling else (), readings=True)
        told.append(codec.encode(Observation(1, contract.goal(twin), shown)))
    assert seen[0] == seen[1]
    evident = bool(contract.telling or (world.channels.cells and not world.channels.meters))
    assert (told[0] != told[1]) == evident, "what shows the difference shows it, and nothing else does"


def test_a_delivered_message_holds_no_word_or_number_of_the_evaluator(bench: Laboratory) -> None:
    """Paper section 5.1: checks operate on the serialized request."""
    prepared = bench.prepare(*_first(bench))
    contract, world = bench.contract, bench.world
    broken = world.sense(readings=False)
    message = codec.encode(Observation(1, contract.goal(prepared.instance), broken))
    size = int.from_bytes(message[:4], "little")
    head = json.loads(message[4 : 4 + size])
    public = {"noun", "id", "goal", "senses", "instruction", "kinds", "items", "places", "time", "robot", "frames"}
    public |= {"assists", "readings", "joints", "velocities", "opening", "tcp", "command", "array", "shape"}
    public |= {"parameters", "kind", "name", "unit", "low", "high", "default"}
    assert _keys(head) <= public
    hidden = [*plain(prepared.seeds).values(), *world.zero.values(), *prepared.setup.masses.values()]
    hidden += [value for value in plain(prepared.instance).values() if isinstance(value, float) and value]
    told = json.dumps(head["senses"])
    for value in hidden:
        assert str(value) not in told
        assert np.float64(value).tobytes() not in message
    for word in ("legal", "correct", "mass", "success", "score", "seed", "stratum"):
        assert word not in message[4 : 4 + size].decode().replace("sample mass", "")


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for entry in value.values() for key in _keys(entry)}
    return {key for entry in value for key in _keys(entry)} if isinstance(value, list) else set()


def _parking(bench: Laboratory) -> np.ndarray:
    bench.prepare(*_first(bench))
    if not bench.world.moves:
        return np.tile(bench.world.command, (3, 1))
    script = home(bench.arm, Observation(1, bench.contract.goal(_first(bench)[0]), bench.world.sense()))
    return np.asarray(next(script).commands)  # type: ignore[union-attr]


def _first(bench: Laboratory) -> tuple[Any, Seeds, Any]:
    instance, seeds = draw(bench.contract, 0, 0)
    return instance, seeds, bench.contract.setup(instance, seeds)


def run(bench: Laboratory, policy: str, index: int, out: Path, budget: int | None = None) -> Attempt:
    plan = Plan(bench.contract.name, policy, 10, budget=budget, fidelity=bench.fidelity)
    result = bench.attempt(plan, index, out)
    return Attempt(result, read_run(result.path))


@pytest.fixture(scope="module")
def done(bench: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Attempt:
    """Return the second episode of the reference executor, in a laboratory where the first has begun."""
    out = tmp_path_factory.mktemp(bench.contract.name)
    run(bench, "expert", 0, out, budget=60)
    return run(bench, "expert", 1, out)


def test_the_reference_executor_completes_and_its_replay_reproduces_the_scores(done: Attempt) -> None:
    assert done.result.reason == "completed", done.result.sentence
    assert done.verdict["valid"] and done.verdict["clean"], done.verdict
    assert done.verdict["coverage"][0] == done.verdict["coverage"][1] > 0
    assert all(entry["correct"] for entry in done.verdict["decisions"] if entry["physical"])
    assert done.run.run["privileged"] is True
    assert audit(done.result.path).difference is None


def test_a_system_that_does_nothing_scores_nothing(bench: Laboratory, tmp_path: Path) -> None:
    ended = run(bench, "still", 0, tmp_path, budget=120)
    assert ended.result.reason == "budget"
    assert not ended.verdict["physical"] and not ended.verdict["valid"] and not ended.verdict["recovered"]
    assert ended.verdict["attempts"] == 0 and ended.verdict["coverage"][0] == 0
    assert not any(ended.verdict["categories"].values())


def test_the_handoff_is_judged_before_anybody_is_asked(bench: Laboratory, tmp_path: Path) -> None:
    prepared = bench.prepare(*_first(bench))
    assert not prepared.referee.completed
    assert prepared.block.end == 0
    assert bench.contract.located(prepared.referee.state) == bench.contract.located(
        bench.contract.start(prepared.instance)
    )


ONCE = """
import hashlib, sys
from pathlib import Path
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
for words in reversed(sys.argv[2:]):
    name, fidelity = words.split("/")
    out = Path(sys.argv[1]) / name / fidelity
    laboratory = Laboratory(name, fidelity=fidelity)
    path = laboratory.attempt(Plan(name, "expert", 10, fidelity=fidelity), 1, out).path
    laboratory.world.close()
    for file in ("events.jsonl", "measurements.bin", "observations.jsonl"):
        print(words, file, hashlib.sha256((path / file).read_bytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """Return what one other process leaves, which runs the second episodes of all laboratories from last to first."""
    words = ["/".join(entry) for entry in laboratories()]
    child = subprocess.run(
        [sys.executable, "-c", ONCE, str(tmp_path_factory.mktemp("there")), *words], capture_output=True, text=True
    )
    assert child.returncode == 0, child.stderr
    return {(words, file): digest for words, file, digest in map(str.split, child.stdout.splitlines())}


def test_the_same_seeds_leave_the_same_bytes_in_another_process_and_order(
    bench: Laboratory, done: Attempt, elsewhere: dict[tuple[str, str], str]
) -> None:
    words = f"{bench.contract.name}/{bench.fidelity}"
    there = {file: digest for (who, file), digest in elsewhere.items() if who == words}
    assert len(there) == 3
    for file, digest in there.items():
        assert hashlib.sha256((done.result.path / file).read_bytes()).hexdigest() == digest, f"{file} differs"


# --- the registry


def test_task_names_are_their_keys_and_say_their_family() -> None:
    assert all(name == task.name for name, task in TASKS.items())
    families = ("centrifuge", "recall", "weighing")
    assert {f"{family}-{level}" for family in families for level in ("basic", "extended")} <= set(TASKS)


def test_a_mistyped_task_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(ContractError, match=r"No task 'weighing-basik'. Did you mean 'weighing-basic'\?"):
        find_task("weighing-basik")


def test_a_task_of_a_third_party_is_found_by_module_and_name() -> None:
    assert find_task("labference.tasks.weighing:TASKS/weighing-extended").name == "weighing-extended"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("labference.tasks.weighing:TASKS", "TASKS/weighing-basic"),
        ("labference.tasks.weighing:TASKS/pouring", "TASKS/weighing-basic"),
        ("labference.tasks.weighing:JOBS", "JOBS"),
        ("no_such_module_here:TASKS", "no_such_module_here"),
        (":TASKS", "Empty module name"),
    ],
)
def test_a_task_that_cannot_be_loaded_says_what_would_work(name: str, said: str) -> None:
    with pytest.raises(ContractError, match=said):
        find_task(name)
