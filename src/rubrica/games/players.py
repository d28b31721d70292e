"""Players: who may make them, see them, and play as them.

Whoever stands behind a player agrees to its part in a game: the person it is, or of a model whoever made it. They agree
by submitting a round, or by joining. Whoever made the game may then submit for it too, and sees its `info`; and only
rounds of players who agreed count across games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.store import players as store
from rubrica.store.columns import new_id
from rubrica.store.games import Game
from rubrica.store.players import Player
from rubrica.workspace.access import Caller, require

from .games import good_info, good_name, hosts, visible_game
from .life import check_places_left, check_takes_rounds, lock_game


@dataclass(frozen=True, slots=True)
class Entrant:
    """Who a round is submitted for; `new`: they are made together with the round."""

    player: Player
    new: bool = False


def create_player(
    conn: Connection, caller: Caller, name: str, info: Mapping[str, Any], user: str | None, now: datetime
) -> Player:
    """A player of the caller's own making. `user` names the person behind it, who may then play as it."""
    require(caller, "player", "making a player")
    name = good_name(name)
    user_id = caller.user_id if (user or name) == caller.name else None
    if user is not None and user_id is None:
        require(caller, "author", "making a player for somebody else")
        user_id = None if "\0" in user else store.user_by_name(conn, user)
        if user_id is None:
            raise InputError(f"nobody here is called {user!r} (leave user out for a model)")
        if name == caller.name:
            raise InputError(f"{name} is you: give the player of {user} another name")
    player = Player(new_id(now), name, good_info(info, "info"), user_id, caller.user_id, now)
    store.add_player(conn, player)
    return player


def view_player(conn: Connection, caller: Caller, player_id: UUID) -> Player:
    """A player that the caller made or stands behind, or that joined a game of theirs."""
    player = store.player_by_id(conn, player_id)
    if player is None or not (
        caller.is_admin or _made_or_is(caller, player) or store.joined_a_game_of(conn, player_id, caller.user_id)
    ):
        raise _missing_player(player_id)
    return player


def represents(caller: Caller, player: Player) -> bool:
    """Whether a caller speaks for a player: the person it is, or whoever made it where it is nobody.

    >>> from datetime import UTC
    >>> ann, then = Caller(UUID(int=7), "ann", "author"), datetime(2026, 5, 4, tzinfo=UTC)
    >>> model = Player(UUID(int=1), "model", {}, None, ann.user_id, then)
    >>> represents(ann, model), represents(ann, Player(UUID(int=2), "bo", {}, UUID(int=8), ann.user_id, then))
    (True, False)
    """
    return caller.owns(player.created_by if player.user_id is None else player.user_id)


def may_submit_for(conn: Connection, caller: Caller, game: Game | None, player: Player) -> bool:
    """Whether a caller may have rounds of a player judged.

    One's own player everywhere; what one made, in one's own games and outside of games; others in one's own games, once
    they joined.
    """
    if caller.is_admin or caller.owns(player.user_id):
        return True
    if game is None:
        return caller.owns(player.created_by)
    return hosts(caller, game) and (caller.owns(player.created_by) or store.has_joined(conn, game.id, player.id))


def join_game(conn: Connection, caller: Caller, game_id: UUID, player_id: UUID, now: datetime) -> Player:
    """Let a player of the caller's take part in a game: whoever made the game may submit for it, and sees its info."""
    require(caller, "player", "joining a game")
    game = visible_game(conn, caller, game_id)
    player = _own_player(conn, caller, player_id)
    admit(conn, game, player, now)
    return player


def admit(conn: Connection, game: Game, player: Player, now: datetime) -> None:
    """Let a player into an open game that has a place left."""
    if not store.takes_part(conn, game.id, player.id):
        check_takes_rounds(game, now)
        lock_game(conn, game, newcomer=True)
        check_places_left(conn, game, player.name)
    store.join_game(conn, game.id, player.id, now)


def leave_game(conn: Connection, caller: Caller, game_id: UUID, player_id: UUID) -> None:
    """Take a player of the caller's out of a game. Its rounds stay, and count for that game alone."""
    require(caller, "player", "leaving a game")
    visible_game(conn, caller, game_id)
    player = _own_player(conn, caller, player_id)
    if not store.leave_game(conn, game_id, player.id):
        raise MissingError(f"{player.name} has not joined this game")


