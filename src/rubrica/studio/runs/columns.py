"""Rows of a run as columns: a tenth of the memory that they take one by one."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import nan

from rubrica.runs.files.rows import RunRow

MOST_ROWS = 200_000
"""Evaluations of one run that can be paged through; further ones are in its figures only."""
LONGEST_REASON = 300


@dataclass(slots=True)
class Columns:
    """Rows as columns: numbers in arrays, words once each."""

    cases: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    verdicts: array[int] = field(default_factory=lambda: array("H"))  # places in `labels`
    rubrics: array[int] = field(default_factory=lambda: array("H"))
    profiles: array[int] = field(default_factory=lambda: array("H"))  # places in `profile_names`
    repeats: array[int] = field(default_factory=lambda: array("I"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    lacking: array[int] = field(default_factory=lambda: array("B"))
    dimensions: dict[str, array[float]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    references: dict[str, int] = field(default_factory=dict)
    profile_names: dict[str | None, int] = field(default_factory=dict)
    out_of: list[float] = field(default_factory=list)  # by rubric
    total: int = 0  # with those that are not kept
    _words: dict[str, str] = field(default_factory=dict)

    def add(self, row: RunRow) -> None:
        self.total += 1
        if len(self.cases) >= MOST_ROWS:
            return
        place = len(self.cases)
        self.cases.append(row.case)
        reason = row.reason if len(row.reason) <= LONGEST_REASON else row.reason[: LONGEST_REASON - 1] + "…"
        self.reasons.append(self._once(reason))
        self.profiles.append(self.profile_names.setdefault(row.profile, len(self.profile_names)))
        self.verdicts.append(self.labels.setdefault(row.verdict, len(self.labels)))
        if row.rubric not in self.references:
            self.references[row.rubric] = len(self.references)
            self.out_of.append(row.out_of)
        self.rubrics.append(self.references[row.rubric])
        self.repeats.append(row.repeat)
        self.scores.append(nan if row.score is None else row.score)
        self.lacking.append(bool(row.unscored))
        for name, value in row.dimensions.items():
            column = self.dimensions.setdefault(name, array("d"))
            column.extend([nan] * (place - len(column)))
            column.append(nan if value is None else value)

    def close(self) -> None:
        """Fill up what later rows had no value for, and forget what was only needed for adding."""
        for column in self.dimensions.values():
            column.extend([nan] * (len(self.cases) - len(column)))
        self._words.clear()

    def _once(self, text: str) -> str:
        return self._words.setdefault(text, text)
