"""Scores: one evaluation of one text, with where every point came from.

They are written once and never changed, but for those that a failed judge left open: judging them again fills them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Integer,
    Select,
    Uuid,
    and_,
    bindparam,
    func,
    insert,
    or_,
    select,
    update,
)

from .players import joined
from .prepared import Prepared
from .tables import evaluation_scores, game_rubrics, games, players, rubric_versions, rubrics

_scores = evaluation_scores.c
_OPEN = (
    _scores.id,
    _scores.game_session_id.label("game_id"),
    _scores.attachment_id,
    _scores.player_id,
    _scores.round_number,
    _scores.tries,
    _scores.retry_at,
    _scores.record,
    _scores.created_by,
)


class NewScore(msgspec.Struct, frozen=True):
    """A score to be kept; the documents are anything that becomes JSON."""

    id: UUID
    game_session_id: UUID | None
    player_id: UUID | None
    rubric_id: UUID
    version_id: UUID
    attachment_id: UUID | None
    round_number: int | None
    raw_score: float | None
    normalized_score: float | None
    verdict: str
    rule_breakdown: object
    dimension_scores: object
    context_snapshot: object
    record: object
    created_by: UUID | None
    created_at: datetime
    low: float | None = None  # of an open score, the normalised score lies between these
    high: float | None = None
    tries: int = 0
    retry_at: datetime | None = None  # when an open score is judged again; None: it is not
    voided_at: datetime | None = None


class ScoreLine(msgspec.Struct, frozen=True):
    """A score as lists show it. It names the version it was made by."""

    id: UUID
    game_id: UUID | None
    player_id: UUID | None
    player: str | None  # its name
    rubric_id: UUID
    rubric: str  # its slug
    version: str
    revision: int
    attachment_id: UUID | None
    round_number: int | None
    raw_score: float | None  # points as the rubric counts them
    normalized_score: float | None  # 0 to 1
    verdict: str
    created_by: UUID | None
    created_at: datetime


class StoredScore(ScoreLine, frozen=True):
    """A score with all that was kept of it."""

    rule_breakdown: list[dict[str, Any]]
    dimension_scores: dict[str, Any]
    context_snapshot: dict[str, Any]
    record: dict[str, Any]  # the Evaluation without its context


class GameScore(msgspec.Struct, frozen=True):
    """A score as a game counts it."""

    id: UUID
    attachment_id: UUID
    player_id: UUID
    round_number: int
    normalized_score: float | None
    bounds: tuple[float, float] = (0.0, 1.0)  # the normalised score lies between these; told where it is None
    reason: str = ""  # why it is None


class OpenScore(msgspec.Struct, frozen=True):
    """A score of a game's round that has no number yet."""

    id: UUID
    game_id: UUID
    attachment_id: UUID
    player_id: UUID
    round_number: int
    tries: int
    retry_at: datetime | None
    record: dict[str, Any]
    created_by: UUID | None


