"""Rounds that were judged: kept with their scores, all or nothing, and shown with every point explained."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.store import games, players, rounds, scores
from rubrica.store.games import Attachment
from rubrica.store.rounds import Place, PlayedRound
from rubrica.store.scores import StoredScore
from rubrica.workspace.access import Caller
from rubrica.workspace.plain_data import plain_text

from .composite import Composite
from .games import hosted_game, visible_game
from .judging import JudgedRounds, KeptRoundScore, RoundReply, composite_of
from .life import check_places_left, lock_game
from .players import player_in
from .round_access import RoundAccess
from .standings import keep_standings
from .turns import AttachmentScore, AttachmentScores, MovedError, PlayerTurn, is_newcomer, refuse_taken

LONGEST_REASON = 500


class RoundLine(msgspec.Struct, frozen=True):
    """A kept round as lists show it."""

    player_id: UUID
    player: str
    round_number: int
    content: dict[str, Any]
    composite: Composite
    created_at: datetime
    voided: RoundVoid | None = None  # it is kept and shown, and counts no more
    hidden: bool = False  # what was written, and where points came from, is not for the caller to see yet


class RoundVoid(msgspec.Struct, frozen=True):
    """That a round counts no more: since when, by whom, and why."""

    at: datetime
    by: UUID | None
    reason: str


class RoundView(RoundLine, frozen=True, kw_only=True):
    """A kept round with its scores, each with its whole breakdown."""

    scores: list[KeptRoundScore]


def keep_rounds(conn: Connection, judged: JudgedRounds) -> list[RoundReply]:
    """Keep rounds and scores in this transaction; a MovedError where what they were judged with has changed."""
    old = sorted({turn.entrant.player.id for turn in judged.turns if not turn.entrant.new})
    if old:
        players.lock_players(conn, old)
    for turn in judged.turns:
        _take_place(conn, turn)
        _refuse_moved(conn, turn)
        if turn.entrant.new:
            try:
                players.add_player(conn, turn.entrant.player)
            except ConflictError as error:
                raise MovedError(str(error)) from None
        if turn.agreed_at is not None:
            players.join_game(conn, turn.game.id, turn.entrant.player.id, turn.agreed_at)
    rounds.add_rounds(conn, judged.rounds)
    scores.add_scores(conn, judged.scores)
    for turn in judged.turns:
        times = None if any(sheet.stored for sheet in turn.sheets) else [round_.created_at for round_ in judged.rounds]
        keep_standings(conn, turn.game, [turn.entrant.player.id], times, judged.judged_at)
    return judged.told


def keep_judged_again(conn: Connection, judged: JudgedRounds) -> list[RoundReply]:
    """Fill open scores; those that somebody else has filled meanwhile stay as they are."""
    ids = sorted({turn.entrant.player.id for turn in judged.turns})
    if ids:
        players.lock_players(conn, ids)
    for turn in judged.turns:
        lock_game(conn, turn.game, newcomer=False)
    for score in judged.scores:
        scores.replace_open(conn, score)
    for turn in judged.turns:
        keep_standings(conn, turn.game, [turn.entrant.player.id], None, judged.judged_at)
    return judged.told


def _take_place(conn: Connection, turn: PlayerTurn) -> None:
    """Keep the game as it is until all is kept, and refuse a player for whom there is no place left."""
    newcomer = is_newcomer(conn, turn)
    lock_game(conn, turn.game, newcomer=newcomer)
    if newcomer:
        check_places_left(conn, turn.game, turn.entrant.player.name)


def _refuse_moved(conn: Connection, turn: PlayerTurn) -> None:
    player_id = turn.entrant.player.id
    if list(turn.attachments) != games.attachments(conn, [turn.game.id]):
        raise MovedError("what is attached to the game has changed meanwhile (send it again)")
    if not turn.entrant.new:
        new = [sheet.number for sheet in turn.sheets if not sheet.stored]
        if rounds.progress(conn, turn.game.id, player_id) != turn.progress:
            raise MovedError(f"{turn.entrant.player.name} has played another round meanwhile (send it again)")
        refuse_taken(conn, turn, new)
    again = [sheet for sheet in turn.sheets if sheet.stored]
    if again:
        wanted = {(attachment.id, sheet.number) for sheet in again for attachment in sheet.lacking}
        ids = [attachment.id for attachment in turn.attachments]
        known = scores.game_scores(conn, ids, player_id, [sheet.number for sheet in again])
        if any((score.attachment_id, score.round_number) in wanted for score in known):
            raise MovedError("somebody else has had these rounds judged meanwhile (send it again)")


# --- showing ----------------------------------------------------------------------------------------------


def list_rounds(
    conn: Connection, caller: Caller, game_id: UUID, player_id: UUID | None, after: Place | None, limit: int
) -> list[RoundLine]:
    """One page of a game's rounds, player by player, each by number."""
    game = visible_game(conn, caller, game_id)
    found = rounds.list_rounds(conn, game_id, player_id, after=after, limit=limit)
    sees = RoundAccess.of(conn, caller, game)
    attached = games.attachments(conn, [game_id])
    names = players.names_of(conn, {round_.player_id for round_ in found})
    marks = _marks(conn, attached, found)
    return [
        RoundLine(
            round_.player_id,
            names[round_.player_id],
            round_.round_number,
            round_.content if sees.reads(round_) else {},
            sees.composite(composite_of(attached, marks.get((round_.player_id, round_.round_number), {}))),
            round_.created_at,
            _voided(round_),
            not sees.reads(round_),
        )
        for round_ in found
    ]


