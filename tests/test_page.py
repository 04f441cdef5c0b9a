"""The page of labevolver: what it tells of a trial and of a memory, what it escapes, and what it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labevolver.agent import METHODS
from labevolver.bank import MEMORY, Bank
from labevolver.belief import PORT, Belief, Known, Thing
from labevolver.cli import app
from labevolver.codec import Malformed, plain
from labevolver.experience import Advice, Draft, Parameter, Term
from labevolver.experiments.page import PageError, write_page
from labevolver.labs.wetlab import Target
from labevolver.maintain import Doubt, Finished, Support, Teach, Unite, Unreadable
from labevolver.operations import Settings
from labevolver.report.memory import MOST_POINTS, remembered
from labevolver.report.page import Campaign, Study, render
from labevolver.report.picture import carried_out, picture
from labevolver.report.scale import Scale, round_step, times, vertical
from labevolver.report.series import series
from labevolver.report.trial import Result, trial
from labevolver.shown import histories, why_lines
from labevolver.skills.tools import Dose, Reading
from labevolver.supervise import Checkpoint
from labevolver.transcript import NOTHING, Change, Followed, Held, Moved, Stopped, Transcript, changes, parsed

HOSTILE = '<script>alert("x")</script><img src=//evil.example onerror=x> & \' "'
VOID = {"meta", "img", "br", "use", "path", "circle", "rect", "line", "polyline", "polygon"}
TAKEN = Change("hand", "acid", source="robot feedback", time=70.0)
FIRST, SECOND = Reading(7.7, 300.0, 58.0, 60.0), Reading(5.1, 310.0, 65.0, 200.0)


def stopped(sentence: str = "It is refused.") -> Stopped:
    return Stopped("procedure", "tube_in_hand", (Held("hand_kind", ""),), "Pick the tube.", "paper", sentence, "pick")


def told(word: str = "add 7 g") -> Transcript:
    """Return a trial: a refusal, a pour that makes pH stale, a reading that counts."""
    read = (Change("ph", 7.7, "beaker", "pH", PORT, 60.0), Change("last_g", None, "beaker"))
    after = (
        Change("ph", 7.7, "beaker", "pH", PORT, 60.0, "something was added since"),
        Change("last_g", 7.1, "beaker", "g", "state tracking", 90.0),
    )
    moves = (
        Moved(0.0, "read", "measure probe", "measure", True),
        Moved(60.0, word, "pour acid", "pour", False, "acid", (), stopped(word), read),
        Moved(60.0, word, "pick acid", "pick", True, "acid", ("safety-1",)),
        Moved(70.0, word, f"pour acid {word}", "pour", True, "acid", ("strategy-1",), belief=(TAKEN,)),
        Moved(90.0, "read", "measure probe", "measure", True, belief=after),
        Moved(200.0, "finish", "stop", "stop", True, belief=(Change("ph", 5.1, "beaker", "pH", PORT, 200.0),)),
    )
    return Transcript(
        word,
        "labevolver",
        word,
        210.0,
        True,
        Target("ph", 5.0, 0.2, tubes=("acid", "base")),
        Checkpoint(2, 200.0, (FIRST, SECOND), (Dose("acid", 7.1, FIRST, SECOND),)),
        (("safety-1", "strategy-1", "skill-9"), ("safety-1",)),
        (Followed("safety-1", "safety", word), Followed("strategy-1", "strategy", word)),
        moves,
    )


def result(index: int = 0, success: bool = True, run: str = "ph/0/0/abc") -> Result:
    return Result(index, run, success, "completed", 1, 1, 210.0)


def lesson(kind: str, field: str, sentence: str = "Do it with {dose}.", dose: float = 2.0) -> Draft:
    when = (Term(field, among=("x",)),)
    return Draft(kind, when, Advice(sentence, (Parameter("dose", dose, "g"),)))  # type: ignore[arg-type]


def study(word: str = "add 7 g") -> Study:
    one = trial("c0-0", result(), told(word))
    with Bank(MEMORY) as bank:
        bank.learn(
            Finished("ph/0/0/abc", True), [Teach(lesson("skill", "a", f"{word} {{dose}}")), Unreadable(word, word)]
        )
        memory = remembered(bank, word, "memory-0")
    drawn = series([result(), result(1)])
    campaign = Campaign(
        word, "c0", (("task", word),), 1, 1, "100 %", "1", "1", "210", (one,), 0, drawn, "memory-0"
    )  # fmt: skip
    return Study(word, (campaign,), (memory,), (word,), ((word, word),))


class Parsed(HTMLParser):
    """Tags in balance, and every attribute of every tag."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.unbalanced: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)


