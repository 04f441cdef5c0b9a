"""The report on synthetic campaigns: what it prints, what it escapes, and what it never refers to."""

import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fabricated import MISSING, REFUSED, UNRESOLVED, Made, registration, write_diagnosis
from labference.records import folder
from labference.records.measurements import MeasurementWriter
from labference.records.reader import read_run
from labference.records.strict import named, write_atomically
from labference.records.video import VideoWriter
from labference.report.diagnosis import answers
from labference.report.forest import forest_figure
from labference.report.frames import instants
from labference.report.lanes import APART, Drawing, _arranged
from labference.report.levels import sections
from labference.report.page import write_diagnoses, write_report
from labference.report.plots import levels_figure, svg
from labference.report.strips import differing
from labference.report.tables import (
    answers_table,
    audit_table,
    conditions_table,
    levels_table,
    numbers_table,
    registration_table,
    results_table,
)
from labference.report.timeline import timeline
from labference.report.trace import read_traces
from labference.score.audit import Audit
from labference.score.campaign import find_campaigns, read_campaign
from labference.score.diagnosis import find_diagnoses, read_diagnosis
from labference.score.finding import findings, sentences
from labference.score.rate import Bounds
from labference.score.summary import summarise
from labference.truth.events import (
    Approached,
    Chosen,
    Closed,
    Completed,
    Confirmed,
    Deviated,
    Dropped,
    DwellBroken,
    Entered,
    Event,
    Grasped,
    Hidden,
    Invalidated,
    Lifted,
    Noted,
    Opened,
    Rebuilt,
    Released,
    Returned,
    Revealed,
    Settled,
    Steadied,
    Violated,
    Withdrew,
)
from labference.truth.identity import SHARED
from labference.truth.measurement import Block
from labference.truth.verdict import judge
from labference.wire import Operation

ADD, WRONG = Operation("add", "20 g", "pan"), Operation("add", "50 g", "pan")
HOSTILE = '<script>alert("x")</script> & $b$'
VOID = {"meta", "img", "br", "use", "path", "circle", "rect", "line", "polyline"}

OPENED: list[Event] = [Steadied(-9, "balance", 180.0), Opened(0, 1, 1, 1, 30000, (ADD,), True)]
RIGHT: list[Event] = [
    *OPENED,
    Grasped(900, "20 g", "table", 1),
    Chosen(900, 1, ADD, True, "behaviour"),
    Released(2000, "20 g", 1),
    Settled(2250, "20 g", "pan", "table", 1),
    Steadied(2600, "balance", 200.0),
    Completed(4000),
    Closed(4000, 1, "end of episode"),
]
MISTAKEN: list[Event] = [
    *OPENED,
    Grasped(900, "50 g", "table", 1),
    Chosen(900, 1, WRONG, False, "behaviour"),
    Dropped(1500, "50 g", 1),
    Settled(1800, "50 g", "table", "table", 1),
    Noted(1800, "operation_failure", WRONG),
    DwellBroken(2400, 300),
    Violated(2500, "item_off_bench", "50 g"),
    Closed(3000, 1, "new evidence"),
]
IDLE: list[Event] = [*OPENED, Closed(30025, 1, "response window")]


WEIGHED: dict[str, Any] = {"target": 200.0}

