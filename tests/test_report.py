"""The report on synthetic campaigns: what it prints, what it escapes, and what it never refers to."""

import io
import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from labference.records import folder
from labference.records.measurements import MeasurementWriter
from labference.records.reader import read_run
from labference.records.strict import named, write_atomically
from labference.records.video import VideoWriter
from labference.report.page import write_report
from labference.report.plots import levels_figure, svg
from labference.report.tables import audit_table, levels_table, results_table
from labference.report.timeline import timeline
from labference.report.trace import read_traces
from labference.score.audit import Audit
from labference.score.campaign import find_campaigns, read_campaign
from labference.score.rate import Bounds
from labference.score.summary import summarise
from labference.truth.events import (
    Chosen,
    Closed,
    Completed,
    Dropped,
    DwellBroken,
    Event,
    Grasped,
    Invalidated,
    Noted,
    Opened,
    Released,
    Settled,
    Steadied,
    Violated,
)
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


def write_campaign(path: Path, policy: str, episodes: list[list[Event] | None], task: str = "weighing-basic") -> Path:
    """Write a campaign; None stands for an episode that has not been run."""
    condition = {"task": task, "policy": policy, "seed": 0, "action": "joint", "render": "fast", "video": ["front"]}
    path.mkdir(parents=True)
    write_atomically(path / folder.CAMPAIGN, {"condition": condition, "episodes": len(episodes)})
    for index, events in enumerate(episodes):
        if events is not None:
            write_episode(folder.episode_folder(path, index) / "attempt-1", condition, index, events)
    return path


def write_episode(path: Path, condition: dict, index: int, events: list[Event]) -> None:
    shared = ("version", "contract", "assets", "sensors", "reports", "history", "intervention", "physics", "faults")
    shared += ("rendering", "evaluation")
    identity = {
        "task": condition["task"],
        "policy": condition["policy"],
        "action": "abc",
        "campaign": 0,
        "budget": 3600,
    }
    identity |= dict.fromkeys(shared, "1") | {"index": index}
    run = {
        "identity": identity,
        "plan": condition,
        "privileged": False,
        "instance": {"target": 200.0},
        "goal": {"instruction": f"Bring the balance to 200.0 g. Mind {HOSTILE}."},
        "action": {"rate_hz": 20.0},
        "contract": {"dwell_s": 3.0, "response_s": 60.0, "response_clock": "simulated time"},
        "channels": {"items": ["20 g"], "surfaces": ["pan"], "cells": ["balance"], "timestep": 0.002},
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
    writer.write(Block(-100, pose, speed, touch, opening, force.astype(np.float32)[:, None]))
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
    text = page.read_text(encoding="utf-8")
    parsed = Page(text)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", re.sub(r"data:[^\"]*", "", text))
    for reference in parsed.references:
        if reference.startswith("#"):
            assert reference[1:] in parsed.ids
        elif not reference.startswith(("data:", "system-")):
            assert (several / reference).exists(), reference


def test_the_page_names_every_record_and_every_fault(several: Path) -> None:
    text = write_report(several).read_text(encoding="utf-8")
    assert "wrong/episode-0000/attempt-1/events.jsonl" in text
    assert "Gone." in text and "This episode has not been run." in text
    assert "--video front" in text
    assert "1/4..3/4" in text


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
    assert np.nanmax(np.abs(trace.load - 180.0)) < 1e-3
    assert np.isnan(trace.load).sum() == 400
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
