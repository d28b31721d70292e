"""A plan as tables: each part is computed once for each combination of inputs, however many texts share it.

Millions of texts fire few combinations of rules. Each part (a rule, a formula, a checklist, the way from scores to a
verdict) is the plan's own, applied to a namespace that holds what the part reads and nothing else; what came out is
kept by that. So figures are equal to those of one evaluation after the other, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import copysign
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from rubrica.engine.evaluate import apply_vetoes, open_state
from rubrica.engine.outcomes import NotApplicable, NotNeeded, Outcome
from rubrica.engine.plan import AxisPlan, Plan
from rubrica.engine.record import record_state
from rubrica.engine.state import EvaluationState
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.evaluation import RuleHit, Score, Unscored
from rubrica.model.evidence import Field
from rubrica.runs.files.rows import RunRow, row_of
from rubrica.scorers.namespace import CONTEXT_COUNTS, Namespace
from rubrica.scorers.patterns import PatternRule
from rubrica.scorers.recipe import RuleScorer

from .indices import DerivedIndex, PairIndex
from .result_tables import (
    GrowingTable,
    ReadNames,
    ResultTable,
    TextKind,
    names_before,
    names_read,
    names_ruling,
    rules_of,
    scorer_of,
)
from .text_kinds import TextKinds, limits_of

NOTHING = Context()
LATE = 2**32 - 1
"""Stands for the place of an outcome that only scoring settles."""


class PartResult(NamedTuple):
    """What a rule, or a scorer as a whole, gave: points in the order they are added, and what a row tells of it."""

    points: tuple[float, ...] = ()
    fired: tuple[str, ...] = ()
    errors: int = 0
    outcome: Outcome | None = None  # of a scorer


@dataclass(frozen=True, slots=True)
class PlanPart:
    """A rule or a scorer: what it reads, and what it gives by that. The first place of the table is nothing at all."""

    reads: ReadNames
    table: ResultTable[PartResult]
    errors: DerivedIndex  # how many, by the place of what was given
    fired: DerivedIndex  # the place of what fired, among all that fires together
    own: DerivedIndex  # the same, among what fires here, which is less
    joined: PairIndex  # by the place of what fired before, and the own one: where both together are
    own_size: Callable[[], int]


@dataclass(frozen=True, slots=True)
class AxisTables:
    """One dimension: the rules that add up, or the scorer that settles it as a whole."""

    name: str
    start: float
    parts: tuple[PlanPart, ...]
    points: ResultTable[float]
    first: DerivedIndex | None  # the place of the points, by the place of what the first rule gave; none for a scorer
    sums: tuple[PairIndex, ...]  # per further rule, by the place of the points so far and that of what it gave
    settled: DerivedIndex  # the place of the outcome, by that of the points or of what the scorer gave
    outcomes: ResultTable[Outcome]
    early: DerivedIndex  # the place of the outcome by that of what was settled before scoring; LATE where nothing was


class PlanTables:
    """All the tables of one plan. They only grow: make new ones when they have become too large."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.before = self._reads(names_before(plan))
        self.begun: ResultTable[tuple[Outcome | None, ...]] = ResultTable(self._begin)
        self.fired: ResultTable[tuple[str, ...]] = ResultTable(tuple)
        self.fired[()]  # the first place is that of nothing
        limits = limits_of(plan)
        self.kinds = {f: TextKinds(patterns, limits.get(f, {})) for f, patterns in plan.sources.lexicon.sets.items()}
        self.axes = tuple(self._axis(number, axis) for number, axis in enumerate(plan.axes))
        self.after = self._reads(names_ruling(plan))
        self.rows: ResultTable[RunRow] = ResultTable(self._conclude)
        self.profiles: ResultTable[str | None] = ResultTable(self._profile)

    @property
    def size(self) -> int:
        """How many results are kept."""
        tables: list[Any] = [*self.kinds.values(), self.begun, self.rows, self.profiles, self.fired]
        for axis in self.axes:
            tables += [axis.outcomes, axis.points, *axis.sums]
            tables += [table for part in axis.parts for table in (part.table, part.joined)]
        return sum(map(len, tables))

    @property
    def fields(self) -> frozenset[Field]:
        """The fields whose kinds are read."""
        found = {field for axis in self.axes for part in axis.parts for field in part.reads.fields}
        return frozenset(found | {slot.field for slot in self.plan.sources.lexicon.named.values()})

    @property
    def names(self) -> frozenset[str]:
        """The names that are read of contexts and texts."""
        found = {*self.before.names, *self.after.names}
        return frozenset(found.union(*(part.reads.names for axis in self.axes for part in axis.parts)))

    def _reads(self, names: Iterable[str] | None) -> ReadNames:
        plan = self.plan
        scored = {axis.name for axis in plan.axes} | {f"{axis.name}_share" for axis in plan.axes}
        told = {"score", "section", "threshold", *plan.rubric.settings, *CONTEXT_COUNTS, *scored}
        return ReadNames(plan.profiles is not None, (), tuple(sorted(set(names or ()) - told)))

    def _axis(self, number: int, axis: AxisPlan) -> AxisTables:
        scorer = scorer_of(axis)
        outcomes: ResultTable[Outcome] = ResultTable(itemgetter(0))
        points: ResultTable[float] = ResultTable(itemgetter(0))

        def settled_early(every: tuple[Outcome | None, ...]) -> int:
            outcome = every[number]
            return LATE if outcome is None else outcomes[known_by(outcome)]

        early = DerivedIndex(self.begun.results, settled_early)
        if not isinstance(scorer, RuleScorer):
            part = self._part(axis.name, scorer)
            settled = DerivedIndex(
                part.table.results, lambda given: 0 if given.outcome is None else outcomes[known_by(given.outcome)]
            )
            return AxisTables(axis.name, 0.0, (part,), points, None, (), settled, outcomes, early)
        parts = tuple(self._part(axis.name, rule) for rule in rules_of(scorer))
        sums = [PairIndex(_Sum(points, part.table.results)) for part in parts[1:]]
        first = (
            DerivedIndex(parts[0].table.results, lambda given: points[with_sign(_added(scorer.start, given))])
            if parts
            else None
        )
        still = Namespace(NOTHING, self.plan.sources, {})
        settled = DerivedIndex(
            points.results, lambda total: outcomes[known_by(replace(scorer, rules=(), start=total)(still))]
        )
        return AxisTables(axis.name, scorer.start, parts, points, first, tuple(sums), settled, outcomes, early)

    def _part(self, axis: str, part: Any) -> PlanPart:
        fields = tuple(part.by_field) if isinstance(part, PatternRule) else ()
        reads = ReadNames(False, fields) if fields else self._reads(names_read(part))
        work = self._patterns(axis, part, reads) if fields else partial(self._work, axis, part, reads)
        # The kinds of the texts of one field count up from 0, in which nothing is found.
        table = GrowingTable(work, PartResult()) if len(fields) == 1 else ResultTable(work, PartResult())
        every, own = self.fired, ResultTable[tuple[str, ...]](tuple)
        own[()]
        return PlanPart(
            reads,
            table,
            errors=DerivedIndex(table.results, lambda given: int(given.errors)),
            fired=DerivedIndex(table.results, lambda given: every[given.fired]),
            own=DerivedIndex(table.results, lambda given: own[given.fired]),
            joined=PairIndex(lambda before, here: every[every.results[before] + own.results[here]]),
            own_size=lambda: len(own.results),
        )

    def _work(self, axis: str, part: Any, reads: ReadNames, key: Any) -> PartResult:
        gave = part(self._namespace(reads, key))
        if isinstance(gave, Score | Unscored):
            return _result_of_hits(axis, gave.hits, plain(gave))
        return _result_of_hits(axis, gave)

    def _patterns(self, axis: str, rule: PatternRule, reads: ReadNames) -> Callable[[Any], PartResult]:
        """What a rule of patterns gives is what each pattern gives, in order: kinds are many, patterns are few."""
        alone: dict[tuple[Field, int, int], PartResult] = {}

        def one(field: Field, index: int, kind: TextKind) -> PartResult:
            namespace = Namespace(NOTHING, self.plan.sources, {})
            for other in reads.fields:
                namespace.set_scan(other, self.kinds[other].scan(kind, index if other == field else None))
            return _result_of_hits(axis, rule(namespace))

        def work(key: Any) -> PartResult:
            places = (key,) if len(reads.fields) == 1 else key
            several = []
            for field, place in zip(reads.fields, places, strict=True):
                kind = self.kinds[field].kind(place)
                for index in kind.found:
                    known = (field, index, kind.counts.get(index, 0))
                    if known not in alone:
                        alone[known] = one(field, index, kind)
                    several.append(alone[known])
            return _join_results(several)

        return work

    def _namespace(self, reads: ReadNames, key: Any) -> Namespace:
        """A namespace that holds what a part reads and nothing else."""
        profile, _, names = reads.values(key)
        namespace = Namespace(NOTHING, self.plan.sources, self.plan.decision.terms[profile].constants)
        for name, value in zip(reads.names, names, strict=True):
            if value is not None:
                namespace[name] = value[1] if type(value) is tuple else value
        return namespace

    def _begin(self, key: Any) -> tuple[Outcome | None, ...]:
        """The outcomes that dimensions have before scoring."""
        terms = self.plan.decision.terms[self.before.values(key).profile]
        state = open_state(self.plan, terms, self._namespace(self.before, key))
        if self.plan.decision.vetoes:
            apply_vetoes(state)
        found = (state.outcomes.get(axis.name) for axis in self.axes)
        return tuple(None if outcome is None else plain(outcome) for outcome in found)

    def _conclude(self, key: Any) -> RunRow:
        """The figures that follow from the places of all outcomes, and from what is read after scoring."""
        every = key if isinstance(key, tuple) else (key,)
        count = len(self.axes)
        read = every[count] if len(every) == count + 1 else every[count:]
        terms = self.plan.decision.terms[self.after.values(read).profile]
        state = EvaluationState(self.plan, NOTHING, terms, self._namespace(self.after, read))
        for axis, place in zip(self.axes, every, strict=False):
            state.outcomes[axis.name] = axis.outcomes.results[place]
        return msgspec.structs.replace(row_of(record_state(state, None)), duration_ms=0.0)

    def _profile(self, wanted: Any) -> str | None:
        """The profile that a context asks for; None where there is none for it."""
        profiles = self.plan.profiles
        if profiles is None:
            return None
        value = wanted[1] if type(wanted) is tuple else wanted
        try:
            return self.plan.terms(Context(custom_metrics={profiles.by: value})).profile
        except ContextError:
            return None


