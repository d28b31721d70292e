"""Judges case after case as they are read, keeping running figures and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import islice
from typing import Any

from rubrica.engine.cases import BadLine, Case, read_cases
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import INCONCLUSIVE, Cost, Evaluation, total_cost
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric

from .expectation import mismatches
from .sources import merged, rubric_of

WORST_KEPT = 5
MISMATCHES_KEPT = 20


class Shelf:
    """The rubrics of a run, each compiled once: the one given for all cases, or the one each case names."""

    def __init__(self, rubric: Rubric | None = None, judge_of: Callable[[Rubric], Judge] | None = None) -> None:
        self.rubrics: dict[str, Rubric] = {}  # by rubric name, those used so far
        self._judge_of = judge_of
        self._plans: dict[str, Plan] = {}
        self._given = self._compiled(rubric) if rubric is not None else None

    def plan(self, name: str | None) -> Plan:
        if self._given is not None:
            return self._given
        if name is None:
            raise NoRubricError("the case names no rubric; add --rubric NAME or FILE")
        if name not in self._plans:
            self._plans[name] = self._compiled(rubric_of(name))
        return self._plans[name]

    def labels(self) -> dict[str, None]:
        """Every verdict that the rubrics used so far can give, in their order."""
        labels = {label: None for rubric in self.rubrics.values() for label in labels_of(rubric)}
        return {**labels, INCONCLUSIVE: None}

    def _compiled(self, rubric: Rubric) -> Plan:
        self.rubrics[rubric.name] = rubric
        return compile_rubric(rubric, self._judge_of(rubric) if self._judge_of is not None else None)


class NoRubricError(RubricaError):
    """Neither the command line nor the case says which rubric to use."""


def labels_of(rubric: Rubric) -> list[str]:
    """The verdicts a rubric can give, by its rules and by its gates."""
    by_gates = (gate.verdict for gate in rubric.gates if gate.verdict is not None)
    return list(dict.fromkeys([*(verdict.label for verdict in rubric.verdicts), *by_gates]))


@dataclass(slots=True)
class Figures:
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

    def add(self, evaluation: Evaluation) -> None:
        self.verdicts[evaluation.verdict] = self.verdicts.get(evaluation.verdict, 0) + 1
        if evaluation.score is not None:
            self.scored += 1
            self.total += evaluation.score
            self.lowest = min(self.lowest, evaluation.score)
            self.highest = max(self.highest, evaluation.score)


@dataclass(frozen=True, slots=True, order=True)
class Weak:
    """One of the weakest cases. Ordered so that the strongest of the kept ones is dropped first."""

    strength: float  # minus the share of full marks
    age: int  # minus the order of arrival
    case: str = field(compare=False)
    rubric: str = field(compare=False)
    score: float = field(compare=False)
    out_of: float = field(compare=False)
    verdict: str = field(compare=False)
    reason: str = field(compare=False)


@dataclass(slots=True)
class Tally:
    """What a run has come to so far: of fixed size, however many cases there are."""

    judged: int = 0
    broken: int = 0
    compared: int = 0
    mismatched: int = 0
    faults: int = 0  # evaluations in which a rule, gate or formula could not be applied
    costs: dict[str, Cost] = field(default_factory=dict)  # by judged dimension
    times: dict[str, tuple[int, float]] = field(default_factory=dict)  # by judged dimension: how many, milliseconds
    offline: int = 0
    by_rubric: dict[str, Figures] = field(default_factory=dict)
    weakest: list[Weak] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def add(self, evaluation: Evaluation) -> None:
        self.judged += 1
        self.faults += bool(evaluation.errors)
        self.offline += evaluation.offline
        for name, result in evaluation.dimensions.items():
            if result.cost is not None:
                self.costs[name] = total_cost([result.cost, *([self.costs[name]] if name in self.costs else [])])
                count, spent = self.times.get(name, (0, 0.0))
                self.times[name] = count + 1, spent + result.duration_ms
        self.by_rubric.setdefault(evaluation.rubric, Figures(evaluation.out_of)).add(evaluation)
        if evaluation.score is None:
            return
        share = evaluation.score / evaluation.out_of
        if len(self.weakest) == WORST_KEPT and -share <= self.weakest[0].strength:
            return
        weak = Weak(
            -share, -self.judged, evaluation.case or str(self.judged), evaluation.rubric,
            evaluation.score, evaluation.out_of, evaluation.verdict, evaluation.reason,
        )  # fmt: skip
        if len(self.weakest) < WORST_KEPT:
            heappush(self.weakest, weak)
        else:
            heappushpop(self.weakest, weak)

    def compare(self, case: str, differences: list[str]) -> None:
        self.compared += 1
        self.mismatched += bool(differences)
        if len(self.differences) < MISMATCHES_KEPT:
            self.differences += [f"{case}: {difference}" for difference in differences]

    def count(self, verdicts: Iterable[str]) -> int:
        """How many evaluations came to one of these verdicts."""
        wanted = set(verdicts)
        return sum(n for figures in self.by_rubric.values() for v, n in figures.verdicts.items() if v in wanted)


Work = tuple[Case, Plan, Context]
Judged = tuple[Case, Evaluation | RubricaError]
Evaluator = Callable[[Iterable[Work]], Iterator[Judged]]


@dataclass(frozen=True, slots=True)
class Batch:
    """One run over the lines of a file of cases."""

    shelf: Shelf
    tally: Tally
    on_broken: Callable[[BadLine], None]
    defaults: Mapping[str, Any] = field(default_factory=dict)  # context for cases that do not say
    limit: int | None = None  # cases and broken lines read at most
    evaluator: Evaluator | None = None  # None: one after the other, by code alone

    def evaluations(self, lines: Iterable[bytes]) -> Iterator[Evaluation]:
        """Each case's evaluation as it is made; a line that cannot be judged is told, counted and passed over."""
        for case, outcome in (self.evaluator or one_by_one)(self._work(lines)):
            if isinstance(outcome, RubricaError):
                self._broken(BadLine(case.line, str(outcome)))
                continue
            self.tally.add(outcome)
            if case.expect is not None:
                self.tally.compare(case.id, mismatches(case.expect, outcome))
            yield outcome

    def _work(self, lines: Iterable[bytes]) -> Iterator[Work]:
        for found in islice(read_cases(lines), self.limit):
            if isinstance(found, Case):
                try:
                    yield found, self.shelf.plan(found.rubric), merged(self.defaults, found.context)
                except NoRubricError:
                    raise
                except RubricaError as error:
                    self._broken(BadLine(found.line, str(error)))
            else:
                self._broken(found)

    def _broken(self, line: BadLine) -> None:
        self.tally.broken += 1
        self.on_broken(line)


def one_by_one(work: Iterable[Work]) -> Iterator[Judged]:
    """Evaluate in order, by code alone."""
    for case, plan, context in work:
        try:
            yield case, evaluate(plan, context, case.id)
        except RubricaError as error:
            yield case, error
