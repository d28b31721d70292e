"""How many tokens a call can take at most, told before it is made."""

from __future__ import annotations

from .model import Request, Usage

IMAGE_TOKENS = 2_000
"""Tokens that a picture is taken to have at most."""


def most_tokens(text: str) -> int:
    """An upper estimate of the tokens of a text: half the letters of ASCII, and all others.

    >>> most_tokens("Is every fact right?"), most_tokens("Is “every” fact right?"), most_tokens("是的")
    (11, 14, 3)
    """
    others = 0 if text.isascii() else min(len(text.encode("utf-8", "surrogatepass")) - len(text), len(text))
    return (len(text) + others) // 2 + 1


def most_usage(request: Request) -> Usage:
    """The most tokens that a call is taken to use: what is sent, and the longest reply that is allowed."""
    sent = sum(most_tokens(one.content) + IMAGE_TOKENS * len(one.images) for one in request.messages)
    schema = most_tokens(str(request.schema)) if request.schema is not None else 0
    return Usage(sent + schema, request.max_tokens)
