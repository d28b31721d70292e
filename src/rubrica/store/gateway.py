"""What the gateway keeps: a row per request, the comparisons with tier-1 made later, and what people think of answers.

Rows are written in the background, in batches, and a batch may be tried twice: whatever is there already stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, Literal
from uuid import UUID

import msgspec
from sqlalchemy import Connection, Dialect, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from rubrica.errors import MissingError

from .columns import new_id
from .tables import api_keys, gateway_corrections, gateway_feedback, gateway_requests, gateway_texts

Tier = Literal[
    "tier-0", "tier-1", "tier-2", "tier-3", "tier-4", "tier-5", "tier-6", "tier-7", "council", "embeddings", "health"
]
Cached = Literal["", "exact", "semantic"]
Degraded = Literal["", "tier-0 failed", "tier-1 failed", "no tier-1", "unsafe"]
Uncompared = Literal["", "tier-0 failed", "tier-1 failed", "not gradable", "not graded"]
Thumb = Literal["up", "down"]
GateZone = Literal["send", "escalate"]

GONE = 499
"""The status of a request whose client did not wait for its answer."""

_requests, _texts, _feedback = gateway_requests.c, gateway_texts.c, gateway_feedback.c


class GradedDimension(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one dimension was given, on its own scale. Reasons are not kept: they quote what was judged."""

    score: float | None
    confidence: float = 1.0
    judge: str = ""  # the model that gave it; empty: no model did
    stands_in: bool = False  # a neutral value, for nobody could score it


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request: where its answer came from, what the grade was, what it cost and how long it took.

    None is not known or not done, and never 0. Costs are US dollars, times milliseconds.
    """

    trace: UUID
    at: datetime  # when it came
    status: int  # of HTTP
    total_ms: float
    key_id: UUID | None = None
    team: str | None = None  # of the key
    conversation: int | None = None  # a digest of how it began
    variant: str = ""  # the arm of an experiment
    chosen: str = ""  # by headers
    stream: bool = False
    cached: Cached = ""
    degraded: Degraded = ""
    failed_steps: str = ""
    tier: Tier | None = None
    model: str | None = None
    deployment: str | None = None  # of several that the tier has
    question_type: str | None = None
    classified_by: str | None = None
    classification_confidence: float | None = None
    rubric: str | None = None  # name@version
    passed: bool | None = None  # whether tier-0's answer did
    score: float | None = None  # of tier-0's answer, 0 to 100
    threshold: float | None = None
    gated: bool | None = None  # a gate took part in the grade
    zone: GateZone | None = None  # what the learned gate did without a grade
    grade_note: str | None = None  # what judges were not shown, and what else a grade says of itself
    grade_confidence: float | None = None
    variance: float | None = None
    dimension_scores: Mapping[str, GradedDimension] | None = None
    tier0_usd: float | None = None
    tier1_usd: float | None = None  # all tiers above tier-0
    classification_usd: float | None = None
    grading_usd: float | None = None
    total_usd: float | None = None
    baseline_usd: float | None = None  # tier-1 alone
    model_usd: Mapping[str, float | None] | None = None  # what each model was paid
    tier0_ms: float | None = None
    tier1_ms: float | None = None
    classification_ms: float | None = None
    grading_ms: float | None = None
    first_byte_ms: float | None = None  # of a stream
    input_tokens: int = 0  # of all models together
    output_tokens: int = 0
    answer_tokens: int = 0  # of the answer that was given
    prompt_digest: bytes | None = None
    answer_digest: bytes | None = None
    prompt: str | None = None  # personal data masked; None: texts are not kept
    answer: str | None = None
    rejected: str | None = None  # tier-0's answer, where it did not pass
    withheld: str | None = None  # tier-1's, where it was not sent

    @property
    def savings_usd(self) -> float | None:
        """Against tier-1 alone; below 0 where an answer was paid for that did not pass."""
        return None if self.total_usd is None or self.baseline_usd is None else self.baseline_usd - self.total_usd


class TierComparison(msgspec.Struct, frozen=True, gc=False):
    """What either tier's answer to a request was worth, by grades that had no say in which was sent."""

    trace: UUID
    score: float | None = None  # of tier-1's answer, 0 to 100
    difference: float | None = None  # tier-1's minus tier-0's
    better: bool | None = None  # clearly so
    failure: Uncompared = ""  # why there is no score
    usd: float | None = None  # what it cost to find out; None: not known
    base: float | None = None  # the score of tier-0's answer, graded once more
    sample: Mapping[str, Any] | None = None  # what the learned gate learns from it


class ComparedRequest(msgspec.Struct, frozen=True, gc=False):
    """A graded request of which both tiers' answers have a score."""

    question_type: str
    score: float  # of tier-0's answer, 0 to 100: the one that decided whether it was sent
    difference: float  # how much better tier-1's answer is, by other grades
    gated: bool  # a gate took part, so that no threshold decides about it
    threshold: float | None = None