def parse(text: str) -> Parsed:
    found = Parsed()
    found.feed(text)
    assert not found.unbalanced and not found.open, (found.unbalanced, found.open)
    return found


# --- the whole page


def test_everything_that_a_model_wrote_is_escaped_and_the_page_refers_to_nothing_outside() -> None:
    text = render(study(HOSTILE), "")
    page = parse(text)
    assert not any(tag == "script" for tag, _ in page.tags)
    assert "<script>" not in text and "&lt;script&gt;" in text
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("src", "href", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:image/png;base64,")) or "//" not in value, value


def test_every_link_inside_the_page_leads_somewhere_and_no_id_is_there_twice() -> None:
    page = parse(render(study(), ""))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [value[1:] for _, each in page.tags if (value := each.get("href") or "").startswith("#")]
    assert targets and set(targets) <= set(ids)


def test_the_page_tells_belief_proposals_rulings_and_memory() -> None:
    text = re.sub(r"<[^>]*>", " ", render(study(), ""))
    for words in (
        "procedure: tube in hand", "hand_kind = none", "Pick the tube.", "Remedy: pick", "Source: paper",
        "stale: beaker ph (something was added since)", "+7.1 g acid", "2 of 3 retrieved followed", "5 ± 0.2",
        "1 entry in use, 0 ended, 1 quarantined", "Version 1, born in trial 1", "beaker last_g",
    ):  # fmt: skip
        assert words in " ".join(text.split()), words


def test_each_field_that_changed_says_where_and_when_it_is_from() -> None:
    page = parse(render(study(), ""))
    assert {"robot feedback, of 70 s", "data port, of 200 s"} <= {each.get("title") for _, each in page.tags}


# --- pictures


def test_a_picture_tells_what_was_admitted_refused_believed_added_and_read() -> None:
    drawn = picture(told())
    assert [span.kind for span in drawn.actions] == ["act-read", "act-serve", "act-pour", "act-read", "act-end"]
    assert [span.follows for span in drawn.actions] == [False, True, True, False, False]
    assert len(drawn.refusals) == 1 and drawn.refusals[0].title.startswith("60 s")
    strips = {strip.name: [span.kind for span in strip.spans] for strip in drawn.strips}
    assert strips == {"hand": ["counts"], "pH": ["counts", "stale", "counts"]}
    assert [(each.label, round(each.width, 1)) for each in drawn.additions] == [
        ("+7.1 g acid", round(20 / 210 * 846, 1))
    ]
    panel = drawn.panels[0]
    assert len(drawn.panels) == 1 and [dot.counts for dot in panel.dots] == [True, True]
    top, height = panel.band
    assert top <= panel.dots[1].y <= top + height  # 5.1 lies within 5.0 ± 0.2, and 7.7 does not
    assert not top <= panel.dots[0].y <= top + height


def test_spans_follow_each_other_and_stay_on_the_drawing() -> None:
    drawn = picture(told())
    for spans in (drawn.actions, *(strip.spans for strip in drawn.strips)):
        for one, other in pairwise(spans):
            assert one.x + one.width <= other.x + 1.5
        assert all(drawn.left <= span.x and span.x + span.width <= drawn.right + 2.0 for span in spans)


def test_many_refusals_at_one_moment_stay_apart_and_inside() -> None:
    moves = tuple(Moved(199.0, "x", "stop", "stop", False, exception=stopped()) for _ in range(24))
    drawn = picture(replace(told(), moves=moves))
    xs = [mark.x for mark in drawn.refusals]
    assert len(xs) == 24 and min(b - a for a, b in pairwise(xs)) >= 14.9
    assert max(xs) <= drawn.right and min(xs) >= drawn.left


def test_a_pour_after_which_nothing_was_said_has_no_grams() -> None:
    cut = replace(told(), moves=told().moves[:4])
    assert [each.label for each in picture(cut).additions] == ["+ acid"]
    assert carried_out(cut.moves, 210.0)[-1][1] == 210.0


def test_a_trial_without_a_move_is_drawn() -> None:
    empty = replace(told(), moves=(), checkpoint=Checkpoint(), ended=0.0)
    assert picture(empty).actions == () and parse(render(study(), ""))


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-3.0, 2.0), (7.0, 7.4), (0.0, 1e6)])
def test_scales_have_few_ticks_that_lie_inside(low: float, high: float) -> None:
    scale = vertical(low, high, 100.0)
    ticks = scale.ticks(round_step((high - low) / 4))
    assert len(ticks) <= 12 and all(-1e-6 <= tick.at <= 100.0 + 1e-6 for tick in ticks)
    assert len(times(Scale(0.0, max(high, 1.0), 0.0, 900.0))) <= 12


