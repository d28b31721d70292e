"""Turns: what the rounds of one player are judged with, read from the database before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError
from rubrica.store import games, players, round_starts, rounds, scores
from rubrica.store.games import Attachment, Game, VersionDefinition
from rubrica.store.players import Player
from rubrica.store.rounds import PlayedRound, PlayerProgress
from rubrica.store.scores import OpenScore
from rubrica.workspace.access import Caller, require

from .fair_play import TIME
from .games import hosted_game, hosts, visible_game
from .life import check_places_left, check_rounds_left, check_takes_rounds
from .open_scores import record_failed
from .players import Entrant, entrant, represents
from .submission import MOST_ROUNDS, RoundDraft, Submission

MOST_OPEN = 100
"""Open scores that one request has judged again."""

MOST_EARLIER = 200
"""Earlier rounds that a round is judged beside, the latest ones."""


class MovedError(ConflictError):
    """What was read has changed meanwhile, and nothing was kept: reading and judging again will do."""


class AttachmentScore(msgspec.Struct, frozen=True):
    """What one attached rubric gave one round: a share from 0 to 1, or nothing, within bounds."""

    share: float | None
    bounds: tuple[float, float]
    reason: str  # why there is none


AttachmentScores = dict[UUID, AttachmentScore]
"""Of one round, by attachment."""


@dataclass(frozen=True, slots=True)
class PendingRound:
    """One round to be judged, and what by."""

    number: int
    content: Mapping[str, Any]
    lacking: tuple[Attachment, ...]
    stored: bool = False  # the round itself is kept already
    measured: bool = False  # the server measured its time


@dataclass(slots=True)
class PlayerTurn:
    """Rounds of one player that are to be judged, and all that they are judged with."""

    game: Game
    entrant: Entrant
    attachments: Sequence[Attachment]
    definitions: Mapping[UUID, VersionDefinition]  # by version
    progress: PlayerProgress
    trusted: bool = True  # whoever submits made the game, or nothing new is submitted
    agreed_at: datetime | None = None  # when whoever stands behind the player submits; None: somebody else does
    sheets: list[PendingRound] = field(default_factory=list)  # by number
    contents: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # of rounds, by number
    marks: dict[int, AttachmentScores] = field(default_factory=dict)  # of rounds, by number

    def before(self, number: int | None) -> list[int]:
        """The numbers of the rounds that one is judged beside, oldest first; of all of them for None."""
        return sorted(earlier for earlier in self.contents if number is None or earlier < number)[-MOST_EARLIER:]

    def lacking(self, number: int) -> tuple[Attachment, ...]:
        """What has given a round no score yet."""
        marks = self.marks.get(number, {})
        return tuple(attachment for attachment in self.attachments if attachment.id not in marks)


def open_turn(conn: Connection, caller: Caller, game_id: UUID, submission: Submission, now: datetime) -> PlayerTurn:
    """The turn of submitted rounds. A number that is taken is refused now, before any judge is paid."""
    game = visible_game(conn, caller, game_id)
    turn = _turn(conn, game, entrant(conn, caller, game, submission.player, now))
    check_takes_rounds(game, now)
    check_rounds_left(game, turn.entrant.player.name, turn.progress.count, len(submission.rounds))
    if is_newcomer(conn, turn):
        check_places_left(conn, game, turn.entrant.player.name)
    turn.agreed_at = now if represents(caller, turn.entrant.player) else None
    turn.trusted = hosts(caller, game)
    drafts = [timed(conn, turn, draft, now) for draft in submission.rounds]
    submission = replace(submission, rounds=tuple(drafts))
    numbers = number_rounds(submission.rounds, turn.progress.last)
    # Only numbers that were asked for: a number counted on from what was read may be taken by now, and is counted anew.
    asked = [draft.number for draft in submission.rounds if draft.number is not None]
    refuse_taken(conn, turn, asked, numbers)
    pairs = sorted(zip(numbers, submission.rounds, strict=True), key=lambda pair: pair[0])
    turn.sheets = [
        PendingRound(number, draft.content, tuple(turn.attachments), measured=draft.token is not None)
        for number, draft in pairs
    ]
    if not turn.entrant.new:
        for number in sorted({min(number, turn.progress.last + 1) for number in numbers}):
            _recall(conn, turn, number)
    return turn


def is_newcomer(conn: Connection, turn: PlayerTurn) -> bool:
    """Whether a player takes no part in the game yet."""
    if turn.entrant.new:
        return True
    return turn.progress.count == 0 and not players.takes_part(conn, turn.game.id, turn.entrant.player.id)


def open_catch_up(
    conn: Connection, caller: Caller, game_id: UUID, player: str | None, now: datetime
) -> tuple[list[PlayerTurn], bool]:
    """The turns of kept rounds that lack a score of something attached, and whether that is all of them.

    Whoever made the game has the rounds judged of all that they may submit for, or of one player, others their own.
    """
    require(caller, "player", "having rounds judged")
    game = visible_game(conn, caller, game_id)
    attachment_ids = [attachment.id for attachment in games.attachments(conn, [game_id])]
    whose = rounds.RoundOwner(
        None if player is None else entrant(conn, caller, game, player, now).player.id,
        None if hosts(caller, game) else caller.user_id,
        caller.user_id if hosts(caller, game) and not caller.is_admin else None,
    )
    found = rounds.rounds_to_score(conn, game_id, attachment_ids, whose, MOST_ROUNDS + 1)
    by_player: dict[UUID, list[PlayedRound]] = {}
    for round_ in found[:MOST_ROUNDS]:
        by_player.setdefault(round_.player_id, []).append(round_)
    known = players.players_by_id(conn, list(by_player))
    turns = [_catching_up(conn, game, known[player_id], own) for player_id, own in by_player.items()]
    for turn in turns:
        turn.trusted = hosts(caller, game)
        turn.agreed_at = now if represents(caller, turn.entrant.player) else None
    return turns, len(found) <= MOST_ROUNDS


def open_retry(
    conn: Connection, caller: Caller, game_id: UUID, chosen: Sequence[OpenScore] | None = None
) -> tuple[list[PlayerTurn], bool]:
    """The turns of rounds whose scores a failed judge left open, and whether that is all of them.

    Whoever made the game, or an admin; `chosen` are those that the server judges again by itself.
    """
    if chosen is None:
        game = hosted_game(conn, caller, game_id, "having open scores judged in")
    else:
        found_game = games.game_by_id(conn, game_id)
        if found_game is None:
            return [], True
        game = found_game
    attached = {attachment.id: attachment for attachment in games.attachments(conn, [game_id])}
    listed = chosen if chosen is not None else scores.open_scores(conn, attached, None, MOST_OPEN + 1)
    failed = [each for each in listed[:MOST_OPEN] if each.tries or each.retry_at or record_failed(each.record)]
    by_player: dict[UUID, dict[int, list[Attachment]]] = {}
    for each in failed:
        if each.attachment_id in attached:
            own = by_player.setdefault(each.player_id, {})
            own.setdefault(each.round_number, []).append(attached[each.attachment_id])
    known = players.players_by_id(conn, list(by_player))
    turns = [_judged_again(conn, game, known[player_id], own) for player_id, own in by_player.items()]
    return turns, len(listed) <= MOST_OPEN


def timed(conn: Connection, turn: PlayerTurn, draft: RoundDraft, now: datetime) -> RoundDraft:
    """A round that was begun, with the number it was begun with and the time it took by the server's clock."""
    if draft.token is None:
        return draft
    start = round_starts.start_by_token(conn, draft.token)
    if start is None or (start.game_id, start.player_id) != (turn.game.id, turn.entrant.player.id):
        raise InputError(f"that token is not of a round that {turn.entrant.player.name} began in this game")
    if draft.number not in (None, start.round_number):
        raise InputError(f"that token is of round {start.round_number}, not of {draft.number}")
    metadata = draft.content.get("metadata") or {}
    if not isinstance(metadata, Mapping) or TIME in metadata:
        raise InputError("the token says how long the round took (leave response_time out)")
    seconds = round(max((now - start.started_at).total_seconds(), 0.0), 3)
    return RoundDraft({**draft.content, "metadata": {**metadata, TIME: seconds}}, start.round_number, draft.token)


