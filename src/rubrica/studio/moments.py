"""Dates and times as pages show them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(text: str) -> str:
    """A point in time, to the minute, in UTC.

    >>> moment("2026-05-04T10:20:31+02:00"), moment("soon")
    ('2026-05-04 08:20', 'soon')
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{found.astimezone(UTC) if found.tzinfo is not None else found:%Y-%m-%d %H:%M}"
