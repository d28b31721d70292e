"""Whether reviewing by rubric keeps its promises, over saved councils.

Reviewers should agree more on dimensions than on one score for the whole, rankings should hang less on single
reviewers, and longer answers should score lower on conciseness. What cannot be told from what is there is not told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean, variance
from typing import Any

import msgspec

from rubrica.report.figures import count_of
from rubrica.scoring.agreement import kendall
from rubrica.scoring.paired import sign_flips

from .bias import FEWEST_SESSIONS, Bias, biases
from .ranking import Pool, rank
from .saved import SavedCouncil
from .slope import within_groups

CONCISENESS = "conciseness"
SEED = 0
Sheets = Mapping[str, Mapping[str, float]]
"""Scores by reviewer, then answer."""


class MeanFigure(msgspec.Struct, frozen=True):
    """A mean over sessions; None where no session has it."""

    value: float | None
    sessions: int


class ScoringContrast(msgspec.Struct, frozen=True):
    """Rubric against holistic, over sessions that have both. `difference` above 0 speaks for the rubric."""

    rubric: MeanFigure
    holistic: MeanFigure
    difference: float | None
    p: float | None
    why: str = ""  # why there is no p


class LengthTrend(msgspec.Struct, frozen=True):
    """How a score goes with the length of the answer, inside sessions."""

    gain: float | None  # points for each doubling of the length
    correlation: float | None
    p: float | None
    sessions: int
    why: str = ""


class Audit(msgspec.Struct, frozen=True):
    """What saved councils show."""

    sessions: int
    reviewers: tuple[str, ...]
    reviews: int
    variance: Mapping[str, MeanFigure]  # between reviewers of one answer, by dimension, on the score's own scale
    agreement: ScoringContrast  # variance of rubric scores against holistic ones
    dimensions: ScoringContrast  # mean variance of the dimensions against holistic scores
    stability: ScoringContrast  # Kendall's tau of the ranking with the ranking without one reviewer
    conciseness: LengthTrend
    score: LengthTrend
    biases: tuple[Bias, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def audit(sessions: Sequence[SavedCouncil], chance: Random | None = None) -> Audit:
    """Audit saved councils. What is drawn by lot is drawn from `chance`; left out, the same every time."""
    chance = Random(SEED) if chance is None else chance  # noqa: S311 - draws of a test, not a secret
    names = list(dict.fromkeys(name for session in sessions for name in session.metadata.tops))
    return Audit(
        sessions=len(sessions),
        reviewers=tuple(sorted({review.reviewer for session in sessions for review in session.reviews})),
        reviews=sum(len(session.reviews) for session in sessions),
        variance={name: _figure([_variance(session.dimension(name)) for session in sessions]) for name in names},
        agreement=_contrast(
            [(_variance(one.sheets), _variance(one.holistic)) for one in _align(sessions)], chance, less=True
        ),
        dimensions=_contrast(
            [(_dimensions(one, names), _variance(one.holistic)) for one in sessions], chance, less=True
        ),
        stability=_contrast(
            [(_stability(one.sheets, one.pool), _stability(one.holistic, one.pool)) for one in _align(sessions)],
            chance,
            less=False,
        ),
        conciseness=_trend(sessions, lambda one: one.dimension(CONCISENESS), chance),
        score=_trend(sessions, lambda one: one.ranked, chance),
        biases=tuple(biases(sessions, chance)),
    )


class _Aligned(msgspec.Struct, frozen=True):
    """Rubric and holistic scores of a session, cut down to the reviews that have both where both were asked for."""

    sheets: Sheets
    holistic: Sheets
    pool: Pool


def _align(sessions: Sequence[SavedCouncil]) -> list[_Aligned]:
    found = []
    for session in sessions:
        sheets: Sheets = session.sheets
        holistic: Sheets = session.holistic
        if sheets and holistic:
            sheets, holistic = _common(sheets, holistic), _common(holistic, sheets)
        found.append(_Aligned(sheets, holistic, session.metadata.pool))
    return found


def _common(sheets: Sheets, others: Sheets) -> Sheets:
    return {
        reviewer: {response: value for response, value in sheet.items() if response in others.get(reviewer, {})}
        for reviewer, sheet in sheets.items()
    }


def _variance(sheets: Sheets) -> float | None:
    """The mean variance between the reviewers of an answer; None where no answer has two."""
    responses = {response for sheet in sheets.values() for response in sheet}
    given = [[sheet[response] for sheet in sheets.values() if response in sheet] for response in sorted(responses)]
    spread = [variance(values) for values in given if len(values) > 1]
    return fmean(spread) if spread else None


def _dimensions(session: SavedCouncil, names: Sequence[str]) -> float | None:
    found = [_variance(session.dimension(name)) for name in names]
    known = [value for value in found if value is not None]
    return fmean(known) if known else None


def _stability(sheets: Sheets, pool: Pool) -> float | None:
    """The mean of Kendall's tau between the ranking and the rankings without one of the reviewers."""
    if len(sheets) < 3:
        return None
    labels = sorted({response for sheet in sheets.values() for response in sheet})
    whole = _values(labels, sheets, pool)
    taus = []
    for left_out in sheets:
        rest = _values(labels, {name: sheet for name, sheet in sheets.items() if name != left_out}, pool)
        common = [label for label in labels if label in whole and label in rest]
        if len(common) > 1:
            taus.append(kendall([whole[label] for label in common], [rest[label] for label in common]))
    known = [tau for tau in taus if tau is not None]
    return fmean(known) if known else None


