"""One branch of one start, as its records tell it: what came of it, and what was said and given at its interfaces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from labference.records import folder, strict
from labference.records.folder import UNSUPPORTED as UNSUPPORTED
from labference.records.reader import RecordError
from labference.records.strict import DamagedError
from labference.truth.events import Confirmed, Invalidated, Noted
from labference.truth.identity import BENCH_HANDS

from . import choice
from .lent import Carried, carried

FAILURE = "operation_failure"
Status = Literal["scored", "unresolved", "missing", "unsupported"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one branch led to after the handoff.

    choice      the first physical decision was answered with a legal operation
    identified  that decision had an identifiable choice
    subgoal     the operation that was chosen there was physically confirmed, by its own attempt
    completion  valid task completion
    failures    operation failures: the fewer, the better
    chosen      the first choice, None where none was identifiable
    opportunity number of that decision, 0 where none opened
    """

    choice: bool
    identified: bool
    subgoal: bool
    completion: bool
    failures: int
    chosen: dict[str, Any] | None = None
    opportunity: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of a start; `run`, `outcome` and `receipts` are empty unless it is scored.

    receipts  lines of `interfaces.jsonl` at or after the handoff
    sentence  why there is no outcome
    carried   what the bench's hands did after the handoff
    """

    start: int
    support: str
    status: Status
    sentence: str = ""
    path: Path | None = None
    run: dict[str, Any] | None = None
    outcome: Outcome | None = None
    receipts: tuple[dict[str, Any], ...] = ()
    carried: tuple[Carried, ...] = ()

    @property
    def lent(self) -> bool:
        """Return whether the bench's hands carried out what the system asked for; False where it is not scored."""
        return self.run is not None and self.run["identity"].get("hands") == BENCH_HANDS

    def first(self, scope: str) -> dict[str, Any] | None:
        """Return the first thing that was said at the interface of `scope`, None where nothing was."""
        return next((entry for entry in self.receipts if entry["scope"] == scope and entry["said"] is not None), None)

    @property
    def given(self) -> tuple[dict[str, Any], ...]:
        """Return the receipts of support that reached the tested system or its executor."""
        return tuple(entry for entry in self.receipts if entry["supplied"] is not None)


def read_branch(path: Path, start: int, support: str) -> Branch:
    """Return the branch in `path`: its newest finished attempt, or why there is none."""
    try:
        if (path / UNSUPPORTED).exists():
            return Branch(start, support, "unsupported", strict.read(path / UNSUPPORTED)["sentence"])
        attempt = folder.finished(path)
        if attempt is not None:
            return _scored(attempt, start, support)
        tried = folder.attempts(path)
        if not tried:
            return Branch(start, support, "missing", "It has not been run, or its start could not be prepared.")
        return Branch(start, support, "unresolved", _fault(tried[-1]), tried[-1])
    except (DamagedError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} lacks or garbles something: {type(error).__name__}: {error}.") from error


def _scored(attempt: Path, start: int, support: str) -> Branch:
    run, scores = strict.read(attempt / folder.RUN), strict.read(attempt / folder.SCORES)
    handoff = run["handoff"]
    events = strict.read_lines(attempt / folder.EVENTS)
    receipts = [entry for entry in strict.read_lines(attempt / folder.INTERFACES) if entry["tick"] >= handoff]
    found = _outcome(scores["verdict"], events, handoff)
    done = carried(events, receipts, handoff)
    return Branch(start, support, "scored", "", attempt, run, found, tuple(receipts), done)


def _outcome(verdict: dict[str, Any], events: list[dict[str, Any]], handoff: int) -> Outcome:
    """Return what followed the handoff; a decision that never opened counts as none that was answered."""
    opened = [entry for entry in choice.physical(verdict) if _asked(entry, handoff)]
    first: dict[str, Any] = opened[0] if opened else {"opportunity": 0, "choice": None, "correct": None}
    confirmed = {entry["opportunity"] for entry in events if entry["event"] == Confirmed.__name__}
    failed = [entry for entry in events if entry["event"] == Noted.__name__ and entry["category"] == FAILURE]
    return Outcome(
        choice=first["correct"] is True,
        identified=first["choice"] is not None,
        subgoal=first["opportunity"] in confirmed - {0},
        completion=bool(verdict["valid"]),
        failures=sum(entry["tick"] >= handoff for entry in failed),
        chosen=first["choice"],
        opportunity=first["opportunity"],
    )


def _asked(decision: dict[str, Any], handoff: int) -> bool:
    """Return whether a decision was left to the tested system: opened at the handoff or later, or still open there."""
    chosen, closed = decision["chosen"], decision["closed"]
    still = (chosen is None or chosen >= handoff) and (closed is None or closed > handoff)
    return bool(decision["opened"] >= handoff or still)


def _fault(attempt: Path) -> str:
    said = [entry for entry in strict.read_lines(attempt / folder.EVENTS) if entry["event"] == Invalidated.__name__]
    return str(said[-1]["sentence"]) if said else "The attempt was interrupted before it was scored."
