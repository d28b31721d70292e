"""A key's bucket of requests in PostgreSQL, for servers that share it: they cannot pass its limit together."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, Double, cast, extract, func, select
from sqlalchemy.dialects.postgresql import insert

from .queue_tables import rate_buckets

_bucket = rate_buckets.c


def take_requests(conn: Connection, key_id: UUID, per_minute: int, count: int) -> float:
    """Take so many requests out of a key's bucket. 0: they were there; otherwise the seconds until one will be.

    Time is the database's: the clocks of servers may differ.
    """
    now, per_second = func.clock_timestamp(), per_minute / 60
    elapsed = func.greatest(cast(extract("epoch", now - _bucket.filled_at), Double), 0.0)
    level = func.least(float(per_minute), _bucket.level + elapsed * per_second)
    new = insert(rate_buckets).values(key_id=key_id, level=float(per_minute - count), filled_at=now)
    taken = new.on_conflict_do_update(
        index_elements=[_bucket.key_id], set_={"level": level - count, "filled_at": now}, where=level >= count
    )
    if conn.execute(taken.returning(_bucket.level)).first() is not None:
        return 0.0
    left = conn.scalar(select(level).where(_bucket.key_id == key_id))
    return max((1.0 - float(left or 0.0)) / per_second, 0.001)