# A first tube goes where it likes; the environment puts it elsewhere, and the second tube's slot follows from that.
PICK, AGAIN = Operation("pick", "red tube"), Operation("pick", "blue tube")
ANYWHERE = tuple(Operation("insert", "red tube", f"slot {slot}") for slot in range(12))
THERE, STALE = Operation("insert", "blue tube", "slot 7"), Operation("insert", "blue tube", "slot 6")
BEFORE: list[Event] = [
    Withdrew(-400),
    Opened(0, 1, 1, 1, 30000, (PICK, AGAIN), True),
    Returned(300),
    Grasped(900, "red tube", "stand", 1),
    Chosen(900, 1, PICK, True, "behaviour"),
    Lifted(1000, "red tube", 1),
    Confirmed(1000, PICK, 1),
    Closed(1000, 1, "new evidence"),
    Opened(1000, 2, 2, 2, 31000, ANYWHERE, True),
    Entered(2000, "red tube", "slot 0"),
    Chosen(2000, 2, ANYWHERE[0], True, "behaviour"),
    Released(2200, "red tube", 1),
    Settled(2500, "red tube", "slot 0", "stand", 1),
    Confirmed(2500, ANYWHERE[0], 2),
    Closed(2500, 2, "new evidence"),
    Withdrew(2600),
    Hidden(2700),
    Rebuilt(2750, 1),
    Settled(2900, "red tube", "slot 1", "slot 0", 0),
    Revealed(3000, 1),
]
AFTER: list[Event] = [
    Opened(3000, 3, 3, 3, 33000, (AGAIN,), True),
    Returned(3100),
    Grasped(3500, "blue tube", "stand", 2),
    Chosen(3500, 3, AGAIN, True, "behaviour"),
    Lifted(3600, "blue tube", 2),
    Confirmed(3600, AGAIN, 3),
    Closed(3600, 3, "new evidence"),
    Opened(3600, 4, 4, 4, 33600, (THERE,), True),
]
LOADED: list[Event] = [
    *BEFORE,
    *AFTER,
    Entered(4000, "blue tube", "slot 7"),
    Chosen(4000, 4, THERE, True, "behaviour"),
    Released(4200, "blue tube", 2),
    Settled(4500, "blue tube", "slot 7", "stand", 2),
    Confirmed(4500, THERE, 4),
    Completed(6000),
    Closed(6000, 4, "end of episode"),
]
MISLOADED: list[Event] = [
    *BEFORE,
    *AFTER,
    Entered(4000, "blue tube", "slot 6"),
    Chosen(4000, 4, STALE, False, "behaviour"),
    Released(4200, "blue tube", 2),
    Settled(4500, "blue tube", "slot 5", "stand", 2),
    Deviated(4500, "blue tube", "slot 6", "slot 5"),
    Noted(4500, "operation_failure", STALE),
    Closed(4600, 4, "new evidence"),
]
STRANDED: list[Event] = [*BEFORE, Opened(3000, 3, 3, 3, 33000, (AGAIN,), True), Closed(33000, 3, "response window")]


def write_campaign(
    path: Path,
    policy: str,
    episodes: list[list[Event] | None],
    task: str = "weighing-basic",
    instances: Sequence[dict[str, Any]] = (),
    kinds: tuple[str, ...] = ("add", "remove", "wait", "stop"),
) -> Path:
    """Write a campaign; None stands for an episode that has not been run."""
    condition = {"task": task, "policy": policy, "seed": 0, "action": "joint", "render": "fast", "video": ["front"]}
    path.mkdir(parents=True)
    write_atomically(path / folder.CAMPAIGN, {"condition": condition, "episodes": len(episodes)})
    for index, events in enumerate(episodes):
        if events is not None:
            attempt = folder.episode_folder(path, index) / "attempt-1"
            write_episode(attempt, condition, index, events, instances[index] if instances else WEIGHED, kinds)
    return path


def write_episode(
    path: Path,
    condition: dict[str, Any],
    index: int,
    events: list[Event],
    instance: dict[str, Any],
    kinds: tuple[str, ...],
) -> None:
    identity: dict[str, Any] = dict.fromkeys(SHARED, "1") | {
        "task": condition["task"],
        "policy": condition["policy"],
        "action": "abc",
        "campaign": 0,
        "budget": 3600,
    }
    identity["index"] = index
    run = {
        "identity": identity,
        "plan": condition,
        "privileged": False,
        "instance": instance,
        "goal": {"instruction": f"Bring the balance to 200.0 g. Mind {HOSTILE}.", "kinds": kinds},
        "action": {"rate_hz": 20.0},
        "contract": {"dwell_s": 3.0, "response_s": 60.0, "response_clock": "simulated time"},
        "channels": {
            "items": ["20 g"],
            "surfaces": ["pan"],
            "cells": ["balance"],
            "fixtures": ["rotor"],
            "timestep": 0.002,
        },
        "zero": {"balance": 0.5},
    }
    path.mkdir(parents=True)
    write_atomically(path / folder.RUN, run)
    (path / folder.EVENTS).write_text("".join(named(event) + "\n" for event in events), encoding="utf-8")
    if any(isinstance(event, Invalidated) for event in events):
        return
    completed = any(isinstance(event, Completed) for event in events)
    scores = {
        "identity": identity,
        "reports": False,
        "reason": "completed" if completed else "budget",
        "sentence": "",
        "verdict": judge(events),
        "simulated_s": 8.4,
        "runtime": {"model_s": 0.5, "rendering_s": 1.0, "physics_s": 2.0, "wall_s": 4.0},
    }
    write_atomically(path / folder.SCORES, scores)


