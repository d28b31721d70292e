"""Games, and the rubrics that are attached to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, exists, insert, or_, select, update

from .columns import new_id
from .tables import game_players, game_rubrics, games, players, rounds, rubric_versions, rubrics

GameStatus = Literal["draft", "open", "closed"]
"""draft: there for its maker only. open: rounds are taken. closed: it can be looked at."""


class Game(msgspec.Struct, frozen=True):
    """A game: a name, what it is set to, and who may see it."""

    id: UUID
    name: str
    config: dict[str, Any]
    is_public: bool
    created_by: UUID | None
    created_at: datetime
    fair_play: dict[str, Any] | None = None  # what players may report and see; None: made before there was a choice
    vouched_by: UUID | None = None  # an admin: it counts across games whoever plays in it
    vouched_at: datetime | None = None
    status: GameStatus = "open"
    deadline: datetime | None = None  # no rounds are taken from then on
    most_rounds: int | None = None  # of one player; None, of both: no limit
    most_players: int | None = None
    board_form: int = 0  # how its standings are kept; 0: not yet


class Attachment(msgspec.Struct, frozen=True):
    """One version of a rubric in a game, with its weight. Later versions do not reach the game."""

    id: UUID
    game_id: UUID
    rubric_id: UUID
    version_id: UUID
    slug: str
    name: str
    version: str
    revision: int
    weight: float  # 0 to 1
    dimension: str
    config_overrides: dict[str, Any]
    created_at: datetime


class NewAttachment(msgspec.Struct, frozen=True):
    """What is to be attached."""

    rubric_id: UUID
    version_id: UUID
    weight: float
    dimension: str
    config_overrides: Mapping[str, Any]


class VersionDefinition(msgspec.Struct, frozen=True):
    """What a version says, by the hash of its content."""

    definition: dict[str, Any]
    hash: str


def add_game(conn: Connection, game: Game) -> None:
    """Keep a new game."""
    conn.execute(insert(games).values(msgspec.structs.asdict(game)))


def game_by_id(conn: Connection, game_id: UUID) -> Game | None:
    row = conn.execute(select(games).where(games.c.id == game_id)).mappings().first()
    return None if row is None else Game(**row)


def games_by_id(conn: Connection, game_ids: Collection[UUID]) -> list[Game]:
    """Some games."""
    return [Game(**row) for row in conn.execute(select(games).where(games.c.id.in_(list(game_ids)))).mappings()]


def published(conn: Connection, rubric_ids: Collection[UUID]) -> set[UUID]:
    """Those among some rubrics that everybody can read."""
    query = select(rubrics.c.id).where(rubrics.c.id.in_(list(rubric_ids)), rubrics.c.is_public.is_(True))
    return set(conn.execute(query.where(rubrics.c.deleted_at.is_(None))).scalars())


def lock_game_row(conn: Connection, game_id: UUID) -> None:
    """Let nobody else change what is attached to a game before this transaction ends."""
    # key_share: rounds of the game may be kept meanwhile, for its id does not change
    conn.execute(select(games.c.id).where(games.c.id == game_id).with_for_update(key_share=True)).all()


def share_game(conn: Connection, game_id: UUID) -> Game:
    """A game as it is until this transaction ends: others may share it meanwhile, and nobody may hold it."""
    query = select(games).where(games.c.id == game_id).with_for_update(read=True)
    return Game(**conn.execute(query).mappings().one())


def change_game(conn: Connection, game_id: UUID, changes: Mapping[str, Any]) -> None:
    """Set some of its columns."""
    if changes:
        conn.execute(update(games).where(games.c.id == game_id).values(**changes))


def list_games(
    conn: Connection, seen_by: UUID | None, *, mine: bool = False, before: UUID | None = None, limit: int = 50
) -> list[Game]:
    """Games, newest first, after the one called `before`; those a user may see, or all for None."""
    query = select(games).order_by(games.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(games.c.id < before)
    if mine:
        query = query.where(games.c.created_by == seen_by)
    elif seen_by is not None:
        query = query.where(visible(seen_by))
    return [Game(**row) for row in conn.execute(query).mappings()]


def visible(user_id: UUID) -> ColumnElement[bool]:
    """The games a user may see: public ones, their own, and those they play in. A draft is there for its maker."""
    there = and_(games.c.status != "draft", or_(games.c.is_public.is_(True), _plays(user_id)))
    return or_(games.c.created_by == user_id, there)


def is_game(game_id: UUID) -> ColumnElement[bool]:
    """One game."""
    return games.c.id == game_id


def plays_in(conn: Connection, user_id: UUID, game_id: UUID) -> bool:
    """Whether a player of this user has joined the game, or has a round in it."""
    return bool(conn.execute(select(exists().where(games.c.id == game_id, _plays(user_id)))).scalar())


def _plays(user_id: UUID) -> ColumnElement[bool]:
    """From the user's few players to the game's many rounds, not the other way round."""
    played = select(1).where(rounds.c.game_session_id == games.c.id, rounds.c.player_id == players.c.id)
    joined = select(1).where(game_players.c.game_session_id == games.c.id, game_players.c.player_id == players.c.id)
    taking_part = or_(played.correlate(games, players).exists(), joined.correlate(games, players).exists())
    own = select(1).where(players.c.user_id == user_id, taking_part)
    return own.correlate(games).exists()


# --- attached rubrics ---------------------------------------------------------------------------------


def attachments(
    conn: Connection, game_ids: Sequence[UUID] | None = None, seen_by: UUID | None = None
) -> list[Attachment]:
    """What is attached to some games now, or to every game a user may see, in the order it was attached."""
    chosen: ColumnElement[bool] = game_rubrics.c.detached_at.is_(None)
    if game_ids is not None:
        chosen = and_(chosen, game_rubrics.c.game_session_id.in_(game_ids))
    if seen_by is not None:
        chosen = and_(chosen, select(1).where(games.c.id == game_rubrics.c.game_session_id, visible(seen_by)).exists())
    return _attachments(conn, chosen)


def attachments_at(conn: Connection, game_id: UUID, at: datetime) -> list[Attachment]:
    """What was attached to a game at a time, with the weights of now."""
    table = game_rubrics.c
    there = and_(table.created_at < at, or_(table.detached_at.is_(None), table.detached_at >= at))
    return _attachments(conn, and_(table.game_session_id == game_id, there))


def attachment_by_id(conn: Connection, game_id: UUID, attachment_id: UUID) -> Attachment | None:
    """Something that is attached to a game now."""
    table = game_rubrics.c
    chosen = and_(table.game_session_id == game_id, table.id == attachment_id, table.detached_at.is_(None))
    return next(iter(_attachments(conn, chosen)), None)


def attach(conn: Connection, game_id: UUID, new: Sequence[NewAttachment], now: datetime) -> list[UUID]:
    """Attach rubrics to a game; their ids, in the same order."""
    ids = sorted(new_id(now) for _ in new)
    rows = [
        msgspec.structs.asdict(item) | {"id": id, "game_session_id": game_id, "created_at": now}
        for id, item in zip(ids, new, strict=True)
    ]
    if rows:
        conn.execute(insert(game_rubrics), rows)
    return ids


def detach(conn: Connection, attachment_ids: Sequence[UUID], now: datetime) -> None:
    """Take rubrics off their game. Their scores stay, and count no more."""
    chosen = game_rubrics.c.id.in_(attachment_ids)
    conn.execute(update(game_rubrics).where(chosen).values(detached_at=now))


def set_weight(conn: Connection, attachment_id: UUID, weight: float) -> None:
    conn.execute(update(game_rubrics).where(game_rubrics.c.id == attachment_id).values(weight=weight))


def definitions(conn: Connection, version_ids: Sequence[UUID]) -> dict[UUID, VersionDefinition]:
    """What some versions say."""
    table = rubric_versions.c
    rows = conn.execute(select(table.id, table.definition, table.hash).where(table.id.in_(version_ids)))
    return {id: VersionDefinition(definition, hash) for id, definition, hash in rows}


def _attachments(conn: Connection, chosen: ColumnElement[bool]) -> list[Attachment]:
    table = game_rubrics
    query = (
        select(
            *(column for column in table.c if column.name not in ("game_session_id", "detached_at")),
            table.c.game_session_id.label("game_id"),
            rubrics.c.slug,
            rubrics.c.name,
            rubric_versions.c.version,
            rubric_versions.c.revision,
        )
        .join(rubrics, rubrics.c.id == table.c.rubric_id)
        .join(rubric_versions, rubric_versions.c.id == table.c.version_id)
        .where(chosen)
        .order_by(table.c.id)
    )
    return [Attachment(**row) for row in conn.execute(query).mappings()]