class KeySpending(msgspec.Struct, frozen=True, gc=False):
    """What requests of one key cost."""

    usd: float  # of those whose price is known
    shadow_usd: float  # what comparing their answers cost
    unpriced: int  # requests whose price is not known


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody thinks of one answer."""

    trace: UUID
    given: int | Thumb | None  # 1 to 5, or a thumb; None: nothing but the type of the question was said
    comment: str = ""  # personal data masked
    scores: Mapping[str, float] | None = None  # by dimension, on its scale
    question_type: str | None = None  # what the question was in truth


class RatedRequest(msgspec.Struct, frozen=True, gc=False):
    """What somebody gave an answer, beside its grade."""

    trace: UUID
    user_id: UUID
    rating: int | None
    scores: dict[str, float] | None  # by dimension
    tier: str | None
    rubric: str | None
    dimension_scores: dict[str, dict[str, Any]] | None  # of tier-0's answer
    prompt_digest: bytes | None
    prompt: str | None
    answer: str | None


_TEXTS = ("prompt", "answer", "rejected", "withheld")
_COLUMNS = tuple(name for name in RequestRecord.__struct_fields__ if name not in _TEXTS)
_values = attrgetter(*_COLUMNS)
_ADD = {"postgresql": postgresql.insert(gateway_requests).on_conflict_do_nothing()}
_ADD_TEXTS = {
    "sqlite": sqlite.insert(gateway_texts).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(gateway_texts).on_conflict_do_nothing(),
}


def add_requests(conn: Connection, entries: Sequence[RequestRecord | TierComparison]) -> None:
    """Keep requests, and comparisons of requests that came before them or are kept already."""
    records = [entry for entry in entries if isinstance(entry, RequestRecord)]
    if records:
        _add(conn, records)
    if texts := [one for one in records if one.prompt is not None]:
        rows = [{"trace": one.trace, **{name: getattr(one, name) for name in _TEXTS}} for one in texts]
        rows = [{**row, "answer": row["answer"] or ""} for row in rows]
        conn.execute(_ADD_TEXTS[conn.dialect.name], rows)
    for entry in entries:
        if isinstance(entry, TierComparison):
            values = {
                f"shadow_{name}": getattr(entry, name) for name in TierComparison.__struct_fields__ if name != "trace"
            }
            conn.execute(update(gateway_requests).where(_requests.trace == entry.trace).values(values))


def _add(conn: Connection, records: Sequence[RequestRecord]) -> None:
    if conn.dialect.name != "sqlite":
        conn.execute(_ADD[conn.dialect.name], [dict(zip(_COLUMNS, _values(one), strict=True)) for one in records])
        return
    # A row has forty columns, and most need nothing done: leaving them alone takes half the time of a whole insert.
    statement, changes = _for_sqlite(conn.dialect)
    rows = [list(_values(one)) for one in records]
    for row in rows:
        for place, change in changes:
            row[place] = change(row[place])
    conn.exec_driver_sql(statement, [tuple(row) for row in rows])


@cache
def _for_sqlite(dialect: Dialect) -> tuple[str, list[tuple[int, Callable[[Any], Any]]]]:
    """The statement that adds a record, and what has to be done to which of its values."""
    found = ((place, _requests[name].type.dialect_impl(dialect)) for place, name in enumerate(_COLUMNS))
    changes: list[tuple[int, Callable[[Any], Any]]] = [
        (place, change) for place, kind in found if (change := kind.bind_processor(dialect)) is not None
    ]
    slots = ", ".join("?" * len(_COLUMNS))
    table = gateway_requests.name
    return f"INSERT INTO {table} ({', '.join(_COLUMNS)}) VALUES ({slots}) ON CONFLICT DO NOTHING", changes  # noqa: S608


def request_by_trace(conn: Connection, trace: UUID) -> RequestRecord | None:
    """What was kept of one request."""
    shown = [_requests[name] for name in _COLUMNS]
    query = select(*shown, *(_texts[name] for name in _TEXTS)).outerjoin_from(gateway_requests, gateway_texts)
    row = conn.execute(query.where(_requests.trace == trace)).mappings().first()
    if row is None:
        return None
    scores = msgspec.convert(row["dimension_scores"], dict[str, GradedDimension] | None)
    return RequestRecord(**{**row, "dimension_scores": scores})


def add_feedback(conn: Connection, feedback: Feedback, user_id: UUID, now: datetime) -> None:
    """Keep what somebody thinks of an answer, in place of what they thought before."""
    trace, given = feedback.trace, feedback.given
    if conn.execute(select(_requests.trace).where(_requests.trace == trace)).first() is None:
        raise MissingError(f"no request {trace} is kept")
    insert: Any = (postgresql if conn.dialect.name == "postgresql" else sqlite).insert
    if feedback.question_type is not None:
        values = {"question_type": feedback.question_type, "updated_at": now}
        named = insert(gateway_corrections).values({"trace": trace, "user_id": user_id, **values})
        conn.execute(named.on_conflict_do_update(index_elements=["trace", "user_id"], set_=values))
    if given is None:
        return
    rating = given if isinstance(given, int) else None
    opinion = {
        "rating": rating,
        "liked": given == "up" if rating is None else None if rating == 3 else rating > 3,
        "comment": feedback.comment,
        "scores": dict(feedback.scores) if feedback.scores else None,
        "updated_at": now,
    }
    new = {"id": new_id(now), "trace": trace, "user_id": user_id, "created_at": now, **opinion}
    add = insert(gateway_feedback).values(new)
    conn.execute(add.on_conflict_do_update(index_elements=[_feedback.trace, _feedback.user_id], set_=opinion))


def rated_requests(conn: Connection, since: datetime, until: datetime) -> list[RatedRequest]:
    """What people gave, oldest request first, with what it takes to hold it against the grades."""
    query = (
        select(
            _requests.trace,
            _feedback.user_id,
            _feedback.rating,
            _feedback.scores,
            _requests.tier,
            _requests.rubric,
            _requests.dimension_scores,
            _requests.prompt_digest,
            _texts.prompt,
            _texts.answer,
        )
        .join_from(gateway_feedback, gateway_requests)
        .outerjoin(gateway_texts, _texts.trace == _requests.trace)
        .where(_requests.at >= since, _requests.at < until)
        .order_by(_requests.trace, _feedback.user_id)
    )
    return [RatedRequest(**row) for row in conn.execute(query).mappings()]


def compared_requests(
    conn: Connection, since: datetime, until: datetime, *, rubric: str | None = None, limit: int = 100_000
) -> list[ComparedRequest]:
    """Requests of which both tiers' answers have a score, newest first; only those graded by `rubric`, if named."""
    query = (
        select(_requests.question_type, _requests.score, _requests.shadow_difference, _requests.gated)
        .add_columns(_requests.threshold)
        .where(_requests.at >= since, _requests.at < until)
        .where(_requests.shadow_failure == "", _requests.shadow_failure.isnot(None))
        .where(_requests.score.isnot(None))  # where the learned gate sent or escalated, no threshold decided
        .order_by(_requests.at.desc())
        .limit(limit)
    )
    if rubric is not None:
        query = query.where(_requests.rubric == rubric)
    return [ComparedRequest(*row) for row in conn.execute(query)]