def measure(attempt: Path, force: np.ndarray) -> None:
    """Write a measurement file in which only the load cell changes."""
    ticks = len(force)
    writer = MeasurementWriter(attempt / folder.MEASUREMENTS)
    pose, speed = np.zeros((ticks, 2, 7), np.int32), np.zeros((ticks, 1, 2), np.int32)
    touch, opening = np.zeros((ticks, 2), np.uint16), np.zeros((ticks, 2), np.int32)
    fixtures = np.zeros((1, 7), np.int32)
    writer.write(Block(-100, pose, speed, touch, opening, force.astype(np.float32)[:, None], fixtures))
    writer.close()


def printed(table: object, width: int = 100) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(table)
    return console.export_text()


class Page(HTMLParser):
    """Collect what a page refers to, and whether every element that opens also closes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [
            value or "" for name, value in attributes if name in ("src", "href", "xlink:href", "data-list")
        ]
        self.ids += [value or "" for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture
def several(tmp_path: Path) -> Path:
    write_campaign(tmp_path / "right", "right", [RIGHT, RIGHT])
    write_campaign(
        tmp_path / "wrong", "wrong", [MISTAKEN, RIGHT, None, [*OPENED, Invalidated(5, "ServiceFault", "Gone.")]]
    )
    write_campaign(tmp_path / "idle", "idle", [IDLE])
    return tmp_path


def test_the_results_table_prints_counts_populations_and_intervals(several: Path) -> None:
    text = printed(results_table([summarise(campaign) for campaign in find_campaigns(several)]))
    lines = [line for line in text.splitlines() if line.strip()]
    rows = {line.split()[0]: f"{line} {below}" for line, below in itertools.pairwise(lines)}
    assert "100 %" in rows["right"] and "(2/2, 34–100)" in rows["right"]
    assert "8.4/0.5/1.0/2.0" in rows["right"]
    assert "0 %" in rows["idle"] and "(0/1, 0–79)" in rows["idle"]
    assert "Mean runtime [s]" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_completion_is_bounded_while_episodes_are_unresolved(several: Path) -> None:
    summary = summarise(read_campaign(several / "wrong"))
    assert summary.completion == Bounds(1, 2, 4)
    for table in (results_table([summary]), levels_table([summary])):
        assert "1/4..3/4" in printed(table) and "(25–75 %)" in printed(table)


def test_a_rate_over_nobody_is_unavailable(several: Path) -> None:
    text = printed(levels_table([summarise(read_campaign(several / "idle"))]))
    confirmed = next(line for line in text.splitlines() if "confirmed" in line)
    assert "unavailable (0/0)" in confirmed


def test_levels_of_many_systems_fit_a_terminal(several: Path) -> None:
    summary = summarise(read_campaign(several / "wrong"))
    text = printed(levels_table([replace(summary, system=f"system {number}") for number in range(5)]))
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "50 %" in text and "(1/2," in text and "…" not in text


def test_names_are_not_read_as_markup(several: Path) -> None:
    summary = replace(summarise(read_campaign(several / "right")), system="[bold]me[/bold]")
    assert "[bold]me[/bold]" in printed(results_table([summary]), width=140)
    assert "[bold]me[/bold]" in printed(levels_table([summary]), width=140)


def test_the_audit_table_says_where_a_replay_differs() -> None:
    path = Path("runs", "wrong", "episode-0000", "attempt-1")
    text = printed(audit_table([Audit(path, 9, 4000, None), Audit(path, 9, 4000, "events.jsonl line 3: other.")]))
    assert "identical" in text and "line 3: other." in text and "wrong/episode-0000/attempt-1" in text


def test_the_page_is_well_formed_and_refers_to_nothing_outside(several: Path) -> None:
    page = write_report(several)
    assert page == several / "report.html"
    tidy(page)


def test_the_page_names_every_record_and_every_fault(several: Path) -> None:
    text = write_report(several).read_text(encoding="utf-8")
    assert "wrong/episode-0000/attempt-1/events.jsonl" in text
    assert "Gone." in text and "This episode has not been run." in text
    assert "--video front" in text
    assert "1/4..3/4" in text


def tidy(page: Path) -> Page:
    """Return a page that is well formed, refers to nothing outside, and leads nowhere in vain."""
    text = page.read_text(encoding="utf-8")
    parsed = Page(text)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", re.sub(r"data:[^\"]*", "", text))
    for reference in parsed.references:
        if reference.startswith("#"):
            assert reference[1:] in parsed.ids
        elif not reference.startswith(("data:", "system-")):
            assert (page.parent / unquote(reference)).exists(), reference
    return parsed


def test_a_hostile_policy_name_is_only_text(tmp_path: Path) -> None:
    write_campaign(tmp_path / "a b#c", HOSTILE, [RIGHT, MISTAKEN])
    text = write_report(tmp_path).read_text(encoding="utf-8")
    assert "alert(&#34;x&#34;)" in text and "<script>alert" not in text
    assert Page(text).tags.count("script") == 1
    assert "a%20b%23c/campaign.json" in text


def test_a_campaign_without_scores_still_makes_a_page(tmp_path: Path) -> None:
    write_campaign(tmp_path / "empty", "new", [None, None], task="some-future-task")
    text = write_report(tmp_path / "empty", tmp_path / "elsewhere" / "page.html").read_text(encoding="utf-8")
    assert "0/2..2/2" in text and "some-future-task" in text and "unavailable" in text
    assert "../empty/campaign.json" in text


def test_two_campaigns_of_one_policy_are_told_apart(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_campaign(tmp_path / name, "same", [RIGHT])
    text = write_report(tmp_path).read_text(encoding="utf-8")
    assert "same (first)" in text and "same (second)" in text


def test_the_timeline_keeps_choice_execution_and_completion_apart(several: Path) -> None:
    picture = timeline(read_run(several / "wrong" / "episode-0000" / "attempt-1"), ())
    choice, execution, completion = picture.lanes
    assert [mark.kind for mark in choice.marks] == ["wrong"]
    assert [mark.kind for mark in execution.marks] == ["dropped", "settled", "failure"]
    assert [(span.kind, mark.kind) for span, mark in zip(completion.spans, completion.marks, strict=True)] == [
        ("broken", "violated")
    ]
    assert picture.panels == ()


def test_marks_never_overlap_and_stay_inside(several: Path) -> None:
    picture = timeline(read_run(several / "wrong" / "episode-0000" / "attempt-1"), ())
    for lane in picture.lanes:
        places = [mark.x for mark in lane.marks]
        assert all(after - before >= 16 for before, after in itertools.pairwise(places))
        assert all(picture.left <= place <= picture.right for place in places)


def test_a_trace_shows_the_load_in_grams_and_a_gap_where_the_sensor_failed(several: Path) -> None:
    attempt = several / "right" / "episode-0000" / "attempt-1"
    force = np.full(4200, 0.5 + 0.180 * 9.81)
    force[2000:2400] = np.nan
    measure(attempt, force)
    run = read_run(attempt)
    (trace,) = read_traces(run)
    assert trace.time[0] == 0.0
    assert np.nanmax(np.abs(trace.value - 180.0)) < 1e-3
    assert np.isnan(trace.value).sum() == 400
    (panel,) = timeline(run, (trace,)).panels
    assert len(panel.paths) == 2
    assert panel.target is not None and panel.target.text == "target 200 g"
    assert [dot.text for dot in panel.dots] == ["180.0 g", "200.0 g"]


def test_key_frames_lie_inside_the_page_and_the_video_beside_it(several: Path) -> None:
    video = VideoWriter(several / "right" / "episode-0000" / "attempt-1" / "front.mp4", (64, 64), 10.0)
    for shade in range(84):
        video.write(np.full((64, 64, 3), 3 * shade, np.uint8))
    video.close()
    (several / "wrong" / "episode-0003" / "attempt-1" / "front.mp4").write_bytes(b"torn")
    text = write_report(several).read_text(encoding="utf-8")
    assert text.count("data:image/jpeg;base64,") == 4
    assert 'src="right/episode-0000/attempt-1/front.mp4"' in text
    assert "episode-0003/attempt-1/front.mp4" not in text
    assert "1.8 s</b> first choice: add 20 g → pan, correct" in text


def test_the_figure_takes_its_colour_from_the_page_and_says_unavailable(several: Path) -> None:
    picture = svg(levels_figure([summarise(campaign) for campaign in find_campaigns(several)]))
    assert picture.startswith("<svg ") and "currentColor" in picture and "http" not in picture
    assert "unavailable" in picture and "1/4..3/4" in picture


def test_writing_a_report_twice_gives_the_same_bytes(several: Path) -> None:
    first = write_report(several).read_bytes()
    assert write_report(several).read_bytes() == first


# --- tasks in which the environment acts


@pytest.fixture
def loading(tmp_path: Path) -> Path:
    """Return a campaign of a loaded, a misloaded and a stranded episode."""
    instances = [
        {"kind": {"change": change, "slot": 0, "held": False}, "first": "red tube", "shift": [0.0, 0.0, angle]}
        for change, angle in (("ahead", 0.1), ("ahead", 0.2), ("", 0.3))
    ]
    kinds = ("pick", "insert", "wait", "stop")
    episodes: list[list[Event] | None] = [LOADED, MISLOADED, STRANDED]
    return write_campaign(tmp_path / "loading", "me", episodes, "centrifuge-extended", instances, kinds)


def test_selection_counts_the_decision_that_a_task_is_about(loading: Path) -> None:
    summary = summarise(read_campaign(loading))
    assert (summary.first.correct.count, summary.first.correct.population) == (3, 3)
    assert (summary.selection.count, summary.selection.population) == (1, 3), "wrong once, not reached once"
    assert str(summary.registered.reached).startswith("67 % (2/3")
    assert str(summary.registered.correct_of_reached).startswith("50 % (1/2")
    assert summary.registered.correct_of_run == summary.selection
    text = printed(results_table([summary]), 80)
    assert "(1/3," in text and "choice to insert" in text


def test_a_decision_that_nobody_reached_is_still_counted_over_every_run(tmp_path: Path) -> None:
    path = write_campaign(tmp_path / "o", "me", [STRANDED, STRANDED], kinds=("pick", "insert", "retrieve"))
    made = {section.name: section.rows for section in sections([summarise(read_campaign(path))])}
    rows = {row.label: row.cells[0] for row in made["Registered: choice to retrieve"]}
    assert rows["reached"].startswith("0 % (0/2") and rows["correct/run"].startswith("0 % (0/2")
    assert rows["correct/reached"] == "unavailable (0/0)"


def test_selection_stays_the_first_choice_where_no_other_is_named(several: Path) -> None:
    summary = summarise(read_campaign(several / "right"))
    assert summary.decisive == "" and summary.selection == summary.first.correct
    assert "first choice" in printed(results_table([summary]))


def test_later_decisions_tell_failing_to_arrive_from_failing_to_choose(loading: Path) -> None:
    made = {section.name: section.rows for section in sections([summarise(read_campaign(loading))])}
    asked = [name for name in made if name.startswith("Decision: ")]
    assert asked == [f"Decision: {name}" for name in ("insert anywhere", "pick after reveal", "insert after reveal")]
    rows = {row.label: row.cells[0] for row in made["Decision: insert after reveal"]}
    assert list(rows) == ["reached", "correct/reached", "correct/run"], "all were identified: no row for that"
    assert "(2/3," in rows["reached"] and "(1/2," in rows["correct/reached"] and "(1/3," in rows["correct/run"]
    rows = {row.label: row.cells[0] for row in made["Decision: pick after reveal"]}
    assert "(2/3," in rows["identified/reached"], "the stranded episode chose nothing"


def test_a_decision_that_a_task_does_not_ask_is_no_failure_to_reach_it(loading: Path, several: Path) -> None:
    summaries = [summarise(read_campaign(path)) for path in (loading, several / "right")]
    made = {section.name: section.rows for section in sections(summaries)}
    assert [row.cells[1] for row in made["Decision: insert after reveal"]] == ["–", "–", "–"]
    text = printed(results_table(summaries), 80)
    assert "choice to insert (centrifuge-extended), first choice (weighing-basic)" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines()) and "4.0" not in text and "2.0" in text


def test_a_question_that_is_asked_again_is_a_decision_of_its_own(tmp_path: Path) -> None:
    asked: list[Event] = [Opened(tick, tick, 1, 1, 9000, (ADD, WRONG), True) for tick in (1, 2, 3)]
    summary = summarise(read_campaign(write_campaign(tmp_path / "o", "me", [asked, asked[:2]])))
    found = {entry.name: str(entry.reached)[:9] for entry in summary.conditions[0].reach}
    assert found == {
        "add or remove": "100 % (2/",
        "add or remove 2": "100 % (2/",
        "add or remove 3": "50 % (1/2",
    }


def test_episodes_are_counted_by_the_fields_in_which_their_instances_differ(loading: Path) -> None:
    text = printed(conditions_table(summarise(read_campaign(loading)), titled=False), 80)
    rows = {words[0]: words[1:] for line in text.splitlines() if len(words := line.split()) == 6}
    assert rows["all"] == ["3/3/3", "3/3/3", "2/3/3", "1/2/3", "1/3"]
    assert rows["ahead"] == ["2/2/2", "2/2/2", "2/2/2", "1/2/2", "1/2"]
    assert rows["none"] == ["1/1/1", "1/1/1", "0/1/1", "0/0/1", "0/1"]
    assert "change" in text
    assert not any(word in text for word in ("slot", "held", "first ", "shift")), "these do not differ"
    assert "…" not in text


def test_the_timeline_shades_what_the_environment_hid(loading: Path) -> None:
    picture = timeline(read_run(loading / "episode-0000" / "attempt-1"), ())
    (band,) = picture.bands
    per_s = (picture.right - picture.left) / 12.0
    assert band.x == pytest.approx(picture.left + 5.4 * per_s)
    assert band.width == pytest.approx(0.6 * per_s, abs=2)
    assert "rebuilds" in band.title and "5.4 to 6.0 s" in band.title
    assert timeline(read_run(loading / "episode-0002" / "attempt-1"), ()).bands


def test_the_timeline_says_who_moved_what_and_what_was_confirmed(loading: Path) -> None:
    _, execution, _ = timeline(read_run(loading / "episode-0001" / "attempt-1"), ()).lanes
    titles = [mark.title for mark in execution.marks]
    assert "red tube lifted, confirmed, 2.0 s" in titles
    assert "red tube enters slot 0, 4.0 s" in titles
    assert "At rest: red tube in slot 0, confirmed, 5.0 s" in titles
    assert "Put there by the environment: red tube in slot 1, 5.8 s" in titles
    assert any("came to rest at slot 5" in title for title in titles)
    clear = [(span.title.rpartition(", ")[2]) for span in execution.spans if span.kind == "clear"]
    assert clear == ["-0.8 to 0.6 s", "5.2 to 6.2 s"]


def test_a_hand_that_holds_something_at_the_handoff_is_seen_to_hold_it(tmp_path: Path) -> None:
    held: list[Event] = [Grasped(-90, "blue tube", "stand", 1), Lifted(-80, "blue tube", 1), *RIGHT[1:2]]
    held += [Approached(300, "A1"), Released(500, "blue tube", 1), Settled(800, "blue tube", "table", "stand", 1)]
    path = write_campaign(tmp_path / "held", "me", [held])
    _, execution, _ = timeline(read_run(path / "episode-0000" / "attempt-1"), ()).lanes
    assert [span.kind for span in execution.spans] == ["hold", "settling"]
    assert execution.spans[0].x == pytest.approx(92.0)
    assert [mark.kind for mark in execution.marks] == ["aimed", "settled"]


def test_frames_show_the_scene_before_and_after_it_was_hidden(loading: Path) -> None:
    found = instants(read_run(loading / "episode-0001" / "attempt-1"))
    words = [instant.words for instant in found]
    hidden = words.index("hidden")
    assert words[hidden - 1] == "before the scene is hidden" and words[hidden + 1] == "shown again"
    assert [found[hidden + step].time for step in (-1, 0, 1)] == pytest.approx([5.4, 5.7, 6.0])
    assert "choice: insert blue tube → slot 6, wrong" in words
    assert [instant.time for instant in found[:-1]] == sorted(instant.time for instant in found[:-1])


def test_the_page_lists_episodes_by_the_decision_and_the_instance(loading: Path) -> None:
    text = write_report(loading).read_text(encoding="utf-8")
    assert Page(text).open == []
    assert "✗ insert blue tube → slot 6" in text and "legal: insert blue tube → slot 7" in text
    assert "– not reached" in text
    assert "<span>change: ahead</span>" in text and "<span>change: none</span>" in text
    assert "insert red tube → any of 12 places" in text
    assert "blue tube went to slot 5, not slot 6" in text
    assert "By condition" in text


# --- diagnoses

STARTS = 30


def misreads(number: int, branch: str) -> Made:
    """Return what a system does that misreads: told the state or the answer, it is right."""
    told = "semantic" in branch or "decision" in branch
    return replace(Made(), choice=told or number == 0, completion=told, display=110.0, failures=number % 2)


def interrupted(number: int, branch: str) -> Made | str:
    if "geometry" in branch:
        return REFUSED
    return {3: UNRESOLVED, 4: MISSING}.get(number, Made())


@pytest.fixture
def diagnosed(tmp_path: Path) -> Path:
    write_diagnosis(tmp_path / "misreader", registration(STARTS), misreads, "misreader")
    write_diagnosis(tmp_path / "interrupted", registration(STARTS), interrupted, HOSTILE)
    return tmp_path


def test_the_answers_name_the_damage_and_what_helps(diagnosed: Path) -> None:
    text = printed(answers_table(findings(read_diagnosis(diagnosed / "misreader"))), width=80)
    assert "state: fails" in text and "decision: passes" in text and "execution: passes" in text
    assert "▲ +97" in text and "▲ +100" in text and "Does it see the state?" in text
    assert all(len(line) <= 80 for line in text.splitlines()) and "…" not in text


def test_what_is_unknown_or_unsupported_is_said_and_not_counted(diagnosed: Path) -> None:
    text = printed(answers_table(findings(read_diagnosis(diagnosed / "interrupted"))), width=80)
    assert "28/30 pairs" in text and "−7 to +7" in text
    assert text.count("unsupported") == 7, "two supports with three outcomes each, and the interface tested there"
    assert "▲" not in text.splitlines()[6] and "…" not in text


def test_the_numbers_of_several_systems_stand_side_by_side(diagnosed: Path) -> None:
    systems = [findings(found) for found in find_diagnoses(diagnosed)]
    text = printed(numbers_table(systems))
    assert all(len(line) <= 100 for line in text.splitlines()) and "…" not in text
    for word in ("B_next", "C_id", "E_fixed", "e_p items", "failures avoided", "Interaction", "branches missing"):
        assert word in text


def test_a_registration_prints_its_hash_and_its_denominators() -> None:
    registered = registration(STARTS)
    text = printed(registration_table(registered), width=120)
    assert registered.sha256 in text and "30: the denominator" in text and "held-out" in text
    assert "decision:replace+geometry:replace" in text


def test_the_page_of_diagnoses_is_tidy_and_answers_first(diagnosed: Path) -> None:
    page = write_diagnoses(diagnosed)
    parsed, text = tidy(page), page.read_text(encoding="utf-8")
    assert parsed.tags.count("script") == 0 and "alert(&#34;x&#34;)" in text
    assert text.index("The state interface is damaged") < text.index('id="numbers"')
    assert parsed.tags.count("figure") == 2, "a forest of each system"
    assert "misreader/start-0000/semantic-replace/attempt-1" in text
    assert "The model is gone." in text and "has no interface for geometry:replace" in text


def test_a_start_shows_what_the_base_and_each_support_did_where_they_differ(diagnosed: Path) -> None:
    found = read_diagnosis(diagnosed / "misreader")
    shown = differing(found, "system-1", diagnosed / "report.html")
    assert [entry.name for entry in shown] == [str(number) for number in range(STARTS)]
    assert [entry.name for entry in shown[:1]] == ["0"], "right by luck, and completed with support only"
    base, told = shown[1].strips
    assert [branch.words for branch in base.branches] == ["base", "geometry:replace", "skill:replace"]
    assert [branch.words for branch in told.branches] == [
        *("semantic:replace", "decision:replace", "decision:replace + geometry:replace")
    ]
    assert all("/start-0001/" in branch.target for branch in (*base.branches, *told.branches))
    assert (base.tone, told.tone) == ("bad", "good") and base.words.startswith("choice wrong, ")
    assert [mark.kind for mark in base.marks] == ["wrong", "failure"]
    assert base.marks[0].title == "First choice (behaviour): add 50 g → pan, wrong, 0.1 s", "from the handoff on"
    assert shown[1].words == "base: choice wrong, subgoal confirmed, not completed, 1 failures; 3 of 5 supported differ"
    assert shown[1].ticks[0].text == "0" and shown[1].ticks[-1].at < shown[1].width
    assert differing(read_diagnosis(diagnosed / "interrupted"), "x", diagnosed / "report.html"), "refused differs too"


def test_starts_whose_branches_all_do_the_same_need_no_strips(tmp_path: Path) -> None:
    write_diagnosis(tmp_path / "alike", registration(4), lambda number, branch: Made(), "alike")
    assert differing(read_diagnosis(tmp_path / "alike"), "x", tmp_path) == ()
    text = write_diagnoses(tmp_path).read_text(encoding="utf-8")
    assert "What branches did" not in text


def test_the_page_of_a_hundred_starts_stays_small_and_leads_to_each_of_them(tmp_path: Path) -> None:
    def varied(number: int, branch: str) -> Made:
        return Made(choice=bool((number + len(branch)) % 2), failures=len(branch) % 7, completion=bool(number % 2))

    write_diagnosis(tmp_path / "varied", registration(100), varied, "varied")
    page = write_diagnoses(tmp_path)
    text = page.read_text(encoding="utf-8")
    tidy(page)
    assert len(text) < 3_000_000
    for number in range(100):
        anchor = f"system-1-start-{number}"
        assert text.count(f'id="{anchor}"') == text.count(f'href="#{anchor}"') == 1


def test_the_sign_of_an_interaction_is_said_in_words(tmp_path: Path) -> None:
    joint = "decision:replace+geometry:replace"

    def only_together(number: int, branch: str) -> Made:
        return Made(choice=True, completion=branch == joint, subgoal=branch != "")

    write_diagnosis(tmp_path / "d", registration(60), only_together)
    found = findings(read_diagnosis(tmp_path / "d"))
    row = next(line for line in answers(found) if line.support == "their interaction")
    choice, subgoal, completion = row.cells
    assert completion.words == "together more than the sum" and completion.mark == "▲"
    assert subgoal.words == "together less than the sum" and subgoal.mark == "▼", "either alone is enough"
    assert choice.words == "not told from the sum"
    said = sentences(found)
    assert f"The parts of {joint} together help completion more than the sum of both alone." in said
    assert f"The parts of {joint} together help subgoal less than the sum of both alone." in said
    assert "together more than the sum" in write_diagnoses(tmp_path).read_text(encoding="utf-8")


def test_diagnoses_that_cannot_be_compared_keep_tables_of_their_own(diagnosed: Path) -> None:
    write_diagnosis(diagnosed / "again", registration(5, split="development"), misreads, "misreader")
    page = write_diagnoses(diagnosed, diagnosed / "pages" / "all.html")
    tidy(page)
    text = page.read_text(encoding="utf-8")
    assert "are of different registrations" in text and "development instances" in text
    assert "misreader (again)" in text and "misreader (misreader)" in text
    assert text.count('<th scope="col">Quantity</th>') == 3


def test_the_forest_tells_known_gains_from_bounds_and_from_nothing(diagnosed: Path) -> None:
    known = svg(forest_figure(findings(read_diagnosis(diagnosed / "misreader"))))
    assert known.count("+97") == 3 and "pairs" not in known and "unsupported" not in known
    open_ = svg(forest_figure(findings(read_diagnosis(diagnosed / "interrupted"))))
    assert open_.count("unsupported") == 8 and open_.count("28/30 pairs") == 12


@given(st.lists(st.integers(0, 1000), max_size=120))
def test_marks_stay_inside_the_drawing_in_order_however_many_there_are(ticks: list[int]) -> None:
    drawing = Drawing(lambda tick: 10.0 + 0.62 * tick, 0.05, 1000, 640.0)
    found = _arranged([drawing.mark(tick, "failure", "failed", "Failed") for tick in ticks], drawing)
    assert [mark.at for mark in found] == sorted(drawing.x(tick) for tick in ticks)
    gaps = [after.x - before.x for before, after in itertools.pairwise(found)]
    room = (640.0 - 7.0 - 10.0) / max(1, len(ticks) - 1)
    assert all(gap >= min(APART, room) - 1e-6 for gap in gaps)
    assert all(10.0 - 1e-6 <= mark.x <= 640.0 for mark in found)
