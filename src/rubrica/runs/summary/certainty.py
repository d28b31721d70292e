"""How far a run can be relied on where it assumed something: profiles that a classifier found, verdicts that offline
scores left open, and verdicts of offline scores that decided as points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rubrica.model.evaluation import INCONCLUSIVE, Evaluation
from rubrica.report.figures import count_of, percent
from rubrica.runs.files.rows import RunRow


class ProfileFigures(NamedTuple):
    """The evaluations under one profile."""

    evaluations: int
    classified: int  # that named no profile: it was found from the prompt
    confidence: float | None  # mean of the classifier's; None where it found none


class PointVerdicts(NamedTuple):
    """The verdicts that offline scores came to as points, on texts of a kind that was measured."""

    evaluations: int
    right: float  # mean share of measured texts on which people agreed with such a verdict
    unmeasured: int = 0  # further verdicts of offline scores, on texts of other kinds


@dataclass(slots=True)
class _Mean:
    """A mean that grows."""

    count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass(slots=True)
class CertaintyCounts:
    """Rows counted as they go by."""

    _evaluations: dict[str, int] = field(default_factory=dict)
    _classified: dict[str, _Mean] = field(default_factory=dict)
    _right: _Mean = field(default_factory=_Mean)
    undecided: int = 0  # inconclusive evaluations with offline scores
    _decided: int = 0  # others with offline scores

    def add(self, rows: Iterable[RunRow]) -> None:
        for row in rows:
            self.add_one(row, row.profile_confidence)

    def add_one(self, one: Evaluation | RunRow, confidence: float | None) -> None:
        """Count an evaluation by its profile, how surely that was found, and how often such a verdict is right."""
        profile, right, undecided = one.profile, one.right, left_open_offline(one)
        self.undecided += undecided
        self._decided += one.offline and not undecided
        if profile is not None:
            self._evaluations[profile] = self._evaluations.get(profile, 0) + 1
            if confidence is not None:
                self._classified.setdefault(profile, _Mean()).add(confidence)
        if right is not None:
            self._right.add(right)

    @property
    def profiles(self) -> dict[str, ProfileFigures]:
        """By profile, the most frequent first."""
        most = sorted(self._evaluations.items(), key=lambda pair: (-pair[1], pair[0]))
        found = ((name, count, self._classified.get(name, _Mean())) for name, count in most)
        return {name: ProfileFigures(count, mean.count, mean.value) for name, count, mean in found}

    @property
    def point_verdicts(self) -> PointVerdicts | None:
        """None where no verdict was of a kind that was measured."""
        right = self._right.value
        return PointVerdicts(self._right.count, right, self._decided - self._right.count) if right is not None else None


def left_open_offline(one: Evaluation | RunRow) -> bool:
    """Whether a verdict is inconclusive, and offline scores stood in for a judge who might have settled it."""
    return one.offline and one.verdict == INCONCLUSIVE


def undecided_sentence(undecided: int, evaluations: int) -> str:
    """Why verdicts are open that offline scores could not settle.

    >>> undecided_sentence(3, 8)
    '3 of 8 verdicts are inconclusive: without a judge, offline scores leave them open'
    """
    said, them = ("is", "it") if undecided == 1 else ("are", "them")
    share = f"{undecided:,} of {count_of(evaluations, 'verdict')}"
    return f"{share} {said} inconclusive: without a judge, offline scores leave {them} open"


def certainty_sentences(found: CertaintyCounts) -> Iterator[str]:
    """How surely profiles were found, and how often verdicts by offline points were right when measured."""
    by_profile = {name: own for name, own in found.profiles.items() if own.confidence is not None}
    if by_profile:
        told = (f"{name} {own.classified:,} ({own.confidence:.2f})" for name, own in by_profile.items())
        yield f"question types found from the prompts, with mean confidence: {', '.join(told)}"
    if (points := found.point_verdicts) is not None:
        yield point_verdicts_sentence(points)


def point_verdicts_sentence(points: PointVerdicts) -> str:
    """How often such verdicts were right when measured."""
    verdicts = count_of(points.evaluations, "verdict rests", "verdicts rest")
    agreed = f"people agreed with {percent(points.right)} of such when measured"
    others = f"; of the other {points.unmeasured:,} that is not known" if points.unmeasured else ""
    return f"{verdicts} on offline scores as points of measured kinds of text: {agreed}{others}"


def certainty_figures(
    profiles: Mapping[str, ProfileFigures], points: PointVerdicts | None, undecided: int
) -> dict[str, Any]:
    """Plain data, ready for JSON; nothing where nothing was assumed."""
    found: dict[str, Any] = {}
    if undecided:
        found["undecided_offline"] = undecided
    if profiles:
        found["profiles"] = {name: own._asdict() for name, own in profiles.items()}
    if points is not None:
        found["point_verdicts"] = points._asdict()
    return found