def _own_player(conn: Connection, caller: Caller, player_id: UUID) -> Player:
    player = store.player_by_id(conn, player_id)
    if player is None or not (caller.is_admin or _made_or_is(caller, player)):
        raise _missing_player(player_id)
    if not represents(caller, player):
        raise DeniedError(f"{player.name} is somebody else, who joins and leaves games by themselves")
    return player


def _made_or_is(caller: Caller, player: Player) -> bool:
    return caller.owns(player.created_by) or caller.owns(player.user_id)


def _missing_player(player_id: UUID) -> MissingError:
    return MissingError(f"there is no player {player_id}, or it is not yours to see")


def list_players(conn: Connection, caller: Caller, before: UUID | None, limit: int) -> list[Player]:
    """One page of the players that the caller made or stands behind, newest first."""
    return store.list_players(conn, None if caller.is_admin else caller.user_id, before=before, limit=limit)


def entrant(conn: Connection, caller: Caller, game: Game, wanted: str | None, now: datetime) -> Entrant:
    """Who a caller submits a round for: by id, by name, or themselves.

    Whoever made the game may submit for players they made and for those who joined, an admin for any player, and names
    that nobody has yet become players. Everybody else plays as themselves only.
    """
    require(caller, "player", "playing")
    if wanted is None:
        return own_entrant(conn, caller, game, now)
    if len(wanted) > 255 or "\0" in wanted:
        raise InputError("player is an id, or a name of at most 255 characters without NUL")
    player_id = _as_id(wanted)
    if player_id is not None:
        return Entrant(playable(conn, caller, game, player_id))
    name = good_name(wanted)
    own = [player for player in store.players_of_user(conn, caller.user_id) if player.name == name]
    if not hosts(caller, game):
        if own:
            return Entrant(own[0])
        if name == caller.name:
            return own_entrant(conn, caller, game, now)
        raise DeniedError(f"this key plays as {caller.name} only; whoever made the game may submit for {name}")
    if (known := _player_called(conn, caller, game, name)) is not None:
        return Entrant(known)
    made = store.player_by_name(conn, caller.user_id, name)
    return _newcomer(caller, name, now) if made is None else Entrant(made)


def playable(conn: Connection, caller: Caller, game: Game | None, player_id: UUID) -> Player:
    """A player, by id, whose rounds the caller may have judged in a game, or outside of any."""
    player = store.player_by_id(conn, player_id)
    if player is None or not may_submit_for(conn, caller, game, player):
        raise MissingError(
            f"there is no player {player_id} that you may submit for (yours, and in a game of yours those who joined)"
        )
    return player


def player_in(conn: Connection, game_id: UUID, wanted: str) -> UUID:
    """The player that an id or a name means in a game."""
    player_id = _as_id(wanted)
    if player_id is not None:
        return player_id
    known = None if "\0" in wanted else _only(store.players_in_game(conn, game_id, wanted), wanted)
    if known is None:
        raise MissingError(f"nobody called {wanted!r} has played in this game")
    return known.id


def _player_called(conn: Connection, caller: Caller, game: Game, name: str) -> Player | None:
    """The player of a name in a game that a caller may submit for, if there is only one."""
    found = store.players_in_game(conn, game.id, name)
    return _only([player for player in found if may_submit_for(conn, caller, game, player)], name)


def _only(found: Sequence[Player], name: str) -> Player | None:
    if len(found) > 1:
        ids = ", ".join(str(player.id) for player in found)
        raise ConflictError(f"several players here are called {name} (name one by its id: {ids})")
    return found[0] if found else None


def own_entrant(conn: Connection, caller: Caller, game: Game, now: datetime) -> Entrant:
    """The caller's own player: the one they have played this game as, else the first they have, else a new one."""
    played = store.players_of_user(conn, caller.user_id, game.id)
    own = played or store.players_of_user(conn, caller.user_id)
    mine = [player for player in own if caller.owns(player.created_by)]
    if played or mine:
        return Entrant((mine or played)[0])
    return _newcomer(caller, caller.name, now)


def _newcomer(caller: Caller, name: str, now: datetime) -> Entrant:
    """A player called like its maker is its maker; anybody else is a model, or somebody without a key."""
    user_id = caller.user_id if name == caller.name else None
    return Entrant(Player(new_id(now), name, {}, user_id, caller.user_id, now), new=True)


def _as_id(text: str) -> UUID | None:
    try:
        return UUID(text) if len(text) == 36 else None
    except ValueError:
        return None
