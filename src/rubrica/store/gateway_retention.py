"""Deleting what the gateway kept: texts first, then whole records, a few at a time so that nobody waits for long.

What was spent is kept by day in tables of its own, and stays.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select, update

from .tables import gateway_corrections, gateway_feedback, gateway_requests, gateway_texts

_requests, _texts, _feedback = gateway_requests.c, gateway_texts.c, gateway_feedback.c

TOGETHER = 500
"""Requests in one transaction."""

_HELD = gateway_requests.outerjoin(gateway_texts, _texts.trace == _requests.trace).outerjoin(
    gateway_feedback, _feedback.trace == _requests.trace
)


def _with_texts(before: datetime) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _requests.at < before, or_(_texts.trace.isnot(None), _feedback.comment != "")


def count_prunable(conn: Connection, before: datetime, texts_before: datetime) -> tuple[int, int]:
    """How many requests came before a time, and how many of those before another have texts."""
    old = select(func.count()).select_from(gateway_requests).where(_requests.at < before)
    with_texts = select(func.count(_requests.trace.distinct())).select_from(_HELD).where(*_with_texts(texts_before))
    return int(conn.execute(old).scalar_one()), int(conn.execute(with_texts).scalar_one())


def prune_texts(conn: Connection, before: datetime) -> int:
    """Delete prompts, answers and comments of a few requests that came before a time; of how many. Figures stay."""
    held = select(_requests.trace).distinct().select_from(_HELD).where(*_with_texts(before)).limit(TOGETHER)
    traces = list(conn.execute(held).scalars())
    if traces:
        conn.execute(delete(gateway_texts).where(_texts.trace.in_(traces)))
        conn.execute(update(gateway_feedback).where(_feedback.trace.in_(traces)).values(comment=""))
    return len(traces)


def prune_requests(conn: Connection, before: datetime) -> int:
    """Delete a few requests that came before a time, with all that hangs on them; how many."""
    query = select(_requests.trace).where(_requests.at < before).order_by(_requests.at).limit(TOGETHER)
    traces = list(conn.execute(query).scalars())
    if traces:
        for table in (gateway_texts, gateway_feedback, gateway_corrections, gateway_requests):
            conn.execute(delete(table).where(table.c.trace.in_(traces)))
    return len(traces)
