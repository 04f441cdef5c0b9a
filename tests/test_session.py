"""Episodes that somebody else drives leave what a tested system would leave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lab_policies
from conftest import BASIC, without_runtime
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bench.session import ABANDONED, Driven, Session
from labference.policies import make_policy
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.truth.draw import draw
from labference.truth.identity import PlanError
from labference.wire import Capabilities, Move, Refusal, ServiceFault, Stop, Wait

ALONE = Capabilities("driver", "1")
PLAN = Plan(BASIC, "driver", 1, budget=60)


@pytest.fixture
def session(laboratory: Laboratory, tmp_path: Path) -> Session:
    return Session(laboratory, PLAN, 0, tmp_path, ALONE)


def test_a_driven_episode_leaves_the_records_of_a_tested_one(laboratory: Laboratory, tmp_path: Path) -> None:
    plan = replace(PLAN, policy="reader", budget=160)
    _, seeds = draw(laboratory.contract, plan.seed, 0, plan.policy_seed, plan.instances)
    tested = laboratory.attempt(plan, 0, tmp_path / "tested")
    policy = make_policy("reader", seeds.policy)
    with Session(laboratory, plan, 0, tmp_path / "driven", policy.open()) as driven:
        observation = driven.begin()
        policy.reset(driven.goal, driven.spec, "mine")
        while observation is not None:
            observation = driven.answer(policy.act(observation))
    assert driven.result is not None and driven.result.status == "scored"
    for name in ("events.jsonl", "observations.jsonl", "measurements.bin", "online_scores.jsonl"):
        assert (tested.path / name).read_bytes() == (driven.result.path / name).read_bytes(), name
    one, two = (without_runtime(dict(read_run(path).scores or {})) for path in (tested.path, driven.result.path))
    assert one == two
    assert audit(driven.result.path).difference is None


def test_an_answer_that_cannot_be_admitted_ends_the_episode_as_an_interface_failure(session: Session) -> None:
    session.begin()
    assert session.answer(Move(np.full((1, 8), np.nan))) is None
    assert session.result is not None and (session.result.status, session.result.reason) == (
        "scored",
        "interface_failure",
    )


def test_closing_early_leaves_an_unresolved_episode_and_no_score(session: Session) -> None:
    session.begin()
    session.answer(Wait(0.5))
    session.close()
    session.close()
    assert session.result is not None and session.result.status == "unresolved"
    assert session.result.sentence == ABANDONED
    assert read_run(session.result.path).scores is None


@pytest.mark.parametrize(
    ("error", "status"), [(Refusal("malformed", "Nonsense."), "scored"), (ServiceFault("Gone."), "unresolved")]
)
def test_what_goes_wrong_on_the_other_side_keeps_its_name(session: Session, error: Exception, status: str) -> None:
    session.begin()
    session.fail(error)  # type: ignore[arg-type]
    assert session.result is not None and (session.result.status, session.result.sentence) == (status, str(error))


def test_a_session_says_when_it_is_not_under_way(session: Session) -> None:
    for early in (lambda: session.answer(Stop()), lambda: session.goal, lambda: session.spec):
        with pytest.raises(PlanError, match="begin"):
            early()
    session.begin()
    with pytest.raises(PlanError, match="begun already"):
        session.begin()
    session.answer(Stop())
    with pytest.raises(PlanError, match="not under way"):
        session.answer(Wait(1.0))
    assert session.goal.instruction and session.spec.name == "joint"


def test_what_the_driver_is_given_shares_nothing_with_the_bench(session: Session) -> None:
    first = session.begin()
    assert first is not None
    first.senses.robot.joints[:] = 9.0
    second = session.answer(Wait(0.05))
    assert second is not None and np.abs(second.senses.robot.joints).max() < 4.0


def test_a_laboratory_that_lacks_what_is_declared_refuses_before_anything_is_recorded(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match="no camera 'roof'"):
        Session(laboratory, PLAN, 0, tmp_path, replace(ALONE, cameras=("roof",))).begin()
    assert not list(tmp_path.rglob("run.json"))


def test_nobody_asks_the_seat_itself() -> None:
    with pytest.raises(ServiceFault, match=r"Session\.answer"):
        Driven(ALONE).act(lab_policies.SAW[0] if lab_policies.SAW else None)  # type: ignore[arg-type]
