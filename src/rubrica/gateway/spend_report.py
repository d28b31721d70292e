"""Where the money went: by day, by key, by team and by model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Connection

from rubrica.errors import InputError
from rubrica.store.gateway_spend import ModelSpend, SpendSum, comparison_spend, model_spend, spend_sums
from rubrica.workspace.access import LOCAL, Caller, require

LONGEST = timedelta(days=400)
NO_KEY, NO_TEAM = "no key", "no team"


class SpendLine(msgspec.Struct, frozen=True):
    """What somebody or something cost, in US dollars."""

    name: str
    requests: int
    usd: float  # of those whose price is known
    unpriced: int  # requests whose price is not known


class SpendReport(msgspec.Struct, frozen=True):
    """What requests cost over a time; for who is no admin, those of their own keys."""

    since: datetime
    until: datetime
    days: tuple[SpendLine, ...]
    keys: tuple[SpendLine, ...]
    teams: tuple[SpendLine, ...]
    models: tuple[ModelSpend, ...]
    rows: tuple[SpendSum, ...]  # the same by day, key and team
    comparisons_usd: float | None = None  # what no client asked for; admins are told


def spend_report(conn: Connection, since: datetime, until: datetime, caller: Caller = LOCAL) -> SpendReport:
    """What was spent from `since` until just before `until`."""
    require(caller, "viewer", "reading what was spent")
    if not since < until:
        raise InputError("the time looked at ends after it begins")
    if until - since > LONGEST:
        raise InputError(f"that is more than {LONGEST.days} days: take a shorter time")
    user_id = None if caller.is_admin else caller.user_id
    rows = spend_sums(conn, since, until, user_id)
    return SpendReport(
        since,
        until,
        _lines(rows, lambda row: row.day, lambda line: (0.0, line.name)),
        _lines(rows, lambda row: row.key or (NO_KEY if row.key_id is None else str(row.key_id)), _dearest),
        _lines(rows, lambda row: row.team or NO_TEAM, _dearest),
        tuple(model_spend(conn, since, until, user_id)),
        tuple(rows),
        comparison_spend(conn, since, until) if caller.is_admin else None,
    )


def _dearest(line: SpendLine) -> tuple[float, str]:
    return -line.usd, line.name


def _lines(
    rows: Iterable[SpendSum], name: Callable[[SpendSum], str], order: Callable[[SpendLine], tuple[float, str]]
) -> tuple[SpendLine, ...]:
    found: dict[str, list[SpendSum]] = {}
    for row in rows:
        found.setdefault(name(row), []).append(row)
    lines = [SpendLine(own, *_sums(parts)) for own, parts in found.items()]
    return tuple(sorted(lines, key=order))


def _sums(parts: Sequence[SpendSum]) -> tuple[int, float, int]:
    return sum(one.requests for one in parts), sum(one.usd for one in parts), sum(one.unpriced for one in parts)
