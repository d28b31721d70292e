"""A council session that is held here: what has happened in it and is not written down yet, and who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from rubrica.council.events import Concluded, Event
from rubrica.council.result import CouncilResult
from rubrica.council.stored_result import result_record
from rubrica.store.council_sessions import SessionEnd, SessionLine, StoredEvent
from rubrica.workspace.council_sessions import interruption

from .council_problems import council_refusal
from .council_service import CouncilRequest

RENEWED = 10.0
"""Seconds between two signs of life of a session in which nothing happens."""
GATHERED = 0.2
"""Seconds for which pieces of the chair's answer are gathered: a row for each word would be too many."""
WRITING = "writing"
STOPPED = "the session was stopped; what had arrived is kept"


class LiveSession:
    """A session that is held here."""

    def __init__(self, line: SessionLine, request: CouncilRequest) -> None:
        loop = asyncio.get_running_loop()
        self.line, self.request = line, request
        self.begun: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[CouncilResult] = loop.create_future()
        self.begun.add_done_callback(_retrieved)
        self.ended.add_done_callback(_retrieved)
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.interrupted: bool | None = None  # None: nobody wants it to end
        self._last: dict[str, Any] = {"event": "concluded"}
        self._happened: asyncio.Queue[StoredEvent | SessionEnd] = asyncio.Queue()
        self.heard = False

    def cancel(self, *, interrupted: bool = False) -> None:
        """End it: because somebody wants it, or because its server ends."""
        if self.interrupted is None:
            self.interrupted = interrupted
        if self.task is not None:
            self.task.cancel()

    def hear(self, event: Event, now: datetime) -> None:
        """Take note of an event. The conclusion waits for the result, which is there a moment after it."""
        self.heard = True
        plain = event.to_dict()
        if isinstance(event, Concluded):
            self._last = plain
        else:
            self._happened.put_nowait(StoredEvent(0, plain["event"], plain, now))

    def end(self, outcome: CouncilResult | BaseException, now: datetime) -> None:
        """Take note of how it ended."""
        self._happened.put_nowait(self._end(outcome, now))

    def _end(self, outcome: CouncilResult | BaseException, now: datetime) -> SessionEnd:
        if isinstance(outcome, CouncilResult):
            usd = None if outcome.cost is None else outcome.cost.usd
            event = StoredEvent(0, "concluded", self._last, now)
            return SessionEnd("finished", event, outcome.to_dict(), result_record(outcome), usd)
        if isinstance(outcome, asyncio.CancelledError):
            if self.interrupted:
                return interruption(0, now)
            problem = {"type": "urn:rubrica:problem:stopped", "title": "Stopped", "detail": STOPPED}
            return SessionEnd("stopped", StoredEvent(0, "error", problem, now))
        told = msgspec.json.decode(council_refusal({}, outcome).body)
        return SessionEnd("failed", StoredEvent(0, "error", told, now))

    async def news(self) -> tuple[list[StoredEvent], SessionEnd | None]:
        """What happened since the last time; nothing, where nothing does for a while."""
        found: list[StoredEvent | SessionEnd] = []
        try:
            async with asyncio.timeout(RENEWED):
                found.append(await self._happened.get())
        except TimeoutError:
            return [], None
        if _is_piece(found[0]):
            await asyncio.sleep(GATHERED)
        while not self._happened.empty():
            found.append(self._happened.get_nowait())
        end = next((one for one in found if isinstance(one, SessionEnd)), None)
        return joined([one for one in found if isinstance(one, StoredEvent)]), end

    def tell(self) -> None:
        """Wake whoever follows."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    async def result(self) -> CouncilResult:
        """What it came to, once that is kept; whatever went wrong is raised."""
        return await asyncio.shield(self.ended)


def joined(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    """Events in which pieces of a text that follow each other are one.

    >>> now = datetime(2026, 5, 4)
    >>> pieces = [StoredEvent(0, WRITING, {"text": text}, now) for text in ("Air ", "scatters", " light.")]
    >>> [event.data for event in joined(pieces)]
    [{'text': 'Air scatters light.'}]
    """
    found: list[StoredEvent] = []
    for event in events:
        if found and _is_piece(event) and _is_piece(found[-1]) and not event.data.get("anew"):
            before = found.pop()
            event = replace(before, data={**before.data, "text": before.data["text"] + event.data["text"]})
        found.append(event)
    return found


def _is_piece(event: StoredEvent | SessionEnd) -> bool:
    return isinstance(event, StoredEvent) and event.name == WRITING


def _retrieved(future: asyncio.Future[Any]) -> None:
    """Nobody has to wait for how a session begins and ends."""
    if not future.cancelled():
        future.exception()
