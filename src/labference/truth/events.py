"""Confirmed facts and their consequences, one frozen class each; together they are the lines of `events.jsonl`."""

from __future__ import annotations

from dataclasses import dataclass

from labference.wire import Operation


@dataclass(frozen=True, slots=True)
class Grasped:
    """Both finger pads closed on `item`, which last rested at `origin`: the start of a numbered attempt."""

    tick: int
    item: str
    origin: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Released:
    """The gripper was opened and nothing of the robot touches `item` any more."""

    tick: int
    item: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """`item` left the gripper although the gripper was told to stay closed."""

    tick: int
    item: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Settled:
    """`item` is at rest at `place`, released and slow for the settling time.

    `attempt` is the attempt that put it there, 0 when it was moved without being grasped.
    """

    tick: int
    item: str
    place: str
    origin: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Lifted:
    """Nothing but the robot carries `item` any more: the grasp holds."""

    tick: int
    item: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Entered:
    """`item`, in the hand, was directed into the socket `place` and into no other."""

    tick: int
    item: str
    place: str


@dataclass(frozen=True, slots=True)
class Approached:
    """The open hand descended, sustained and aimed, towards the local slot `place`, before any contact."""

    tick: int
    place: str


@dataclass(frozen=True, slots=True)
class Withdrew:
    """The empty hand is clear of everything that stands on the bench."""

    tick: int


@dataclass(frozen=True, slots=True)
class Returned:
    """The hand is no longer clear of what stands on the bench, or holds something."""

    tick: int


@dataclass(frozen=True, slots=True)
class Hidden:
    """An environment transition began: the environment has control, operation recognition pauses."""

    tick: int


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The environment rebuilt free bodies; they are of this `generation` now."""

    tick: int
    generation: int


@dataclass(frozen=True, slots=True)
class Revealed:
    """The environment transition ended: the tested system has control and is shown the scene again."""

    tick: int
    generation: int


@dataclass(frozen=True, slots=True)
class Fell:
    """`item` left the bench."""

    tick: int
    item: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Pressed:
    """The robot touches `surface`."""

    tick: int
    surface: str


@dataclass(frozen=True, slots=True)
class Freed:
    """The robot no longer touches `surface`."""

    tick: int
    surface: str


@dataclass(frozen=True, slots=True)
class Steadied:
    """`instrument` shows a stable `value` [its unit]."""

    tick: int
    instrument: str
    value: float


@dataclass(frozen=True, slots=True)
class Disturbed:
    """`instrument` no longer shows a stable value."""

    tick: int
    instrument: str


@dataclass(frozen=True, slots=True)
class Faulted:
    """`instrument` left its working state; `source` says what is at fault."""

    tick: int
    instrument: str
    status: str
    source: str


@dataclass(frozen=True, slots=True)
class Restored:
    """`instrument` is back in its working state."""

    tick: int
    instrument: str


@dataclass(frozen=True, slots=True)
class Completed:
    """The terminal predicate has held without interruption for the registered duration."""

    tick: int


@dataclass(frozen=True, slots=True)
class DwellBroken:
    """The terminal predicate failed after holding for `held` ticks; its timer restarts."""

    tick: int
    held: int


@dataclass(frozen=True, slots=True)
class Violated:
    """An irreversible safety or protocol `rule` was broken: completion stays invalid."""

    tick: int
    rule: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A decision opportunity opened when observation `observation` delivered its evidence."""

    tick: int
    opportunity: int
    evidence: int
    observation: int
    deadline: int
    legal: tuple[Operation, ...]
    physical: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """The first identifiable choice of an opportunity, frozen."""

    tick: int
    opportunity: int
    operation: Operation
    correct: bool
    track: str


