"""Figures over many requests of the gateway, added up by the database.

Sums go with the number of requests they are over: what is not known is left out of both, and never counts as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, String, and_, case, cast, func, literal_column, select

from rubrica.scoring.intervals import Moments

from .gateway import GONE
from .tables import gateway_corrections, gateway_feedback, gateway_requests

Bucket = Literal["minute", "hour", "day"]
Part = Literal["total", "first_byte", "classification", "tier0", "grading", "tier1"]
PARTS: tuple[Part, ...] = ("total", "first_byte", "classification", "tier0", "grading", "tier1")
LATENCY_SAMPLE = 50_000
"""Requests whose times are looked at one by one; of more, an even sample of about so many."""

_STEPS = 4096  # how finely a sample can be cut: three hexadecimal digits
_SHOWN: dict[Bucket, tuple[int, str]] = {  # how much of 2026-05-01 12:30 names a bucket
    "minute": (16, "YYYY-MM-DD HH24:MI"),
    "hour": (13, "YYYY-MM-DD HH24"),
    "day": (10, "YYYY-MM-DD"),
}
_requests, _feedback = gateway_requests.c, gateway_feedback.c


@dataclass(frozen=True, slots=True)
class RequestWindow:
    """Which requests are looked at."""

    since: datetime
    until: datetime  # not part of it
    question_type: str | None = None  # None: of all types

    @property
    def holds(self) -> ColumnElement[bool]:
        asked = _requests.tier.is_distinct_from("health")  # what the gateway asks by itself is no request
        within = and_(_requests.at >= self.since, _requests.at < self.until, asked)
        return within if self.question_type is None else and_(within, _requests.question_type == self.question_type)


class RequestSums(msgspec.Struct, gc=False):
    """Counts and sums over some requests."""

    requests: int = 0
    answered: int = 0
    tier0: int = 0
    streams: int = 0
    cached: int = 0
    degraded: int = 0
    refused: int = 0  # the client's mistake, or more than it may
    gone: int = 0  # the client did not wait
    errors: int = 0  # ours, or no model answered
    tier0_failures: int = 0
    grading_failures: int = 0
    graded: int = 0
    passed: int = 0
    scored: int = 0  # graded, with a number
    score: float = 0.0
    confidence: float = 0.0  # the graders', over what was scored
    varied: int = 0
    variance: float = 0.0
    classified: int = 0
    classification_confidence: float = 0.0
    tier0_priced: int = 0
    tier0_usd: float = 0.0
    tier1_priced: int = 0
    tier1_usd: float = 0.0
    classification_priced: int = 0
    classification_usd: float = 0.0
    grading_priced: int = 0  # of what was graded
    grading_usd: float = 0.0
    total_priced: int = 0
    total_usd: float = 0.0
    saved_priced: int = 0  # those whose cost and whose tier-1 cost are both known
    saved_usd: float = 0.0
    baseline_usd: float = 0.0  # over the same
    sent: int = 0  # tier-0's answer, without a grade, by the learned gate
    escalated: int = 0  # to tier-1, without a grade, by the learned gate

    def add(self, other: RequestSums) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class RequestGroup(msgspec.Struct, frozen=True):
    """Requests of one time, type and way of classifying, added up."""

    at: datetime  # when the bucket begins
    question_type: str | None
    classified_by: str | None
    sums: RequestSums


class RatingFigures(msgspec.Struct, frozen=True, gc=False):
    """What people think of answers with one kind of grade."""

    tier: str | None
    passed: bool | None
    opinions: int
    rated: int  # with a rating from 1 to 5
    rating: float  # their sum
    liked: int
    disliked: int


class ComparisonFigures(msgspec.Struct, frozen=True, gc=False):
    """What tier-1's answers to requests of one type and grade were worth beside tier-0's."""

    question_type: str | None
    passed: bool | None
    count: int
    difference: float  # sum of tier-1's score minus tier-0's
    squares: float  # of the differences
    better: int  # tier-1's answer was clearly better
    uncompared: int  # begun, and nothing came of it
    usd: float
    unpriced: int


class ExperimentArm(msgspec.Struct, frozen=True):
    """One arm of an experiment, conversation by conversation."""

    variant: str
    requests: int
    passed: Moments
    score: Moments
    total_usd: Moments
    rating: Moments
    unpriced: int


def groups(conn: Connection, window: RequestWindow, bucket: Bucket) -> list[RequestGroup]:
    """All requests of the window, in groups."""
    bar, nothing = literal_column("'|'", String), literal_column("''", String)
    named = [func.coalesce(column, nothing) for column in (_requests.question_type, _requests.classified_by)]
    key = (
        _bucket(conn, bucket).concat(named[0]).concat(bar).concat(named[1])
    )  # SQLite sorts by one text in half the time
    found = conn.execute(select(key, *_sums()).where(window.holds).group_by(key))
    return [RequestGroup(*_read_key(text, bucket), RequestSums(*sums)) for text, *sums in found]


def latencies(conn: Connection, window: RequestWindow, requests: int) -> dict[Part, list[float]]:
    """How long each part took, in ascending order: of all requests, or of an even sample if there are many."""
    query = select(*(_requests[f"{part}_ms"] for part in PARTS)).where(window.holds, *_sample_condition(conn, requests))
    rows = conn.execute(query).all()
    return {part: sorted(row[place] for row in rows if row[place] is not None) for place, part in enumerate(PARTS)}


def waits(conn: Connection, window: RequestWindow, bucket: Bucket, requests: int) -> dict[datetime, list[float]]:
    """How long requests took as a whole, by the bucket they came in, in ascending order; of many, an even sample."""
    query = select(_bucket(conn, bucket), _requests.total_ms).where(window.holds, *_sample_condition(conn, requests))
    found: dict[str, list[float]] = {}
    for text, milliseconds in conn.execute(query):
        found.setdefault(text, []).append(milliseconds)
    return {_read_bucket(text, bucket): sorted(found[text]) for text in sorted(found)}


def ratings(conn: Connection, window: RequestWindow) -> list[RatingFigures]:
    """What people think, by the tier that answered and the grade of tier-0's answer."""
    query = (
        select(
            _requests.tier,
            _requests.passed,
            func.count(),
            func.count(_feedback.rating),
            func.coalesce(func.sum(_feedback.rating), 0),
            func.count().filter(_feedback.liked),
            func.count().filter(~_feedback.liked),
        )
        .join_from(gateway_feedback, gateway_requests)
        .where(window.holds)
        .group_by(_requests.tier, _requests.passed)
    )
    return [RatingFigures(*row) for row in conn.execute(query)]


