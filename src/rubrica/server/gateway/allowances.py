"""What each key may choose and spend, looked up at most once a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from pydantic import ValidationError

from rubrica.errors import StoredError
from rubrica.gateway.controls import Allowance
from rubrica.store.database import Database
from rubrica.store.gateway import allowances

FRESH = 1.0
"""Seconds for which what is known of a key is believed."""


class Allowances:
    """The allowances of all keys. A key without one of its own has that of everybody."""

    def __init__(
        self, database: Database, everybody: Allowance, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database, self._everybody, self._monotonic = database, everybody, monotonic
        self._known: dict[UUID, tuple[Allowance, float]] = {}

    async def of(self, key_id: UUID | None) -> Allowance:
        """What a key allows; None is whoever needs none."""
        if key_id is None:
            return self._everybody
        known, now = self._known.get(key_id), self._monotonic()
        if known is not None:
            if now - known[1] <= FRESH:
                return known[0]
            self._known[key_id] = (known[0], now)  # requests that come meanwhile go by what is known
        found = self._read(key_id, await self._database.lookup(allowances, key_id))
        self._known[key_id] = (found, now)
        return found

    def _read(self, key_id: UUID, document: object) -> Allowance:
        if document is None:
            return self._everybody
        try:
            return Allowance.model_validate(document)
        except ValidationError as error:
            raise StoredError(f"the allowances of the key {key_id} cannot be read: {error}") from None
