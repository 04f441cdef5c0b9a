"""What the scripted stand-in answers to the prompts of labevolver's wet lab. It is no language model: rules on text.

It reads nothing but the words that it is sent: goal, state, refusals, experience. It doses by what the last dose did,
and knows no order of operations until a refusal, of this trial or in its experience, tells it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FIRST_G, LEAST_G, MOST_G = 2.0, 0.3, 12.0
"""First dose of a tube, smallest and largest [g]."""
SHARE = 0.5
"""Of the dose by the secant of the last one: titration curves get steeper."""
MOST_TIMES = 1.5
"""Of the last dose, at most."""
LEAST_OF, MORE_OF, MOST_OF = 0.5, 0.1, 0.9
"""Of a whole dose that experience tells: the share that is added at once, more for each success of who followed it."""
EDGE = 0.03
"""How near the edge of its range pH is brought further in [pH]: what counts is the value at which the lamp lit."""
ADDITIONS = 20
SECONDS = 60.0
DEEP = 8
FIRST = {
    "take the probe": "take_probe",
    "put the probe back": "return_probe",
    "rinse the probe": "rinse_probe",
    "put the tube back": "place",
    "put the other tube back": "place",
    "pick the tube": "pick",
    "stir what was added": "stir",
    "measure until": "measure",
    "finish only on a settled reading": "measure",
    "tare the balance": "tare",
    "weigh until": "weigh",
}
"""How a refusal says what comes first -> that kind of action."""
NUMBER = r"(-?\d+(?:\.\d+)?)"


@dataclass(frozen=True)
class Addition:
    tube: str
    grams: float
    before: float
    after: float | None


@dataclass(frozen=True)
class Lesson:
    """One refusal: of which kind of action, in which fields of the state, what comes first, and the entry's id."""

    kind: str
    fields: Mapping[str, str]
    first: str
    entry: str = ""


@dataclass(frozen=True)
class Told:
    """A prompt of the Operator, taken apart."""

    target: float
    tolerance: float
    fields: dict[str, str]
    ph: float | None
    ec: float
    hand: str
    additions: list[Addition]
    refused: list[Lesson]
    just: str
    experience: list[tuple[str, str, str]]
    intent: str


def read(text: str) -> Told:
    """Take a prompt apart; raises `ValueError` where it is none of pH."""
    wanted = re.search(rf"pH {NUMBER} with a tolerance of {NUMBER}", text)
    if wanted is None:
        raise ValueError("This stand-in knows goals of pH only.")
    fields = re.search(r"look at: (.*)", text)
    ph = re.search(rf"^beaker ph: {NUMBER}", text, re.MULTILINE)
    ec = re.search(rf"^beaker ec: {NUMBER}", text, re.MULTILINE)
    hand = re.search(r"^hand: (\w*)", text, re.MULTILINE)
    refusals = _section(text, "Refused in this trial:")
    just = re.search(r"^Just refused: (.*)", text, re.MULTILINE)
    intent = re.search(r"^Intent: (.*)", text, re.MULTILINE)
    experience = [re.match(r"(\S+) \(([^)]*)\): (.*)", line) for line in _section(text, "Experience:")]
    return Told(
        float(wanted[1]),
        float(wanted[2]),
        dict(_pairs(fields[1])) if fields else {},
        float(ph[1]) if ph else None,
        float(ec[1]) if ec else 0.0,
        hand[1] if hand else "",
        additions(text),
        [found for line in refusals if (found := _refusal(line))],
        just[1] if just else "",
        [(each[1], each[2], each[3]) for each in experience if each],
        intent[1] if intent else "",
    )


def additions(text: str) -> list[Addition]:
    """Return the additions that a checkpoint lists."""
    found = re.finditer(rf"addition \d+: {NUMBER} g of (\w+): pH {NUMBER},.* became (?:pH {NUMBER}|not read)", text)
    return [Addition(each[2], float(each[1]), float(each[3]), float(each[4]) if each[4] else None) for each in found]


def intend(told: Told) -> dict[str, Any]:
    """Return what to do next, as `Intended`."""
    if told.fields.get("read") != "true" or told.ph is None:
        return {"intent": "Read the beaker.", "template": "measure cycle", "follows": []}
    if told.fields.get("reached") == "true" and abs(told.ph - told.target) <= told.tolerance - EDGE:
        return {"intent": f"Finish: pH {told.ph} is within the range.", "template": "end", "follows": []}
    if len(told.additions) >= ADDITIONS:
        return {"intent": "Give up: this has taken too many additions.", "template": "end", "follows": []}
    tube = "acid" if told.ph > told.target else "base"
    grams, follows = _dose(told, tube)
    return {"intent": f"Add {grams:.1f} g of {tube}.", "template": "dose and measure", "follows": follows}


