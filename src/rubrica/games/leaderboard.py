"""Leaderboards: who stands where, in one game and across games, per dimension and overall.

`normalized` compares the players of a game as each attached rubric's `normalization` says, and weighs the rubrics.
`composite` weighs the shares of full marks that they gave, and compares nobody. `korgym` compares players with each
other: per rubric of a game, if the largest score S over the players exceeds 1, every S becomes ln(1 + S); then the
lowest becomes 0, the highest 1, and all equal 0.5. A game's value in a dimension is the weighted mean over its
rubrics there, a dimension is the mean over its games, and overall is the mean over dimensions. A player who has no
score somewhere is left out there, and not counted as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Literal
from uuid import UUID

import msgspec

from rubrica.report.figures import count_of
from rubrica.scoring.normalise import Method, over_set
from rubrica.store.games import Attachment
from rubrica.store.scores import PlayerMean

from .comparison import ComparedScore, PlayerComparison, compared
from .composite import NOISE_DIGITS, CompositePart, MissingScore, compose, weighted_mean

Way = Literal["normalized", "composite", "korgym"]


class MeanScore(msgspec.Struct, frozen=True):
    """A player's mean under one attached rubric: its points, as they are compared, and what is weighed."""

    attachment_id: UUID
    rubric: str  # its slug
    dimension: str
    weight: float
    method: Method  # how it is compared
    raw: float | None  # points, over the rounds that have a score
    normalized: float | None  # as the method lays it out
    share: float | None  # 0 to 1: what is weighed
    rounds: int
    open: int  # rounds whose score is open


class PlayerTotals(msgspec.Struct, frozen=True):
    """What one player has reached, before ranks are given."""

    player_id: UUID
    score: float | None
    by_dimension: dict[str, float | None]
    rounds: int
    games: int
    missing: list[MissingScore]
    bounds: tuple[float, float] | None = None  # a composite lies between these
    scores: list[MeanScore] = []  # by attached rubric
    open: int = 0  # scores that are open: what is told is provisional


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
    scores: list[MeanScore]  # by attached rubric
    open: int  # scores that are open: what is told is provisional
    team: str | None = None  # its name; None: none, or none is told


def by_composite(
    attachments: Sequence[Attachment],
    means: Iterable[PlayerMean],
    comparisons: Mapping[UUID, PlayerComparison] = MappingProxyType({}),
) -> list[PlayerTotals]:
    """Every player's composite in one game: by weight, over the mean of each rubric's rounds.

    With comparisons, each rubric's means are compared over the players first, as it says.
    """
    known = list(means)
    comparing = {id: each for id, each in comparisons.items() if each.compares}
    laid_out = {id: compared(own, comparing[id]) for id, own in _points(known).items() if id in comparing}
    lines = []
    for player_id, own in _by_player(known).items():
        rounds = max(mean.rounds for mean in own.values())
        told = [
            _mean_score(
                each,
                own.get(each.id),
                comparing[each.id].method if each.id in comparing else "none",
                laid_out.get(each.id, {}).get(player_id),
            )
            for each in attachments
        ]
        parts = [_part(score, own.get(score.attachment_id), rounds) for score in told]
        whole = compose(parts)
        short = [
            MissingScore(score.attachment_id, score.rubric, score.dimension, _provisional(score.open, score.rounds))
            for score in told
            if 0 < score.open < score.rounds
        ]
        lines.append(
            PlayerTotals(
                player_id,
                whole.score,
                whole.by_dimension,
                rounds,
                1,
                [*whole.missing, *short],
                None if any(comparing[id].is_relative for id in comparing) else _bounds(parts),
                told,
                sum(score.open for score in told),
            )
        )
    return lines


