"""The table that answers where a system fails and what would help, and the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from labference.score.branch import Branch
from labference.score.diagnosis import Diagnosis
from labference.score.finding import NAMES, SCOPE, Findings
from labference.score.gain import ERRORS, OUTCOMES, Gain, Support
from labference.score.interfaces import INTERFACES, POSITION_M, Errors, Interface, Skill, Test, errors
from labference.score.pairs import Pairs
from labference.score.rate import Rate

from . import phrases
from .levels import Row, Section

QUESTIONS: dict[Interface, str] = {
    "state": "Does it see the state?",
    "decision": "Does it choose right from the right state?",
    "geometry": "Does it localise?",
    "skill": "Does it execute?",
}
"""The diagnostic questions of the paper's section 6."""
SHOWN = ("choice", "subgoal", "completion")
"""Outcomes of the table that answers; failures are in the numbers below it."""
ABOVE, BELOW, ACROSS, MINUS = "▲", "▼", "○", "−"
EXPLAINED = (
    f"Own test: starts that pass it, 95 % Wilson interval. Gains: paired difference to the base in percentage points, "
    f"95 % bootstrap interval over groups of matched branches: {ABOVE} above zero, {BELOW} below, {ACROSS} includes it."
    " Of twenty such intervals about one misses the truth. Interaction: the gain of both supports together minus the"
    " sum of their own gains."
)
INTERACTING = {
    ABOVE: "together more than the sum",
    BELOW: "together less than the sum",
    ACROSS: "not told from the sum",
}
"""What the sign of an interaction contrast says: the gain of both supports together against the sum of their gains."""
NOTHING = "–"
SILENT = ("unsupported", "untested", "not applicable")
"""Verdicts without a count."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A gain: its sign as a mark, the number, the interval or why there is none, and what the sign means in `words`."""

    mark: str
    value: str
    detail: str
    words: str = ""

    def __str__(self) -> str:
        return f"{self.mark} {self.value} ({self.detail})".strip() if self.value else self.detail

    @property
    def tone(self) -> str:
        """Return the word that colours the cell: good, bad, or nothing."""
        return {ABOVE: "good", BELOW: "bad"}.get(self.mark, "")


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the answer; `name`, `question`, `test` and `verdict` are "" where it only names a further support."""

    name: str
    question: str
    test: str
    verdict: str
    support: str
    cells: tuple[Cell, ...]

    @property
    def tone(self) -> str:
        """Return the word that colours the verdict."""
        return {"passes": "good", "fails": "bad"}.get(self.verdict, "")


def answers(found: Findings) -> tuple[Line, ...]:
    """Return the one table: an interface a row with what supports it, then joint supports and their interaction."""
    lines: list[Line] = []
    for interface in INTERFACES:
        test = found.tests.of(interface)
        own = [entry for entry in found.supports if entry.support.partition(":")[0] == SCOPE[interface]]
        single = sorted(
            (entry for entry in own if "+" not in entry.support), key=lambda entry: "assist" in entry.support
        )
        named: tuple[str, str, str, str] = (NAMES[interface], QUESTIONS[interface], _tested(test), test.verdict)
        if not single:
            words = "not registered" if test.applicable else "not applicable"
            lines.append(Line(*named, "", tuple(Cell("", "", words) for _ in SHOWN)))
        for number, support in enumerate(single):
            lines.append(
                Line(*(named if number == 0 else ("", "", "", "")), phrases.support(support.support), _cells(support))
            )
    for number, support in enumerate(entry for entry in found.supports if "+" in entry.support):
        named = ("jointly", "", "", "") if number == 0 else ("", "", "", "")
        lines.append(Line(*named, phrases.support(support.support), _cells(support)))
        contrast = found.contrasts.get(support.support)
        if contrast:
            cells = tuple(interaction_cell(entry) for entry in contrast if entry.outcome in SHOWN)
            lines.append(Line("", "", "", "", "their interaction", cells))
    return tuple(lines)


def gain_cell(gain: Gain) -> Cell:
    """Return a gain as text: percentage points, or failures per start."""
    write = _number if gain.outcome in ERRORS else _points
    if gain.value is not None and gain.interval is not None:
        mark = ABOVE if gain.helps else BELOW if gain.harms else ACROSS
        return Cell(mark, write(gain.value), f"{write(gain.interval.low)} to {write(gain.interval.high)}")
    known = f"{gain.complete}/{gain.registered} pairs"
    if gain.bounds is None:
        return Cell("", "", f"incomplete, {known}")
    return Cell("", "", f"{write(gain.bounds.low)} to {write(gain.bounds.high)}, {known}")


def interaction_cell(gain: Gain) -> Cell:
    """Return an interaction contrast, and in words what its sign says."""
    found = gain_cell(gain)
    return replace(found, words=INTERACTING.get(found.mark, ""))


def numbers(systems: Sequence[Findings]) -> tuple[Section, ...]:
    """Return everything that was measured, one column per system."""
    made = (
        Section("Starts", tuple(_starts(systems))),
        Section("Base branch, first decision after the handoff", tuple(_base(systems))),
        Section("Pairs", tuple(_pairs(systems))),
        Section("Interfaces, each tested on its own", tuple(_interfaces(systems))),
        *_gains(systems),
        *_interactions(systems),
        Section("Delivery", tuple(_delivery(systems))),
    )
    return tuple(section for section in made if section.rows)


def labels(systems: Sequence[Findings]) -> list[str]:
    """Return the names of the tested systems, told apart."""
    return phrases.distinct([(found.diagnosis.system, found.diagnosis.path) for found in systems])


def conditions(diagnosis: Diagnosis) -> dict[str, str]:
    """Return what was registered and run, in words."""
    registered, identity = diagnosis.registration, diagnosis.identity
    kinds = [pair.kind for pair in registered.pairs]
    named = {
        "Task": f"{registered.task}, version {registered.version}",
        "Registration": registered.sha256,
        "Split": registered.split,
        "Tested system": identity.get("policy", diagnosis.policy),
        "Instances": registered.instances or "all strata",
        "Starts": len(registered.starts),
        "Pairs": f"{kinds.count('state')} that change the answer, {kinds.count('geometry')} that move it",
        "Prefix": f"{registered.operations} operations of the reference executor",
        "Budget": f"{registered.budget} control steps after the handoff",
        "Branches": ", ".join(map(phrases.support, registered.branches)),
        "Seeds": f"campaign {registered.campaign}, policy {registered.policy_seed}",
        "Observations": identity.get("sensors", "not yet known"),
        "History": identity.get("history", "not yet known"),
        "Laboratory": registered.fidelity,
        "Physics": identity.get("physics", "not yet known"),
        "Assets": identity.get("assets", "not yet known"),
        "Task file": registered.contract,
        "Evaluation version": identity.get("evaluation", "not yet known"),
    }
    return {name: str(value) for name, value in named.items()}


def branch_words(branch: Branch) -> str:
    """Return how a branch ended, in words."""
    if branch.outcome is None:
        return f"{branch.status}: {branch.sentence}"
    found = branch.outcome
    words = [
        "choice correct" if found.choice else "choice wrong" if found.identified else "no identifiable choice",
        "subgoal confirmed" if found.subgoal else "subgoal not confirmed",
        "completed" if found.completion else "not completed",
    ]
    return ", ".join(words) + (f", {found.failures} failures" if found.failures else "")


def _tested(test: Test) -> str:
    if not test.registered and test.applicable:
        return f"no branch {phrases.support(test.source)}"
    if test.sentence:
        return test.sentence
    return f"{test.passed}" + (f", {test.missing} missing" if test.missing else "")


def _cells(support: Support) -> tuple[Cell, ...]:
    if support.status == "unsupported":
        return tuple(Cell("", "", "unsupported") for _ in SHOWN)
    return tuple(gain_cell(entry) for entry in support.gains if entry.outcome in SHOWN)


def _points(value: float) -> str:
    """Return a difference of rates in percentage points; no sign stands before nothing."""
    rounded = round(100 * value)
    return f"{rounded:+d}".replace("-", MINUS) if rounded else "0"


def _number(value: float) -> str:
    return f"{value:+.2f}".replace("-", MINUS) if round(value, 2) else "0"


def _row(label: str, meaning: str, systems: Sequence[Findings], cell: Callable[[Findings], object]) -> Row:
    return Row(label, meaning, tuple(str(cell(found)) for found in systems))


def _starts(systems: Sequence[Findings]) -> Iterator[Row]:
    yield _row("registered", "fixed denominator", systems, lambda f: len(f.diagnosis.registration.starts))
    if any(found.diagnosis.unfinished for found in systems):
        yield _row("base missing", "of registered starts", systems, lambda f: f.missing)
        yield _row("branches missing", "of all registered branches", systems, _unfinished)


def _unfinished(found: Findings) -> str:
    return f"{found.diagnosis.unfinished}/{len(found.diagnosis.branches)}"


def _base(systems: Sequence[Findings]) -> Iterator[Row]:
    yield _row("B_next", "correct, of starts", systems, lambda f: f.correct)
    yield _row("C_id", "identified, of starts", systems, lambda f: f.identified)
    yield _row("subgoal", "choice confirmed, of starts", systems, lambda f: f.subgoal)
    yield _row("completion", "valid, of starts", systems, _completion)


def _completion(found: Findings) -> str:
    return phrases.bounds(found.completed) if found.missing else str(found.completion)


def _pairs(systems: Sequence[Findings]) -> Iterator[Row]:
    if any(found.state_pairs.bounds for found in systems):
        yield _row("P_state", "both choices correct, of pairs", systems, lambda f: _paired(f.state_pairs))
    if any(found.geometry_pairs.bounds for found in systems):
        yield _row("moved", "chosen and confirmed in both poses", systems, lambda f: _paired(f.geometry_pairs))
        yield _row("· located", "right target in both poses, of pairs", systems, lambda f: _paired(f.moved.located))
    if any(found.moved.one for found in systems):
        yield _row("· e_p, moved", "median, 90 % in each pose [mm]", systems, _positions)
        yield _row("· e_v, moved", "median, 90 % in both poses [°]", systems, _axes)


def _positions(found: Findings) -> str:
    one, two = (_spread(errors(values), 1000.0, "") for values in (found.moved.one, found.moved.two))
    return f"{one}; {two}" if found.moved.one else NOTHING


def _axes(found: Findings) -> str:
    return _spread(errors(found.moved.axes), math.degrees(1), "")


def _paired(pairs: Pairs) -> str:
    if pairs.bounds is None:
        return NOTHING
    return phrases.bounds(pairs.bounds) if pairs.bounds.unresolved else str(pairs.correct)


def _interfaces(systems: Sequence[Findings]) -> Iterator[Row]:
    meanings = {
        "state": "every fact right, base",
        "decision": "legal from the correct state",
        "geometry": f"all targets within {1000 * POSITION_M:g} mm",
        "skill": "E_fixed: given subgoal confirmed",
    }
    if any(found.diagnosis.lent for found in systems):
        meanings["skill"] = "each kind did what it is for, the first time"
    for interface in INTERFACES:
        yield _row(NAMES[interface], meanings[interface], systems, partial(_verdict, interface=interface))
        if interface == "state":
            yield from _fields(systems)
        if interface == "geometry":
            yield from _errors(systems)
        if interface == "skill":
            yield from _skills(systems)


def _verdict(found: Findings, interface: Interface) -> str:
    test = found.tests.of(interface)
    return test.verdict if test.verdict in SILENT else f"{test.verdict}: {_tested(test)}"


def _skills(systems: Sequence[Findings]) -> Iterator[Row]:
    """Yield what the bench's hands did with the numbers of each system, by kind of operation."""
    skills = [found.tests.skill for found in systems]
    for kind in dict.fromkeys(kind for skill in skills if skill for kind in skill.kinds):
        cells = (str(skill.kinds.get(kind, NOTHING)) if skill else NOTHING for skill in skills)
        yield Row(f"· {phrases.plain(kind)}", "did what it is for, of starts", tuple(cells))
    if any(skill and skill.doses for skill in skills):
        yield Row("· first dose", "stated / needed; 10 %, median, 90 %", tuple(map(_doses, skills)))


