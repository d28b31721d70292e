"""The requests of the gateway one by one, newest first, a page at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, or_, select

from .gateway_figures import RequestWindow
from .tables import api_keys, gateway_requests

Outcome = Literal["all", "failed", "troubled"]
"""Which requests: all, those whose tier-0 answer did not pass, or those that something went wrong with."""

_requests = gateway_requests.c


class RequestCursor(NamedTuple):
    """Where a page ends."""

    at: datetime
    trace: UUID


class RequestSummary(msgspec.Struct, frozen=True, gc=False):
    """What a list says of a request. None is not known or not done."""

    trace: UUID
    at: datetime
    status: int  # of HTTP
    tier: str | None
    model: str | None
    question_type: str | None
    passed: bool | None
    score: float | None
    threshold: float | None
    cached: str
    degraded: str
    failed_steps: str
    total_usd: float | None
    total_ms: float

    @property
    def spot(self) -> RequestCursor:
        return RequestCursor(self.at, self.trace)


def recent(
    conn: Connection,
    window: RequestWindow,
    outcome: Outcome = "all",
    *,
    user_id: UUID | None = None,
    after: RequestCursor | None = None,
    limit: int = 25,
) -> list[RequestSummary]:
    """Requests of the window, newest first, from where a page before ended; of one user's keys, or all for None."""
    query = select(*(_requests[name] for name in RequestSummary.__struct_fields__)).where(
        window.holds, *_outcome_condition(outcome)
    )
    if user_id is not None:
        query = query.where(_requests.key_id.in_(select(api_keys.c.id).where(api_keys.c.user_id == user_id)))
    if after is not None:
        older = or_(_requests.at < after.at, and_(_requests.at == after.at, _requests.trace < after.trace))
        query = query.where(_requests.at <= after.at, older)  # the first of them is what an index serves
    query = query.order_by(_requests.at.desc(), _requests.trace.desc()).limit(limit)
    return [RequestSummary(*row) for row in conn.execute(query)]


def _outcome_condition(outcome: Outcome) -> list[ColumnElement[bool]]:
    if outcome == "failed":
        return [_requests.passed.is_(False)]
    if outcome == "troubled":
        return [or_(_requests.status >= 400, _requests.degraded != "", _requests.failed_steps != "")]
    return []