class PlayerMean(msgspec.Struct, frozen=True):
    """A player's scores under one attached rubric, taken together over the rounds."""

    game_id: UUID
    attachment_id: UUID
    player_id: UUID
    raw_mean: float | None  # over the rounds that have a score
    normalized_mean: float | None
    rounds: int
    scored: int  # of these, how many have a score
    ends: tuple[float, float] | None = None  # the normalised mean over all rounds lies between these

    @property
    def open(self) -> int:
        """Rounds whose score is open."""
        return self.rounds - self.scored

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what the normalised mean over all rounds lies, whatever becomes of the open scores.

        >>> mean = PlayerMean(UUID(int=1), UUID(int=2), UUID(int=3), 40.0, 0.5, rounds=4, scored=3)
        >>> mean.open, mean.bounds
        (1, (0.375, 0.625))
        """
        if self.ends is not None:
            return self.ends
        known = (self.normalized_mean or 0.0) * self.scored
        return known / self.rounds, (known + self.open) / self.rounds


@dataclass(frozen=True, slots=True)
class ScoreQuery:
    """What a list of scores is narrowed down to."""

    created_by: UUID | None = None
    rubric_id: UUID | None = None
    game_id: UUID | None = None
    player_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ScoredVersion:
    """What a rubric must still be for a score of it to be kept."""

    rubric_id: UUID
    revision: int | None  # None: any
    seen_by: UUID | None  # public, or this user's own; None: anybody's


def add_scores(conn: Connection, new: Sequence[NewScore]) -> None:
    """Keep scores."""
    if new:
        conn.execute(_INSERT, [msgspec.structs.asdict(score) for score in new])


def replace_open(conn: Connection, score: NewScore) -> bool:
    """Put a score in the place of an open one of the same round and rubric; whether there was one.

    How often it was tried stays, and when it is tried next, if it is still open.
    """
    stay = {"tries"} if score.retry_at is None else {"tries", "retry_at"}
    values = {name: value for name, value in msgspec.structs.asdict(score).items() if name not in stay}
    there = and_(
        _scores.attachment_id == score.attachment_id,
        _scores.player_id == score.player_id,
        _scores.round_number == score.round_number,
        _scores.normalized_score.is_(None),
        _scores.voided_at.is_(None),
    )
    return conn.execute(update(evaluation_scores).where(there).values(values)).rowcount == 1


def open_scores(conn: Connection, attachment_ids: Collection[UUID], after: UUID | None, limit: int) -> list[OpenScore]:
    """Scores without a number under some attachments, by id."""
    query = select(*_OPEN).where(
        _scores.attachment_id.in_(list(attachment_ids)),
        _scores.normalized_score.is_(None),
        _scores.voided_at.is_(None),
    )
    if after is not None:
        query = query.where(_scores.id > after)
    return [OpenScore(**row) for row in conn.execute(query.order_by(_scores.id).limit(limit)).mappings()]


def claim_due(
    conn: Connection, now: datetime, limit: int, next_try: Callable[[int, datetime], datetime | None]
) -> list[OpenScore]:
    """Open scores of one game whose time to be judged again has come. Nobody else is given them before their next."""
    due = and_(_scores.retry_at <= now, _scores.voided_at.is_(None), _scores.normalized_score.is_(None))
    found = [
        OpenScore(**row)
        for row in conn.execute(select(*_OPEN).where(due).order_by(_scores.retry_at).limit(limit)).mappings()
    ]
    mine = []
    for score in found:
        if score.game_id == found[0].game_id:
            later = {"tries": score.tries + 1, "retry_at": next_try(score.tries + 1, now)}
            if conn.execute(update(evaluation_scores).where(_scores.id == score.id, due).values(later)).rowcount:
                mine.append(score)
    return mine


def add_score_if(conn: Connection, score: NewScore, origin: ScoredVersion) -> bool:
    """Keep a score if its rubric is still what it was judged by; one statement, for it is made very often."""
    values = msgspec.structs.asdict(score) | {"revision": origin.revision, "seen_by": origin.seen_by}
    return _INSERT_IF[origin.revision is not None, origin.seen_by is not None].run(conn, values) == 1


def _insert_if(*, revision: bool, seen_by: bool) -> Insert:
    there = select(1).where(rubrics.c.id == bindparam("rubric_id", type_=Uuid), rubrics.c.deleted_at.is_(None))
    if revision:
        there = there.where(rubrics.c.revision == bindparam("revision", type_=Integer))
    if seen_by:
        own = rubrics.c.created_by == bindparam("seen_by", type_=Uuid)
        there = there.where(or_(rubrics.c.is_public, own))
    columns = list(evaluation_scores.c)
    values = select(*(bindparam(column.name, type_=column.type) for column in columns)).where(there.exists())
    return insert(evaluation_scores).from_select(columns, values)


_INSERT = insert(evaluation_scores)
_INSERT_IF = {
    (revision, seen_by): Prepared(_insert_if(revision=revision, seen_by=seen_by))
    for revision in (True, False)
    for seen_by in (True, False)
}


def score_by_id(conn: Connection, score_id: UUID) -> StoredScore | None:
    row = conn.execute(_full().where(_scores.id == score_id)).mappings().first()
    return None if row is None else StoredScore(**row)


def list_scores(
    conn: Connection, narrowed: ScoreQuery, *, before: UUID | None = None, limit: int = 50
) -> list[ScoreLine]:
    """Scores, newest first, after the one called `before`."""
    query = _lines().order_by(_scores.id.desc()).limit(limit)
    columns = {"game_id": _scores.game_session_id}
    for name in ScoreQuery.__dataclass_fields__:
        if (value := getattr(narrowed, name)) is not None:
            query = query.where(columns.get(name, _scores.get(name)) == value)
    if before is not None:
        query = query.where(_scores.id < before)
    return [ScoreLine(**row) for row in conn.execute(query).mappings()]


def scores_of_round(
    conn: Connection, attachment_ids: Sequence[UUID], player_id: UUID, number: int
) -> list[StoredScore]:
    """The scores of one round under what is attached, in full."""
    query = _full().where(
        _scores.attachment_id.in_(list(attachment_ids)), _scores.player_id == player_id, _scores.round_number == number
    )
    return [StoredScore(**row) for row in conn.execute(query.order_by(_scores.attachment_id)).mappings()]


def game_scores(
    conn: Connection, attachment_ids: Sequence[UUID], player_id: UUID, numbers: Collection[int]
) -> list[GameScore]:
    """The scores of some rounds of a player under what is attached."""
    if not numbers or not attachment_ids:
        return []
    query = select(
        _scores.id, _scores.attachment_id, _scores.player_id, _scores.round_number, _scores.normalized_score
    ).where(
        _scores.attachment_id.in_(list(attachment_ids)),
        _scores.player_id == player_id,
        _scores.round_number.between(min(numbers), max(numbers)),
    )
    wanted = set(numbers)
    found = [GameScore(*row) for row in conn.execute(query) if row.round_number in wanted]
    return _explained(conn, found)


def standings(conn: Connection, chosen: ColumnElement[bool], *, joined_only: bool = False) -> list[PlayerMean]:
    """Every player's mean under every rubric that is attached now, of the games chosen, or of who joined."""
    if joined_only:
        chosen = and_(chosen, joined(game_rubrics.c.game_session_id, evaluation_scores.c.player_id))
    query = (
        select(
            game_rubrics.c.game_session_id,
            _scores.attachment_id,
            _scores.player_id,
            func.avg(_scores.raw_score),
            func.avg(_scores.normalized_score),
            func.count(),
            func.count(_scores.normalized_score),
            func.avg(func.coalesce(_scores.normalized_score, _scores.low, 0.0)),
            func.avg(func.coalesce(_scores.normalized_score, _scores.high, 1.0)),
        )
        .join(game_rubrics, game_rubrics.c.id == _scores.attachment_id)
        .join(games, games.c.id == game_rubrics.c.game_session_id)
        .where(and_(game_rubrics.c.detached_at.is_(None), _scores.voided_at.is_(None), chosen))
        .group_by(game_rubrics.c.game_session_id, _scores.attachment_id, _scores.player_id)
    )
    return [
        PlayerMean(game_id, attachment_id, player_id, raw, mean, rounds, scored, (low, high))
        for game_id, attachment_id, player_id, raw, mean, rounds, scored, low, high in conn.execute(query)
    ]


