"""Whatever a provider does, a question ends with a typed answer or one kind of error, and every request is counted."""

from __future__ import annotations

import asyncio
import json
import lzma
import re
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")

from fake_model import Said, provider
from labevolver.bank import MEMORY, Bank
from labevolver.experience import Parameter
from labevolver.maintain import Finished, Support, Teach, Unreadable
from labevolver.model import metered
from labevolver.model.backbone import MODES, parse
from labevolver.model.budget import Budget, Limits
from labevolver.model.cassette import scrubbed
from labevolver.model.metered import Patience
from labevolver.model.mind import CORRECTIONS, LanguageModel
from labevolver.model.port import EXPLAINED, Ask, Image, ModelError
from labevolver.model.strategist import MOST, LanguageStrategist
from labevolver.operations import Quarantine
from labevolver.prompts import Prompt, load, names
from labevolver.strategist import Step, Trajectory

PROMPT = Prompt("operator", 1, "0" * 64, "Say what to do next.")
ASK = Ask("operator", PROMPT, "The pH is 7.7, the target 5.")
PIXEL = Image(b"\x89PNG pixel")
QUICK = Patience(deadline_s=30.0, retries=2)
MODE = ("native", "tool", "prompted")


@dataclass(frozen=True, slots=True)
class Dose:
    """What to add."""

    kind: Literal["acid", "water", "stop"]
    amount_g: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.amount_g <= 20:
            raise ValueError(f"The amount is {self.amount_g} g; 0 to 20 g would have worked.")


GOOD = '{"kind": "acid", "amount_g": 8}'
DOSE = Dose("acid", 8.0)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metered, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(metered, "LONGEST_WAIT_S", 0.0)


def ask(
    url: str,
    *,
    name: str = "openai-compatible:local",
    mode: str = "",
    budget: Budget | None = None,
    patience: Patience = QUICK,
    question: Ask = ASK,
    **how: Any,
) -> Any:
    with LanguageModel(parse(f"{name}@{url}", mode), key="k", patience=patience, **how) as mind:
        return mind.ask(question, Dose, budget or Budget())