def _doses(skill: Skill | None) -> str:
    if skill is None or skill.doses is None:
        return NOTHING
    doses = skill.doses
    return f"{doses.low:.2f}, {doses.median:.2f}, {doses.high:.2f} (n = {doses.count})"


def _fields(systems: Sequence[Findings]) -> Iterator[Row]:
    states = [found.tests.state for found in systems]
    for kind in dict.fromkeys(kind for state in states if state for kind in state.fields):
        cells = (str(state.fields.get(kind, NOTHING)) if state else NOTHING for state in states)
        yield Row(f"· {kind}", "facts right, of facts", tuple(cells))
    if any(state and state.readout for state in states):
        cells = (_spread(state.readout, 1.0, "") if state else NOTHING for state in states)
        yield Row("· readout error", "median, 90 % [instrument's unit]", tuple(cells))
    if any(state and state.extra for state in states):
        yield Row("· extra facts", "stated, but there are none", tuple(str(s.extra) if s else NOTHING for s in states))


def _errors(systems: Sequence[Findings]) -> Iterator[Row]:
    found = [entry.tests.geometry for entry in systems]
    rows = (
        ("· e_p items", "median, 90 % [mm]", [(entry.items, 1000.0) if entry else None for entry in found]),
        (
            "· to place",
            "region or mouth; median, 90 % [mm]",
            [(entry.places, 1000.0) if entry else None for entry in found],
        ),
        ("· e_v axes", "median, 90 % [°]", [(entry.axes, math.degrees(1)) if entry else None for entry in found]),
    )
    for name, meaning, values in rows:
        if any(value and value[0] for value in values):
            yield Row(name, meaning, tuple(_spread(*value, "") if value else NOTHING for value in values))
    if any(found):
        invalid = [str(entry.invalid) if entry else NOTHING for entry in found]
        unstated = [str(entry.unstated) if entry else NOTHING for entry in found]
        yield Row("· invalid", "of targets stated", tuple(invalid))
        yield Row("· not stated", "of targets needed", tuple(unstated))