# --- transcripts


def test_a_transcript_is_read_back_as_it_was_written() -> None:
    assert parsed(json.loads(json.dumps({**NOTHING, **plain(told())}))) == told()
    assert parsed(NOTHING) is None
    with pytest.raises(Malformed, match="moves"):
        parsed({**plain(told()), "moves": [{"time": 0.0}]})


def test_only_what_changed_of_a_belief_is_told() -> None:
    before = Belief(0.0, {"hand": Known("")}, {"beaker": Thing("vessel", fields={"ph": Known(7.7, "pH", PORT, 1.0)})})
    now = replace(before.with_thing("beaker", ph=before.known("beaker", "ph").outdated("why")), time=9.0)
    assert {each.name for each in changes(None, before)} == {"hand", "beaker ph"}
    assert [(each.name, each.value, each.source, each.stale) for each in changes(before, now)] == [
        ("beaker ph", 7.7, PORT, "why")
    ]
    assert changes(now, now) == ()


# --- memory


def taught(bank: Bank) -> None:
    bank.learn(Finished("run-1", True), [Teach(lesson("skill", "a")), Teach(lesson("safety", "b", "No."))])
    first, other = (entry.id for entry in bank.entries())
    bank.learn(Finished("run-2", True), [Support(other, True), Teach(lesson("strategy", "c", "Go."))])
    bank.learn(Finished("run-3", False), [Doubt(first, True), Unreadable("{", "It breaks off.")])
    bank.learn(Finished("run-4", False), [Doubt(first, True)])


def test_a_bank_is_told_trial_by_trial_with_the_score_of_every_entry() -> None:
    with Bank(MEMORY) as bank:
        taught(bank)
        shown = remembered(bank, "bank.db", "m")
        living = bank.entries()
    assert [(each.run, each.of("Add"), each.ended, each.size) for each in shown.moments] == [
        ("run-1", 2, 0, 2), ("run-2", 1, 0, 3), ("run-3", 0, 1, 2), ("run-4", 0, 0, 2),
    ]  # fmt: skip
    assert [each.of("Quarantine") for each in shown.moments] == [0, 0, 1, 1] and "It breaks off." in shown.quarantine[0]
    assert [line.entry.id for line in shown.lines[:2]] == sorted(
        (each.id for each in living), key=lambda name: -next(e.score for e in living if e.id == name)
    )
    assert shown.lines[-1].entry.ended and any("ended" in each for each in shown.lines[-1].history)
    assert [layer.kind for layer in shown.layers] == ["skill", "strategy", "safety"]


def test_a_history_says_what_memory_why_says_but_for_fading() -> None:
    with Bank(MEMORY, Settings(strength=5.0)) as bank:
        taught(bank)
        done = bank.forget(bank.entries()[0].id, "another pump")
        bank.undo(done.number)
        log, undone = bank.log(), bank.undone()
        names = [entry.id for entry in bank.entries(ended=True)]
    told_of = histories(log, undone)
    for name in names:
        assert told_of[name] == [each for each in why_lines(name, log, undone) if " Decay: " not in each]


