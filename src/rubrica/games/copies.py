"""Copies of games: the rules without the rounds."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.store import games as store
from rubrica.store.columns import new_id
from rubrica.store.games import NewAttachment
from rubrica.store.standings import BOARD_FORM
from rubrica.workspace.access import Caller

from .games import LONGEST_NAME, GameView, good_name, hosted_game, view_game


def copy_game(conn: Connection, caller: Caller, game_id: UUID, name: str | None, now: datetime) -> GameView:
    """A draft of the caller's own with the settings, limits and rubrics of a game that they may change.

    Rounds, players, teams, seasons, invitations and the deadline stay behind.
    """
    game = hosted_game(conn, caller, game_id, "copying")
    title = good_name(name if name is not None else f"Copy of {game.name}"[:LONGEST_NAME])
    copy = msgspec.structs.replace(
        game,
        id=new_id(now),
        name=title,
        created_by=caller.user_id,
        created_at=now,
        status="draft",
        deadline=None,
        vouched_by=None,
        vouched_at=None,
        board_form=BOARD_FORM,
    )
    store.add_game(conn, copy)
    attached = [
        NewAttachment(each.rubric_id, each.version_id, each.weight, each.dimension, each.config_overrides)
        for each in store.attachments(conn, [game_id])
    ]
    store.attach(conn, copy.id, attached, now)
    return view_game(conn, caller, copy.id)