def gate_samples(conn: Connection, since: datetime, made_for: str, limit: int = 20_000) -> list[dict[str, Any]]:
    """What comparisons since a time teach the learned gate of one set of models and rubric, newest first."""
    query = (
        select(_requests.shadow_sample)
        .where(_requests.at >= since, _requests.shadow_failure.isnot(None), _requests.shadow_difference.isnot(None))
        .order_by(_requests.at.desc())
        .limit(limit)
    )
    found = (sample for (sample,) in conn.execute(query) if sample)
    return [sample for sample in found if sample.get("made_for") == made_for]


def opinions_of_sent(conn: Connection, since: datetime) -> tuple[int, int]:
    """How many liked and disliked answers that the learned gate sent without a grade."""
    query = (
        select(func.count().filter(_feedback.liked), func.count().filter(~_feedback.liked))
        .join_from(gateway_feedback, gateway_requests)
        .where(_requests.at >= since, _requests.zone == "send")
    )
    liked, disliked = conn.execute(query).one()
    return int(liked), int(disliked)


def spent(conn: Connection, since: datetime, until: datetime) -> dict[UUID | None, KeySpending]:
    """What the requests of each key cost."""
    query = (
        select(
            _requests.key_id,
            func.coalesce(func.sum(_requests.total_usd), 0.0),
            func.coalesce(func.sum(_requests.shadow_usd), 0.0),
            func.count() - func.count(_requests.total_usd),
        )
        .where(_requests.at >= since, _requests.at < until)
        .group_by(_requests.key_id)
    )
    return {key_id: KeySpending(*sums) for key_id, *sums in conn.execute(query)}


def spent_by_team(conn: Connection, since: datetime, until: datetime) -> dict[str, float]:
    """What the requests of each team cost, as far as prices are known."""
    query = (
        select(_requests.team, func.coalesce(func.sum(_requests.total_usd), 0.0))
        .where(_requests.at >= since, _requests.at < until, _requests.team.isnot(None))
        .group_by(_requests.team)
    )
    return {team: float(usd) for team, usd in conn.execute(query)}


def allowances(conn: Connection, key_id: UUID) -> dict[str, Any] | None:
    """What a key may choose and spend, as it was set; None: nothing was."""
    found: dict[str, Any] | None = conn.execute(select(api_keys.c.allowances).where(api_keys.c.id == key_id)).scalar()
    return found


def set_allowances(conn: Connection, key_id: UUID, document: Mapping[str, Any] | None) -> None:
    """Say what a key may choose and spend; None: what the gateway lets everybody."""
    values = {"allowances": None if document is None else dict(document)}
    if not conn.execute(update(api_keys).where(api_keys.c.id == key_id).values(values)).rowcount:
        raise MissingError(f"there is no key {key_id}")