def test_two_entries_that_became_one_are_told_as_one_and_what_ended() -> None:
    with Bank(MEMORY) as bank:
        bank.learn(Finished("run-1", True), [Teach(lesson("skill", "a")), Teach(lesson("skill", "b", "Other.", 9.0))])
        kept, gone = (entry.id for entry in bank.entries())
        bank.learn(Finished("run-2", True), [Unite(kept, gone, "Both {dose}.")])
        shown = remembered(bank, "bank.db", "m")
    assert [(each.of("Merge"), each.ended, each.size) for each in shown.moments] == [(0, 0, 2), (1, 1, 1)]
    told_of = {line.entry.id: line.history for line in shown.lines}
    assert any(gone in each and "Merge" in each for each in told_of[kept])
    assert any(f"merged into {kept}" in each for each in told_of[gone])


def test_what_was_undone_is_not_on_the_page() -> None:
    with Bank(MEMORY) as bank:
        taught(bank)
        bank.retract("run-2")
        shown = remembered(bank, "bank.db", "m")
    assert [each.run for each in shown.moments] == ["run-1", "run-3", "run-4"]
    assert all(line.entry.lesson.kind != "strategy" for line in shown.lines) and len(shown.by_hand) > 0


def test_a_long_life_is_thinned_and_keeps_its_votes() -> None:
    with Bank(MEMORY) as bank:
        taught(bank)
        for number in range(200):
            bank.learn(Finished(f"later-{number}", True), [Support(bank.entries()[0].id)] if number == 100 else [])
        line = remembered(bank, "bank.db", "m").lines[0]
    heights = [float(point.split(",")[1]) for point in line.spark.split()]
    assert len(heights) <= MOST_POINTS + 5
    assert min(b - a for a, b in pairwise(heights)) < -1.0  # the vote is a step up


# --- from folders


def test_a_run_is_told_with_its_trials_its_bank_and_what_cannot_be_read(tmp_path: Path) -> None:
    out = tmp_path / "run"
    ran = CliRunner().invoke(app, ["run", "pouring-water", "--out", str(out), "--episodes", "2", "--quiet"])
    assert ran.exit_code == 0 and f"page: {out / 'page.html'}" in ran.stdout
    text = (out / "page.html").read_text()
    page = parse(text)
    files = [value for _, each in page.tags if (value := each.get("href")) and not value.startswith("#")]
    assert files and all((out / value).exists() for value in files)
    assert text.count('class="episode trial"') == 2 and "memory.db" in text and "2 of 2" in text

    (out / "transcripts" / "trial-0001.json").write_text('{"moves": [1]}')
    (out / "broken.db").write_bytes(b"this is no bank")
    told_again = CliRunner().invoke(app, ["page", str(out), "--to", str(tmp_path / "b.html"), "--trials", "1"])
    assert told_again.exit_code == 0
    text = (tmp_path / "b.html").read_text()
    assert "The transcript cannot be read: The transcript" in text and "broken.db: " in text
    files = [value for _, each in parse(text).tags if (value := each.get("href")) and not value.startswith("#")]
    assert files and all((tmp_path / value).exists() for value in files)


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_folder_without_trials_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PageError, match=name):
        write_page(tmp_path / name)
    ran = CliRunner().invoke(app, ["page", str(tmp_path / name)])
    assert ran.exit_code == 2 and "would have worked" in ran.stderr and ran.stderr.count("\n") == 1
    assert not list((tmp_path / "empty").iterdir())


# --- the command line


def test_help_loads_no_laboratory_and_names_every_method() -> None:
    program = (
        "import sys; from labevolver.cli import app; from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "assert CliRunner().invoke(app, ['experiment', '--help']).exit_code == 0\n"
        "ran = CliRunner().invoke(app, ['run', '--help'], env={'COLUMNS': '200'})\n"
        "loaded = sorted({'mujoco', 'numpy', 'matplotlib', 'jinja2'} & set(sys.modules))\n"
        "assert not loaded, loaded\n"
        "print(ran.stdout)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert all(method in ran.stdout for method in METHODS)
