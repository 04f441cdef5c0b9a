"""Between the client library and the wire: budget, deadline, retries, and a count of every request that leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from .budget import Budget
from .failure import EXPECTED, Failure, named
from .port import Call

FIRST_WAIT_S = 1.0
"""Wait before the first retry where the provider asks for none [s]; it doubles."""
LONGEST_WAIT_S = 60.0
"""Longest wait that is granted to a provider [s]."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take, and how often the same one is sent again after a fault that may pass."""

    deadline_s: float = 120.0
    """Longest time from sending a request to its whole reply [s]."""
    retries: int = 2


class Failed(Exception):
    """A request failed for good; carried through the client library to the port."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


class Metered(WrapperModel):
    """A model of one question: each request is counted before it leaves, and every reply is priced."""

    def __init__(
        self,
        wrapped: Model,
        budget: Budget,
        patience: Patience,
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        super().__init__(wrapped)
        self.calls: list[Call] = []
        self.last = ""
        """What was said last, as text."""
        self.ended = ""
        """Why the last reply ended, as its provider says."""
        self._budget = budget
        self._patience = patience
        self._pause = pause

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send a request until it is answered or out of patience; raises `Failed`."""
        tries = self._patience.retries + 1
        for number in range(1, tries + 1):
            answer = await self._once(messages, model_settings, model_request_parameters)
            if not isinstance(answer, Failure):
                return answer
            if not answer.again or number == tries:
                tried = f" ({number} requests)" if number > 1 else ""
                raise Failed(replace(answer, sentence=answer.sentence + tried))
            wait = FIRST_WAIT_S * 2 ** (number - 1) if answer.wait_s is None else answer.wait_s
            await self._pause(min(wait, LONGEST_WAIT_S))
        raise AssertionError("a request is tried at least once")

    async def _once(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelResponse | Failure:
        settings = ModelSettings(**(model_settings or {}))
        if spent := self._budget.spent():
            raise Failed(Failure("budget", spent))
        if (left := self._budget.tokens_left()) is not None:
            settings["max_tokens"] = min(left, settings.get("max_tokens", left))
        self._budget.sent()
        began = time.monotonic()
        try:
            sending = self.wrapped.request(messages, settings, parameters)
            response = await asyncio.wait_for(sending, self._patience.deadline_s)
        except EXPECTED as error:
            failure = named(error, self.model_name, self._patience.deadline_s)
            self.calls.append(Call(failure.fault, time.monotonic() - began))
            return failure
        self._count(response, time.monotonic() - began, messages)
        return response

    def _count(self, response: ModelResponse, latency_s: float, messages: list[ModelMessage]) -> None:
        self.last = text_of(response)
        self.ended = response.finish_reason or ""
        usage = response.usage
        told = bool(usage.input_tokens or usage.output_tokens)
        cost = price(response) if told else None
        size = len(self.last.encode()) + sum(len(repr(message).encode()) for message in messages)
        self._budget.answered(usage.input_tokens + usage.output_tokens if told else None, size, cost)
        given, made = (usage.input_tokens, usage.output_tokens) if told else (None, None)
        self.calls.append(Call("answered", latency_s, given, made, cost))


def text_of(response: ModelResponse) -> str:
    """Return what a model said, the arguments of its tool calls among it, as text."""
    said = []
    for part in response.parts:
        if isinstance(part, TextPart):
            said.append(part.content)
        elif isinstance(part, ToolCallPart):
            said.append(part.args_as_json_str())
    return "\n".join(said)


def price(response: ModelResponse) -> float | None:
    """Return what a reply cost by the installed price list [US dollars], or None where it knows no price."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
