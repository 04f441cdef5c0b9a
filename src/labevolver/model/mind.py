"""A language model as a mind: typed and validated answers within a budget, through the client library's agent.

Every request that leaves is counted where it leaves, so that retries after a fault and retries after an invalid answer
are both in the reply. Nothing is streamed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import httpx2
from genai_prices import Usage, calc_price
from pydantic_ai import Agent, BinaryContent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import ContentFilterError, UnexpectedModelBehavior
from pydantic_ai.messages import UserContent
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from .backbone import Backbone, build, parse
from .background import Background
from .budget import Budget
from .cassette import Player, Recorder
from .failure import EXPECTED, CassetteMiss, Failure
from .metered import Failed, Metered, Patience
from .port import Ask, ModelError, Reply

T = TypeVar("T")
CORRECTIONS = 3
"""How often a model is told what is wrong with its answer before it counts as unable to give one."""
REPLAYED_KEY = "recorded"
"""Stands where a key would: a cassette needs none."""
MODES = {"native": NativeOutput, "tool": ToolOutput, "prompted": PromptedOutput}


class LanguageModel:
    """A mind behind a provider's interface, a recording of one, or, with a `record` path, both."""

    def __init__(
        self,
        backbone: Backbone | str,
        *,
        key: str | None = None,
        record: Path | None = None,
        replay: Path | None = None,
        patience: Patience | None = None,
        temperature: float = 0.0,
        output_tokens: int = 2048,
    ) -> None:
        """Prepare a model by name; nothing is sent yet. Raises `ModelError`.

        OpenAI's reasoning models take no temperature, and are sent none.
        """
        self.backbone = parse(backbone) if isinstance(backbone, str) else backbone
        if record is not None and replay is not None:
            raise ModelError("setup", f"Replies are recorded in {record} or taken from {replay}; not both at once.")
        self._patience = patience or Patience()
        self._pause: Callable[[float], Awaitable[None]] = _no_pause if replay else asyncio.sleep
        try:
            self._client = _client(record, replay)
            self._model: Model = build(self.backbone, self._client, REPLAYED_KEY if replay else key)
        except CassetteMiss as error:
            raise ModelError("setup" if record else "not_recorded", str(error)) from error
        except (ImportError, *EXPECTED) as error:
            raise ModelError("setup", f"{self.backbone.name} cannot be used: {error}") from error
        self._settings = ModelSettings(max_tokens=output_tokens, max_retries=0)
        if not self._model.profile.get("openai_supports_reasoning"):
            self._settings["temperature"] = temperature
        self._loop = Background()

    @property
    def name(self) -> str:
        """Return provider and model."""
        return self.backbone.name

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; once is enough."""
        if not self._client.is_closed:
            self._loop.run(self._client.aclose())
        self._loop.close()

    def ask(self, ask: Ask, answer: type[T], budget: Budget) -> Reply[T]:
        """Return an answer of the type asked for, a dataclass whose checks the model is told when it breaks them.

        Raises `ModelError` and nothing else.
        """
        if budget.limits.cost_usd is not None and not self.priced():
            raise ModelError("unpriced", f"No price of {self.name} is known; limit requests or tokens instead.")
        metered = Metered(self._model, budget, self._patience, self._pause)
        agent = Agent(
            metered,
            output_type=MODES[self.backbone.mode](answer),
            instructions=ask.prompt.text,
            retries=CORRECTIONS,
        )
        seen = [BinaryContent(image.data, media_type=image.media_type) for image in ask.images]
        # Servers of models that only read take no list.
        content: str | list[UserContent] = [ask.content, *seen] if seen else ask.content
        try:
            run = agent.run(content, model_settings=self._settings, usage_limits=UsageLimits(request_limit=None))
            value = self._loop.run(run).output
        except Failed as error:
            raise _told(error.failure, metered) from error
        except UnexpectedModelBehavior as error:
            raise _told(_unusable(error, metered, self.name), metered) from error
        except EXPECTED as error:
            raise _told(Failure("setup", f"{self.name} cannot be asked like this: {error}"), metered) from error
        return Reply(value, tuple(metered.calls), ask.prompt.identity)

    def priced(self) -> bool:
        """Return whether the installed price list knows this model."""
        provider = None if self.backbone.provider == "openai-compatible" else self.backbone.provider
        try:
            calc_price(Usage(input_tokens=1), self.backbone.model, provider_id=provider)
        except LookupError:
            return False
        return True


def _client(record: Path | None, replay: Path | None) -> httpx2.AsyncClient:
    """Return what sends: deadlines are `Metered`'s, proxies and certificates those of the environment."""
    if replay is not None:
        return httpx2.AsyncClient(transport=Player(replay), timeout=None)
    live = httpx2.AsyncClient(timeout=None, follow_redirects=True)
    return live if record is None else httpx2.AsyncClient(transport=Recorder(live, record), timeout=None)


def _unusable(error: UnexpectedModelBehavior, metered: Metered, name: str) -> Failure:
    """Return what a model failed at that answered, but not as asked."""
    if metered.ended == "length":
        cut = "was cut off at its limit of output tokens before its answer was complete"
        return Failure("too_long", f"{name} {cut}; a higher limit, where its context has room, may have worked.")
    if metered.ended == "content_filter" or isinstance(error, ContentFilterError):
        return Failure("filtered", f"{name} did not answer: its provider's content filter stepped in.")
    cause = " ".join(str(error.__cause__ or error).split())
    return Failure("invalid", f"{name} gave no answer of the type that was asked for: {cause[:300]}")


def _told(failure: Failure, metered: Metered) -> ModelError:
    return ModelError(failure.fault, failure.sentence, tuple(metered.calls), metered.last)


async def _no_pause(_: float) -> None:
    """Wait for nobody: a recording has no provider that wants rest."""
