"""Invitations to a game: a link with a token that expires and counts its uses, or one person by name."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.store import games, invitations, players
from rubrica.store.columns import new_id
from rubrica.store.games import Game
from rubrica.store.invitations import Invitation, NewInvitation
from rubrica.store.players import Player
from rubrica.workspace.access import Caller, require

from .games import hosted_game
from .life import check_takes_rounds, moment
from .players import admit, own_entrant

MOST_LISTED = 200
LONGEST_DAYS, DAYS = 365, 7
_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class InvitationRequest:
    """What somebody wants to invite with."""

    user: str | None = None  # by name; None: a link
    most_uses: int | None = None  # of a link; None: no limit
    days: float = DAYS  # until it expires


class NewLink(msgspec.Struct, frozen=True):
    """An invitation that was made, and the token of its link: it is told once."""

    invitation: Invitation
    token: str | None  # None: it names a person


class AcceptedInvitation(msgspec.Struct, frozen=True):
    """The game that somebody has come to by an invitation, and the player they play as."""

    game_id: UUID
    game: str  # its name
    player_id: UUID
    player: str


def invite(conn: Connection, caller: Caller, game_id: UUID, wanted: InvitationRequest, now: datetime) -> NewLink:
    """Invite to a game that the caller may change."""
    game = hosted_game(conn, caller, game_id, "inviting to")
    if game.status == "closed":
        raise ConflictError(f"{game.name} is closed (open it again before you invite to it)")
    if not 0 < wanted.days <= LONGEST_DAYS:
        raise InputError(f"an invitation lasts more than 0 and at most {LONGEST_DAYS} days")
    if wanted.most_uses is not None and wanted.most_uses < 1:
        raise InputError("most_uses is at least 1 (leave it out for no limit)")
    user_id = None if wanted.user is None else _invited(conn, wanted.user)
    token = secrets.token_urlsafe(_TOKEN_BYTES) if user_id is None else None
    new = NewInvitation(
        new_id(now),
        game_id,
        None if token is None else _digest(token),
        user_id,
        wanted.most_uses if user_id is None else 1,
        now + timedelta(days=wanted.days),
        caller.user_id,
        now,
    )
    invitations.add_invitation(conn, new)
    return NewLink(_usable(invitations.invitation_by_id(conn, new.id), now), token)


def list_invitations(conn: Connection, caller: Caller, game_id: UUID) -> list[Invitation]:
    """The invitations to a game of the caller's, newest first, each with how often it was used."""
    hosted_game(conn, caller, game_id, "seeing who is invited to")
    return invitations.invitations_to(conn, game_id, MOST_LISTED)


def revoke(conn: Connection, caller: Caller, game_id: UUID, invitation_id: UUID, now: datetime) -> None:
    """Take an invitation back. Who has used it stays in the game."""
    hosted_game(conn, caller, game_id, "taking back invitations to")
    found = invitations.invitation_by_id(conn, invitation_id)
    if found is None or found.game_id != game_id:
        raise MissingError(f"this game has no invitation {invitation_id}")
    invitations.revoke_invitation(conn, invitation_id, now)


def own_invitations(conn: Connection, caller: Caller, now: datetime) -> list[Invitation]:
    """The invitations that name the caller and can be accepted."""
    return invitations.invitations_for(conn, caller.user_id, now, MOST_LISTED)


def invited_to(conn: Connection, caller: Caller, token: str, now: datetime) -> Invitation:
    """The invitation that a link means, if it can be accepted."""
    require(caller, "player", "accepting an invitation")
    return _usable(invitations.invitation_by_digest(conn, _digest(token)), now)


def joined_by(conn: Connection, caller: Caller, token: str) -> UUID | None:
    """The game that a link leads to, where the caller is in it already: however often the link was used meanwhile."""
    found = invitations.invitation_by_digest(conn, _digest(token))
    return found.game_id if found is not None and games.plays_in(conn, caller.user_id, found.game_id) else None


def accept_link(conn: Connection, caller: Caller, token: str, now: datetime) -> AcceptedInvitation:
    """Come to a game by a link. Coming twice counts once."""
    require(caller, "player", "accepting an invitation")
    found = invitations.invitation_by_digest(conn, _digest(token))
    if found is None or joined_by(conn, caller, token) is None:
        found = _usable(found, now)
    return _accept(conn, caller, found, now)


def accept_named(conn: Connection, caller: Caller, invitation_id: UUID, now: datetime) -> AcceptedInvitation:
    """Come to a game that the caller is invited to by name."""
    require(caller, "player", "accepting an invitation")
    if all(each.id != invitation_id for each in own_invitations(conn, caller, now)):
        raise MissingError(f"there is no invitation {invitation_id} for you, or it cannot be used any more")
    return _accept(conn, caller, _usable(invitations.invitation_by_id(conn, invitation_id), now), now)


def _accept(conn: Connection, caller: Caller, found: Invitation, now: datetime) -> AcceptedInvitation:
    game = games.game_by_id(conn, found.game_id)
    if game is None:
        raise MissingError("there is no such game any more")
    player = _player(conn, caller, game, now)
    if not players.has_joined(conn, game.id, player.id):
        check_takes_rounds(game, now)
        admit(conn, game, player, now)
        if not invitations.use_invitation(conn, found.id, now):
            raise ConflictError("somebody else was quicker: this invitation has no use left")
    return AcceptedInvitation(game.id, game.name, player.id, player.name)


def _player(conn: Connection, caller: Caller, game: Game, now: datetime) -> Player:
    """Whom the caller plays as: a player they have, or a new one."""
    who = own_entrant(conn, caller, game, now)
    if who.new:
        players.add_player(conn, who.player)
    return who.player


def _usable(found: Invitation | None, now: datetime) -> Invitation:
    """An invitation, unless it cannot be used: what it was is not told to who guesses at tokens."""
    if found is None or found.revoked_at is not None:
        raise MissingError("there is no such invitation, or it was taken back")
    if found.expires_at <= now:
        raise ConflictError(f"this invitation expired on {moment(found.expires_at)} (ask for another)")
    if found.most_uses is not None and found.uses >= found.most_uses:
        times = "once" if found.uses == 1 else f"{found.uses:,} times"
        raise ConflictError(f"this invitation was used {times}, which is all it allows (ask for another)")
    return found


def _invited(conn: Connection, name: str) -> UUID:
    user_id = None if "\0" in name else players.user_by_name(conn, name)
    if user_id is None:
        raise InputError(f"nobody here is called {name!r} (leave user out for a link that you pass on)")
    return user_id


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
