"""Models that reason before they answer: thoughts count as output, and a limit for the reply would cut them off."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Effort = Literal["low", "medium", "high"]

THINKING: dict[Effort, int] = {"low": 2_048, "medium": 8_192, "high": 32_768}
"""Tokens of thought that an effort allows."""

_REASONING = re.compile(r"(?:^|[:#/])(?:o[1-9]|gpt-[5-9](?!.*chat)|deepseek-r|qwq|magistral)|thinking|reasoner")


@lru_cache(maxsize=256)
def reasoning_tokens(model: str, effort: Effort | None = None) -> int:
    """Tokens that a model may need before its reply begins: by the effort, else by its name, and none for most.

    >>> reasoning_tokens("openai:gpt-4o-mini"), reasoning_tokens("openai:o4-mini")
    (0, 8192)
    >>> reasoning_tokens("anthropic:claude-sonnet-4-5", "low")
    2048
    """
    if effort is not None:
        return THINKING[effort]
    return THINKING["medium"] if _REASONING.search(model) else 0
