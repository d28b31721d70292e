"""Several candidates, prompts and models, over the same conversations: each against the first, and what each part does.

Replies are paired by scenario, turn and repeat; conversations with all their repeats are resampled as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from rubrica.runs.compare.comparison import Comparison, compare
from rubrica.runs.compare.measure_comparison import MeasureComparison
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.grading import Grading

from .trial import Trial

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_CANDIDATES = len(LETTERS)


@dataclass(frozen=True, slots=True)
class CandidateEffect:
    """What another prompt, or another model, does to the score, over all that it is combined with."""

    before: str
    after: str
    score: MeasureComparison


@dataclass(frozen=True, slots=True)
class TrialComparison:
    """Trials of several candidates. `against_first` has a comparison for each but the first."""

    trials: tuple[Trial, ...]
    against_first: tuple[Comparison, ...]
    effects: tuple[CandidateEffect, ...]  # only where both prompts and models differ

    @property
    def names(self) -> list[str]:
        """Candidates by what tells them apart."""
        prompts = {trial.prompt for trial in self.trials}
        models = {trial.model for trial in self.trials}
        if len(models) == 1:
            return [trial.prompt for trial in self.trials]
        if len(prompts) == 1:
            return [trial.model for trial in self.trials]
        return [f"{trial.prompt} · {trial.model}" for trial in self.trials]

    @property
    def newly_vetoed(self) -> dict[str, list[str]]:
        """Replies that must not be given, by candidate, where the first gives one that may be."""
        before = set(self.trials[0].vetoed)
        found = {
            name: [case for case in trial.vetoed if case not in before]
            for name, trial in zip(self.names[1:], self.trials[1:], strict=True)
        }
        return {name: cases for name, cases in found.items() if cases}

    @property
    def regressions(self) -> list[str]:
        """Candidates that are worse than the first: beyond noise in any measure, or by a veto that it does not have."""
        vetoed = self.newly_vetoed
        pairs = zip(self.names[1:], self.against_first, strict=True)
        return [name for name, found in pairs if found.regressions or name in vetoed]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "candidates": [
                {"name": name, "prompt": trial.prompt, "model": trial.model, "decision": trial.decision.label}
                for name, trial in zip(self.names, self.trials, strict=True)
            ],
            "comparison": self.against_first[0].to_dict(),  # of the first two
            "comparisons": [found.to_dict() for found in self.against_first],
            "newly_vetoed": self.newly_vetoed,
            "effects": [
                {"in_place_of": one.before, "with": one.after, "score": one.score.to_dict()} for one in self.effects
            ],
            "trials": [trial.to_dict() for trial in self.trials],
        }


def compare_trials(trials: Sequence[Trial]) -> TrialComparison:
    """Compare every trial with the first, and where prompts and models were combined, prompts and models themselves."""
    grading = Grading.of([trials[0].rubric])
    found = TrialComparison(tuple(trials), (), ())
    names, first = found.names, trials[0].rows()
    pairs = tuple(
        compare(first, trial.rows(), gradings=(grading, grading), names=(names[0], name))
        for name, trial in zip(names[1:], trials[1:], strict=True)
    )
    prompts = _effects(trials, lambda trial: trial.prompt, lambda trial: trial.model, grading)
    models = _effects(trials, lambda trial: trial.model, lambda trial: trial.prompt, grading)
    return TrialComparison(tuple(trials), pairs, (*prompts, *models) if prompts and models else ())


def score_line(found: Comparison) -> MeasureComparison | None:
    """How the score itself compares."""
    return next((line for line in found.lines if line.measure.kind == "score"), None)


def _effects(
    trials: Sequence[Trial], part: Callable[[Trial], str], other: Callable[[Trial], str], grading: Grading
) -> list[CandidateEffect]:
    """Each value of a part of the candidates against its first value, paired by case and by the other part."""
    values = list(dict.fromkeys(map(part, trials)))
    rows = {value: [row for trial in trials if part(trial) == value for row in _rows(trial, other)] for value in values}
    effects = []
    for value in values[1:]:
        pair = (values[0], value)
        line = score_line(compare(rows[pair[0]], rows[value], gradings=(grading, grading), names=pair))
        if line is not None:
            effects.append(CandidateEffect(*pair, line))
    return effects


def _rows(trial: Trial, other: Callable[[Trial], str]) -> list[RunRow]:
    """A trial's figures, under names that no other combination has."""
    return [structs.replace(row, case=f"{row.case} {other(trial)}") for row in trial.rows()]
