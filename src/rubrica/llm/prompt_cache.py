"""Providers' prompt caches: how a request that begins as an earlier one did becomes cheaper, and from which length on.

A provider keeps what it worked out for the beginning of a request, for some minutes. The next request that begins with
the very same characters reads it at a lower price. Some charge more for what is written to the cache than for other
input. Prices are in `rubrica.llm.price`; here is what a request shares with others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from rubrica.llm.model import Request, Usage

LEAST_TOKENS = 1024
"""Of a beginning that most providers keep; shorter ones are never read again."""

CHARACTERS_PER_TOKEN = 4  # of English prose; other texts have fewer, and are then kept though it is not expected

_LONGER = (
    (re.compile(r"claude-(haiku-4-5|opus-4-[56])"), 4096),
    (re.compile(r"claude-(3-haiku|3-5-haiku|haiku-3|sonnet-4-6)"), 2048),
)


@lru_cache(maxsize=256)
def fewest_cached_characters(model: str) -> int:
    """How many characters the beginning of a request must have for a model's provider to keep it.

    >>> fewest_cached_characters("openai:gpt-4o-mini"), fewest_cached_characters("anthropic:claude-haiku-4-5")
    (4096, 16384)
    """
    tokens = next((least for named, least in _LONGER if named.search(model)), LEAST_TOKENS)
    return tokens * CHARACTERS_PER_TOKEN


def shared_texts(request: Request) -> tuple[str, str]:
    """What a request has in common with others: its system text, and the beginning of what follows."""
    system = "".join(message.content for message in request.messages if message.role == "system")
    user_message = next((message for message in request.messages if message.role != "system"), None)
    return system, user_message.content[: user_message.shared] if user_message is not None and isinstance(
        user_message.shared, int
    ) else ""


def caches_for_less(model: str, price: Callable[[str, Usage], float | None]) -> bool:
    """Whether input that the provider of a model has kept is cheaper than other input, as far as prices are known.

    >>> from rubrica.llm.price import price
    >>> caches_for_less("openai:gpt-4o-mini", price), caches_for_less("openai:gpt-4", price)
    (True, False)
    """
    fresh, kept = price(model, Usage(1000)), price(model, Usage(1000, cached_input_tokens=1000))
    return fresh is not None and kept is not None and kept < fresh
