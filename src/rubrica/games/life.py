"""The life of a game: draft, open, closed; its deadline, and how many may play how often."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError
from rubrica.report.figures import count_of
from rubrica.store import games as store
from rubrica.store import standings
from rubrica.store.games import Game, GameStatus

STATUSES: tuple[GameStatus, ...] = get_args(GameStatus)
MOST_OF_ANYTHING = 1_000_000
LIMITS = {"most_rounds": "rounds of a player", "most_players": "players"}


def takes_rounds(game: Game, now: datetime) -> bool:
    """Whether rounds can be played."""
    return game.status == "open" and (game.deadline is None or now < game.deadline)


def check_takes_rounds(game: Game, now: datetime) -> None:
    """Refuse what belongs to an open game only.

    >>> from datetime import UTC; from uuid import UUID
    >>> then = datetime(2026, 5, 4, tzinfo=UTC)
    >>> check_takes_rounds(Game(UUID(int=1), "Moth night", {}, True, None, then, status="closed"), then)
    Traceback (most recent call last):
    rubrica.errors.ConflictError: Moth night is closed (whoever made it may open it again)
    """
    if game.status == "draft":
        raise ConflictError(f"{game.name} is a draft still (open it first)")
    if game.status == "closed":
        raise ConflictError(f"{game.name} is closed (whoever made it may open it again)")
    if game.deadline is not None and now >= game.deadline:
        raise ConflictError(
            f"the deadline of {game.name} was {moment(game.deadline)} by this server's clock "
            "(whoever made it may set a later one)"
        )


def check_rounds_left(game: Game, player: str, played: int, more: int) -> None:
    """Refuse rounds beyond what one player may play."""
    if game.most_rounds is not None and played + more > game.most_rounds:
        raise ConflictError(
            f"{player} has played {played:,} of {count_of(game.most_rounds, 'round')} that {game.name} allows, "
            f"and {more} more would be too many"
        )


def check_places_left(conn: Connection, game: Game, player: str) -> None:
    """Refuse one more player where the game is full. Whoever asks holds the game."""
    if game.most_players is not None and standings.players_of_game(conn, game.id) >= game.most_players:
        raise ConflictError(f"{game.name} is full: it has {game.most_players} players, and {player} is none of them")


def lock_game(conn: Connection, game: Game, *, newcomer: bool) -> None:
    """Keep a game as it is for the rest of a transaction; alone where who comes next depends on who is there."""
    if (newcomer and game.most_players is not None) or game.board_form != standings.BOARD_FORM:
        store.lock_game_row(conn, game.id)
    else:
        store.share_game(conn, game.id)


def good_life(game: Game, changes: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Those changes that are about a game's life, checked against what it is now."""
    checked = {key: changes[key] for key in ("status", "deadline", *LIMITS) if key in changes}
    status = checked.get("status", game.status)
    if status not in STATUSES:
        raise InputError(f"{status!r} is no status of a game ({', '.join(STATUSES)})")
    if status == "draft" and game.status != "draft":
        raise ConflictError("a game that was opened does not become a draft again (close it, or make a copy)")
    if status == "closed" and game.status == "draft":
        raise ConflictError("a draft has not begun, so that it cannot be closed (open it first)")
    deadline = checked.get("deadline", game.deadline)
    if deadline is not None and deadline.tzinfo is None:
        raise InputError("deadline needs its time zone, such as 2026-05-01T18:00:00Z")
    opens = status == "open" and ("status" in checked or "deadline" in checked)
    if opens and deadline is not None and deadline <= now:
        raise InputError(
            f"the deadline, {moment(deadline)}, has passed by this server's clock (set a later one, or none)"
        )
    for key, what in LIMITS.items():
        limit = checked.get(key)
        if limit is not None and not 1 <= limit <= MOST_OF_ANYTHING:
            raise InputError(f"{key} is the most {what}: 1 to {MOST_OF_ANYTHING:,}, or none")
    return checked


def moment(at: datetime) -> str:
    """A time as it is told, in UTC.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 5, 4, 18, 30, tzinfo=UTC))
    '2026-05-04 18:30 UTC'
    """
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