def open_history(conn: Connection, game: Game, player: Player, number: int | None) -> PlayerTurn:
    """A turn without rounds of its own: what a player did before a round, or so far."""
    turn = _turn(conn, game, Entrant(player))
    _recall(conn, turn, turn.progress.last + 1 if number is None else number)
    return turn


def number_rounds(drafts: Sequence[RoundDraft], last: int) -> list[int]:
    """The number of every round: its own, else the one after the highest so far.

    >>> number_rounds([RoundDraft({}), RoundDraft({}, 7), RoundDraft({}, 2), RoundDraft({})], last=4)
    [5, 7, 2, 8]
    """
    numbers = []
    for draft in drafts:
        number = last + 1 if draft.number is None else draft.number
        last = max(last, number)
        numbers.append(number)
    return numbers


def refuse_taken(conn: Connection, turn: PlayerTurn, asked: Sequence[int], numbers: Sequence[int] = ()) -> None:
    """Refuse numbers asked for that the player has used already, and any that would be used twice."""
    who, game_id = turn.entrant.player, turn.game.id
    taken = rounds.numbers_taken(conn, game_id, who.id, asked) if asked and not turn.entrant.new else []
    taken = taken or sorted({number for number in numbers if numbers.count(number) > 1})
    if taken:
        told = ", ".join(map(str, taken[:5]))
        raise ConflictError(f"{who.name} has played round {told} already (leave round_number out for the next one)")


