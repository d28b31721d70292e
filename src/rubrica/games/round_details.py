"""Rounds with all that belongs to them: their scores in full, and what every attachment judges by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import MissingError
from rubrica.store import games as store
from rubrica.store.games import VersionDefinition
from rubrica.store.scores import StoredScore
from rubrica.workspace import scores
from rubrica.workspace.access import Caller

from . import games, rounds
from .games import GameView
from .judging import JudgedRounds, RoundReply
from .overrides import overridden
from .rounds import RoundView


class OpenedRound(msgspec.Struct, frozen=True):
    """A round with all that may be seen of it."""

    view: GameView
    round: RoundView
    stored: Mapping[UUID, StoredScore]  # by id; only those that whoever looks may see in full
    rubrics: Mapping[UUID, Mapping[str, Any]]  # what each attachment judges by


def open_round(conn: Connection, caller: Caller, game_id: UUID, player: str, number: int) -> OpenedRound:
    """One round, and its scores in full as far as the caller may see them."""
    view = games.view_game(conn, caller, game_id)
    found = rounds.view_round(conn, caller, game_id, player, number)
    stored = {}
    for score in found.scores:
        with suppress(MissingError):
            stored[score.id] = scores.view_score(conn, caller, score.id)
    said = store.definitions(conn, [each.version_id for each in view.attachments])
    rubrics = {
        each.id: overridden(said[each.version_id].definition, each.config_overrides) for each in view.attachments
    }
    return OpenedRound(view, found, stored, rubrics)


def keep_judged(conn: Connection, _caller: Caller, judged: JudgedRounds) -> list[RoundReply]:
    """Keep rounds that were opened for the caller and judged since."""
    return rounds.keep_rounds(conn, judged)


def keep_again(conn: Connection, _caller: Caller, judged: JudgedRounds) -> list[RoundReply]:
    """Fill open scores that were opened for the caller and judged since."""
    return rounds.keep_judged_again(conn, judged)


def attached_definitions(
    conn: Connection, _caller: Caller, version_ids: Sequence[UUID]
) -> dict[UUID, VersionDefinition]:
    """What is attached to a game that the caller sees, as it was when it was attached."""
    return store.definitions(conn, version_ids)
