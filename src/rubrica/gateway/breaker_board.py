"""The board of breakers in the gateway's database, so that workers and machines tell each other what is down."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from rubrica.llm.shared_breakers import BreakerNews
from rubrica.store.database import Database
from rubrica.store.gateway_sharing import publish_breakers, read_breakers

from .names import public_name

LOG = logging.getLogger("rubrica.gateway")


class DatabaseBoard:
    """What one process tells and reads."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock
        self._name = secrets.token_hex(16)

    async def publish(self, news: Sequence[BreakerNews]) -> None:
        shown = [msgspec.structs.replace(one, model=public_name(one.model)) for one in news]
        await self._database.write(publish_breakers, shown, self._name, self._clock())

    async def poll(self) -> Sequence[BreakerNews]:
        return await self._database.read(read_breakers, self._name, self._clock())


def log_news(news: BreakerNews) -> None:
    """Say what another process found out."""
    what = f"is left alone ({news.trouble})" if news.rest else "is asked again"
    LOG.warning("%s %s, as another process found out", public_name(news.model), what)
