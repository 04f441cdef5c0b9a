"""What each tool does with an episode under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from labference.motion import Arm, Unreachable
from labference.records.strict import plain
from labference.wire import (
    Execute,
    Fact,
    Frame,
    GeometryReport,
    Move,
    Operation,
    Parameter,
    Perform,
    Report,
    RobotState,
    Script,
    StateReport,
    Stop,
    Target,
    Wait,
)

from .eyes import MICRO, frame_of, query, rounded
from .hands import MOTIONS, script
from .helper import Helper
from .seat import Seat
from .terms import Terms
from .tools import ToolError

Found = dict[str, Any]


class Work:
    """Do what checked calls ask for, at a seat."""

    def __init__(self, seat: Seat, terms: Terms, helper: Helper | None, offered: tuple[str, ...]) -> None:
        self._offered = offered
        self._seat = seat
        self._terms = terms
        self._helper = helper
        self._tools: dict[str, Callable[[Found], Found]] = {
            "goal": lambda given: self.goal(),
            "observe": self._observe,
            "report_state": self._report_state,
            "report_choice": self._report_choice,
            "report_geometry": self._report_geometry,
            "commit": self._commit,
            "geometry": lambda given: query(self._seen(), self._seat.session.goal, given),
            "vla": self._vla,
            "perform": self._perform,
            "wait": self._wait,
            "finish": lambda given: self._finish(),
        }

    def do(self, name: str, given: Found) -> Found:
        """Carry out a tool with checked arguments; raises what the seat raises, and `ToolError`."""
        if name in MOTIONS:
            how = given.pop("on_evidence", "stop")
            return self._carry_out(script(name, self._arm, self._seat.observation, given), how)
        return self._tools[name](given)

    def goal(self) -> Found:
        """Return what is asked, and under which terms."""
        goal, spec = self._seat.session.goal, self._seat.session.spec
        return {
            **plain(goal),
            "cameras": list(self._cameras()),
            "depth": self._terms.depth,
            "control_rate_hz": spec.rate_hz,
            "tools": list(self._offered),
            "limits": {name: value for name, value in asdict(self._terms.limits).items()},
        }

    @property
    def _told(self) -> bool:
        """Return whether the agent is told what the data ports say."""
        return self._terms.reads(lent=self._seat.session.capabilities.performs)

    @cached_property
    def _arm(self) -> Arm:
        """Return the kinematics of the arm; who lets the bench carry things out never needs them."""
        return Arm(self._seat.session.spec)

    def _cameras(self) -> tuple[str, ...]:
        """Return the cameras that the agent is shown, without those that only the policy behind vla sees."""
        delivered = self._seat.session.capabilities.cameras
        wanted = self._terms.cameras
        return delivered if wanted is None else tuple(name for name in delivered if name in wanted)

    def _seen(self) -> Any:
        """Return the last senses with frames, as far as the agent is shown them."""
        senses = self._seat.seen
        if senses is None:
            return None
        frames = (frame for frame in senses.frames if frame.camera in self._cameras())
        return replace(
            senses, frames=tuple(frame if self._terms.depth else replace(frame, depth=None) for frame in frames)
        )

    def _observe(self, given: Found) -> Found:
        cameras = tuple(given.get("cameras", self._cameras()))
        for camera in cameras:
            if camera not in self._cameras():
                raise ToolError(f"observe: there is no camera {camera!r}; {_listed(self._cameras())} would work.")
        if given.get("depth") and not self._terms.depth:
            raise ToolError("observe: depth is not delivered in this episode; depth false would work.")
        senses = self._seat.glance().senses if cameras else self._seat.observation.senses
        found: Found = {"robot": _robot(senses.robot)}
        if self._told:
            found["readings"] = plain(senses.readings)
        shown = self._seen()
        found["images"] = {name: _image(frame_of(shown, name), bool(given.get("depth"))) for name in cameras}
        return found

    def _report_state(self, given: Found) -> Found:
        return self._state(StateReport(tuple(Fact(name, value) for name, value in given["facts"].items())))

    def _report_choice(self, given: Found) -> Found:
        return self._state(Report(_operation(given)))

    def _report_geometry(self, given: Found) -> Found:
        targets = tuple(
            Target(entry["name"], _three(entry["position"]), _three(entry["axis"])) for entry in given["targets"]
        )
        return self._state(GeometryReport(_operation(given), targets))

    def _state(self, act: StateReport | Report | GeometryReport | Execute) -> Found:
        self._seat.answer(act)
        return {}

    def _commit(self, given: Found) -> Found:
        operation = _operation(given)
        self._seat.admit(Report(operation))
        self._seat.commits = operation
        return {"commits": str(operation)}

    def _wait(self, given: Found) -> Found:
        began, version = self._seat.observation.senses.time, self._seat.notice.evidence
        observation = self._seat.answer(Wait(float(given["seconds"]), look=False))
        waited = round(observation.senses.time - began, MICRO)
        return {"waited_s": waited, "interrupted": self._seat.notice.evidence != version}

    def _perform(self, given: Found) -> Found:
        """Let the bench carry out an operation; what it led to is for the instruments to say."""
        seat = self._seat
        began, version = seat.observation.senses.time, seat.notice.evidence
        numbers = tuple(Parameter(name, float(value)) for name, value in given.get("parameters", {}).items())
        act = seat.admit(Perform(_operation(given), numbers))
        if isinstance(act, Stop):
            return self._finish()
        assert isinstance(act, Perform)  # admitted as it is, with its defaults
        senses = seat.answer(act).senses
        late = seat.notice.late
        found: Found = {
            "carried_out": not late,
            "operation": plain(act.operation),
            "parameters": {parameter.name: parameter.value for parameter in act.parameters},
            "took_s": round(senses.time - began, MICRO),
            "new_evidence": seat.notice.evidence != version,
            "opening": round(float(senses.robot.opening), MICRO),
        }
        return found | ({"readings": plain(senses.readings)} if self._told else {})

    def _finish(self) -> Found:
        """Stop; the summary is kept in the record of the call."""
        self._seat.finish()
        return {}

    def _carry_out(self, motion: Script[Found], how: str) -> Found:
        """Let a script run to its end, or to new evidence; say how much of it was carried out."""
        seat, tally = self._seat, Tally()
        found: Found = {}
        try:
            act = next(motion)
            while True:
                version = seat.notice.evidence
                observation = seat.answer(act)
                fresh = tally.add(act, seat, version)
                act = motion.send(observation)
                tally.interrupted |= fresh
                if seat.notice.late or (fresh and how == "stop"):
                    motion.close()
                    break
        except StopIteration as end:
            tally.finished, found = True, end.value
        except Unreachable as error:
            raise ToolError(f"{error} {tally.applied} commands were carried out before.", bad=False) from error
        return {**tally.told(), **found, "robot": _hand(seat.observation.senses.robot)}

    def _vla(self, given: Found) -> Found:
        """Let the policy behind the tool answer observations until it stops, or has answered often enough."""
        seat, tally, helper = self._seat, Tally(), self._helper
        if helper is None:
            raise ToolError("There is no policy behind vla in this episode.")
        helper.begin(replace(seat.session.goal, instruction=given["instruction"]), seat.session.spec)
        observation, chunks = seat.glance(), 0
        for _ in range(given.get("max_chunks", 1)):
            version = seat.notice.evidence
            act = helper.act(observation)
            if isinstance(act, Stop):
                tally.finished = True
                break
            observation = seat.answer(act)
            chunks += 1
            fresh = tally.add(act, seat, version)
            tally.interrupted |= fresh
            if seat.notice.late or (fresh and given.get("on_evidence", "stop") == "stop"):
                break
        return {"chunks": chunks, **tally.told(), "robot": _hand(seat.observation.senses.robot)}


class Tally:
    """Count what was sent and what reached the robot during one call."""

    def __init__(self) -> None:
        self.sent = self.applied = 0
        self.finished = self.interrupted = False

    def add(self, act: object, seat: Seat, version: int) -> bool:
        """Count an act that was answered; return whether new evidence came since `version`."""
        if isinstance(act, Move):
            self.sent += len(act.commands)
            self.applied += seat.notice.applied
        return seat.notice.evidence != version

    def told(self) -> Found:
        """Return the counts as a reply holds them."""
        return {
            "finished": self.finished,
            "interrupted": self.interrupted,
            "sent": self.sent,
            "applied": self.applied,
        }


def _operation(given: Found) -> Operation:
    return Operation(given["kind"], given.get("item", ""), given.get("place", ""))


def _three(values: Any) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _hand(robot: RobotState) -> Found:
    """Return where the hand is and how far it is open."""
    return {"tcp": rounded(robot.tcp), "opening": round(float(robot.opening), MICRO)}


def _robot(robot: RobotState) -> Found:
    """Return the proprioception: joints [rad], velocities [rad/s], pose and opening [m], command in force."""
    return {
        "joints": rounded(robot.joints),
        "velocities": rounded(robot.velocities),
        **_hand(robot),
        "command": rounded(robot.command),
    }


def _image(frame: Frame, depth: bool) -> Found:
    """Return a frame with its calibration; depth counts tenths of a millimetre."""
    shown: Found = {"rgb": frame.rgb}
    if depth and frame.depth is not None:
        shown["depth"] = frame.depth
    return {
        **shown,
        "intrinsics": [rounded(row) for row in frame.intrinsics],
        "pose": [rounded(row) for row in frame.pose],
        "acquired": round(frame.acquired, MICRO),
    }


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names)) or "none"
