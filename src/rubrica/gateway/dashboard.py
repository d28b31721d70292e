"""What the gateway did, for whoever may see it: the figures of a window, the last requests, and one of them in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import MissingError
from rubrica.store.gateway import RequestRecord, request_by_trace
from rubrica.store.gateway_figures import Bucket, RequestWindow
from rubrica.store.gateway_recent import Outcome, RequestCursor, RequestSummary, recent
from rubrica.store.keys import get_key
from rubrica.workspace.access import Caller, require

from .analytics import LENGTHS, Analytics, Percentiles, RequestFigures, analytics
from .spend_report import SpendReport, spend_report
from .waiting import waiting


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


def window_figures(conn: Connection, caller: Caller, window: RequestWindow, bucket: Bucket) -> GatewayFigures:
    """The figures of a window."""
    require(caller, "viewer", "reading analytics")
    found = analytics(conn, window.since, window.until, window.question_type, bucket)
    return GatewayFigures(window, bucket, found, waiting(conn, window, bucket, found.all.requests))


def spending_of(conn: Connection, caller: Caller, since: datetime, until: datetime) -> SpendReport:
    """What was spent in a time: by one's own keys, for an admin by everybody."""
    return spend_report(conn, since, until, caller)


def recent_requests(
    conn: Connection, caller: Caller, window: RequestWindow, outcome: Outcome, after: RequestCursor | None, limit: int
) -> list[RequestSummary]:
    """The last requests of a window: those of one's own keys, for an admin everybody's."""
    require(caller, "viewer", "reading analytics")
    user_id = None if caller.is_admin else caller.user_id
    return recent(conn, window, outcome, user_id=user_id, after=after, limit=limit)


def kept_request(conn: Connection, caller: Caller, trace: str) -> RequestRecord:
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
