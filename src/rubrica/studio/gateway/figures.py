"""The gateway's figures over a period, and the same as a series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import MissingError
from rubrica.gateway.analytics import LENGTHS, Analytics, Percentiles, RequestFigures, analytics
from rubrica.gateway.waiting import waiting
from rubrica.store.gateway import RequestRecord, request_by_trace
from rubrica.store.gateway_figures import Bucket, RequestWindow
from rubrica.store.gateway_recent import Outcome, RequestCursor, RequestSummary, recent
from rubrica.store.keys import get_key
from rubrica.workspace.access import Caller, require

SpanName = Literal["hour", "day", "week", "month"]


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of time that ends now, and the buckets it is drawn in."""

    title: str
    length: timedelta
    bucket: Bucket

    def window(self, now: datetime, question_type: str | None = None) -> RequestWindow:
        """It begins where a bucket does, so that the first one is whole."""
        return RequestWindow(floored(now - self.length, self.bucket), now, question_type)


SPANS: Mapping[SpanName, TimeSpan] = {
    "hour": TimeSpan("Hour", timedelta(hours=1), "minute"),
    "day": TimeSpan("Day", timedelta(days=1), "hour"),
    "week": TimeSpan("Week", timedelta(days=7), "hour"),
    "month": TimeSpan("30 days", timedelta(days=30), "day"),
}


@dataclass(frozen=True, slots=True)
class GatewayFigures:
    """Figures of a window as a whole, and by the times in it."""

    window: RequestWindow
    bucket: Bucket
    figures: Analytics
    waits: Mapping[datetime, Percentiles]

    @property
    def times(self) -> list[datetime]:
        """When each bucket begins, those without a request too."""
        found, length = [self.window.since], LENGTHS[self.bucket]
        while found[-1] + length < self.window.until:
            found.append(found[-1] + length)
        return found

    def over_time(self, figure: Callable[[RequestFigures], float | None]) -> list[float | None]:
        """A figure of each bucket; None where there is none."""
        trend = self.figures.trend
        found = (trend.get(at.isoformat()) for at in self.times)
        return [None if figures is None else figure(figures) for figures in found]

    def waited(self, percentile: Callable[[Percentiles], float]) -> list[float | None]:
        """A percentile of what each bucket's requests took, in milliseconds."""
        found = (self.waits.get(at) for at in self.times)
        return [None if own is None else percentile(own) for own in found]


def look(conn: Connection, caller: Caller, window: RequestWindow, bucket: Bucket) -> GatewayFigures:
    """The figures of a window."""
    require(caller, "viewer", "reading analytics")
    found = analytics(conn, window.since, window.until, window.question_type, bucket)
    return GatewayFigures(window, bucket, found, waiting(conn, window, bucket, found.all.requests))


def recent_requests(
    conn: Connection, caller: Caller, window: RequestWindow, outcome: Outcome, after: RequestCursor | None, limit: int
) -> list[RequestSummary]:
    """The last requests of a window: those of one's own keys, for an admin everybody's."""
    require(caller, "viewer", "reading analytics")
    user_id = None if caller.is_admin else caller.user_id
    return recent(conn, window, outcome, user_id=user_id, after=after, limit=limit)


def one(conn: Connection, caller: Caller, trace: str) -> RequestRecord:
    """All that was kept of a request: of one's own keys, for an admin of any. What was asked and said is for admins."""
    require(caller, "viewer", "reading analytics")
    try:
        found = request_by_trace(conn, UUID(trace))
    except ValueError:
        found = None
    if found is None or not (caller.is_admin or _sent_by(conn, caller, found)):
        raise MissingError(f"no request {trace[:60]!r} is kept, or it is not yours to see")
    return found if caller.is_admin else msgspec.structs.replace(found, prompt=None, answer=None)


def _sent_by(conn: Connection, caller: Caller, found: RequestRecord) -> bool:
    key = None if found.key_id is None else get_key(conn, found.key_id)
    return key is not None and caller.owns(key.user_id)


def floored(at: datetime, bucket: Bucket) -> datetime:
    """When the bucket begins that a moment falls into.

    >>> from datetime import UTC
    >>> f"{floored(datetime(2026, 5, 4, 10, 20, 30, tzinfo=UTC), 'hour'):%H:%M}"
    '10:00'
    """
    whole = at.replace(second=0, microsecond=0)
    if bucket == "minute":
        return whole
    return whole.replace(minute=0) if bucket == "hour" else whole.replace(hour=0, minute=0)
