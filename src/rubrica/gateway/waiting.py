"""How long clients waited over a period."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from rubrica.store.gateway_figures import Bucket, RequestWindow, waits

from .analytics import Percentiles, percentiles


def waiting(conn: Connection, window: RequestWindow, bucket: Bucket, requests: int) -> dict[datetime, Percentiles]:
    """Percentiles of whole requests by the bucket they came in; of many `requests`, those of an even sample."""
    return {at: percentiles(ordered) for at, ordered in waits(conn, window, bucket, requests).items()}
