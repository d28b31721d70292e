"""Conversations that a later request may go on with by `previous_response_id`: in memory, of each key its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec

from rubrica.errors import InputError

MOST_BYTES = 64_000_000
"""Of all conversations together. Where it is reached, the key that holds most loses its oldest."""


class UnknownResponseError(InputError):
    """A request goes on with a response that is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no response {name!r} to go on with: it was another key's or process's, not stored, or too long "
            "ago (send the whole conversation as `input`)"
        )


class ResponseMemory:
    """The conversations that were answered last.

    >>> memory = ResponseMemory()
    >>> memory.keep("one key", "resp_1", [{"role": "user", "content": "Why?"}])
    >>> memory.find("one key", "resp_1")
    [{'role': 'user', 'content': 'Why?'}]
    >>> memory.find("another key", "resp_1")
    Traceback (most recent call last):
    rubrica.server.gateway.response_memory.UnknownResponseError: there is no response 'resp_1' to go on with...
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._held = most, 0
        self._kept: dict[str, OrderedDict[str, bytes]] = {}  # by key and response
        self._sizes: dict[str, int] = {}  # by key

    def find(self, owner: str, name: str) -> list[dict[str, Any]]:
        """The messages up to a response, and the response itself."""
        own = self._kept.get(owner)
        found = own.get(name) if own is not None else None
        if found is None:
            raise UnknownResponseError(name)
        messages: list[dict[str, Any]] = msgspec.json.decode(found)
        return messages

    def keep(self, owner: str, name: str, messages: Sequence[dict[str, Any]]) -> None:
        """Keep a conversation, and let go of as many old ones as it takes."""
        kept = msgspec.json.encode(messages)
        if len(kept) > self._most // 4:
            return
        self._kept.setdefault(owner, OrderedDict())[name] = kept
        self._grow(owner, len(kept))
        while self._held > self._most:
            largest = max(self._sizes, key=self._sizes.__getitem__)
            _, dropped = self._kept[largest].popitem(last=False)
            self._grow(largest, -len(dropped))

    def _grow(self, owner: str, size: int) -> None:
        self._held += size
        self._sizes[owner] = self._sizes.get(owner, 0) + size
        if not self._kept[owner]:
            del self._kept[owner], self._sizes[owner]