def act(told: Told, intent: str) -> dict[str, Any]:
    """Return the action that an intent is grounded in, as `Grounded`: what has to come first, comes first."""
    kind, item, numbers = _wanted(intent)
    if told.just and not _first(told.just):
        kind, item, numbers = "abandon", "", {}
    tube, used = item, []
    for _ in range(DEEP):
        fields = {**told.fields, "holds_it": str(told.hand == item).lower()}
        known = [each for each in _lessons(told) if each.kind == kind and each.fields.items() <= fields.items()]
        if not known:
            break
        lesson = min(known, key=lambda each: (each.first != "measure", each.entry))
        used += [lesson.entry] if lesson.entry else []
        kind, numbers = lesson.first, {"seconds": SECONDS} if lesson.first == "measure" else {}
        item = {"place": told.hand, "pick": tube}.get(kind, "")
    told_numbers = [{"name": name, "value": value} for name, value in numbers.items()]
    return {"kind": kind, "item": item, "numbers": told_numbers, "follows": used}


def _wanted(intent: str) -> tuple[str, str, dict[str, float]]:
    dose = re.match(rf"Add {NUMBER} g of (\w+)", intent)
    if dose:
        grams = float(dose[1])
        fast = min(2.0, max(0.4, 4.0 / grams))
        return "pour", dose[2], {"amount_g": grams, "kp": fast, "kd": 1.5 * fast, "pre_stop": min(0.1, grams / 2)}
    if intent.startswith("Read"):
        return "measure", "", {"seconds": SECONDS}
    return ("stop" if intent.startswith("Finish") else "abandon"), "", {}


def _dose(told: Told, tube: str) -> tuple[float, list[str]]:
    """Return grams and the entry that they follow: by the last dose of the tube, by experience, or a first guess."""
    own = [each for each in told.additions if each.tube == tube and each.after is not None]
    if not own:
        known = [] if told.additions else _whole_doses(told, tube)
        return (_bounded(known[0][1]), [known[0][2]]) if known else (FIRST_G, [])
    last = own[-1]
    assert told.ph is not None and last.after is not None
    moved, missing = last.after - last.before, told.target - told.ph
    grams = last.grams * missing / moved if moved * missing > 0 else 3 * last.grams
    turned = told.additions[-1].tube != tube
    return _bounded(min(SHARE * grams, (0.5 if turned else MOST_TIMES) * last.grams)), []


def _whole_doses(told: Told, tube: str) -> list[tuple[float, float, str]]:
    """Return what experience says of a tube: how far its water was in EC, grams to begin with, and the entry."""
    found = []
    for entry, condition, advice in told.experience:
        whole = re.search(rf"{NUMBER} g of {tube}", advice)
        span = re.search(rf"start_ec = {NUMBER}–{NUMBER}", condition)
        if whole and span:
            followed = re.search(r"(\d+) of them with success", condition)
            share = min(MOST_OF, LEAST_OF + MORE_OF * int(followed[1] if followed else 0))
            found.append((abs(told.ec - (float(span[1]) + float(span[2])) / 2), share * float(whole[1]), entry))
    return sorted(found)


def _bounded(grams: float) -> float:
    return round(min(max(LEAST_G, grams), MOST_G), 1)


def _lessons(told: Told) -> Iterator[Lesson]:
    yield from told.refused
    for entry, condition, advice in told.experience:
        fields = dict(_pairs(condition.partition("when ")[2]))
        first = _first(advice)
        if "kind" in fields and first:
            yield Lesson(fields.pop("kind"), fields, first, entry)


def _refusal(line: str) -> Lesson | None:
    found = re.match(r"(\w+).* breaks \w+ \(\w+\): (.*?)\. (.*)", line)
    first = _first(found[3]) if found else ""
    return Lesson(found[1], dict(_pairs(found[2])), first) if found and first else None