def corrections(conn: Connection, window: RequestWindow) -> dict[tuple[str | None, str], int]:
    """How often a question was taken for one type, and somebody says that it was of another, or of the same."""
    query = (
        select(_requests.question_type, gateway_corrections.c.question_type, func.count())
        .join_from(gateway_corrections, gateway_requests)
        .where(window.holds)
        .group_by(_requests.question_type, gateway_corrections.c.question_type)
    )
    return {(found, said): count for found, said, count in conn.execute(query)}


def comparisons(conn: Connection, window: RequestWindow) -> list[ComparisonFigures]:
    """What asking tier-1 too has shown, by question type and grade of tier-0's answer."""
    query = (
        select(
            _requests.question_type,
            _requests.passed,
            func.count(_requests.shadow_difference),
            func.coalesce(func.sum(_requests.shadow_difference), 0.0),
            func.coalesce(func.sum(_requests.shadow_difference * _requests.shadow_difference), 0.0),
            func.count().filter(_requests.shadow_better),
            func.count().filter(_requests.shadow_difference.is_(None)),
            func.coalesce(func.sum(_requests.shadow_usd), 0.0),
            func.count() - func.count(_requests.shadow_usd),
        )
        .where(window.holds, _requests.shadow_failure.isnot(None))
        .group_by(_requests.question_type, _requests.passed)
    )
    return [ComparisonFigures(*row) for row in conn.execute(query)]


def arms(conn: Connection, window: RequestWindow) -> list[ExperimentArm]:
    """The arms of experiments. Requests without a conversation of their own count as one each."""
    rated = (
        select(_feedback.trace, func.sum(_feedback.rating).label("total"), func.count(_feedback.rating).label("count"))
        .group_by(_feedback.trace)
        .subquery()
    )
    alone = case((_requests.conversation.is_(None), _requests.trace))
    measures: dict[str, tuple[Any, Any]] = {
        "passed": (func.count().filter(_requests.passed), func.count(_requests.passed)),
        "score": (func.sum(_requests.score), func.count(_requests.score)),
        "total_usd": (func.sum(_requests.total_usd), func.count(_requests.total_usd)),
        "rating": (func.sum(rated.c.total), func.sum(rated.c.count)),
    }
    named = [
        term.label(f"{name}_{kind}")
        for name, (total, count) in measures.items()
        for kind, term in (("total", func.coalesce(total, 0)), ("count", func.coalesce(count, 0)))
    ]
    each = (
        select(_requests.variant, func.count().label("requests"), *named)
        .outerjoin_from(gateway_requests, rated, rated.c.trace == _requests.trace)
        .where(window.holds, _requests.variant != "")
        .group_by(_requests.variant, _requests.conversation, alone)
        .subquery()
    )
    columns: list[Any] = [each.c.variant, func.sum(each.c.requests)]
    for name in measures:
        columns += _moments(each.c[f"{name}_total"], each.c[f"{name}_count"])
    query = select(*columns).group_by(each.c.variant).order_by(each.c.variant)
    return [_arm(*row) for row in conn.execute(query)]


