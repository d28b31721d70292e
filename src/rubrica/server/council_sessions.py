"""The council sessions of a server: each goes on by itself, is kept as it happens, and can be followed from any event.

What happens is written down before anybody is told. So a client that lost its connection, another one, and a server
that was started anew all read the same, and a session that was cut off keeps what had arrived.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection

from rubrica.council.result import CouncilResult
from rubrica.errors import ConflictError, StoreError
from rubrica.store import council_sessions as store
from rubrica.store.columns import new_id
from rubrica.store.council_sessions import SessionEnd, SessionLine, StoredEvent
from rubrica.store.database import Database
from rubrica.workspace.access import Caller, check_action
from rubrica.workspace.council_sessions import (
    change_session,
    conclude_session,
    interrupt_sessions,
    numbered,
    session_news,
)
from rubrica.workspace.spending import SpendingLimits

from .council_service import CouncilRequest, CouncilService, CouncilUnavailableError
from .live_session import STOPPED, LiveSession

LOG = logging.getLogger("rubrica.server")
LEASE = timedelta(seconds=60)
"""A session that its server has not held for so long was cut off."""
ELSEWHERE = 1.0
"""Seconds between two looks at a session that another server holds."""
PATIENCE = 10.0
"""Seconds that a server which ends waits for what is still to be written."""
LONGEST_TITLE = 200

SessionQuery = Callable[[Connection], SessionLine]
KeepSession = Callable[[SessionQuery], Awaitable[object]]
"""Runs a query in one transaction, together with whatever else shall be kept if it is."""


class CouncilSessions:
    """Starts sessions, keeps them, stops them, and lets others follow. `close` it before the database."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], datetime],
        spending: SpendingLimits,
        council: CouncilService | None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._database, self._clock, self._spending, self._council = database, clock, spending, council
        self._on_end = on_end
        self._live: dict[UUID, LiveSession] = {}
        self._writing: set[asyncio.Task[None]] = set()

    async def start(self, caller: Caller, request: CouncilRequest, keep: KeepSession | None = None) -> LiveSession:
        """Begin a session, which goes on by itself. What keeps it from beginning is raised, and nothing is kept."""
        check_action(caller, "asking the council")
        if self._council is None:
            raise CouncilUnavailableError("this server has no council")
        self._council.settings(request)
        now = self._clock()
        title = " ".join(request.question.replace("\0", " ").split())[:LONGEST_TITLE]
        line = SessionLine(new_id(now), caller.user_id, caller.name, "running", title, None, now, None, now + LEASE)
        live = LiveSession(line, request)
        self._live[line.id] = live
        live.task = asyncio.get_running_loop().create_task(self._hold(caller, live, keep or self._database.write))
        try:
            await asyncio.shield(live.begun)
        except asyncio.CancelledError:
            live.cancel()
            raise
        return live

    async def stop(self, caller: Caller, session_id: UUID) -> SessionLine:
        """Stop a session; what it has paid for is kept. One that has ended stays as it is."""
        line = await self._database.read(change_session, caller, session_id, "stopping a council session")
        live = self._live.get(session_id)
        if live is not None:
            await self.abandon(live)
        elif line.state == "running":
            raise ConflictError("another server holds the session; stop it there")
        return await self._database.read(change_session, caller, session_id, "stopping a council session")

    async def abandon(self, live: LiveSession) -> None:
        """Stop a session that is held here, and wait until that is kept."""
        live.cancel()
        await asyncio.wait([live.ended])

    async def follow(
        self, caller: Caller, session_id: UUID, after: int, quiet: float
    ) -> AsyncGenerator[StoredEvent | None, None]:
        """The events after one, as they come, to the last; None where nothing has happened for `quiet` seconds."""
        waited = 0.0
        while True:
            live = self._live.get(session_id)
            changed = None if live is None else live.changed
            news = await self._database.read(session_news, caller, session_id, after)
            for event in news.events:
                after, waited = event.number, 0.0
                yield event
            if news.line.state != "running":
                return
            pause = ELSEWHERE if changed is None else quiet
            try:
                async with asyncio.timeout(pause):
                    await (asyncio.Event() if changed is None else changed).wait()
            except TimeoutError:
                waited += pause
            if waited >= quiet:
                waited = 0.0
                yield None

    async def end_abandoned(self) -> None:
        """End the sessions that no server holds any more, such as those of one that was killed."""
        now = self._clock()
        gone = await self._database.read(store.abandoned_sessions, now, everything=False)
        if any(line.id not in self._live for line in gone):
            await self._database.write(interrupt_sessions, now, held=set(self._live))
            self._on_end()

    async def close(self) -> None:
        """End the sessions that are held here: they are kept as interrupted."""
        for live in self._live.values():
            live.cancel(interrupted=True)
        if self._writing:
            await asyncio.wait(self._writing, timeout=PATIENCE)

    # --- one session ----------------------------------------------------------------------------------------

    async def _hold(self, caller: Caller, live: LiveSession, keep: KeepSession) -> None:
        assert self._council is not None  # noqa: S101 - `start` has made sure
        writing = asyncio.get_running_loop().create_task(self._keep(live, keep))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        outcome: CouncilResult | BaseException
        try:
            async with self._spending.paying(caller, await self._council.quote(live.request)):
                outcome = await self._council.hear(
                    live.request, lambda event: live.hear(event, self._clock()), owner=reply_owner(caller)
                )
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the boundary of a session
            outcome = error
        if not live.heard and isinstance(outcome, BaseException):  # nobody was asked: there is nothing to keep
            writing.cancel()
        else:
            outcome = self._end(live, outcome)
        await asyncio.wait([writing])
        self._live.pop(live.line.id, None)
        self._on_end()
        if isinstance(outcome, CouncilResult):
            live.ended.set_result(outcome)
            return
        told = CouncilUnavailableError(STOPPED) if isinstance(outcome, asyncio.CancelledError) else outcome
        live.ended.set_exception(told)
        if not live.begun.done():
            live.begun.set_exception(told)

    def _end(self, live: LiveSession, outcome: CouncilResult | BaseException) -> CouncilResult | BaseException:
        """Have the end written down; what it was, or why that cannot be told."""
        try:
            live.end(outcome, self._clock())
        except Exception as error:  # noqa: BLE001 - whoever follows shall not wait for ever
            live.end(error, self._clock())
            return error
        return outcome

    async def _keep(self, live: LiveSession, keep: KeepSession) -> None:
        """Write down what happens, in the order in which it does, until the session has ended."""
        number, end = 0, None
        while end is None:
            happened, end = await live.news()
            events = [
                StoredEvent(number + place, event.name, event.data, event.created_at)
                for place, event in enumerate(happened, 1)
            ]
            number += len(events)
            last = None if end is None else numbered(end, number + 1)
            if live.begun.done():
                await self._write(_further(live.line, events, last, self._clock() + LEASE))
            else:
                try:
                    await keep(_first(live, events, last, self._clock() + LEASE))
                except Exception as error:  # noqa: BLE001 - told to whoever starts it
                    live.begun.set_exception(error)
                    live.cancel()
                    return
                live.begun.set_result(None)
            live.tell()

    async def _write(self, query: Callable[[Connection], None]) -> None:
        """Keep what was paid for, however long the database is away."""
        while True:
            try:
                return await self._database.write(query)
            except StoreError as error:
                LOG.warning("events of a council session are not written yet: %s", error)
                await asyncio.sleep(1.0)


def reply_owner(caller: Caller) -> str:
    """Whose kept replies a caller finds: the user's own, whatever key is used."""
    return f"user:{caller.user_id}"


def _first(live: LiveSession, events: list[StoredEvent], end: SessionEnd | None, held_until: datetime) -> SessionQuery:
    further = _further(live.line, events, end, held_until)
    request = live.request.model_dump(mode="json", exclude_unset=True)

    def query(conn: Connection) -> SessionLine:
        store.add_session(conn, live.line, request)
        further(conn)
        return live.line

    return query


def _further(
    line: SessionLine, events: list[StoredEvent], end: SessionEnd | None, held_until: datetime
) -> Callable[[Connection], None]:
    def query(conn: Connection) -> None:
        store.add_events(conn, line.id, events, held_until)
        if end is not None:
            conclude_session(conn, line, end)

    return query