def _spread(errors: Errors | None, scale: float, unit: str) -> str:
    if errors is None:
        return NOTHING
    return f"{errors.median * scale:.1f}, {errors.most * scale:.1f}{unit} (n = {errors.count})"


def _gains(systems: Sequence[Findings]) -> Iterator[Section]:
    for name in dict.fromkeys(support.support for found in systems for support in found.supports):
        rows = [
            _row(_outcome(outcome), _unit(outcome), systems, partial(_gain, support=name, outcome=outcome))
            for outcome in OUTCOMES
        ]
        yield Section(f"Gain with {phrases.support(name)}", tuple(rows))


def _interactions(systems: Sequence[Findings]) -> Iterator[Section]:
    for name in dict.fromkeys(name for found in systems for name in found.contrasts):
        rows = [
            _row(_outcome(outcome), _unit(outcome), systems, partial(_interaction, support=name, number=number))
            for number, outcome in enumerate(OUTCOMES)
        ]
        yield Section(f"Interaction in {phrases.support(name)}: together minus the sum", tuple(rows))


def _outcome(name: str) -> str:
    return "failures avoided" if name in ERRORS else name


def _unit(name: str) -> str:
    return "per start, base minus supported" if name in ERRORS else "percentage points, of matched starts"


def _gain(found: Findings, support: str, outcome: str) -> str:
    entry = found.support(support)
    if entry is None:
        return NOTHING
    gain = entry.gain(outcome)
    return "unsupported" if gain is None else str(gain_cell(gain))


def _interaction(found: Findings, support: str, number: int) -> str:
    entry = found.contrasts.get(support)
    return NOTHING if entry is None else str(gain_cell(entry[number]))


def _delivery(systems: Sequence[Findings]) -> Iterator[Row]:
    names = dict.fromkeys(support.support for found in systems for support in found.supports)
    for name in names:
        yield _row(phrases.support(name), "branches with support, receipts", systems, partial(_delivered, support=name))
    for name in names:
        if "decision" in name:
            yield _row(
                f"{phrases.support(name)}: taken",
                "first choice is the one given",
                systems,
                partial(_agreement, support=name),
            )


def _delivered(found: Findings, support: str) -> str:
    entry = found.support(support)
    if entry is None or entry.status == "unsupported":
        return NOTHING if entry is None else "unsupported"
    return f"{entry.delivered.count}/{entry.delivered.population}, {entry.receipts}"


def _agreement(found: Findings, support: str) -> Rate | str:
    entry = found.support(support)
    return NOTHING if entry is None or entry.agreement is None else entry.agreement
