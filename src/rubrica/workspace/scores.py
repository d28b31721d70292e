"""Who may see a score: whoever had it made, whoever plays as its player, whoever made its game, and admins.

A score keeps what it was judged with, and so the player's `info`. That is for whoever made or is the player, and for
whoever made the game once the player joined it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import MissingError
from rubrica.store import games, players, scores
from rubrica.store.scores import ScoreLine, ScoreQuery, StoredScore

from .access import Caller

INFO = "player_info"


def view_score(conn: Connection, caller: Caller, score_id: UUID) -> StoredScore:
    """A score, for whoever had it made, whoever plays as its player, whoever made its game, and admins."""
    score = scores.score_by_id(conn, score_id)
    if score is None or not _may_see(conn, caller, score):
        raise MissingError(f"there is no score {score_id}, or it is not yours to see")
    if score.game_id is not None and score.normalized_score is None and not _made_game(conn, caller, score.game_id):
        score = _without_failures(score)
    if INFO in score.context_snapshot and not _may_see_info(conn, caller, score):
        kept = {key: value for key, value in score.context_snapshot.items() if key != INFO}
        return msgspec.structs.replace(score, context_snapshot=kept)
    return score


def list_scores(
    conn: Connection, caller: Caller, narrowed: ScoreQuery, before: UUID | None, limit: int
) -> list[ScoreLine]:
    """One page of scores, newest first: one's own; all of a game that one made, or of a player that one is."""
    if not (caller.is_admin or _owns_all(conn, caller, narrowed)):
        narrowed = ScoreQuery(caller.user_id, narrowed.rubric_id, narrowed.game_id, narrowed.player_id)
    return scores.list_scores(conn, narrowed, before=before, limit=limit)


def _made_game(conn: Connection, caller: Caller, game_id: UUID) -> bool:
    game = games.game_by_id(conn, game_id)
    return caller.is_admin or (game is not None and caller.owns(game.created_by))


def _without_failures(score: StoredScore) -> StoredScore:
    """An open score without what a provider said when it failed: that is for whoever made the game."""
    reason = str(score.record.get("reason", "")).partition(":")[0]
    record = {key: value for key, value in score.record.items() if key not in ("errors", "notes", "remarks")}
    record |= {"reason": reason, "dimensions": _without_details(score.record.get("dimensions", {}))}
    return msgspec.structs.replace(score, record=record, dimension_scores=_without_details(score.dimension_scores))


def _without_details(dimensions: Mapping[str, Any]) -> dict[str, Any]:
    """Dimensions of which one without a score says no more than that."""
    shown = {}
    for name, result in dimensions.items():
        kept = {key: value for key, value in result.items() if key != "votes" or result.get("value") is not None}
        if result.get("value") is None:
            kept["reason"] = "no score"
        if kept.get("parts"):
            kept["parts"] = _without_details(kept["parts"])
        shown[name] = kept
    return shown


def _may_see(conn: Connection, caller: Caller, score: StoredScore) -> bool:
    if caller.is_admin or caller.owns(score.created_by):
        return True
    return _owns_all(conn, caller, ScoreQuery(game_id=score.game_id)) or _owns_all(
        conn, caller, ScoreQuery(player_id=score.player_id)
    )


def _may_see_info(conn: Connection, caller: Caller, score: StoredScore) -> bool:
    if caller.is_admin or score.player_id is None:
        return True
    player = players.player_by_id(conn, score.player_id)
    if player is not None and (caller.owns(player.created_by) or caller.owns(player.user_id)):
        return True
    game = None if score.game_id is None else games.game_by_id(conn, score.game_id)
    return game is not None and caller.owns(game.created_by) and players.has_joined(conn, game.id, score.player_id)


def _owns_all(conn: Connection, caller: Caller, narrowed: ScoreQuery) -> bool:
    """Whether every score that is left is the caller's to see."""
    if narrowed.game_id is not None:
        game = games.game_by_id(conn, narrowed.game_id)
        if game is not None and caller.owns(game.created_by):
            return True
    if narrowed.player_id is not None:
        player = players.player_by_id(conn, narrowed.player_id)
        return player is not None and caller.owns(player.user_id)
    return False
