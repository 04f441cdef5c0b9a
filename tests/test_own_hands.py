"""A system that moves the arm itself on the wet bench: its choices are recognised, confirmed and scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from labference.bench.expert import gains
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bench.wet_hands import WetHands
from labference.motion.player import Player
from labference.records.reader import Run, read_run
from labference.score.audit import audit
from labference.tasks import find_task
from labference.truth.events import Entered
from labference.truth.measurement import Block
from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Operation, Wait

TUBE, RACK = "water", "rack"
PICK, POUR, PLACE = Operation("pick", TUBE, RACK), Operation("pour", TUBE, "beaker"), Operation("place", TUBE, RACK)


class OwnHands:
    """Send joint commands for what is legal; it asks the bench for nothing."""

    def __init__(self, lab: Laboratory) -> None:
        self._lab, self._player = lab, Player(self._work)
        self._hands = WetHands(lab._scene(), lab.arm, lambda cell: False)

    def open(self) -> Capabilities:
        return Capabilities("own-hands", "1", actions=("joint",), readings=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        self._player.restart()

    def act(self, observation: Observation) -> Act:
        return self._player.act(observation)

    def close(self) -> None:
        pass

    def _work(self, observation: Observation) -> Iterator[Any]:
        contract = self._lab.contract
        while True:
            state = self._lab._referee.state
            work = [operation for operation in sorted(contract.legal(state)) if operation.item]
            if not work:
                observation = yield Wait(0.5)
                continue
            aim = contract.aim(state, work[0])
            given = gains(self._lab.world.needed(TUBE, "beaker", aim)) if aim else {}
            observation = yield from self._hands.perform(observation, work[0], given)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    lab = Laboratory("pouring-water")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lab, "_policy", lambda plan, seeds: OwnHands(lab))
        plan = Plan("pouring-water", "expert", 1, seed=4, instances="table-1")
        yield read_run(lab.attempt(plan, 0, tmp_path_factory.mktemp("own")).path)
    lab.world.close()


def told(run: Run, name: str) -> list[dict[str, Any]]:
    return [event for event in run.lines("events.jsonl") if event["event"] == name]


def test_every_choice_is_recognised_and_confirmed(run: Run):
    for name in ("Chosen", "Confirmed"):
        found = [Operation(**event["operation"]) for event in told(run, name)]
        assert found == [PICK, POUR, PLACE], name
    assert all(event["correct"] for event in told(run, "Chosen"))
    assert not told(run, "Performed") and not told(run, "Noted")


def test_it_completes_cleanly_and_the_audit_finds_nothing(run: Run):
    verdict = run.scores["verdict"]
    assert run.scores["reason"] == "completed" and verdict["valid"] and verdict["clean"]
    assert verdict["coverage"] == [3, 3]
    assert audit(run.path).difference is None


def test_to_wait_for_the_balance_is_no_choice(run: Run):
    legal = [Operation(**entry) for event in told(run, "Opened") for entry in event["legal"]]
    assert "weigh" not in {operation.kind for operation in legal}


def rows(block: Block, size: int) -> Iterator[Block]:
    """Cut a block into shorter ones."""
    for first in range(0, block.ticks, size):
        part = {name: getattr(block, name)[first : first + size] for name in ("pose", "speed", "touch", "opening")}
        yield replace(block, tick=block.tick + first, force=block.force[first : first + size], **part)


@pytest.mark.parametrize("size", [7, 25, 1000])
def test_a_tube_that_is_put_back_enters_once_however_time_is_cut(run: Run, size: int):
    (recogniser,) = find_task("pouring-water").recognisers(run.channels)
    found = [event for block in run.blocks() for part in rows(block, size) for event in recogniser.update(part)]
    assert found == [Entered(told(run, "Entered")[0]["tick"], TUBE, RACK)]
