"""Which model: a name such as `deepseek:deepseek-v4-pro`, and how its provider is asked for typed output."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings

from .port import ModelError

Mode = Literal["native", "tool", "prompted"]
MODES: dict[str, Mode] = {
    "openai": "native",
    "anthropic": "tool",
    "deepseek": "prompted",
    "openai-compatible": "native",
}
"""Provider -> how typed output is asked for: a JSON schema, a tool, or a prompt with JSON mode.

DeepSeek has no JSON schema, and may not be made to call a tool while it thinks.
"""
OTHER_SERVER = OpenAIModelProfile(
    openai_chat_supports_max_completion_tokens=False,
    openai_chat_supports_multiple_system_messages=False,
    supports_inline_system_prompts=False,
)
"""What every server of this protocol understands: the limit of output tokens as `max_tokens`, since some ignore the
newer name in silence, and one system message, the first, since chat templates refuse any other."""
PLAIN = ModelSettings(framing_announcement="never")
"""A correction begins with the same words as the question, so that such a server need not read them again."""
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "deepseek": "DEEPSEEK_API_KEY"}
"""Provider -> environment variable that holds its key."""
LOCAL_KEY = "no-key"
"""What a server that wants no key is sent."""


@dataclass(frozen=True, slots=True)
class Backbone:
    """A model by provider and name; `url` is the address of another server that speaks the provider's protocol."""

    provider: str
    model: str
    url: str = ""
    mode: Mode = "native"

    @property
    def name(self) -> str:
        """Return provider and model."""
        return f"{self.provider}:{self.model}"


def parse(text: str, mode: str = "") -> Backbone:
    """Return the model of `provider:model`, with `@http://host:port/v1` for another address; raises `ModelError`."""
    provider, _, rest = text.partition(":")
    model, _, url = rest.partition("@")
    if provider not in MODES or not model:
        raise ModelError("setup", f"The model {text!r} is unknown; {', '.join(f'{each}:NAME' for each in MODES)}.")
    if provider == "openai-compatible" and not url:
        raise ModelError("setup", f"The model {text!r} needs an address, like {text}@http://127.0.0.1:8080/v1.")
    match mode:
        case "":
            return Backbone(provider, model, url, MODES[provider])
        case "native" | "tool" | "prompted":
            return Backbone(provider, model, url, mode)
        case _:
            raise ModelError("setup", f"The output mode {mode!r} is unknown; native, tool or prompted.")


def build(backbone: Backbone, client: httpx2.AsyncClient, key: str | None) -> Model:
    """Return the model of the client library; without a key, the provider's environment variable is read.

    Raises `ModelError` where there is neither.
    """
    where = backbone.url or None
    variable = KEYS.get(backbone.provider, "")
    if variable and not (key or where or os.environ.get(variable)):
        raise ModelError(
            "setup", f"{backbone.name} needs a key; with {variable} in the environment it would have worked."
        )
    match backbone.provider:
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            speaker = AnthropicProvider(api_key=key, base_url=where, http_client=client)
            return AnthropicModel(backbone.model, provider=speaker)
        case "deepseek":
            from openai import AsyncOpenAI
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.deepseek import DeepSeekProvider

            if where is None:
                return OpenAIChatModel(backbone.model, provider=DeepSeekProvider(api_key=key, http_client=client))
            caller = AsyncOpenAI(base_url=where, api_key=key or LOCAL_KEY, http_client=client)
            return OpenAIChatModel(backbone.model, provider=DeepSeekProvider(openai_client=caller))
        case _:
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            spoken = OpenAIProvider(base_url=where, api_key=key or (LOCAL_KEY if where else None), http_client=client)
            if backbone.provider == "openai":
                return OpenAIChatModel(backbone.model, provider=spoken)
            return OpenAIChatModel(backbone.model, provider=spoken, profile=OTHER_SERVER, settings=PLAIN)
