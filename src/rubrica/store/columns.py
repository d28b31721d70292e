"""Column types that mean the same on SQLite and PostgreSQL, and ids in the order they were made."""

from __future__ import annotations

import math
import secrets
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import JSON, DateTime, Dialect
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

from rubrica.errors import InputError

Document = JSON(none_as_null=True)
"""Plain data that is kept and given back as it is. PostgreSQL's `json`, not `jsonb`: judged text may hold a NUL."""

Words = JSON().with_variant(JSONB(), "postgresql")
"""A list of words that is searched."""


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time, in UTC. SQLite keeps no time zone, so it is taken off and put on again."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a point in time needs its time zone")
        return value.astimezone(UTC) if dialect.name == "postgresql" else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def new_id(now: datetime, noise: int | None = None) -> UUID:
    """A UUID of version 7: its order is the order in which ids were made, so that lists need no second key.

    `noise` are 74 random bits of the caller's own, for who makes so many that drawing them one by one takes too long.

    >>> early, late = (new_id(datetime(2026, 1, day, tzinfo=UTC)) for day in (1, 2))
    >>> early.version, early < late
    (7, True)
    """
    milliseconds = int(now.timestamp() * 1000) & 0xFFFF_FFFF_FFFF
    noise = secrets.randbits(74) if noise is None else noise
    return UUID(int=milliseconds << 80 | 7 << 76 | (noise >> 62) << 64 | 0b10 << 62 | noise & (1 << 62) - 1)


def to_json(value: Any) -> str:
    """A document as it is kept. A number that is not finite is refused: JSON has none, and null would be another value.

    >>> to_json({"points": [1, 2.5, None]})
    '{"points":[1,2.5,null]}'
    >>> to_json({"points": float("nan")})
    Traceback (most recent call last):
    rubrica.errors.InputError: a document cannot be kept: it holds a number that is not finite
    """
    try:
        text = msgspec.json.encode(value).decode()
        if "null" in text and not _is_finite(value):  # null is how NaN and infinity are written, too
            raise ValueError("it holds a number that is not finite")
    except (TypeError, ValueError, RecursionError) as error:  # half a character, a number of too many digits
        raise InputError(f"a document cannot be kept: {error}") from error
    return text


def _is_finite(value: Any) -> bool:
    """Whether all numbers in plain data are. What is not plain is a record of ours, whose numbers always are."""
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(map(_is_finite, value.values()))
        case list() | tuple():
            return all(map(_is_finite, value))
        case _:
            return True


from_json = msgspec.json.decode
