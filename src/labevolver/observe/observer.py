"""The Observer's state tracking: s' = U(s, a, y), from data ports and robot feedback.

Nothing of the laboratory's truth is read: what an action did is inferred from how the readings changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from labference.wire import Goal, Observation, Reading

from ..belief import FEEDBACK, IN_VAIN, PORT, TIMES, TRACKING, UNKNOWN, At, Belief, Known, Thing
from ..skills.atomic import BALANCE, BEAKER, PROBE, ROD, Action, tubes_of
from .detector import Detection, Detector, NoDetector, Seen, kind_of

HOLDS_M = 0.06
"""A gripper that stays closer than this after a grasp holds something [m]."""
CLOSED_M = 0.005
"""One that closed further than this found nothing [m]: the probe's handle is 22 mm wide."""
OPENS_M = 0.008
"""One that opened by this while it put something back has let go [m]: the arm opens by 16 mm, as far as it must."""
LEAST_G = 0.05
"""Change of the balance from which something was added [g]: half of its digit."""
PH, EC, TEMPERATURE = "meter pH", "meter EC", "meter T"
QUANTITIES = {"ph": PH, "ec": EC, "temperature": TEMPERATURE}
"""Fields of a liquid, and the data ports that tell them."""
ADDED, UNSETTLED, UNMIXED = "something was added since", "the reading had not settled", "it was not stirred since"
MIXES = "it changed when something was added"


class Observer:
    """Builds a belief from the first observation of a trial, and carries it through the actions of the trial."""

    def __init__(self, detector: Detector | None = None) -> None:
        self.detector: Detector = detector or NoDetector()
        self.seen = Seen()
        """What the detector made of the first observation."""

    def initial(self, observation: Observation) -> Belief:
        """Return s_0: identify what the goal names, localise what is seen, and read what the instruments show.

        Raises `ValueError` where the detector cannot use the frames.
        """
        goal, time = observation.goal, observation.senses.time
        things = {name: Thing(kind, None, fields) for name, kind, fields in _named(goal, time)}
        if self.detector.cameras:
            wanted = tuple(dict.fromkeys((*things, *goal.items, *goal.places)))
            self.seen = self.detector.detect(observation.senses.frames, wanted)
            things = _seen(things, self.seen, wanted, self.detector.name, time)
        empty = observation.senses.robot.opening >= HOLDS_M
        hand = Known("" if empty else None, source=FEEDBACK, time=time, stale="" if empty else "it holds something")
        belief = self._read(Belief(time, {"hand": hand}, things), observation)
        belief = _weighed(belief, time)
        return belief.with_thing(BEAKER, first_g=belief.known(BEAKER, "grams"))

    def update(self, belief: Belief, done: Action, observation: Observation) -> Belief:
        """Return the state after an action was carried out and `observation` came back; where nothing of it changed,
        the hand's `in_vain` says what was done, and how often in a row.
        """
        after = self._tracked(belief, done, observation)
        if _told(after) != _told(belief):
            return after.without_agent(IN_VAIN, TIMES)
        times = belief.agent.get(TIMES, UNKNOWN).value if belief.agent.get(IN_VAIN, UNKNOWN).value == str(done) else 0
        count = 1 + (times if isinstance(times, int) else 0)
        return after.with_agent(**{IN_VAIN: Known(str(done), time=after.time), TIMES: Known(count, time=after.time)})

    def _tracked(self, belief: Belief, done: Action, observation: Observation) -> Belief:
        time, before = observation.senses.time, belief.number(BEAKER, "shown_g")
        was, now = belief.agent.get("opening", UNKNOWN).value, observation.senses.robot.opening
        belief = self._read(belief, observation)
        match done.kind:
            case "pick" | "take_probe":
                taken = done.item if CLOSED_M < now < HOLDS_M else ""
                belief = belief.taken(taken)
                belief = belief.with_agent(hand=Known(taken if not belief.hand else belief.hand, "", FEEDBACK, time))
            case "place" | "return_probe":
                opened = isinstance(was, float) and now - was >= OPENS_M
                left = belief.hand if now < HOLDS_M and not opened else ""
                belief = belief.with_agent(hand=Known(left, "", FEEDBACK, time))
            case "tare":
                belief = _tared(belief, time)
            case "stir":
                belief = belief.taken(ROD).with_thing(BEAKER, mixed=Known(True, time=time))
            case "measure":
                belief = self._measured(belief, time)
            case "rinse_probe":
                belief = belief.with_thing(PROBE, coat=Known("water", time=time))
            case _:
                pass
        belief = _weighed(belief, time)
        return _poured(belief, done, before, time) if done.kind == "pour" else belief

    def _read(self, belief: Belief, observation: Observation) -> Belief:
        time, robot = observation.senses.time, observation.senses.robot
        readings: dict[str, Known] = {}
        for reading in observation.senses.readings:
            readings[reading.instrument] = _known(reading)
            readings[f"steady {reading.instrument}"] = Known(reading.stable, "", PORT, reading.time)
        belief = belief.with_readings(time, readings)
        return belief.with_agent(opening=Known(float(robot.opening), "m", FEEDBACK, time))

    def _measured(self, belief: Belief, time: float) -> Belief:
        """Take a reading of the beaker: it counts if it had settled in a stirred liquid."""
        steady = all(_steady(belief.readings, port) for port in QUANTITIES.values())
        stale = "" if steady else UNSETTLED
        if not stale and belief.known(BEAKER, "mixed").value is not True:
            stale = UNMIXED
        fields = {
            name: replace(belief.readings[port], stale=belief.readings[port].stale or stale)
            for name, port in QUANTITIES.items()
            if port in belief.readings
        }
        coat = Known("beaker", time=time)
        return belief.with_thing(BEAKER, **fields).with_thing(PROBE, coat=coat)


