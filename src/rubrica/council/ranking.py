"""From the scores of several reviewers to one ranking, with its ties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Literal, assert_never

import msgspec

from rubrica.scoring.normalise import z_scores

Pool = Literal["mean", "borda", "z"]
Sheet = Mapping[str, float]
"""What one reviewer gave, by label."""

DECIMALS: Mapping[Pool, int] = {"mean": 2, "borda": 3, "z": 3}
"""What is shown is what decides: values that look equal are tied."""


class RankedAnswer(msgspec.Struct, frozen=True):
    """One answer's place. Tied answers share it; without a score there is none."""

    label: str
    rank: int | None  # 1 is best
    value: float | None  # pooled: a mean score, the share of others beaten, or standard deviations from the mean
    reviews: int = 0  # how many reviewers' scores are behind it
    points: float | None = None  # by Borda: of every ballot, how many others it beats, half for a tie
    most_points: float = 0.0  # what it would have had at the top of all its ballots
    share: float | None = None  # the mean share of the others that it beats: Borda's count from 0 to 1
    z: float | None = None  # the mean of standard deviations from each reviewer's own mean


class Ranking(msgspec.Struct, frozen=True):
    """All answers from best to worst, those without a score last."""

    pool: Pool
    standings: tuple[RankedAnswer, ...]
    notes: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """The ranked labels, best first; tied ones in alphabetical order."""
        return tuple(ranked_answer.label for ranked_answer in self.standings if ranked_answer.rank is not None)

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """Groups of labels that share a place."""
        ranked = [ranked_answer for ranked_answer in self.standings if ranked_answer.rank is not None]
        groups = (tuple(one.label for one in group) for _, group in groupby(ranked, key=lambda one: one.rank))
        return tuple(group for group in groups if len(group) > 1)

    @property
    def unranked(self) -> tuple[str, ...]:
        """The labels that nobody gave a score."""
        return tuple(ranked_answer.label for ranked_answer in self.standings if ranked_answer.rank is None)


class CouncilVotes(msgspec.Struct, frozen=True):
    """What reviewers gave: scores by label. Of those in `rankings` only the order of their values means something."""

    sheets: Mapping[str, Sheet]
    rankings: frozenset[str] = frozenset()
    weights: Mapping[str, float] = {}  # what a reviewer counts; 1 where nothing is said

    def weight(self, reviewer: str) -> float:
        return self.weights.get(reviewer, 1.0)

    @property
    def scores(self) -> dict[str, Sheet]:
        """The sheets whose values are scores."""
        return {reviewer: sheet for reviewer, sheet in self.sheets.items() if reviewer not in self.rankings}


def rank(labels: Sequence[str], votes: CouncilVotes | Mapping[str, Sheet], pool: Pool = "mean") -> Ranking:
    """Rank the labels by the reviewers' sheets.

    A review that is only a ranking has no scores to average: where there is one, all are pooled by Borda.

    >>> sheets = {"ann": {"B": 8, "C": 6}, "bo": {"A": 9, "C": 6}, "cy": {"A": 7, "B": 8}}
    >>> found = rank("ABC", sheets)
    >>> found.order, found.ties, [one.rank for one in found.standings]
    (('A', 'B', 'C'), (('A', 'B'),), [1, 1, 3])
    >>> rank("AB", CouncilVotes({"ann": {"A": 9, "B": 8}, "bo": {"A": -2, "B": -1}}, frozenset({"bo"}))).pool
    'borda'
    """
    votes = votes if isinstance(votes, CouncilVotes) else CouncilVotes(votes)
    used, notes = _chosen_pool(votes, pool)
    points = ballot_points(votes, used)
    pooled: dict[str, tuple[float, int]] = {}
    for label in labels:
        given = [(own[label], votes.weight(reviewer)) for reviewer, own in points.items() if label in own]
        if given:
            pooled[label] = (round(weighted_mean(given), DECIMALS[used]) + 0.0, len(given))
    if used == "z" and len({frozenset(own) for own in points.values() if own}) > 1:
        notes.append("reviewers did not see the same answers; what z takes for harshness may be weaker answers")
    standings = (_with_counts(one, votes) for one in _standings(labels, pooled))
    return Ranking(used, tuple(standings), tuple(notes))


