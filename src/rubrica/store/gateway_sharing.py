"""What the processes of a gateway tell each other: which breakers are open, and answers to be given again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, delete, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from rubrica.llm.shared_breakers import BreakerNews

from .sharing_tables import gateway_answers, gateway_breakers

REMEMBERED = timedelta(hours=1)
"""How long news of a breaker matters to anybody."""

TOGETHER = 500
"""Answers that are deleted in one transaction."""

_breakers, _answers = gateway_breakers.c, gateway_answers.c


class SharedAnswerRow(msgspec.Struct, frozen=True, gc=False):
    """An answer that any process may give again."""

    request: bytes  # a digest
    form: bytes | None
    answer: bytes
    answered_at: datetime
    expires_at: datetime


def publish_breakers(conn: Connection, news: Sequence[BreakerNews], told_by: str, now: datetime) -> None:
    """Tell the others; of what was told before about the same place, nothing stays."""
    at = _time(conn, now)
    insert: Any = (postgresql if conn.dialect.name == "postgresql" else sqlite).insert
    for one in sorted(news, key=lambda one: one.place):  # one order: no deadlocks
        values = {
            "model": one.model[:200],
            "told_by": told_by,
            "told_at": at - timedelta(seconds=one.age),
            "rest": one.rest,
            "failures": one.failures,
            "trouble": one.trouble,
        }
        add = insert(gateway_breakers).values({"place": one.place, **values})
        conn.execute(add.on_conflict_do_update(index_elements=["place"], set_=values))
    conn.execute(delete(gateway_breakers).where(_breakers.told_at < at - REMEMBERED))


def read_breakers(conn: Connection, reader: str, now: datetime) -> list[BreakerNews]:
    """What the others told of late."""
    at = _time(conn, now)
    query = select(gateway_breakers).where(_breakers.told_by != reader, _breakers.told_at >= at - REMEMBERED)
    return [
        BreakerNews(
            row.place,
            row.model,
            rest=row.rest,
            age=max(0.0, (at - row.told_at).total_seconds()),
            failures=row.failures,
            trouble=row.trouble,
            stamp=row.told_at.timestamp(),
        )
        for row in conn.execute(query)
    ]


def add_answers(conn: Connection, rows: Sequence[SharedAnswerRow]) -> None:
    """Keep answers, in place of older ones to the same requests."""
    insert: Any = (postgresql if conn.dialect.name == "postgresql" else sqlite).insert
    for row in sorted(rows, key=lambda row: row.request):  # one order: no deadlocks
        values = msgspec.structs.asdict(row)
        add = insert(gateway_answers).values(values)
        conn.execute(add.on_conflict_do_update(index_elements=["request"], set_=values))


def find_answer(conn: Connection, request: bytes, form: bytes | None, now: datetime) -> SharedAnswerRow | None:
    """An answer to the same request; else the latest to a question of the same form."""
    same = _answers.request == request
    wanted = same if form is None else or_(same, _answers.form == form)
    query = select(gateway_answers).where(and_(wanted, _answers.expires_at > now))
    found = [SharedAnswerRow(*row) for row in conn.execute(query.order_by(_answers.answered_at.desc()).limit(20))]
    return next((row for row in found if row.request == request), found[0] if found else None)


def count_answers(conn: Connection, before: datetime, now: datetime) -> int:
    """How many answers `prune_answers` would delete."""
    query = select(func.count()).select_from(gateway_answers).where(_past(before, now))
    return int(conn.execute(query).scalar_one())


def prune_answers(conn: Connection, before: datetime, now: datetime) -> int:
    """Delete a few answers that were given before a time, or may not be given any more; how many."""
    requests = list(conn.execute(select(_answers.request).where(_past(before, now)).limit(TOGETHER)).scalars())
    if requests:
        conn.execute(delete(gateway_answers).where(_answers.request.in_(requests)))
    return len(requests)


def _past(before: datetime, now: datetime) -> Any:
    return or_(_answers.answered_at < before, _answers.expires_at <= now)


def _time(conn: Connection, now: datetime) -> datetime:
    """The time by the one clock that all processes share: PostgreSQL's own, or that of a SQLite file's machine."""
    if conn.dialect.name != "postgresql":
        return now
    at: datetime = conn.execute(select(func.clock_timestamp())).scalar_one()
    return at