def _told(belief: Belief) -> dict[str, object]:
    """Return what counts of hand and things, without times."""
    held = belief.agent.get("hand", UNKNOWN)
    told: dict[str, object] = {"hand": (held.value, held.stale)}
    for name, thing in belief.things.items():
        told |= {f"{name}.{key}": (each.value, each.stale) for key, each in thing.fields.items()}
    return told


def _named(goal: Goal, time: float) -> list[tuple[str, str, dict[str, Known]]]:
    """Return name, kind and first fields of everything that a goal names."""
    known: list[tuple[str, str, dict[str, Known]]] = []
    for tube in tubes_of(goal):
        known.append((tube, "tube", {"poured_g": Known(0.0, "g", TRACKING, time), "empty": Known(False, time=time)}))
    known.append((BEAKER, "vessel", {"additions": Known(0, time=time), "mixed": Known(True, time=time)}))
    if PROBE in goal.items:
        known.append((PROBE, "tool", {"coat": Known("water", time=time)}))
    if ROD in goal.items:
        known.append((ROD, "tool", {}))
    return known


def _seen(things: dict[str, Thing], seen: Seen, wanted: tuple[str, ...], source: str, time: float) -> dict[str, Thing]:
    """Return things with what was detected of them: a pose, and whether they were seen at all."""
    made = dict(things)
    for name in wanted:
        found, thing = seen.named(name), made.get(name) or Thing(kind_of(name))
        fields = {"seen": Known(found is not None, "", source, time)}
        if found is not None:
            fields |= _attributes(found, source, time)
        at = None
        if found is not None and found.pose is not None:
            at = At(found.pose.position, found.pose.axis, source, time, found.pose.ends)
        made[name] = replace(thing, at=at, fields={**thing.fields, **fields})
    return made


def _attributes(found: Detection, source: str, time: float) -> dict[str, Known]:
    told = {"named_by": Known(found.named_by, "", source, time), "score": Known(found.score, "", source, time)}
    if found.pose is not None:
        told["upright"] = Known(found.pose.upright, "", source, time)
        told["within"] = Known(found.within or "none", "", source, time)
    return told


def _known(reading: Reading) -> Known:
    stale = "" if reading.status == "ok" else f"the instrument says {reading.status}"
    return Known(reading.value, reading.unit, PORT, reading.time, stale)


def _steady(readings: Mapping[str, Known], port: str) -> bool:
    shown, steady = readings.get(port), readings.get(f"steady {port}")
    return shown is not None and shown.valid and steady is not None and steady.value is True


def _weighed(belief: Belief, time: float) -> Belief:
    """Take what the balance shows over for the beaker that stands on it; it counts while the display is stable."""
    shown = belief.readings.get(BALANCE)
    if shown is None:
        return belief
    if not _steady(belief.readings, BALANCE):
        shown = shown.outdated(UNSETTLED)
    tared = belief.known(BEAKER, "tared_g").value
    offset = float(tared) if isinstance(tared, (int, float)) else 0.0
    value = None if shown.value is None else round(float(shown.value) + offset, 1)
    return belief.with_thing(BEAKER, shown_g=shown, grams=replace(shown, value=value, time=time))


def _tared(belief: Belief, time: float) -> Belief:
    """Remember what was on the pan when the balance was made to show 0."""
    grams = belief.known(BEAKER, "grams")
    if not _steady(belief.readings, BALANCE):
        return belief
    shown = belief.readings[BALANCE].value
    if grams.value is None or not isinstance(shown, (int, float)) or abs(shown) > LEAST_G + 1e-9:
        return belief
    return belief.with_thing(BEAKER, tared_g=Known(float(grams.value), "g", TRACKING, time))


def _poured(belief: Belief, done: Action, before: float | None, time: float) -> Belief:
    """Infer from the balance what a pour added; what was known of the liquid no longer counts if it added anything."""
    after = belief.number(BEAKER, "shown_g")
    added = None if before is None or after is None else round(after - before, 1)
    if added is not None and added < LEAST_G:
        return belief.with_thing(done.item, empty=Known(True, time=time)) if done.item in belief.things else belief
    fields = dict(belief.things[BEAKER].fields)
    stale = {name: fields[name].outdated(ADDED) for name in QUANTITIES if name in fields}
    additions = int(fields["additions"].value or 0) + 1
    belief = belief.with_thing(
        BEAKER,
        **stale,
        additions=Known(additions, time=time),
        mixed=Known(False, time=time),
        last_g=Known(added, "g", TRACKING, time),
    )
    if belief.known(PROBE, "coat").value == "beaker":
        belief = belief.with_thing(PROBE, coat=Known("old", time=time, stale=""))
    if done.item not in belief.things:
        return belief
    so_far = belief.number(done.item, "poured_g") or 0.0
    asked = done.numbers.get("amount_g", 0.0)
    dry = added is not None and asked >= 1.0 and added < 0.5 * asked
    return belief.with_thing(
        done.item,
        poured_g=Known(so_far + (added or 0.0), "g", TRACKING, time),
        empty=Known(dry, time=time),
    )