def ballot_points(votes: CouncilVotes, pool: Pool) -> dict[str, dict[str, float]]:
    """What each reviewer's ballot gives each answer, by the way of pooling."""
    return {reviewer: _points(sheet, pool) for reviewer, sheet in votes.sheets.items()}


def weighted_mean(given: Sequence[tuple[float, float]]) -> float:
    """The mean of values with weights; of values that all count nothing, the plain one.

    >>> weighted_mean([(9, 2), (6, 1)]), weighted_mean([(9, 0), (6, 0)])
    (8.0, 7.5)
    """
    total = math.fsum(weight for _, weight in given)
    if total <= 0:
        return fmean(value for value, _ in given)
    return math.fsum(value * weight for value, weight in given) / total


def _chosen_pool(votes: CouncilVotes, pool: Pool) -> tuple[Pool, list[str]]:
    """How the votes can be pooled, and what to say about it."""
    notes: list[str] = []
    if votes.rankings and pool != "borda":
        names = ", ".join(sorted(votes.rankings))
        notes.append(f"{names} gave a ranking without scores, which counts by Borda: all reviews are pooled so")
        pool = "borda"
    if pool == "mean":
        return pool, notes
    telling = [reviewer for reviewer, sheet in votes.sheets.items() if len(sheet) > 1]
    if not telling and any(votes.sheets.values()):
        notes.append(f"no reviewer scored two answers, so {pool} tells nothing: ranked by mean scores")
        return "mean", notes
    if len(telling) < sum(1 for sheet in votes.sheets.values() if sheet):
        alone = sorted(reviewer for reviewer, sheet in votes.sheets.items() if len(sheet) == 1)
        notes.append(f"{', '.join(alone)} scored one answer only, which {pool} leaves out")
    return pool, notes


def _with_counts(ranked_answer: RankedAnswer, votes: CouncilVotes) -> RankedAnswer:
    """An answer with its Borda count and its normalised values, whatever it is ranked by."""
    label = ranked_answer.label
    ballots = {reviewer: sheet for reviewer, sheet in votes.sheets.items() if label in sheet and len(sheet) > 1}
    if not ballots:
        return ranked_answer
    shares = [(_borda_shares(sheet)[label], votes.weight(reviewer)) for reviewer, sheet in ballots.items()]
    points = [share * (len(sheet) - 1) for (share, _), sheet in zip(shares, ballots.values(), strict=True)]
    scored = [
        (z_scores(sheet)[label], votes.weight(reviewer))
        for reviewer, sheet in ballots.items()
        if reviewer not in votes.rankings
    ]
    return msgspec.structs.replace(
        ranked_answer,
        points=round(math.fsum(points), 2),
        most_points=float(sum(len(sheet) - 1 for sheet in ballots.values())),
        share=round(weighted_mean(shares), DECIMALS["borda"]),
        z=round(weighted_mean(scored), DECIMALS["z"]) + 0.0 if scored else None,
    )


def _standings(labels: Sequence[str], pooled: Mapping[str, tuple[float, int]]) -> tuple[RankedAnswer, ...]:
    ordered = sorted(pooled, key=lambda label: (-pooled[label][0], label))
    values = [pooled[label][0] for label in ordered]
    ranked = [RankedAnswer(label, values.index(pooled[label][0]) + 1, *pooled[label]) for label in ordered]
    return (*ranked, *(RankedAnswer(label, None, None) for label in sorted(labels) if label not in pooled))


def _points(sheet: Sheet, pool: Pool) -> dict[str, float]:
    match pool:
        case "mean":
            return dict(sheet)
        case "borda":
            return _borda_shares(sheet)
        case "z":
            return z_scores(sheet) if len(sheet) > 1 else {}
        case _:
            assert_never(pool)


def _borda_shares(sheet: Sheet) -> dict[str, float]:
    """The share of the other answers that each one beats, half for a tie: Borda's count, whatever the sheet's length.

    >>> _borda_shares({"A": 9, "B": 5, "C": 5})
    {'A': 1.0, 'B': 0.25, 'C': 0.25}
    """
    others = len(sheet) - 1
    if others < 1:
        return {}
    return {
        label: math.fsum(
            0.5 if score == other else float(score > other) for rival, other in sheet.items() if rival != label
        )
        / others
        for label, score in sheet.items()
    }
