"""Running figures of a run: of fixed size, however many cases there are."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

import msgspec

from rubrica.model.evaluation import Cost, Evaluation, total_cost
from rubrica.model.rubric import Rubric
from rubrica.report.outcome_sentence import OutcomeFacts, OutcomeSentences
from rubrica.report.titles import dimension_title
from rubrica.runs.files.rows import RunRow, row_of

from .certainty import CertaintyCounts

WORST_KEPT = 5
MISMATCHES_KEPT = 20


@dataclass(slots=True)
class RunningFigures:
    """Running figures of one rubric; `total` and `lowest` … are over evaluations that have a score."""

    out_of: float
    verdicts: dict[str, int] = field(default_factory=dict)
    scored: int = 0
    total: float = 0.0
    lowest: float = float("inf")
    highest: float = float("-inf")

    @property
    def mean(self) -> float | None:
        return self.total / self.scored if self.scored else None

    def add(self, verdict: str, score: float | None) -> None:
        self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
        if score is not None:
            self.scored += 1
            self.total += score
            self.lowest = min(self.lowest, score)
            self.highest = max(self.highest, score)


class DimensionCost(msgspec.Struct):
    """What judging one dimension has taken so far. `usd` is None where a price is not known."""

    usd: float | None = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    scores: int = 0
    milliseconds: float = 0.0

    def add(self, cost: Cost, milliseconds: float) -> None:
        self.usd = None if self.usd is None or cost.usd is None else self.usd + cost.usd
        self.input_tokens += cost.input_tokens
        self.output_tokens += cost.output_tokens
        self.scores += 1
        self.milliseconds += milliseconds

    @property
    def cost(self) -> Cost:
        return Cost(self.usd, self.input_tokens, self.output_tokens)


@dataclass(frozen=True, slots=True, order=True)
class WeakCase:
    """One of the weakest cases. Ordered so that the strongest of the kept ones is dropped first."""

    strength: float  # minus the share of full marks
    age: int  # minus the order of arrival
    case: str = field(compare=False)
    rubric: str = field(compare=False)
    score: float = field(compare=False)
    out_of: float = field(compare=False)
    verdict: str = field(compare=False)
    reason: str = field(compare=False)  # as a sentence


class RunTally(msgspec.Struct):
    """What a run has come to so far: of fixed size, however many cases there are."""

    judged: int = 0
    broken: int = 0
    compared: int = 0
    mismatched: int = 0
    faults: int = 0  # evaluations in which a rule, gate or formula could not be applied
    bills: dict[str, DimensionCost] = msgspec.field(default_factory=dict)  # by judged dimension
    titles: dict[str, str] = msgspec.field(default_factory=dict)  # of judged dimensions
    offline: int = 0
    certainty: CertaintyCounts = msgspec.field(default_factory=CertaintyCounts)
    by_rubric: dict[str, RunningFigures] = msgspec.field(default_factory=dict)
    weakest: list[WeakCase] = msgspec.field(default_factory=list)
    differences: list[str] = msgspec.field(default_factory=list)
    started: float = msgspec.field(default_factory=time.perf_counter)
    _sentences: dict[str, OutcomeSentences] = msgspec.field(default_factory=dict)  # by rubric

    @property
    def cost(self) -> Cost | None:
        """What judging has cost so far; None where nothing was paid for."""
        return total_cost([bill.cost for bill in self.bills.values()]) if self.bills else None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def add(self, evaluation: Evaluation, rubric: Rubric | None = None) -> None:
        """Count an evaluation that was just made, by a rubric."""
        for name, result in evaluation.dimensions.items():
            if result.cost is not None:
                bill = self.bills.get(name)
                if bill is None:
                    bill = self.bills[name] = DimensionCost()
                    self.titles[name] = dimension_title(name, rubric)
                bill.add(result.cost, result.duration_ms)
        self._count(evaluation, bool(evaluation.errors), rubric)

    def add_row(self, row: RunRow, rubric: Rubric | None = None) -> None:
        """Count an evaluation that was stored, made by a rubric."""
        self._count(row, bool(row.errors), rubric)

    def _count(self, one: Evaluation | RunRow, faulty: bool, rubric: Rubric | None) -> None:
        self.judged += 1
        self.faults += faulty
        self.offline += one.offline
        self.certainty.add_one(one, _profile_confidence(one))
        figures = self.by_rubric.get(one.rubric)
        if figures is None:
            figures = self.by_rubric[one.rubric] = RunningFigures(one.out_of)
        figures.add(one.verdict, one.score)
        if one.score is None:
            return
        share = one.score / one.out_of
        if len(self.weakest) == WORST_KEPT and -share <= self.weakest[0].strength:
            return
        weak = WeakCase(
            -share, -self.judged, one.case or str(self.judged), one.rubric,
            one.score, one.out_of, one.verdict, self._why(one, rubric),
        )  # fmt: skip
        if len(self.weakest) < WORST_KEPT:
            heappush(self.weakest, weak)
        else:
            heappushpop(self.weakest, weak)

    def _why(self, one: Evaluation | RunRow, rubric: Rubric | None) -> str:
        row = one if isinstance(one, RunRow) else row_of(one)
        if row.rubric not in self._sentences:
            self._sentences[row.rubric] = OutcomeSentences(rubric)
        facts = OutcomeFacts(row.verdict, row.score, row.out_of, row.reason, row.profile, row.dimensions)
        return self._sentences[row.rubric].in_table(facts)

    def compare(self, case: str, differences: list[str]) -> None:
        self.compared += 1
        self.mismatched += bool(differences)
        if len(self.differences) < MISMATCHES_KEPT:
            self.differences += [f"{case}: {difference}" for difference in differences]

    def count(self, verdicts: Iterable[str]) -> int:
        """How many evaluations came to one of these verdicts."""
        wanted = set(verdicts)
        return sum(n for figures in self.by_rubric.values() for v, n in figures.verdicts.items() if v in wanted)


def _profile_confidence(one: Evaluation | RunRow) -> float | None:
    if isinstance(one, RunRow):
        return one.profile_confidence
    return one.classified.confidence if one.classified is not None else None