FAULTS: dict[str, tuple[list[Said], int]] = {
    "asked to wait, then a failure": (
        [Said(status=429, headers={"Retry-After": "1"}), Said(status=500), Said(GOOD)],
        3,
    ),
    "cut off": ([Said('{"kind": "acid", "amou'), Said(GOOD)], 2),
    "an unknown word, then out of range": (
        [Said('{"kind": "explode"}'), Said('{"kind": "acid", "amount_g": 99}'), Said(GOOD)],
        3,
    ),
    "prose only": ([Said("I would add acid.", prose=True), Said("Acid, then.", prose=True), Said(GOOD)], 3),
    "an empty list of choices": (
        [Said(body={"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}), Said(GOOD)],
        2,
    ),
    "a body that is no reply": ([Said(body={"hello": 1}), Said(GOOD)], 2),
}


@pytest.mark.parametrize("mode", MODE)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_costs_requests_and_no_more(fault: str, mode: str) -> None:
    script, requests = FAULTS[fault]
    budget = Budget()
    with provider(*script) as server:
        reply = ask(server.url, mode=mode, budget=budget)
    assert reply.value == DOSE
    assert len(server.asked) == requests == reply.attempts == budget.requests
    answered = [call for call in reply.calls if call.outcome == "answered"]
    assert reply.tokens == 110 * len(answered) == budget.tokens
    assert reply.cost_usd is None
    assert budget.unpriced == len(answered)


@pytest.mark.parametrize(("mode", "requests"), [("native", 1), ("prompted", 1), ("tool", 2)])
def test_json_in_a_fence_is_read_except_where_a_tool_was_to_be_called(mode: str, requests: int) -> None:
    with provider(Said(f"Sure!\n```json\n{GOOD}\n```\n", prose=True), Said(GOOD)) as server:
        assert ask(server.url, mode=mode).value == DOSE
    assert len(server.asked) == requests


@pytest.mark.parametrize("mode", MODE)
def test_a_model_that_never_answers_as_asked_stops_after_its_corrections(mode: str) -> None:
    with provider(Said('{"kind": "explode"}')) as server, pytest.raises(ModelError) as caught:
        ask(server.url, mode=mode)
    assert caught.value.fault == "invalid"
    assert not caught.value.of_service
    assert "explode" in caught.value.raw
    assert len(server.asked) == CORRECTIONS + 1 == len(caught.value.calls)


@pytest.mark.parametrize("mode", MODE)
@pytest.mark.parametrize(("finish", "fault"), [("length", "too_long"), ("content_filter", "filtered")])
def test_an_answer_that_ended_early_says_why(finish: str, fault: str, mode: str) -> None:
    said = Said('{"kind": "aci' if finish == "length" else "", finish=finish, prose=finish != "length")
    with provider(said) as server, pytest.raises(ModelError) as caught:
        ask(server.url, mode=mode)
    assert caught.value.fault == fault
    assert len(server.asked) == len(caught.value.calls) <= CORRECTIONS + 1


def test_a_question_can_be_asked_inside_a_running_event_loop() -> None:
    async def notebook(url: str) -> Any:
        return ask(url)

    with provider(Said(GOOD)) as server:
        assert asyncio.run(notebook(server.url)).value == DOSE


def test_a_mind_that_is_closed_can_be_closed_again_and_leaves_no_thread() -> None:
    mind = LanguageModel("openai-compatible:local@http://127.0.0.1:9/v1", key="k")
    assert any(thread.name == "labevolver-model" for thread in threading.enumerate())
    mind.close()
    mind.close()
    assert not any(thread.name == "labevolver-model" for thread in threading.enumerate())


def test_a_model_is_told_what_its_own_type_demands() -> None:
    with provider(Said('{"kind": "acid", "amount_g": 99}'), Said(GOOD)) as server:
        ask(server.url)
    assert "0 to 20 g would have worked" in json.dumps(server.asked[1]["messages"])


def test_a_provider_that_hangs_is_given_up_after_its_deadline_and_every_request_counts() -> None:
    budget = Budget()
    with provider(Said(hang=True)) as server, pytest.raises(ModelError) as caught:
        ask(server.url, budget=budget, patience=Patience(deadline_s=0.2, retries=1))
    assert caught.value.fault == "timeout"
    assert caught.value.of_service
    assert budget.requests == len(server.asked) == len(caught.value.calls) == 2


@pytest.mark.parametrize(
    ("status", "fault", "requests"),
    [
        (500, "unavailable", 3),
        (503, "unavailable", 3),
        (429, "rate_limited", 3),
        (400, "rejected", 1),
        (401, "denied", 1),
        (404, "rejected", 1),
    ],
)
def test_only_what_may_pass_is_sent_again(status: int, fault: str, requests: int) -> None:
    with provider(Said(status=status)) as server, pytest.raises(ModelError) as caught:
        ask(server.url)
    assert (caught.value.fault, len(server.asked), len(caught.value.calls)) == (fault, requests, requests)


def test_a_provider_that_is_not_there_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ModelError) as caught:
            ask(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert caught.value.fault == "unreachable"
    assert caught.value.of_service
    assert len(caught.value.calls) == 3


def test_a_reply_that_does_not_tell_its_tokens_is_counted_as_too_many_rather_than_none() -> None:
    budget = Budget(Limits(tokens=10_000))
    with provider(Said(GOOD, usage=False)) as server:
        reply = ask(server.url, budget=budget)
    assert reply.tokens is None
    assert budget.untold == 1
    assert budget.tokens > len(ASK.content)


@pytest.mark.parametrize(
    ("limits", "requests", "words"),
    [
        (Limits(requests=2), 2, "2 requests"),
        (Limits(tokens=100), 1, "100 tokens"),
        (Limits(requests=0), 0, "0 requests"),
    ],
)
def test_no_request_leaves_once_a_limit_is_used_up(limits: Limits, requests: int, words: str) -> None:
    with provider(Said('{"kind": "explode"}')) as server, pytest.raises(ModelError, match=words) as caught:
        ask(server.url, budget=Budget(limits))
    assert caught.value.fault == "budget"
    assert len(server.asked) == requests == len(caught.value.calls)


def test_two_questions_of_a_trial_share_its_budget() -> None:
    budget = Budget(Limits(requests=3))
    with provider(Said(GOOD)) as server, LanguageModel(f"openai-compatible:local@{server.url}", key="k") as mind:
        for _ in range(3):
            mind.ask(ASK, Dose, budget)
        with pytest.raises(ModelError, match="3 requests is used up"):
            mind.ask(ASK, Dose, budget)
    assert len(server.asked) == 3


def test_a_request_may_only_make_as_many_tokens_as_are_left() -> None:
    with provider(Said(GOOD)) as server:
        ask(server.url, budget=Budget(Limits(tokens=50)))
    told = server.asked[0]
    assert 50 in (told.get("max_tokens"), told.get("max_completion_tokens"))


def test_a_limit_in_dollars_needs_a_price() -> None:
    with provider(Said(GOOD)) as server:
        with pytest.raises(ModelError, match="No price of openai-compatible:local") as caught:
            ask(server.url, budget=Budget(Limits(cost_usd=1.0)))
        assert caught.value.fault == "unpriced"
        assert not server.asked
        reply = ask(server.url, name="openai:gpt-5", budget=(budget := Budget(Limits(cost_usd=1.0))))
    assert reply.cost_usd is not None
    assert 0 < reply.cost_usd == budget.cost_usd < 0.01


@pytest.mark.parametrize("backbone", ["openai:gpt-5", "deepseek:deepseek-v4-pro", "anthropic:claude-sonnet-4-6"])
def test_every_provider_answers_in_its_own_mode_without_streaming(backbone: str) -> None:
    with provider(Said(GOOD)) as server:
        reply = ask(server.url.removesuffix("/v1") if backbone.startswith("anthropic") else server.url, name=backbone)
    assert reply.value == DOSE
    assert reply.tokens == 110
    assert reply.cost_usd
    (told,) = server.asked
    assert not told.get("stream")
    match MODES[backbone.partition(":")[0]]:
        case "native":
            assert told["response_format"]["type"] == "json_schema"
        case "prompted":
            assert told["response_format"]["type"] == "json_object"
        case "tool":
            assert told["tools"]


def test_a_recording_answers_the_same_questions_without_a_connection_or_a_key(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    question = Ask("operator", PROMPT, "What is this?", (PIXEL,))
    script = [Said(status=500), Said('{"kind": "explode"}'), Said(GOOD)]
    with provider(*script) as server:
        first = ask(server.url, record=tape, question=question)
        url = server.url
    again = ask(url, replay=tape, question=question)
    assert again.value == first.value == DOSE
    assert [call.outcome for call in again.calls] == [call.outcome for call in first.calls]
    assert (again.attempts, again.tokens) == (first.attempts, first.tokens) == (3, 220)
    written = tape.read_text()
    assert "Bearer" not in written and "authorization" not in written.lower()
    assert "iVBOR" not in written and "sha256=" in written


def test_a_question_that_was_not_recorded_says_what_is_different(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with provider(Said(GOOD)) as server:
        ask(server.url, record=tape)
    other = Ask("operator", PROMPT, "The pH is 7.7, the target 6.")
    with pytest.raises(ModelError, match=r"messages\[1\].*content was .*target 5.* and is .*target 6") as caught:
        ask(server.url, replay=tape, question=other)
    assert caught.value.fault == "not_recorded"
    assert caught.value.of_service, "nothing is learned about the model"
    with LanguageModel(f"openai-compatible:local@{server.url}", replay=tape) as mind:
        mind.ask(ASK, Dose, Budget())
        with pytest.raises(ModelError, match="fewer replies"):
            mind.ask(ASK, Dose, Budget())


def test_a_picture_is_recorded_as_its_digest_and_still_tells_two_pictures_apart() -> None:
    def body(data: str) -> bytes:
        return json.dumps({"messages": [{"image_url": {"url": f"data:image/png;base64,{data}"}}]}).encode()

    one, other = (scrubbed("/v1", body(data)) for data in ("iVBORw==", "iVBORwAA"))
    assert one != other
    assert "iVBOR" not in json.dumps(one)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-5", "openai:NAME"),
        ("closedai:gpt-5", "openai:NAME"),
        ("openai:", "openai:NAME"),
        ("openai-compatible:qwen", "needs an address"),
    ],
)
def test_a_model_that_cannot_be_meant_is_refused_with_what_would_have_worked(name: str, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        parse(name)
    assert caught.value.fault == "setup"


def test_a_missing_key_is_one_sentence_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("openai:gpt-5", "anthropic:claude-sonnet-4-6", "deepseek:deepseek-v4-pro"):
        with pytest.raises(ModelError, match=f"^{name} needs a key; with [A-Z]+_API_KEY in the environment") as caught:
            LanguageModel(name)
        assert caught.value.fault == "setup"


PATH = Trajectory(
    Finished("run-1", True),
    {"target_ph": 5.0},
    {"ph": 7.7},
    (Step("pour_acid", (Parameter("amount", 8.0, "g"),), {"ph": 7.7}, effective=True),),
    followed=("skill-a-1",),
)
LESSON = """{"kind": "strategy", "when": [{"field": "ph", "low": 7.5, "high": 8, "among": [], "unit": ""}],
 "advice": {"sentence": "First add {amount}.", "parameters": [{"name": "amount", "value": 8, "unit": "g"}]}}"""
ADD = f'{{"operation": "add", "entry": "", "lesson": {LESSON}}}'
VOTE = '{"operation": "upvote", "entry": "skill-a-1", "lesson": null}'
UNSOUND = '{"operation": "update", "entry": "skill-a-1", "lesson": null}'


@pytest.mark.parametrize("mode", MODE)
def test_a_language_model_reflects_on_a_trial_and_its_votes_are_those_of_the_record(mode: str) -> None:
    with (
        provider(Said(f'{{"operations": [{ADD}, {VOTE}]}}')) as server,
        LanguageModel(parse(f"openai-compatible:local@{server.url}", mode), key="k") as mind,
    ):
        strategist = LanguageStrategist(mind, Budget())
        found = strategist.reflect(PATH, [])
    assert found[0] == Support("skill-a-1", followed=True) == found[2]
    assert isinstance(found[1], Teach) and found[1].lesson.advice.told == "First add 8 g."
    assert "pour_acid(amount = 8 g) in ph = 7.7: effective" in json.dumps(server.asked[0])
    assert strategist.name == f"openai-compatible:local {load('strategist').identity}"
    with Bank(MEMORY) as bank:
        assert [each.name for each in bank.learn(PATH.finished, found).operations].count("Add") == 1


@pytest.mark.parametrize("mode", MODE)
def test_of_an_answer_that_is_never_right_what_is_sound_is_kept_and_the_rest_quarantined(mode: str) -> None:
    said = Said(f'{{"operations": [{ADD}, {UNSOUND}]}}')
    with (
        provider(said) as server,
        LanguageModel(parse(f"openai-compatible:local@{server.url}", mode), key="k") as mind,
        Bank(MEMORY) as bank,
    ):
        learned = bank.learn(PATH.finished, LanguageStrategist(mind, Budget()).reflect(PATH, []))
        assert len(server.asked) == CORRECTIONS + 1
        assert "Add" in [each.name for each in learned.operations]
        raw = [each.operation.raw for each in bank.quarantined() if isinstance(each.operation, Quarantine)]
        assert any("update" in each for each in raw)


def test_a_service_that_fails_teaches_nothing_and_the_trial_can_be_asked_about_again() -> None:
    with (
        provider(*[Said(status=503)] * 3, Said(f'{{"operations": [{ADD}]}}')) as server,
        LanguageModel(f"openai-compatible:local@{server.url}", key="k", patience=QUICK) as mind,
    ):
        strategist = LanguageStrategist(mind, Budget())
        with pytest.raises(ModelError) as caught:
            strategist.reflect(PATH, [])
        assert caught.value.of_service
        assert len(strategist.reflect(PATH, [])) == 2


def test_a_model_that_proposes_too_much_is_cut_and_the_cut_is_kept() -> None:
    with (
        provider(Said(f'{{"operations": [{", ".join([ADD] * (MOST + 2))}]}}')) as server,
        LanguageModel(f"openai-compatible:local@{server.url}", key="k") as mind,
    ):
        found = LanguageStrategist(mind, Budget()).reflect(PATH, [])
    assert sum(isinstance(each, Teach) for each in found) == MOST
    assert sum(isinstance(each, Unreadable) for each in found) == 2


def test_the_documented_way_to_ask_a_model_works_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parent.parent / "docs" / "memory.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {})
    assert "unreachable" in capsys.readouterr().out
    for fault in EXPLAINED:
        assert f"`{fault}`" in page


def test_a_recording_that_a_kill_has_torn_is_gone_on_with_and_is_read_as_it_is_or_packed(tmp_path: Path) -> None:
    tape, packed = tmp_path / "tape.jsonl", tmp_path / "tape.jsonl.xz"
    questions = [Ask("operator", PROMPT, f"The pH is 7.7\u2028, the target {target}.") for target in (5, 6)]
    with provider(Said(GOOD)) as server:
        ask(server.url, record=tape, question=questions[0])
        with tape.open("a") as file:
            file.write('{"key": "torn')
        ask(server.url, record=tape, question=questions[1])
        url = server.url
    packed.write_bytes(lzma.compress(tape.read_bytes()))
    for each in (tape, packed):
        assert [ask(url, replay=each, question=question).value for question in questions] == [DOSE, DOSE]
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ModelError, match="cannot be read") as caught:
        ask(url, replay=packed)
    assert caught.value.fault == "not_recorded"


def test_every_fault_is_explained() -> None:
    assert all(EXPLAINED.values())


def test_prompts_are_versioned_files_with_a_digest_and_every_gap_is_filled() -> None:
    assert names()
    for name in names():
        prompt = load(name)
        assert prompt.identity == f"{name}@{prompt.version}:{prompt.sha256[:12]}"
    with pytest.raises(ValueError, match="most"):
        load("strategist").filled()
    with pytest.raises(ValueError, match="least"):
        load("strategist").filled(most="3", least="1")
    filled = load("strategist").filled(most="3")
    assert "{{" not in filled.text
    assert filled.identity == load("strategist").identity
    with pytest.raises(ValueError, match="strategist"):
        load("strategy")


def test_the_port_and_the_memory_load_without_a_client_library() -> None:
    program = (
        "import sys, labevolver.model.port, labevolver.bank, labevolver.retrieve, labevolver.strategist\n"
        "heavy = {'pydantic', 'pydantic_ai', 'openai', 'httpx2', 'numpy', 'mujoco', 'labference'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
