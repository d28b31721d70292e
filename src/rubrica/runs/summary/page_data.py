"""What a page of a run is drawn from, gathered from its rows in one pass.

However many rows there are, counts, cells of distributions, fair samples and the few most extreme rows are all that is
kept of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nlargest, nsmallest
from itertools import chain, islice
from random import Random

from rubrica.model.rubric import Rubric
from rubrica.report.figures import figure
from rubrica.report.roles import ROLES, Role, role_of
from rubrica.report.run_figures import Distribution, Reservoir
from rubrica.runs.files.rows import RunRow

from .certainty import CertaintyCounts
from .criteria_counts import CriteriaCounts

CHUNK = 4096
SAMPLED = 5000
"""Rows of each rubric that correlations and points are drawn from; with fewer, all of them."""
EXTREMES = 10
"""Rows kept from each end."""
MOST_RUBRICS = 24
"""Rubrics that are drawn; rows of further ones are only counted."""

_SEVERITY: Mapping[Role, int] = {"bad": 0, "inconclusive": 1, "middle": 2, "neutral": 3, "good": 3}


@dataclass(slots=True)
class RubricFigures:
    """The rows of one rubric."""

    reference: str
    rubric: Rubric | None
    out_of: float
    sample: Reservoir[RunRow]
    verdicts: Counter[str] = field(default_factory=Counter)
    roles: dict[str, Role] = field(default_factory=dict)
    score: Distribution = field(default_factory=Distribution)
    by_role: dict[Role, Distribution] = field(default_factory=dict)
    dimensions: dict[str, Distribution] = field(default_factory=dict)
    sections: dict[str, Distribution] = field(default_factory=dict)
    criteria: CriteriaCounts = field(default_factory=CriteriaCounts)
    unscored: Counter[str] = field(default_factory=Counter)
    gates: Counter[str] = field(default_factory=Counter)
    fired: Counter[str] = field(default_factory=Counter)
    lowest: list[RunRow] = field(default_factory=list)
    highest: list[RunRow] = field(default_factory=list)

    @property
    def title(self) -> str:
        return self.rubric.display_title if self.rubric is not None else self.reference.partition("@")[0]

    @property
    def total(self) -> int:
        return self.verdicts.total()

    @property
    def mean(self) -> str:
        mean = self.score.mean
        return "—" if mean is None else f"{figure(round(mean, 2))} / {figure(self.out_of)}"

    @property
    def by_verdict(self) -> list[tuple[str, Role, int]]:
        """Verdicts from good to bad, most frequent first among equals."""
        found = [(verdict, self.roles[verdict], count) for verdict, count in self.verdicts.items()]
        return sorted(found, key=lambda row: (ROLES.index(row[1]), -row[2], row[0]))

    def role(self, verdict: str) -> Role:
        if verdict not in self.roles:  # worked out once: it reads the rubric's formulas
            self.roles[verdict] = role_of(verdict, self.rubric)
        return self.roles[verdict]

    def add(self, rows: list[RunRow]) -> None:
        scores = [row.score for row in rows]
        self.score.add(scores)
        for verdict, count in Counter(row.verdict for row in rows).items():
            self.verdicts[verdict] += count
            role = self.role(verdict)
            own = self.by_role.setdefault(role, Distribution())
            own.add([score for row, score in zip(rows, scores, strict=True) if row.verdict == verdict])
        for name in dict.fromkeys(chain.from_iterable(row.dimensions for row in rows)):
            self.dimensions.setdefault(name, Distribution()).add([row.dimensions.get(name) for row in rows])
        for name in dict.fromkeys(chain.from_iterable(row.sections for row in rows)):
            self.sections.setdefault(name, Distribution()).add([row.sections.get(name) for row in rows])
        self.criteria.add(rows)
        self.unscored.update(chain.from_iterable(row.unscored for row in rows))
        self.gates.update(chain.from_iterable(row.gates for row in rows))
        self.fired.update(chain.from_iterable(row.fired for row in rows))
        self.sample.offer(rows)
        scored = [row for row in rows if row.score is not None]
        self.lowest = nsmallest(EXTREMES, self.lowest + scored, key=_score)
        self.highest = nlargest(EXTREMES, self.highest + scored, key=_score)


@dataclass(slots=True)
class RunPageData:
    """All rows of a run."""

    rubrics: dict[str, RubricFigures]
    sample: Reservoir[RunRow]  # evaluations to be shown as they are
    worst: list[RunRow] = field(default_factory=list)
    slowest: list[RunRow] = field(default_factory=list)
    costliest: list[RunRow] = field(default_factory=list)
    durations: Distribution = field(default_factory=Distribution)  # logarithms of milliseconds
    total: int = 0
    cases: int = 0  # first repeats
    offline: int = 0
    certainty: CertaintyCounts = field(default_factory=CertaintyCounts)
    faulty: int = 0  # evaluations in which something could not be applied
    not_drawn: int = 0  # rows of rubrics past the most that are drawn
    usd: float = 0.0
    priced: int = 0
    paid: int = 0  # evaluations that used tokens
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0

    @property
    def undecided(self) -> int:
        """Inconclusive evaluations with offline scores."""
        return self.certainty.undecided

    def role(self, row: RunRow) -> Role:
        own = self.rubrics.get(row.rubric)
        return own.role(row.verdict) if own is not None else role_of(row.verdict)

    def add(self, rows: list[RunRow], cards: int) -> None:
        self.total += len(rows)
        self.cases += sum(row.repeat == 0 for row in rows)
        self.offline += sum(row.offline for row in rows)
        self.certainty.add(rows)
        self.faulty += sum(row.errors > 0 for row in rows)
        prices = [row.usd for row in rows if row.usd is not None]
        self.usd += math.fsum(prices)
        self.priced += len(prices)
        self.paid += sum(row.usd is not None or row.input_tokens > 0 for row in rows)
        self.input_tokens += sum(row.input_tokens for row in rows)
        self.output_tokens += sum(row.output_tokens for row in rows)
        self.milliseconds += math.fsum(row.duration_ms for row in rows)
        self.durations.add([math.log10(row.duration_ms) if row.duration_ms > 0 else None for row in rows])
        self.slowest = nlargest(EXTREMES, self.slowest + rows, key=lambda row: row.duration_ms)
        self.costliest = nlargest(EXTREMES, self.costliest + rows, key=lambda row: row.usd or 0.0)
        self.worst = nsmallest(cards, self.worst + rows, key=self._badness)
        self.sample.offer(rows)

    def _badness(self, row: RunRow) -> tuple[int, float]:
        share = row.score / row.out_of if row.score is not None and row.out_of else -1.0
        return _SEVERITY[self.role(row)] - (row.errors > 0), share


@dataclass(slots=True)
class PageDataBuilder:
    """Gathers what a page is drawn from, some rows at a time. `cards` says how many of the worst, and how many of a
    sample, to keep."""

    rubrics: Mapping[str, Rubric]
    draw: Random
    cards: int
    found: RunPageData = field(init=False)

    def __post_init__(self) -> None:
        self.found = RunPageData({}, Reservoir(self.cards, self.draw))

    def add(self, rows: list[RunRow]) -> None:
        found = self.found
        by_rubric: dict[str, list[RunRow]] = {}
        for row in rows:
            by_rubric.setdefault(row.rubric, []).append(row)
        for reference, own in by_rubric.items():
            figures = found.rubrics.get(reference)
            if figures is None and len(found.rubrics) < MOST_RUBRICS:
                rubric = self.rubrics.get(reference) or self.rubrics.get(reference.partition("@")[0])
                figures = RubricFigures(reference, rubric, own[0].out_of, Reservoir(SAMPLED, self.draw))
                found.rubrics[reference] = figures
            if figures is None:
                found.not_drawn += len(own)
            else:
                figures.add(own)
        found.add(rows, self.cards)


def collect_page_data(rows: Iterable[RunRow], rubrics: Mapping[str, Rubric], draw: Random, cards: int) -> RunPageData:
    """One pass over the rows of a run."""
    gathering = PageDataBuilder(rubrics, draw, cards)
    waiting = iter(rows)
    while chunk := list(islice(waiting, CHUNK)):
        gathering.add(chunk)
    return gathering.found


def _score(row: RunRow) -> float:
    return row.score or 0.0
