"""The model ``council``: several models that answer together. The gateway asks for it by name and does not know how it
is held; whoever serves the gateway brings it along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from .chat import Chat
from .upstream import Completion

COUNCIL = "council"
"""The name that requests ask for it by."""


class CouncilAnswer(msgspec.Struct, frozen=True):
    """What a council came to, as the gateway passes it on."""

    completion: Completion  # the final answer; its usage is that of all calls
    usd: float | None  # of all calls; None: some price is not known
    told: Mapping[str, Any]  # for the debug block: the ranking, who failed, and the like
    degraded: str = ""  # why the final answer is not the chair's


class Council(Protocol):
    """Answers a request by a session of several models."""

    @property
    def name(self) -> str: ...

    @property
    def models(self) -> Sequence[str]: ...  # all that may take part

    @property
    def tokens(self) -> int: ...  # of one answer, at most

    async def __call__(self, chat: Chat) -> CouncilAnswer: ...