def by_korgym(attachments: Sequence[Attachment], means: Iterable[PlayerMean]) -> list[PlayerTotals]:
    """Every player against the others, in one game or across several."""
    known = list(means)
    laid_out = {id: over_set(own, "log") for id, own in _points(known).items()}
    lines = []
    for player_id, own in _by_player(known).items():
        rounds: dict[UUID, int] = {}
        for mean in own.values():
            rounds[mean.game_id] = max(mean.rounds, rounds.get(mean.game_id, 0))
        met = [attachment for attachment in attachments if attachment.game_id in rounds]
        told = [
            _mean_score(each, own.get(each.id), "log", _alike(laid_out.get(each.id, {}).get(player_id))) for each in met
        ]
        shares = [(each, score.share) for each, score in zip(met, told, strict=True) if score.share is not None]
        values = _dimensions(shares)
        missing = [_missing(each, "no round has a score") for each, s in zip(met, told, strict=True) if s.share is None]
        score = round(fmean(values.values()), NOISE_DIGITS) if values else None
        count = sum(rounds.values()), len(rounds)
        waiting = sum(score.open for score in told)
        lines.append(PlayerTotals(player_id, score, dict(values), *count, missing, None, told, waiting))
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
        line.scores,
        line.open,
    )


def _by_player(means: Iterable[PlayerMean]) -> dict[UUID, dict[UUID, PlayerMean]]:
    players: dict[UUID, dict[UUID, PlayerMean]] = {}
    for mean in means:
        players.setdefault(mean.player_id, {})[mean.attachment_id] = mean
    return players


def _mean_score(
    attachment: Attachment, mean: PlayerMean | None, method: Method, found: ComparedScore | None
) -> MeanScore:
    head = attachment.id, attachment.slug, attachment.dimension, attachment.weight, method
    if mean is None:
        return MeanScore(*head, None, None, None, 0, 0)
    share = mean.normalized_mean if found is None else found.share
    return MeanScore(
        *head,
        mean.raw_mean,
        mean.raw_mean if found is None else round(found.normalized, NOISE_DIGITS),
        None if share is None else min(max(round(share, NOISE_DIGITS), 0.0), 1.0),
        mean.rounds,
        mean.open,
    )


def _part(score: MeanScore, mean: PlayerMean | None, rounds: int) -> CompositePart:
    return CompositePart(
        score.attachment_id,
        score.rubric,
        score.dimension,
        score.weight,
        score.share,
        (0.0, 1.0) if mean is None else mean.bounds,
        reason="" if score.share is not None else f"none of {count_of(rounds, 'round')} has a score",
    )


def _bounds(parts: Sequence[CompositePart]) -> tuple[float, float]:
    """What the composite lies between, whatever becomes of the open scores."""
    return compose([msgspec.structs.replace(part, share=None) for part in parts]).bounds


def _alike(share: float | None) -> ComparedScore | None:
    return None if share is None else ComparedScore(share, share)


def _provisional(waiting: int, rounds: int) -> str:
    return f"provisional: {waiting:,} of {count_of(rounds, 'round')} {'has' if waiting == 1 else 'have'} no score yet"


def _missing(attachment: Attachment, reason: str) -> MissingScore:
    return MissingScore(attachment.id, attachment.slug, attachment.dimension, reason)


def _points(means: Iterable[PlayerMean]) -> dict[UUID, dict[UUID, float]]:
    """Per attached rubric, every player's mean of points."""
    scores: dict[UUID, dict[UUID, float]] = {}
    for mean in means:
        if mean.raw_mean is not None:
            scores.setdefault(mean.attachment_id, {})[mean.player_id] = mean.raw_mean
    return scores


def _dimensions(values: Iterable[tuple[Attachment, float]]) -> dict[str, float]:
    """Per dimension the mean over games of the weighted mean over each game's rubrics."""
    games: dict[str, dict[UUID, list[tuple[float, float]]]] = {}
    for attachment, value in values:
        games.setdefault(attachment.dimension, {}).setdefault(attachment.game_id, []).append((attachment.weight, value))
    return {
        dimension: round(fmean(weighted_mean(pairs) for pairs in by_game.values()), NOISE_DIGITS)
        for dimension, by_game in games.items()
    }
