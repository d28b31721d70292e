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


class Ranking(msgspec.Struct, frozen=True):
    """All answers from best to worst, those without a score last."""

    pool: Pool
    standings: tuple[RankedAnswer, ...]
    notes: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """The ranked labels, best first; tied ones in alphabetical order."""
        return tuple(standing.label for standing in self.standings if standing.rank is not None)

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """Groups of labels that share a place."""
        ranked = [standing for standing in self.standings if standing.rank is not None]
        groups = (tuple(one.label for one in group) for _, group in groupby(ranked, key=lambda one: one.rank))
        return tuple(group for group in groups if len(group) > 1)

    @property
    def unranked(self) -> tuple[str, ...]:
        """The labels that nobody gave a score."""
        return tuple(standing.label for standing in self.standings if standing.rank is None)


def rank(labels: Sequence[str], sheets: Mapping[str, Sheet], pool: Pool = "mean") -> Ranking:
    """Rank the labels by the reviewers' sheets.

    >>> sheets = {"ann": {"B": 8, "C": 6}, "bo": {"A": 9, "C": 6}, "cy": {"A": 7, "B": 8}}
    >>> found = rank("ABC", sheets)
    >>> found.order, found.ties, [standing.rank for standing in found.standings]
    (('A', 'B', 'C'), (('A', 'B'),), [1, 1, 3])
    """
    notes: list[str] = []
    used: Pool = pool
    if pool != "mean":
        telling = {reviewer: sheet for reviewer, sheet in sheets.items() if len(sheet) > 1}
        if not telling and any(sheets.values()):
            notes.append(f"no reviewer scored two answers, so {pool} tells nothing: ranked by mean scores")
            used = "mean"
        elif len(telling) < sum(1 for sheet in sheets.values() if sheet):
            alone = sorted(reviewer for reviewer, sheet in sheets.items() if len(sheet) == 1)
            notes.append(f"{', '.join(alone)} scored one answer only, which {pool} leaves out")
    points = {reviewer: _points(sheet, used) for reviewer, sheet in sheets.items()}
    pooled: dict[str, tuple[float, int]] = {}
    for label in labels:
        given = [own[label] for own in points.values() if label in own]
        if given:
            pooled[label] = (round(fmean(given), DECIMALS[used]) + 0.0, len(given))
    if used == "z" and len({frozenset(own) for own in points.values() if own}) > 1:
        notes.append("reviewers did not see the same answers; what z takes for harshness may be weaker answers")
    return Ranking(used, _standings(labels, pooled), tuple(notes))


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
