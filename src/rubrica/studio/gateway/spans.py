"""The stretches of time that the gateway's page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from rubrica.store.gateway_figures import Bucket, RequestWindow

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
