"""Leaderboards: who stands where, in one game and across games, per dimension and overall.

`composite` weighs the shares of full marks that the attached rubrics gave. `korgym` compares players with each
other: per rubric of a game, if the largest score S over the players exceeds 1, every S becomes ln(1 + S); then the
lowest becomes 0, the highest 1, and all equal 0.5. A game's value in a dimension is the weighted mean over its
rubrics there, a dimension is the mean over its games, and overall is the mean over dimensions. A player who has no
score somewhere is left out there, and not counted as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal
from uuid import UUID

import msgspec

from rubrica.scoring.normalise import over_set
from rubrica.store.games import Attachment
from rubrica.store.scores import PlayerMean

from .composite import NOISE_DIGITS, CompositePart, MissingScore, compose, weighted_mean

Way = Literal["composite", "korgym"]


class PlayerTotals(msgspec.Struct, frozen=True):
    """What one player has reached, before ranks are given."""

    player_id: UUID
    score: float | None
    by_dimension: dict[str, float | None]
    rounds: int
    games: int
    missing: list[MissingScore]
    bounds: tuple[float, float] | None = None  # a composite lies between these


class LeaderboardRow(msgspec.Struct, frozen=True):
    """One line of a leaderboard. Players with the same score share a rank: 1, 1, 3."""

    rank: int | None  # None: there is no score to rank by
    tied: bool
    player_id: UUID
    player: str
    score: float | None  # 0 to 1: overall, or of the dimension that was asked for
    overall: float | None
    by_dimension: dict[str, float | None]
    rounds: int
    games: int
    missing: list[MissingScore]
    bounds: tuple[float, float] | None  # a composite lies between these
    team: str | None = None  # its name; None: none, or none is told


def by_composite(attachments: Sequence[Attachment], means: Iterable[PlayerMean]) -> list[PlayerTotals]:
    """Every player's composite in one game: by weight, over the mean of each rubric's rounds."""
    lines = []
    for player_id, own in _by_player(means).items():
        rounds = max(mean.rounds for mean in own.values())
        whole = compose([_part(attachment, own.get(attachment.id), rounds) for attachment in attachments])
        short = [
            _missing(attachment, f"{rounds - mean.scored} of {rounds} rounds have no score")
            for attachment in attachments
            if (mean := own.get(attachment.id)) is not None and 0 < mean.scored < rounds
        ]
        lines.append(
            PlayerTotals(player_id, whole.score, whole.by_dimension, rounds, 1, [*whole.missing, *short], whole.bounds)
        )
    return lines


def by_korgym(attachments: Sequence[Attachment], means: Iterable[PlayerMean]) -> list[PlayerTotals]:
    """Every player against the others, in one game or across several."""
    known = list(means)
    compared = _compared(known)
    lines = []
    for player_id, own in _by_player(known).items():
        rounds: dict[UUID, int] = {}
        for mean in own.values():
            rounds[mean.game_id] = max(mean.rounds, rounds.get(mean.game_id, 0))
        met = [
            (attachment, compared[attachment.id].get(player_id) if attachment.id in compared else None)
            for attachment in attachments
            if attachment.game_id in rounds
        ]
        values = _dimensions([(attachment, value) for attachment, value in met if value is not None])
        missing = [_missing(attachment, "no round has a score") for attachment, value in met if value is None]
        score = round(fmean(values.values()), NOISE_DIGITS) if values else None
        lines.append(PlayerTotals(player_id, score, dict(values), sum(rounds.values()), len(rounds), missing))
    return lines


def ranked(
    lines: Sequence[PlayerTotals], names: Mapping[UUID, str], dimension: str | None = None
) -> list[LeaderboardRow]:
    """The lines in order, with ranks; by one dimension where it is named, else overall."""

    def value(line: PlayerTotals) -> float | None:
        return line.score if dimension is None else line.by_dimension.get(dimension)

    scored = sorted(
        ((score, line) for line in lines if (score := value(line)) is not None),
        key=lambda pair: (-pair[0], names[pair[1].player_id], pair[1].player_id),
    )
    scores = [score for score, _ in scored]
    entries = []
    rank = 0
    for place, (score, line) in enumerate(scored, 1):
        if place == 1 or score != scores[place - 2]:
            rank = place
        tied = score in (scores[place - 2] if place > 1 else None, scores[place] if place < len(scores) else None)
        entries.append(_entry(line, names, score, rank, tied=tied))
    rest = sorted(
        (line for line in lines if value(line) is None), key=lambda line: (names[line.player_id], line.player_id)
    )
    return entries + [_entry(line, names, None, None, tied=False) for line in rest]


def _entry(
    line: PlayerTotals, names: Mapping[UUID, str], score: float | None, rank: int | None, *, tied: bool
) -> LeaderboardRow:
    return LeaderboardRow(
        rank,
        tied,
        line.player_id,
        names[line.player_id],
        score,
        line.score,
        line.by_dimension,
        line.rounds,
        line.games,
        line.missing,
        line.bounds,
    )


def _by_player(means: Iterable[PlayerMean]) -> dict[UUID, dict[UUID, PlayerMean]]:
    players: dict[UUID, dict[UUID, PlayerMean]] = {}
    for mean in means:
        players.setdefault(mean.player_id, {})[mean.attachment_id] = mean
    return players


def _part(attachment: Attachment, mean: PlayerMean | None, rounds: int) -> CompositePart:
    share = None if mean is None else mean.normalized_mean
    return CompositePart(
        attachment.id,
        attachment.slug,
        attachment.dimension,
        attachment.weight,
        share if share is None else min(max(round(share, NOISE_DIGITS), 0.0), 1.0),
        reason="" if share is not None else f"none of {rounds} rounds has a score",
    )


def _missing(attachment: Attachment, reason: str) -> MissingScore:
    return MissingScore(attachment.id, attachment.slug, attachment.dimension, reason)


def _compared(means: Iterable[PlayerMean]) -> dict[UUID, dict[UUID, float]]:
    """Per attached rubric, its players laid out between 0 and 1."""
    scores: dict[UUID, dict[UUID, float]] = {}
    for mean in means:
        if mean.raw_mean is not None:
            scores.setdefault(mean.attachment_id, {})[mean.player_id] = mean.raw_mean
    return {attachment_id: over_set(own, "log") for attachment_id, own in scores.items()}


def _dimensions(values: Iterable[tuple[Attachment, float]]) -> dict[str, float]:
    """Per dimension the mean over games of the weighted mean over each game's rubrics."""
    games: dict[str, dict[UUID, list[tuple[float, float]]]] = {}
    for attachment, value in values:
        games.setdefault(attachment.dimension, {}).setdefault(attachment.game_id, []).append((attachment.weight, value))
    return {
        dimension: round(fmean(weighted_mean(pairs) for pairs in by_game.values()), NOISE_DIGITS)
        for dimension, by_game in games.items()
    }
