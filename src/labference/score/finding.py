"""The answers of a diagnosis: where does this system fail, and what would help (paper section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .diagnosis import BASE, Diagnosis
from .gain import OUTCOMES, Gain, Support, contrasts, outcome_rate, supports
from .interfaces import Interface, Tests, fails, interface_tests
from .pairs import Moved, Pairs, moved, paired
from .rate import Bounds, Rate, rate

SCOPE: dict[Interface, str] = {"state": "semantic", "decision": "decision", "geometry": "geometry", "skill": "skill"}
"""The support scope that enters at each interface."""
NAMES: dict[Interface, str] = {"state": "state", "decision": "decision", "geometry": "geometry", "skill": "execution"}
"""What the interfaces are called where people read of them."""
WORDS = {"failures": "the number of failures"}
"""What outcomes are called in sentences."""


@dataclass(frozen=True, slots=True)
class Findings:
    """One diagnosis in numbers.

    missing      starts without a valid outcome in the base branch
    correct      B_next over the first decision after the handoff; `identified` is C_id
    subgoal, completion  of the base branch
    completed    completion bounds while base branches are missing
    contrasts    interaction of joint supports, by support
    """

    diagnosis: Diagnosis
    missing: int
    correct: Rate
    identified: Rate
    subgoal: Rate
    completion: Rate
    completed: Bounds
    tests: Tests
    state_pairs: Pairs
    geometry_pairs: Pairs
    moved: Moved
    supports: tuple[Support, ...]
    contrasts: dict[str, tuple[Gain, ...]]

    @property
    def damaged(self) -> tuple[Interface, ...]:
        """Return the interfaces whose own test fails."""
        return tuple(test.interface for test in self.tests.tests if test.verdict == "fails")

    @property
    def undecided(self) -> tuple[Interface, ...]:
        """Return the interfaces of which the tests say nothing, though they are there."""
        known = ("passes", "fails", "not applicable")
        return tuple(test.interface for test in self.tests.tests if test.verdict not in known)

    def support(self, name: str) -> Support | None:
        """Return a registered support condition."""
        return next((entry for entry in self.supports if entry.support == name), None)


def findings(diagnosis: Diagnosis) -> Findings:
    """Return the findings of `diagnosis`."""
    base = diagnosis.of(BASE)
    completion = outcome_rate(base, "completion")
    missing = sum(branch.outcome is None for branch in base)
    return Findings(
        diagnosis=diagnosis,
        missing=missing,
        correct=outcome_rate(base, "choice"),
        identified=rate(branch.outcome.identified for branch in base if branch.outcome is not None),
        subgoal=outcome_rate(base, "subgoal"),
        completion=completion,
        completed=Bounds(completion.count, missing, len(base)),
        tests=interface_tests(diagnosis),
        state_pairs=paired(diagnosis, "state"),
        geometry_pairs=paired(diagnosis, "geometry"),
        moved=moved(diagnosis),
        supports=supports(diagnosis),
        contrasts=contrasts(diagnosis),
    )


def sentences(found: Findings) -> tuple[str, ...]:
    """Return in words which interface is damaged, which supports help, and what is not known yet."""
    said = [_where(found), *_which(found), *_what_helps(found), *_together(found), *_unknown(found)]
    if found.diagnosis.development:
        said.append("These are development instances: they choose candidates, and held-out ones test them.")
    return tuple(said)


def _where(found: Findings) -> str:
    damaged, unsure = ([NAMES[entry] for entry in group] for group in (found.damaged, found.undecided))
    named = _list(damaged)
    if len(damaged) == 1 and not unsure:
        return f"The {named} interface is damaged: its own test fails, and every other interface passes."
    if len(damaged) == 1:
        return f"The {named} interface fails its own test; the tests leave {_list(unsure)} open."
    if damaged:
        left = f"; the tests leave {_list(unsure)} open" if unsure else ""
        return f"The {named} interfaces fail their own tests{left}."
    if unsure:
        return f"No interface fails its own test; the tests leave {_list(unsure)} open."
    return "Every interface passes its own test."


def _which(found: Findings) -> list[str]:
    """Return which kinds of operations the bench carried out in vain, where execution fails."""
    skill = found.tests.skill
    if skill is None or found.tests.of("skill").verdict == "passes":
        return []
    rates = {kind: passed for kind, passed in skill.kinds.items() if fails(passed)}
    failing = [f"{kind} ({rate.count}/{rate.population})" for kind, rate in rates.items()]
    if not failing:
        return []
    does = "does" if len(failing) == 1 else "do"
    said = f"With its numbers, {_list(failing)} too rarely {does} what it is for"
    doses = skill.doses
    if doses is None or "pour" not in rates:
        return [f"{said}."]
    return [f"{said}; its first dose is {doses.median:.2f} times what is needed (median of {doses.count})."]


def _what_helps(found: Findings) -> list[str]:
    said = []
    for sign, verb in ((True, "improves"), (False, "harms")):
        for support in found.supports:
            outcomes = [
                WORDS.get(name, name)
                for name in OUTCOMES
                if (gain := support.gain(name)) and (gain.helps if sign else gain.harms)
            ]
            if outcomes:
                said.append(f"{support.support} {verb} {_list(outcomes)}.")
    complete = [support for support in found.supports if support.status == "complete"]
    if complete and not said:
        said.append("No registered support changes an outcome by more than its interval.")
    return said


def _together(found: Findings) -> list[str]:
    """Return which joint supports do more or less than the sum of what their parts do alone."""
    said = []
    for support, contrast in found.contrasts.items():
        for word, gains in (("more", [g for g in contrast if g.helps]), ("less", [g for g in contrast if g.harms])):
            if gains:
                named = _list([WORDS.get(gain.outcome, gain.outcome) for gain in gains])
                said.append(f"The parts of {support} together help {named} {word} than the sum of both alone.")
    return said


def _unknown(found: Findings) -> list[str]:
    said = []
    short = [support.support for support in found.supports if support.status == "incomplete"]
    if short:
        unfinished = found.diagnosis.unfinished
        said.append(f"{unfinished} branches have no outcome yet, so there is no gain of {_list(short)}, only bounds.")
    refused = [support.support for support in found.supports if support.status == "unsupported"]
    if refused:
        said.append(f"The system has no interface for {_list(refused)}.")
    return said


def _list(names: Sequence[str]) -> str:
    """Return names as people write them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