def plain(outcome: Outcome) -> Outcome:
    """An outcome without what a row does not tell, so that equal ones are one."""
    match outcome:
        case Score(value=value, confidence=confidence, offline=offline):
            return Score(value, "", confidence, "code", offline)
        case Unscored():
            return Unscored("")
        case NotApplicable():
            return NotApplicable("")
        case NotNeeded():
            return NotNeeded("")


def known_by(outcome: Outcome) -> tuple[Outcome, float]:
    """What an outcome is kept by: 0.0 and -0.0 are equal, and not the same."""
    return plain(outcome), with_sign(outcome.value)[1] if isinstance(outcome, Score) else 0.0


def with_sign(value: float) -> tuple[float, float]:
    return value, copysign(1.0, value)


class _Sum:
    """The place of the points after a rule, by the place of those before it and that of what it gave."""

    def __init__(self, points: ResultTable[float], given: list[PartResult]) -> None:
        self._points, self._given = points, given

    def __call__(self, before: int, place: int) -> int:
        return self._points[with_sign(_added(self._points.results[before], self._given[place]))]


def _added(points: float, given: PartResult) -> float:
    """Adds what a rule gave, one hit after the other: another order could round otherwise."""
    for added in given.points:
        points += added
    return float(points)


def _join_results(several: list[PartResult]) -> PartResult:
    if len(several) == 1:
        return several[0]
    return PartResult(
        tuple([points for given in several for points in given.points]),
        tuple([name for given in several for name in given.fired]),
        sum([given.errors for given in several]),
    )


def _result_of_hits(axis: str, hits: Iterable[RuleHit], outcome: Outcome | None = None) -> PartResult:
    hits = tuple(hits)
    return PartResult(
        tuple([hit.points for hit in hits]),
        tuple([f"{axis}: {hit.rule}" for hit in hits if hit.points]),
        sum(bool(hit.error) for hit in hits),
        outcome,
    )