def _first(sentence: str) -> str:
    return next((kind for words, kind in FIRST.items() if words in sentence.lower()), "")


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a state in words; one that is empty is "none"."""
    for part in text.split(", "):
        name, equals, value = part.partition(" = ")
        if equals or part.endswith(" ="):
            yield name.removesuffix(" ="), value.strip().lower() or "none"


def _section(text: str, title: str) -> list[str]:
    """Return the lines after a title, up to one that is nothing but a title or a part of its own."""
    lines = text.partition(f"\n{title}\n")[2].splitlines()
    end = next((at for at, line in enumerate(lines) if re.match(r"[A-Z][\w ]*:( |$)", line)), len(lines))
    return [line for line in lines[:end] if line not in ("nothing", "nothing that fits")]


# --- after a trial


def reflect(text: str) -> dict[str, Any]:
    """Return what a trial teaches, as `Reflection`: its refusals, and what was added in all."""
    entries = [_entry(line) for line in text.splitlines() if line.startswith("- ")]
    operations = [each for each in (_whole_dose(text, entries), *_safety(text, entries)) if each]
    return {"operations": operations}


def _safety(text: str, entries: list[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield each refusal of procedure, once: new, or a vote for the entry that had said so."""
    seen = set()
    for line in text.splitlines():
        found = re.match(r"\d+\. .* in (.*): refused by (\w+) \(procedure\); allowed: (.*)", line)
        if found is None:
            continue
        fields = {name: value for name, value in _pairs(found[1]) if not re.fullmatch(NUMBER, value)}
        fields = {name: value for name, value in fields.items() if name not in ("objective", "thing", "item")}
        about = (fields.get("kind", ""), found[2])
        if about in seen or not about[0]:
            continue
        seen.add(about)
        known = [entry for entry, lesson in entries if _about(lesson) == about]
        if known:
            yield {"operation": "upvote", "entry": known[0], "lesson": None}
            continue
        when = [{"field": name, "among": ["" if value == "none" else value]} for name, value in sorted(fields.items())]
        sentence = f"{about[0]} is refused by {{rule}}. {found[3]}"
        rule = [{"name": "rule", "value": found[2]}]
        yield _add({"kind": "safety", "when": when, "advice": {"sentence": sentence, "parameters": rule}})


def _about(lesson: dict[str, Any]) -> tuple[str, str]:
    """Return kind of action and rule of a safety lesson."""
    rule = next((each["value"] for each in lesson["advice"].get("parameters", []) if each["name"] == "rule"), "")
    kind = next((term["among"][0] for term in lesson.get("when", []) if term["field"] == "kind"), "")
    return kind, rule


def _whole_dose(text: str, entries: list[tuple[str, dict[str, Any]]]) -> dict[str, Any] | None:
    """Return what was added from the first tube in all while pH stayed on its side, or reached its range."""
    goal = re.search(rf"target_ph = {NUMBER}", text)
    made = additions(text)
    if "It succeeded." not in text or goal is None or not made:
        return None
    target, tube, whole, sign = float(goal[1]), made[0].tube, 0.0, -1.0 if made[0].tube == "acid" else 1.0
    for each in made:
        if each.tube != tube or each.after is None or sign * (each.after - target) > 0.2:
            break
        whole += each.grams
    if not whole:
        return None
    state = dict(_pairs(text.partition("First state: ")[2].partition(". It ")[0]))
    spans = {"target_ph": (target, 0.2, "pH"), "start_ph": (_number(state, "start_ph"), 0.5, "pH")}
    spans["start_ec"] = (_number(state, "start_ec"), 60.0, "uS/cm")
    terms = [
        {"field": name, "low": round(at - by, 2), "high": round(at + by, 2), "unit": unit}
        for name, (at, by, unit) in spans.items()
    ]
    sentence = f"In all {{amount}} of {tube} bring pH into its range: add most of it at once, then measure."
    amount = [{"name": "amount", "value": round(whole, 1), "unit": "g"}]
    advice = {"sentence": sentence, "parameters": amount}
    when = [{"field": "objective", "among": ["ph"]}, *terms]
    return _add({"kind": "strategy", "when": when, "advice": advice})


def _number(state: Mapping[str, str], name: str) -> float:
    return float(state[name])


def _add(lesson: dict[str, Any]) -> dict[str, Any]:
    return {"operation": "add", "entry": "", "lesson": lesson}


def _entry(line: str) -> tuple[str, dict[str, Any]]:
    return line[2:].split(" ", 1)[0], json.loads(line.partition("): ")[2])