def lines_of_game(conn: Connection, game_id: UUID, limit: int) -> list[tuple[Any, ...]]:
    """Every score under what is attached to a game, player by player, round by round."""
    query = (
        select(
            players.c.name,
            _scores.player_id,
            _scores.round_number,
            rubrics.c.slug,
            rubric_versions.c.version,
            game_rubrics.c.dimension,
            game_rubrics.c.weight,
            _scores.raw_score,
            _scores.normalized_score,
            _scores.verdict,
            _scores.created_at,
            _scores.tries,
            _scores.voided_at,
        )
        .join(game_rubrics, game_rubrics.c.id == _scores.attachment_id)
        .join(players, players.c.id == _scores.player_id)
        .join(rubrics, rubrics.c.id == _scores.rubric_id)
        .join(rubric_versions, rubric_versions.c.id == _scores.version_id)
        .where(game_rubrics.c.game_session_id == game_id, game_rubrics.c.detached_at.is_(None))
        .order_by(_scores.player_id, _scores.round_number, _scores.attachment_id)
        .limit(limit)
    )
    return [tuple(row) for row in conn.execute(query)]


def shares_of_game(
    conn: Connection, attachment_ids: Collection[UUID], player_ids: Collection[UUID]
) -> list[tuple[UUID, int, UUID, float | None]]:
    """Some players' normalised scores that count: player, round, attachment, share."""
    query = select(_scores.player_id, _scores.round_number, _scores.attachment_id, _scores.normalized_score).where(
        _scores.attachment_id.in_(list(attachment_ids)),
        _scores.player_id.in_(list(player_ids)),
        _scores.voided_at.is_(None),
    )
    return [(row[0], row[1], row[2], row[3]) for row in conn.execute(query)]


def _explained(conn: Connection, found: Sequence[GameScore]) -> list[GameScore]:
    """The same scores; those that are open say why, and between what they lie, as their records have it."""
    open_ends = [score.id for score in found if score.normalized_score is None]
    query = select(_scores.id, _scores.record).where(_scores.id.in_(open_ends))
    records: dict[UUID, dict[str, Any]] = {row.id: row.record for row in conn.execute(query)} if open_ends else {}
    explained = []
    for score in found:
        if score.id in records:
            record = records[score.id]
            low, high = (min(max(end / record["out_of"], 0.0), 1.0) for end in record["bounds"])
            explained.append(msgspec.structs.replace(score, bounds=(low, high), reason=record["reason"]))
        else:
            explained.append(score)
    return explained


def _lines() -> Select[Any]:
    return (
        select(
            _scores.id,
            _scores.game_session_id.label("game_id"),
            _scores.player_id,
            players.c.name.label("player"),
            _scores.rubric_id,
            rubrics.c.slug.label("rubric"),
            rubric_versions.c.version,
            rubric_versions.c.revision,
            _scores.attachment_id,
            _scores.round_number,
            _scores.raw_score,
            _scores.normalized_score,
            _scores.verdict,
            _scores.created_by,
            _scores.created_at,
        )
        .join(rubrics, rubrics.c.id == _scores.rubric_id)
        .join(rubric_versions, rubric_versions.c.id == _scores.version_id)
        .outerjoin(players, players.c.id == _scores.player_id)
    )


def _full() -> Select[Any]:
    documents = (_scores.rule_breakdown, _scores.dimension_scores, _scores.context_snapshot, _scores.record)
    return _lines().add_columns(*documents)
