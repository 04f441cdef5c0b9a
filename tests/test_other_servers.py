"""Servers that speak OpenAI's protocol on the user's own machine: what they are asked, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")

from fake_model import Said, provider
from labevolver.bank import MEMORY, Bank
from labevolver.cli import app
from labevolver.experiments.crew import Asked, assembled
from labevolver.experiments.evolve import journal
from labevolver.experiments.journal import Recorded, Spent, read, spent
from labevolver.maintain import Finished, Unreadable
from labevolver.model import metered
from labevolver.model.backbone import parse
from labevolver.model.budget import Budget
from labevolver.model.mind import CORRECTIONS, LanguageModel
from labevolver.model.port import Ask, Image, ModelError
from labevolver.model.strategist import LanguageStrategist, Reflection
from labevolver.prompts import load
from labevolver.strategist import Trajectory

NOTHING_NEW = '{"operations": []}'
ASK = Ask("strategist", load("strategist").filled(most="12"), "Goal: target_ph = 5.0. It failed.")
PATH = Trajectory(Finished("run-1", True), {"target_ph": 5.0}, {"ph": 7.7}, ())
OVERFLOWS: dict[str, Any] = {
    "llama.cpp": {
        "error": {
            "code": 400,
            "message": "request (1203 tokens) exceeds the available context size (1024 tokens), try increasing it",
            "type": "exceed_context_size_error",
        }
    },
    "vLLM": {
        "object": "error",
        "message": "This model's maximum context length is 1024 tokens. However, you requested 3251 tokens.",
        "code": 400,
    },
    "LM Studio": {
        "error": "Trying to keep the first 1203 tokens when context the overflows. However, the model is loaded with "
        "context length of only 1024 tokens, which is not enough."
    },
}
"""What servers say of a request that is longer than their context of 1024 tokens."""


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metered, "FIRST_WAIT_S", 0.0)


@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_a_server_is_asked_in_the_form_that_every_chat_template_takes(mode: str) -> None:
    """One system message, the first; then turns of plain text; the limit under the name that all of them heed."""
    with (
        provider(Said('{"operations": 7}'), Said(NOTHING_NEW)) as server,
        LanguageModel(parse(f"openai-compatible:local@{server.url}", mode), output_tokens=99) as mind,
    ):
        assert mind.ask(ASK, Reflection, Budget()).value == Reflection(())
    first, again = (asked["messages"] for asked in server.asked)
    assert [each["role"] for each in again] == ["system", "user", "assistant", "user"]
    assert all(isinstance(each["content"], str) for each in again)
    assert again[:2] == first, "what was read is not read again"
    assert [(asked["max_tokens"], "max_completion_tokens" in asked) for asked in server.asked] == [(99, False)] * 2


def test_a_picture_is_still_sent_beside_the_words() -> None:
    with (
        provider(Said(NOTHING_NEW)) as server,
        LanguageModel(f"openai-compatible:local@{server.url}") as mind,
    ):
        mind.ask(Ask("detector", ASK.prompt, "Look.", (Image(b"\x89PNG pixel"),)), Reflection, Budget())
    words, picture = server.asked[0]["messages"][-1]["content"]
    assert (words["text"], picture["type"]) == ("Look.", "image_url")


@pytest.mark.parametrize("name", OVERFLOWS)
def test_a_context_that_is_too_small_is_said_with_its_size_and_not_tried_again(name: str) -> None:
    with (
        provider(Said(status=400, body=OVERFLOWS[name])) as server,
        LanguageModel(f"openai-compatible:local@{server.url}") as mind,
        Bank(MEMORY) as bank,
    ):
        with pytest.raises(ModelError, match=r"a larger one.* would have worked.*1024 tokens") as caught:
            mind.ask(ASK, Reflection, Budget())
        assert (caught.value.fault, len(server.asked)) == ("too_long", 1)
        made = LanguageStrategist(mind, Budget()).reflect(PATH, [])
        bank.learn(PATH.finished, made)
        assert [type(each) for each in made] == [Unreadable] and len(bank.quarantined()) == 1 and bank.trials == 1


def test_the_command_line_says_how_long_an_answer_may_be_and_take(tmp_path: Path) -> None:
    with provider(Said('{"operations": 7}'), Said(hang=True)) as server:
        asked = Asked(f"openai-compatible:local@{server.url}", output_tokens=77, deadline_s=0.2)
        with (
            assembled(asked, tmp_path) as crew,
            pytest.raises(ModelError, match=r"within 0\.2 s; a longer wait") as caught,
        ):
            assert crew.mind is not None
            crew.mind.ask(ASK, Reflection, Budget())
    assert caught.value.fault == "timeout"
    assert [each["max_tokens"] for each in server.asked] == [77] * 4
    options = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).stdout
    assert "--output-tokens" in options and "--wait" in options


def test_a_request_that_is_refused_for_something_else_is_not_called_too_long() -> None:
    body = {"error": {"message": "response_format is not supported", "type": "invalid_request_error"}}
    with (
        provider(Said(status=400, body=body)) as server,
        LanguageModel(f"openai-compatible:local@{server.url}") as mind,
        pytest.raises(ModelError, match="local: status 400: response_format is not supported") as caught,
    ):
        mind.ask(ASK, Reflection, Budget())
    assert caught.value.fault == "rejected"


def test_a_trial_without_a_usable_proposal_says_why_and_what_it_cost(tmp_path: Path) -> None:
    with provider(Said('{"intent": "sing", "template": "choir"}')) as server:
        named = f"openai-compatible:local@{server.url}"
        asked = ["run", "ph", "--instances", "paper", "--strategist", "symbolic", "--output-tokens", "77"]
        asked += ["--wait", "30", "--model", named]
        ran = CliRunner().invoke(app, [*asked, "--out", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    (events,) = tmp_path.rglob("events.jsonl")
    (refused,) = [each for each in map(json.loads, events.read_text().splitlines()) if each["event"] == "Refused"]
    assert "no success (interface_failure)" in ran.stdout and refused["sentence"] in ran.stdout
    assert "(invalid)" in refused["sentence"] and "choir" in refused["sentence"], "what was said is in the record"
    path = journal(tmp_path, 0)
    assert [each["max_tokens"] for each in server.asked] == [77] * (CORRECTIONS + 1)
    assert spent(path) == Spent(CORRECTIONS + 1, 110 * (CORRECTIONS + 1))
    assert read(path)[-1]["ended"] == refused["sentence"]
    assert Recorded(path).name.startswith("openai-compatible:local ")