def _turn(conn: Connection, game: Game, who: Entrant) -> PlayerTurn:
    attached = games.attachments(conn, [game.id])
    definitions = games.definitions(conn, sorted({attachment.version_id for attachment in attached}))
    progress = PlayerProgress() if who.new else rounds.progress(conn, game.id, who.player.id)
    return PlayerTurn(game, who, attached, definitions, progress)


def _catching_up(conn: Connection, game: Game, player: Player, own: Sequence[PlayedRound]) -> PlayerTurn:
    turn = _turn(conn, game, Entrant(player))
    for round_ in own:
        turn.contents[round_.round_number] = round_.content
        _mark(conn, turn, [round_.round_number])
        _recall(conn, turn, round_.round_number)
    turn.sheets = [
        PendingRound(each.round_number, each.content, turn.lacking(each.round_number), stored=True) for each in own
    ]
    return turn


def _judged_again(
    conn: Connection, game: Game, player: Player, lacking: Mapping[int, Sequence[Attachment]]
) -> PlayerTurn:
    turn = _turn(conn, game, Entrant(player))
    for number in sorted(lacking):
        round_ = rounds.round_by_number(conn, game.id, player.id, number)
        if round_ is None or round_.voided_at is not None:
            continue
        turn.contents[number] = round_.content
        _mark(conn, turn, [number])
        _recall(conn, turn, number)
        turn.sheets.append(PendingRound(number, round_.content, tuple(lacking[number]), stored=True))
    return turn


def _recall(conn: Connection, turn: PlayerTurn, number: int) -> None:
    """Read the rounds before one, and what they were given."""
    earlier = rounds.rounds_before(conn, turn.game.id, turn.entrant.player.id, number, MOST_EARLIER)
    unknown = [round_.round_number for round_ in earlier if round_.round_number not in turn.contents]
    turn.contents |= {round_.round_number: round_.content for round_ in earlier}
    _mark(conn, turn, unknown)


def _mark(conn: Connection, turn: PlayerTurn, numbers: Sequence[int]) -> None:
    ids = [attachment.id for attachment in turn.attachments]
    for score in scores.game_scores(conn, ids, turn.entrant.player.id, numbers):
        mark = AttachmentScore(score.normalized_score, score.bounds, score.reason)
        turn.marks.setdefault(score.round_number, {})[score.attachment_id] = mark
