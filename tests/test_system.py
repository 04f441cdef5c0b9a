"""The boundary around a tested system: copies, a deadline, and names for whatever it raises."""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

import pytest

from labference.bench.system import System
from labference.truth.identity import PlanError
from labference.wire import JOINT, Capabilities, Goal, Observation, Operation, Refusal, ServiceFault, Wait

GOAL = Goal("Do nothing.", ("wait",), (), ())


class Policy:
    """Answer what the test asks for."""

    def __init__(
        self, opens: Any = None, acts: Any = lambda observation: Wait(1.0), closes: Any = lambda: None
    ) -> None:
        self.declared = Capabilities("mine", "1")
        self.open = opens or (lambda: self.declared)
        self.act = acts
        self.close = closes
        self.spec: Any = None

    def reset(self, goal: Goal, spec: Any, session: str) -> None:
        self.goal, self.spec = goal, spec


def system(policy: Policy, deadline_s: float = 5.0) -> System:
    return System(lambda: policy, "mine", deadline_s)  # type: ignore[arg-type, return-value]


def test_what_a_policy_declared_cannot_be_changed_afterwards() -> None:
    policy = Policy()
    tested = system(policy)
    object.__setattr__(policy.declared, "readings", True)
    assert tested.capabilities.readings is False


def test_a_policy_cannot_change_the_action_profile_of_the_bench() -> None:
    policy = Policy()
    system(policy).reset(GOAL, JOINT, "session")
    assert policy.spec == JOINT
    object.__setattr__(policy.spec, "on_out_of_range", "clip")
    assert JOINT.on_out_of_range == "reject"


@pytest.mark.parametrize(
    "declared",
    [
        {"name": "mine"},
        None,
        Capabilities("mine", "1", cameras="front"),  # type: ignore[arg-type]
        Capabilities("mine", "1", depth=1),  # type: ignore[arg-type]
        Capabilities("mine", "1", sites="skill"),  # type: ignore[arg-type]
        Capabilities("mine", "1", sites=(1,)),  # type: ignore[arg-type]
        Capabilities("mine", "1", accepts=None),  # type: ignore[arg-type]
        Capabilities("mine", "1", witnesses="yes"),  # type: ignore[arg-type]
        Capabilities("mine", "1", sites=("mind",)),
    ],
    ids=["a dictionary", "nothing", "a word for a list of cameras", "a number for a flag", *map(str, range(5))],
)
def test_a_declaration_that_is_none_is_incompatible(declared: Any) -> None:
    with pytest.raises(PlanError, match="could not be opened"):
        system(Policy(opens=lambda: declared))


@pytest.mark.parametrize("raised", [ValueError("two\nlines"), SystemExit(0), MemoryError("gone")])
def test_what_a_policy_raises_is_its_interface_failure_in_one_line(raised: BaseException) -> None:
    def acts(observation: Observation) -> Any:
        raise raised

    with pytest.raises(Refusal, match=type(raised).__name__) as refused:
        system(Policy(acts=acts)).act(None)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_an_interrupt_of_the_user_is_not_the_policys() -> None:
    def acts(observation: Observation) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        system(Policy(acts=acts)).act(None)  # type: ignore[arg-type]


def test_closing_never_hides_a_result() -> None:
    def closes() -> None:
        raise RuntimeError("jammed")

    assert "jammed" in system(Policy(closes=closes)).close()
    assert system(Policy()).close() == "closed"


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX systems can interrupt a call")
@pytest.mark.parametrize("stubborn", [False, True], ids=["plain", "catches whatever is raised"])
def test_a_policy_that_never_answers_is_a_service_fault(stubborn: bool) -> None:
    def acts(observation: Observation) -> Any:
        try:
            time.sleep(30)
        except Exception:
            if not stubborn:
                raise
        time.sleep(30)

    before = signal.getsignal(signal.SIGALRM)
    tested = system(Policy(acts=acts), deadline_s=0.05)
    with pytest.raises(ServiceFault, match=r"0\.05 s"):
        tested.act(None)  # type: ignore[arg-type]
    tested.close()
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_slow_answer_within_the_deadline_is_an_answer() -> None:
    def acts(observation: Observation) -> Wait:
        time.sleep(0.2)
        return Wait(0.5)

    assert system(Policy(acts=acts)).act(None) == Wait(0.5)  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX systems can interrupt a call")
@pytest.mark.parametrize("ending", ["answers", "raises"])
def test_a_late_answer_is_no_answer_whatever_the_policy_does_with_the_interrupt(ending: str) -> None:
    def acts(observation: Observation) -> Any:
        try:
            time.sleep(30)
        except Exception as error:
            if ending == "raises":
                raise RuntimeError("lost") from error
        return Wait(1.0)

    with pytest.raises(ServiceFault):
        system(Policy(acts=acts), deadline_s=0.05).act(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("raised", [RuntimeError("no licence"), SystemExit(3)])
def test_a_policy_that_cannot_be_built_is_incompatible(raised: BaseException) -> None:
    def make() -> Any:
        raise raised

    with pytest.raises(PlanError, match=type(raised).__name__):
        System(make, "mine", 5.0)


class Onlooker(Policy):
    """Take in a prefix."""

    def __init__(self, witnesses: bool) -> None:
        super().__init__()
        self.declared = Capabilities("mine", "1", witnesses=witnesses)
        self.seen: list[Any] = []

    def witness(self, observation: Any, operation: Any) -> None:
        self.seen.append((observation, operation))


def test_a_prefix_is_shown_as_copies_and_only_to_whoever_declared_to_take_it() -> None:
    shown, done = Observation(1, GOAL, None), Operation("wait")  # type: ignore[arg-type]
    for declared in (True, False):
        policy = Onlooker(declared)
        system(policy).witness(shown, done)
        assert policy.seen == ([(shown, done)] if declared else [])
        assert all(one is not shown and two is not done for one, two in policy.seen)


def test_a_system_that_declared_to_take_a_prefix_and_cannot_is_refused() -> None:
    policy = Policy()
    policy.declared = Capabilities("mine", "1", witnesses=True)
    with pytest.raises(Refusal, match=r"has no witness"):
        system(policy).witness(Observation(1, GOAL, None), None)  # type: ignore[arg-type]
