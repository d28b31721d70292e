"""What requests of the gateway cost, added up by the database: by day, key and team, and by model."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, Double, String, and_, cast, false, func, literal_column, select, true

from .tables import api_keys, gateway_requests, users

_requests = gateway_requests.c
HEALTH = "health checks"
"""Who pays for what the gateway asks by itself, to know whether a deployment is back."""


class SpendSum(msgspec.Struct, frozen=True, gc=False):
    """What requests of one day, key and team cost, in US dollars."""

    day: str  # of UTC, as 2026-05-01
    key_id: UUID | None
    key: str  # how people know it; empty: nobody needed one
    team: str | None
    requests: int
    usd: float  # of those whose price is known
    unpriced: int  # requests whose price is not known


class ModelSpend(msgspec.Struct, frozen=True, gc=False):
    """What one model was paid, in US dollars."""

    model: str
    requests: int  # that it took part in
    usd: float
    unpriced: int


def spend_sums(conn: Connection, since: datetime, until: datetime, user_id: UUID | None = None) -> list[SpendSum]:
    """Costs by day, key and team; of one user's keys, or all for None."""
    day, health = _day(conn), func.coalesce(_requests.tier == literal_column("'health'"), false())
    query = (
        select(
            day,
            _requests.key_id,
            health,
            _requests.team,
            func.count(),
            func.coalesce(func.sum(_requests.total_usd), 0.0),
            func.count() - func.count(_requests.total_usd),
        )
        .where(_wanted(since, until, user_id))
        .group_by(day, _requests.key_id, health, _requests.team)
        .order_by(day)
    )
    rows = conn.execute(query).all()
    names = _key_names(conn, {row[1] for row in rows if row[1] is not None})
    return [SpendSum(row[0], row[1], HEALTH if row[2] else names.get(row[1], ""), *row[3:]) for row in rows]


def model_spend(conn: Connection, since: datetime, until: datetime, user_id: UUID | None = None) -> list[ModelSpend]:
    """Costs by model, the dearest first. Requests from before models were kept apart count with who answered."""
    each = func.json_each if conn.dialect.name == "sqlite" else func.json_each_text
    paid = each(_requests.model_usd).table_valued("key", "value")
    usd = cast(paid.c.value, Double)
    named = (
        select(paid.c.key, func.count(), func.coalesce(func.sum(usd), 0.0), func.count() - func.count(usd))
        .join_from(gateway_requests, paid, true())
        .where(_wanted(since, until, user_id), _requests.model_usd.isnot(None))
        .group_by(paid.c.key)
    )
    total = _requests.total_usd
    older = (
        select(_requests.model, func.count(), func.coalesce(func.sum(total), 0.0), func.count() - func.count(total))
        .where(_wanted(since, until, user_id), _requests.model_usd.is_(None), _requests.model.isnot(None))
        .where(_requests.cached == "")
        .group_by(_requests.model)
    )
    found: dict[str, ModelSpend] = {}
    for row in (*conn.execute(named), *conn.execute(older)):
        before = found.get(row[0], ModelSpend(row[0], 0, 0.0, 0))
        found[row[0]] = ModelSpend(row[0], before.requests + row[1], before.usd + row[2], before.unpriced + row[3])
    return sorted(found.values(), key=lambda one: (-one.usd, one.model))


def comparison_spend(conn: Connection, since: datetime, until: datetime) -> float:
    """What comparing answers cost, which no client asked for."""
    query = select(func.coalesce(func.sum(_requests.shadow_usd), 0.0)).where(_wanted(since, until, None))
    return float(conn.execute(query).scalar_one())


def _wanted(since: datetime, until: datetime, user_id: UUID | None) -> ColumnElement[bool]:
    within = and_(_requests.at >= since, _requests.at < until)
    if user_id is None:
        return within
    return and_(within, _requests.key_id.in_(select(api_keys.c.id).where(api_keys.c.user_id == user_id)))


def _day(conn: Connection) -> ColumnElement[str]:
    if conn.dialect.name == "sqlite":
        return func.substr(_requests.at, literal_column("1"), literal_column("10"), type_=String)
    return func.to_char(func.timezone(literal_column("'UTC'"), _requests.at), literal_column("'YYYY-MM-DD'"))


def _key_names(conn: Connection, wanted: set[UUID]) -> dict[UUID | None, str]:
    """How people know keys: by their beginning, whose they are and what they are for."""
    if not wanted:
        return {}
    query = select(api_keys.c.id, api_keys.c.prefix, users.c.name, api_keys.c.label).join_from(api_keys, users)
    found = conn.execute(query.where(api_keys.c.id.in_(wanted)))
    return {key: f"{prefix}… of {user}" + (f" ({label})" if label else "") for key, prefix, user, label in found}