def _values(labels: Sequence[str], sheets: Sheets, pool: Pool) -> dict[str, float]:
    standings = rank(labels, sheets, pool).standings
    return {one.label: one.value for one in standings if one.value is not None}


def _contrast(pairs: Sequence[tuple[float | None, float | None]], chance: Random, *, less: bool) -> ScoringContrast:
    """Rubric against holistic. `less`: the lower is the better."""
    rubric = _figure([one for one, _ in pairs])
    holistic = _figure([other for _, other in pairs])
    sign = 1.0 if less else -1.0
    gaps = [sign * (other - one) for one, other in pairs if one is not None and other is not None]
    difference = fmean(gaps) if gaps else None
    if len(gaps) < FEWEST_SESSIONS:
        there = count_of(len(gaps), "session")
        why = f"too few: {there} with both, {FEWEST_SESSIONS} are needed (rubrica council ask --both)"
        return ScoringContrast(rubric, holistic, difference, None, why)
    return ScoringContrast(rubric, holistic, difference, sign_flips(gaps, chance).p)


def _trend(sessions: Sequence[SavedCouncil], sheets: Callable[[SavedCouncil], Sheets], chance: Random) -> LengthTrend:
    groups = []
    for session in sessions:
        given: dict[str, list[float]] = {}
        for sheet in sheets(session).values():
            for response, value in sheet.items():
                given.setdefault(response, []).append(value)
        words = {response: session.answers[response].words for response in given}
        groups.append([(math.log2(max(words[name], 1)), fmean(values)) for name, values in sorted(given.items())])
    slope = within_groups(groups, chance)
    if slope is None:
        return LengthTrend(
            None, None, None, 0, "too few: no session has two answers that differ in length and in score"
        )
    if slope.groups < FEWEST_SESSIONS:
        why = f"too few: {count_of(slope.groups, 'session')} that tell something, {FEWEST_SESSIONS} are needed"
        return LengthTrend(slope.gain, slope.correlation, None, slope.groups, why)
    return LengthTrend(slope.gain, slope.correlation, slope.p, slope.groups)


def _figure(values: Sequence[float | None]) -> MeanFigure:
    known = [value for value in values if value is not None]
    return MeanFigure(fmean(known) if known else None, len(known))