@dataclass(frozen=True, slots=True)
class Revised:
    """A later, different choice within the same opportunity; the first one stands."""

    tick: int
    opportunity: int
    operation: Operation
    track: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The physical subgoal of `operation` was confirmed; `opportunity` is the one whose first choice it was, or 0."""

    tick: int
    operation: Operation
    opportunity: int


@dataclass(frozen=True, slots=True)
class Deviated:
    """`item` came to rest at `place` although the attempt was directed at `intended`."""

    tick: int
    item: str
    intended: str
    place: str


@dataclass(frozen=True, slots=True)
class Closed:
    """An opportunity ended: by new evidence, by its deadline, or with the episode."""

    tick: int
    opportunity: int
    because: str


@dataclass(frozen=True, slots=True)
class Noted:
    """An event category of the paper: premature_advancement, needless_repetition, early_termination, recovery,
    operation_failure, late_choice, late_report or unbound_report.
    """

    tick: int
    category: str
    operation: Operation | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The tested system declared the task finished."""

    tick: int


@dataclass(frozen=True, slots=True)
class Performed:
    """The tested system let the bench carry out `operation`: the recognised choice, whatever comes of it."""

    tick: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Finished:
    """The bench has ended an operation that it carried out; `done` says whether its subgoal was confirmed."""

    tick: int
    operation: Operation
    done: bool


@dataclass(frozen=True, slots=True)
class Tilted:
    """`item`, which holds liquid, leans over `vessel`: the choice to pour, before anything flows."""

    tick: int
    item: str
    vessel: str


@dataclass(frozen=True, slots=True)
class Transferred:
    """`grams` [g] went from `source` into `vessel`, and nothing has flowed since for a second."""

    tick: int
    source: str
    vessel: str
    grams: float


@dataclass(frozen=True, slots=True)
class Spilt:
    """`grams` [g] landed in no vessel, and nothing has flowed since for a second."""

    tick: int
    grams: float


@dataclass(frozen=True, slots=True)
class Immersed:
    """The tip of `probe` entered the liquid in `vessel`."""

    tick: int
    probe: str
    vessel: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The tip of `probe` left the liquid in `vessel`."""

    tick: int
    probe: str
    vessel: str


@dataclass(frozen=True, slots=True)
class Rinsed:
    """`probe` was in rinse water for long enough."""

    tick: int
    probe: str


@dataclass(frozen=True, slots=True)
class Measured:
    """`meter` showed `ph` and `ec` [uS/cm] of the liquid in `vessel`: once they had `settled`, or when the probe left
    before they had.
    """

    tick: int
    meter: str
    vessel: str
    ph: float
    ec: float
    settled: bool


@dataclass(frozen=True, slots=True)
class Weighed:
    """The balance `cell` has shown `grams` [g], stable and valid, for a second without moving by more than a digit."""

    tick: int
    cell: str
    grams: float


@dataclass(frozen=True, slots=True)
class Tared:
    """The balance `cell` was told to show its load as zero, and does."""

    tick: int
    cell: str


@dataclass(frozen=True, slots=True)
class Stirred:
    """A tool was moved in the liquid in `vessel` for long enough."""

    tick: int
    vessel: str


Handled = Grasped | Lifted | Released | Dropped | Settled | Fell
Sensed = Pressed | Freed | Steadied | Disturbed | Faulted | Restored
Staged = Hidden | Rebuilt | Revealed
Recognised = Entered | Approached | Withdrew | Returned
Flowed = Tilted | Transferred | Spilt | Immersed | Withdrawn | Rinsed | Measured | Weighed | Tared | Stirred
Lent = Performed | Finished
Physical = Handled | Sensed | Staged | Recognised | Flowed | Lent
Judged = (
    Completed | DwellBroken | Violated | Opened | Chosen | Revised | Confirmed | Deviated | Closed | Noted | Stopped
)


@dataclass(frozen=True, slots=True)
class Refused:
    """The tested system's answer could not be used: an interface failure of the given `kind`, scored."""

    tick: int
    kind: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Invalidated:
    """Service, sensor, simulator or disk failed: a validity event; the episode is unresolved."""

    tick: int
    cause: str
    sentence: str


Administrative = Refused | Invalidated
Event = Physical | Judged | Administrative