def view_round(conn: Connection, caller: Caller, game_id: UUID, player: str, number: int) -> RoundView:
    """One round with its scores under what is attached now."""
    game = visible_game(conn, caller, game_id)
    round_ = _round(conn, game_id, player, number)
    player_id, sees = round_.player_id, RoundAccess.of(conn, caller, game)
    attached = games.attachments(conn, [game_id])
    by_id = {attachment.id: attachment for attachment in attached}
    found = scores.scores_of_round(conn, list(by_id), player_id, number)
    marks = _marks(conn, attached, [round_]).get((player_id, number), {})
    return RoundView(
        player_id,
        players.names_of(conn, [player_id])[player_id],
        number,
        round_.content if sees.reads(round_) else {},
        sees.composite(composite_of(attached, marks)),
        round_.created_at,
        _voided(round_),
        not sees.reads(round_),
        scores=[
            sees.score(_kept_score(score, by_id[score.attachment_id]), round_, score.record)
            for score in found
            if score.attachment_id is not None
        ],
    )


def void_round(
    conn: Connection, caller: Caller, game_id: UUID, which: tuple[str, int], reason: str | None, now: datetime
) -> RoundView:
    """Have a round count no more, for a reason, or count again: whoever made the game, or an admin."""
    game = hosted_game(conn, caller, game_id, "voiding rounds of")
    round_ = _round(conn, game_id, *which)
    players.lock_players(conn, [round_.player_id])
    lock_game(conn, game, newcomer=False)
    if reason is None:
        rounds.restore_round(conn, round_)
    else:
        told = plain_text(reason, "reason", LONGEST_REASON)
        if not told:
            raise InputError("reason is blank (say why the round does not count: it is shown with it)")
        rounds.void_round(conn, round_, caller.user_id, told, now)
    keep_standings(conn, game, [round_.player_id], [round_.created_at], now)
    return view_round(conn, caller, game_id, *which)


def _round(conn: Connection, game_id: UUID, player: str, number: int) -> PlayedRound:
    round_ = rounds.round_by_number(conn, game_id, player_in(conn, game_id, player), number)
    if round_ is None:
        raise MissingError(f"there is no round {number} of player {player} in this game")
    return round_


def _voided(round_: PlayedRound) -> RoundVoid | None:
    if round_.voided_at is None:
        return None
    return RoundVoid(round_.voided_at, round_.voided_by, round_.void_reason or "")


def _marks(
    conn: Connection, attached: Sequence[Attachment], found: Sequence[PlayedRound]
) -> dict[tuple[UUID, int], AttachmentScores]:
    """What each round was given, by player and number."""
    ids = [attachment.id for attachment in attached]
    numbers: dict[UUID, list[int]] = {}
    for round_ in found:
        numbers.setdefault(round_.player_id, []).append(round_.round_number)
    marks: dict[tuple[UUID, int], AttachmentScores] = {}
    for player_id, own in numbers.items():
        for score in scores.game_scores(conn, ids, player_id, own):
            mark = AttachmentScore(score.normalized_score, score.bounds, score.reason)
            marks.setdefault((player_id, score.round_number), {})[score.attachment_id] = mark
    return marks


def _kept_score(score: StoredScore, attachment: Attachment) -> KeptRoundScore:
    return KeptRoundScore(
        score.id,
        attachment.id,
        score.rubric_id,
        score.rubric,
        score.version,
        attachment.dimension,
        attachment.weight,
        score.raw_score,
        score.normalized_score,
        score.verdict,
        score.record.get("reason", ""),
        score.rule_breakdown,
        score.dimension_scores,
    )
