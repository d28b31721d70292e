"""Answers that workers and machines give again for each other, through the gateway's database.

They are looked for only where this process has none itself, for a moment at most; they are written in the background.
A database that is slow or away costs a request that moment once in a while, and never fails one. Records that keep no
texts have no shared answers either, and what records would mask is not shared: neither a prompt nor an answer with
personal data or a key in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from rubrica import __version__
from rubrica.errors import JsonError
from rubrica.jsontext import decode_json
from rubrica.llm.provider_table import provider_of
from rubrica.llm.settings import Settings
from rubrica.store.database import Database
from rubrica.store.gateway_sharing import SharedAnswerRow, add_answers, find_answer

from .chat import Chat
from .record import masked_text
from .settings import GatewaySettings
from .upstream import Completion

LOG = logging.getLogger("rubrica.gateway")
PATIENCE = 0.1
"""Seconds that a request waits for the database to find an answer."""

CALM = 5.0
"""Seconds for which nothing is looked for after the database failed or was too slow."""

LINGER = 0.1
"""Seconds to wait for more to write along with the first."""

TOGETHER, MOST_WAITING = 50, 500
LARGEST = 100_000
"""Bytes of a request, and of an answer, that is shared."""


def setup_digest(settings: GatewaySettings, models: Settings) -> str:
    """All of a gateway's settings that its answers depend on: processes share where it is the same."""
    providers = {found.name for name in settings.models if (found := provider_of(name)) is not None and found.base_url}
    parts = (
        settings.tier0,
        settings.middle,
        settings.tier1,
        settings.grader,
        settings.grading,
        settings.classifier,
        settings.learned_gate,
        sorted((name, models.base_url_of(name)) for name in providers),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def log_sharing(settings: GatewaySettings) -> None:
    """Say whether kept answers are shared, and why not."""
    cache = settings.cache
    if settings.shares_answers:
        LOG.info("kept answers are shared through the database")
    elif (cache.exact or cache.semantic) and cache.database is None:
        LOG.info("kept answers stay within each process: records keep no texts (records.prompts: keep)")


class StoredAnswer(msgspec.Struct, frozen=True):
    """An answer, and what is told of it when it is given again."""

    tier: str
    completion: Completion
    baseline: float | None
    question_type: str | None = None
    confidence: float = 0.0
    source: Literal["offline", "model", "fallback", "given", "cache"] = "cache"
    score: float | None = None  # None: it was not graded
    threshold: float = 0.0
    passed: bool = False
    version: str = __version__


@dataclass(frozen=True, slots=True)
class SharedHit:
    """An answer of another process."""

    stored: StoredAnswer
    age: float  # seconds
    exact: bool


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: bytes
    form: bytes | None
    chat: Chat
    stored: StoredAnswer
    at: datetime


_decode = msgspec.msgpack.Decoder(StoredAnswer).decode


class SharedAnswers:
    """Looks answers up, and writes them. Use it on one event loop."""

    def __init__(
        self,
        database: Database,
        seconds: float,  # that an answer may be given again
        clock: Callable[[], datetime],
        ticking: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database, self._kept, self._clock, self._ticking = database, timedelta(seconds=seconds), clock, ticking
        self._waiting: deque[_Waiting] = deque(maxlen=MOST_WAITING)
        self._more = asyncio.Event()
        self._calm_until = 0.0
        self._told = False

    async def find(self, request: bytes, form: bytes | None) -> SharedHit | None:
        """An answer of any process; None also where the database cannot say in time."""
        if self._ticking() < self._calm_until:
            return None
        now = self._clock()
        try:
            async with asyncio.timeout(PATIENCE):
                row = await self._database.read(find_answer, request, form, now)
        except Exception as error:  # noqa: BLE001 - no request depends on it, whatever goes wrong
            self._fail("looked for", error)
            return None
        if row is None:
            return None
        try:
            stored = _decode(row.answer)
        except msgspec.ValidationError:
            return None
        if stored.version != __version__:
            return None
        return SharedHit(stored, max(0.0, (now - row.answered_at).total_seconds()), row.request == request)

    def put(self, request: bytes, form: bytes | None, chat: Chat, stored: StoredAnswer) -> None:
        """Take an answer to be written; where too many wait, the oldest is not."""
        if chat.size > LARGEST or len(stored.completion.raw) > LARGEST:
            return
        self._waiting.append(_Waiting(request, form, chat, stored, self._clock()))
        self._more.set()

    async def keep_up(self) -> None:
        """Write what waits, again and again, until cancelled."""
        while True:
            await self._more.wait()
            await asyncio.sleep(LINGER)
            await self.write()

    async def write(self) -> None:
        """Write what waits now, but for what records would mask."""
        self._more.clear()
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
            rows = await asyncio.to_thread(self._rows, batch)
            try:
                if rows:
                    await self._database.write(add_answers, rows)
                    self._told = False
            except Exception as error:  # noqa: BLE001 - the boundary of a task that nobody waits for
                self._fail("written", error)
                return

    def _rows(self, batch: Sequence[_Waiting]) -> list[SharedAnswerRow]:
        return [
            SharedAnswerRow(one.request, one.form, msgspec.msgpack.encode(one.stored), one.at, one.at + self._kept)
            for one in batch
            if _may_be_kept(one.chat, one.stored.completion)
        ]

    def _fail(self, what: str, error: Exception) -> None:
        self._calm_until = self._ticking() + CALM
        if not self._told:
            LOG.warning("shared answers cannot be %s for now (%s)", what, type(error).__name__)
        self._told = True


def _may_be_kept(chat: Chat, answer: Completion) -> bool:
    """Whether records would keep the prompt and the answer word for word."""
    try:
        said = decode_json(answer.raw)
    except JsonError:
        return False
    texts = [*_texts(chat.body), answer.text, *_texts(said.get("choices") if isinstance(said, dict) else None)]
    whole = "\n".join(texts)
    return masked_text(whole) == whole


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for part in value.values():
                yield from _texts(part)
        case list():
            for part in value:
                yield from _texts(part)