def _arm(variant: str, requests: Any, *sums: Any) -> ExperimentArm:
    passed, score, usd, rating = (_read_moments(sums[place : place + 6]) for place in range(0, len(sums), 6))
    return ExperimentArm(variant, int(requests), passed, score, usd, rating, int(requests) - usd.count)


def _moments(total: ColumnElement[Any], count: ColumnElement[Any]) -> Sequence[ColumnElement[Any]]:
    """The fields of Moments, over groups with this total and count."""
    return (
        func.count().filter(count > 0),
        func.sum(count),
        func.sum(total),
        func.sum(total * total),
        func.sum(total * count),
        func.sum(count * count),
    )


def _read_moments(sums: Sequence[Any]) -> Moments:
    groups, count, *rest = sums
    return Moments(int(groups), int(count), *map(float, rest))


def _sums() -> list[ColumnElement[Any]]:
    """The fields of Sums, in their order."""
    graded, saved = _requests.passed.isnot(None), _requests.baseline_usd - _requests.total_usd

    def number(*where: Any) -> ColumnElement[Any]:
        return func.count().filter(*where) if where else func.count()

    def total(column: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.coalesce(func.sum(column), 0.0)

    return [
        number(),
        func.count(_requests.tier),
        number(_requests.tier == "tier-0"),
        number(_requests.stream),
        number(_requests.cached != ""),
        number(_requests.degraded != ""),
        number(_requests.status.between(400, 499), _requests.status != GONE),
        number(_requests.status == GONE),
        number(_requests.status >= 500),
        number(_requests.failed_steps != "", _requests.failed_steps.contains("tier-0")),
        number(_requests.failed_steps != "", _requests.failed_steps.contains("grading")),
        func.count(_requests.passed),
        number(_requests.passed),
        func.count(_requests.score),
        total(_requests.score),
        total(case((_requests.score.isnot(None), _requests.grade_confidence))),
        func.count(_requests.variance),
        total(_requests.variance),
        func.count(_requests.classification_confidence),
        total(_requests.classification_confidence),
        func.count(_requests.tier0_usd),
        total(_requests.tier0_usd),
        func.count(_requests.tier1_usd),
        total(_requests.tier1_usd),
        func.count(_requests.classification_usd),
        total(_requests.classification_usd),
        number(graded, _requests.grading_usd.isnot(None)),
        total(case((graded, _requests.grading_usd))),
        func.count(_requests.total_usd),
        total(_requests.total_usd),
        func.count(saved),
        total(saved),
        total(case((saved.isnot(None), _requests.baseline_usd))),
        number(_requests.zone == "send"),
        number(_requests.zone == "escalate"),
    ]


def _bucket(conn: Connection, bucket: Bucket) -> ColumnElement[str]:
    """When the bucket that a request falls into begins, in UTC, as text: that is how SQLite keeps times."""
    shown, form = _SHOWN[bucket]
    if conn.dialect.name == "sqlite":
        return func.substr(_requests.at, literal_column("1"), literal_column(str(shown)), type_=String)
    return func.to_char(func.timezone(literal_column("'UTC'"), _requests.at), literal_column(f"'{form}'"))


def _read_key(text: str, bucket: Bucket) -> tuple[datetime, str | None, str | None]:
    """When a group begins, the type and the classifier, as its key has them."""
    question_type, _, classified_by = text[_SHOWN[bucket][0] :].rpartition("|")
    return _read_bucket(text, bucket), question_type or None, classified_by or None


def _read_bucket(text: str, bucket: Bucket) -> datetime:
    """When a bucket begins, as the start of a text says."""
    shown = _SHOWN[bucket][0]
    begin = text[:shown] + "0000-01-01 00:00"[shown:]
    return datetime.strptime(begin, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def _sample_condition(conn: Connection, requests: int) -> list[ColumnElement[bool]]:
    """Of more requests than are looked at one by one, an even sample."""
    if requests <= LATENCY_SAMPLE:
        return []
    cut = max(1, round(_STEPS * LATENCY_SAMPLE / requests))
    return [_tail(conn) < f"{cut:03x}"]


def _tail(conn: Connection) -> ColumnElement[str]:
    """The last three digits of the trace: they are random, so that cutting by them is a fair draw."""
    text = cast(_requests.trace, String)
    return func.substr(text, -3) if conn.dialect.name == "sqlite" else func.right(text, 3)
