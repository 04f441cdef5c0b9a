"""Every registered task, whatever it is: balanced and repeatable instances, twins, and a reference that completes."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Attempt
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.motion import home
from labference.records.reader import read_run
from labference.records.strict import line, plain
from labference.score.audit import audit
from labference.tasks import all_tasks, find_task
from labference.tasks.weighing import STANDARDS
from labference.truth.contract import ContractError, TaskContract
from labference.truth.draw import draw, stratum_of
from labference.truth.identity import Seeds
from labference.truth.measurement import SensorFault
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
    return contract.setup(instance, np.random.default_rng(seed))


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
    assert len(orders) == 9


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
    assert len(own) == 6 * EPISODES, "streams share no seed"


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
        for operation in contract.legal(contract.start(instance)):
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
        assert first.items == second.items and first.fixtures == second.fixtures
        assert first.on_cell == second.on_cell and first.faults == second.faults
        assert layout(contract, one, seed) == first, "the same stream gives the same layout"
        assert layout(contract, one, seed + 1).items != first.items


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
        first, second = (contract.legal(contract.start(twin)) for twin in (one, other))
        assert first and second
        assert not first & second


@every_task
def test_the_contract_declares_numbers_that_fit_the_laboratory(contract: Contract) -> None:
    ticks = [seconds / 0.002 for seconds in (contract.settle_s, contract.dwell_s, contract.response_s)]
    assert all(value > 0 and value == round(value) for value in ticks)
    assert contract.budget_steps > 0
    assert contract.summary.endswith(".") and contract.version
    assert set(contract.shapes()) >= set(contract.goal(instances(contract, count=1)[0]).items)


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


@pytest.fixture(scope="module", params=TASKS.keys())
def bench(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    found = Laboratory(request.param)
    yield found
    found.world.close()


def test_twins_look_alike_byte_by_byte_until_an_instrument_shows_the_difference(bench: Laboratory) -> None:
    contract, world = bench.contract, bench.world
    twins = contract.twins(np.random.default_rng(3))
    broken = tuple(SensorFault(cell, 0.0, 1e9, "unplugged") for cell in world.channels.cells)
    commands = _parking(bench)
    seen: list[list[bytes]] = []
    told: list[bytes] = []
    for twin in twins:
        setup = contract.setup(twin, np.random.default_rng(11))
        assert len(bench.prepare(twin, Seeds(0, 11, 0), setup).block.pose) > 0
        bench.prepare(twin, Seeds(0, 11, 0), replace(setup, faults=broken))
        deliveries = []
        for number, command in enumerate(commands[:3], start=1):
            world.step(command, 25)
            senses = world.sense(world.cameras, depth=True, readings=True)
            deliveries.append(codec.encode(Observation(number, contract.goal(twin), senses)))
        seen.append(deliveries)
        bench.prepare(twin, Seeds(0, 11, 0), setup)
        world.step(commands[0], 25)
        told.append(codec.encode(Observation(1, contract.goal(twin), world.sense(readings=True))))
    assert seen[0] == seen[1]
    assert told[0] != told[1], "with a working instrument they differ"


def test_a_delivered_message_holds_no_word_or_number_of_the_evaluator(bench: Laboratory) -> None:
    """Paper section 5.1: checks operate on the serialized request."""
    prepared = bench.prepare(*_first(bench))
    contract, world = bench.contract, bench.world
    broken = world.sense(readings=False)
    message = codec.encode(Observation(1, contract.goal(prepared.instance), broken))
    size = int.from_bytes(message[:4], "little")
    head = json.loads(message[4 : 4 + size])
    public = {"noun", "id", "goal", "senses", "instruction", "kinds", "items", "places", "time", "robot", "frames"}
    public |= {"readings", "joints", "velocities", "opening", "tcp", "command", "array", "shape"}
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
    script = home(bench.arm, Observation(1, bench.contract.goal(_first(bench)[0]), bench.world.sense()))
    return np.asarray(next(script).commands)  # type: ignore[union-attr]


def _first(bench: Laboratory) -> tuple[Any, Seeds, Any]:
    instance, seeds = draw(bench.contract, 0, 0)
    return instance, seeds, bench.contract.setup(instance, np.random.default_rng(seeds.layout))


def run(bench: Laboratory, policy: str, index: int, out: Path, budget: int | None = None) -> Attempt:
    result = bench.attempt(Plan(bench.contract.name, policy, 10, budget=budget), index, out)
    return Attempt(result, read_run(result.path))


def test_the_reference_executor_completes_and_its_replay_reproduces_the_scores(
    bench: Laboratory, tmp_path: Path
) -> None:
    for index in (0, 1):
        ended = run(bench, "expert", index, tmp_path)
        assert ended.verdict["valid"], ended.verdict
        assert ended.result.reason == "completed"
        assert ended.verdict["coverage"][0] == ended.verdict["coverage"][1] > 0
        assert all(entry["correct"] for entry in ended.verdict["decisions"] if entry["physical"])
        assert ended.run.run["privileged"] is True
        assert audit(ended.result.path).difference is None


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
name, index, out = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
path = Laboratory(name).attempt(Plan(name, "expert", 10), index, out).path
for file in ("events.jsonl", "measurements.bin", "observations.jsonl"):
    print(file, hashlib.sha256((path / file).read_bytes()).hexdigest())
"""


def test_the_same_seeds_leave_the_same_bytes_in_another_process_and_order(
    bench: Laboratory, tmp_path: Path, python: Callable[..., Any]
) -> None:
    run(bench, "expert", 0, tmp_path / "other")
    here = run(bench, "expert", 1, tmp_path / "here").result.path
    done = python("-c", ONCE, bench.contract.name, "1", str(tmp_path / "there"))
    assert done.returncode == 0, done.stderr
    there = dict(entry.split() for entry in done.stdout.splitlines())
    for file, digest in there.items():
        assert hashlib.sha256((here / file).read_bytes()).hexdigest() == digest, f"{file} differs"


# --- the registry


def test_task_names_are_their_keys_and_say_their_family() -> None:
    assert all(name == task.name for name, task in TASKS.items())
    assert {"weighing-basic", "weighing-extended"} <= set(TASKS)


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
