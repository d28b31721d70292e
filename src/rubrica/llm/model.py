"""The interface of language models: a Request in, a Reply out, or a ModelError that says whether to retry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from rubrica.errors import RubricaError
from rubrica.llm.reasoning import Effort

Role = Literal["system", "user", "assistant"]
StopReason = Literal["end", "length", "refusal", "other"]
Trouble = Literal[
    "rate_limited",  # 429: wait, then try again
    "overloaded",  # 5xx, 529: wait, then try again
    "timeout",  # no answer in time: try again
    "unreachable",  # no connection: try again
    "garbled",  # an answer that is not what the protocol says: try again
    "rejected",  # 4xx: the request itself is at fault; trying again cannot help
    "unauthorised",  # 401, 403: no key, or a wrong one
    "over_budget",  # not asked, because the budget is used up
    "tripped",  # not asked, because the provider has failed too often recently
]


class ChatMessage(msgspec.Struct, frozen=True, gc=False):
    """One message of a request. `images` are file paths, http(s) or data: URLs.

    `shared` says how many characters of a user's message, and all its images, other requests begin with as well;
    system messages are always taken to be shared. Unset, it is not part of the cache key.
    """

    role: Role
    content: str
    images: tuple[str, ...] = ()
    shared: int | msgspec.UnsetType = msgspec.UNSET


class Request(msgspec.Struct, frozen=True, gc=False):
    """What a model is asked. Everything here is part of the cache key."""

    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = None  # JSON Schema the reply must follow, where the provider can enforce it
    schema_name: str = "reply"
    temperature: float = 0.0
    max_tokens: int = 1024
    seed: int | None = None
    top_logprobs: int = 0  # alternatives per token, where offered
    effort: Effort | msgspec.UnsetType = msgspec.UNSET  # of a model that reasons; its thoughts are in max_tokens too


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0  # part of input_tokens that the provider had cached
    cache_write_tokens: int = 0  # part of input_tokens that the provider put into its cache, for a price of its own


class TokenChance(msgspec.Struct, frozen=True, gc=False):
    """One generated token and the alternatives it had, by log-probability."""

    token: str
    logprob: float
    alternatives: Mapping[str, float]


class Reply(msgspec.Struct, frozen=True, gc=False):
    """What a model answered."""

    text: str
    model: str  # as the provider names it
    usage: Usage
    stop: StopReason = "end"
    duration_ms: float = 0.0
    chances: tuple[TokenChance, ...] = ()
    cached: bool = False  # taken from our own cache: it cost nothing this time


class ModelError(RubricaError):
    """A model gave no usable answer."""

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        *,
        retry_after: float | None = None,
        status: int | None = None,
        code: str | None = None,
    ) -> None:
        self.trouble: Trouble = trouble
        self.retry_after = retry_after  # seconds, as the provider asked
        self.status = status
        self.code = code  # the provider's own word for it, such as context_length_exceeded
        super().__init__(message)

    @property
    def worth_retrying(self) -> bool:
        return self.trouble in ("rate_limited", "overloaded", "timeout", "unreachable", "garbled")


class Model(Protocol):
    """Anything that answers requests. `name` is how a user wrote it: ``anthropic:claude-haiku-4-5``."""

    @property
    def name(self) -> str: ...

    async def __call__(self, request: Request) -> Reply: ...

    async def close(self) -> None: ...
