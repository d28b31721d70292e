"""A plan as tables: every part of it worked out once for each combination of what it reads, however many texts have it.

Millions of texts fire few combinations of rules. Each part (a rule, a formula, a checklist, the way from scores to a
verdict) is the plan's own, applied to a situation that holds what the part reads and nothing else; what came out is
kept by that. So figures are equal to those of one evaluation after the other, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import msgspec

from rubrica.engine.evaluate import opened, vetoed
from rubrica.engine.plan import AxisPlan, Plan
from rubrica.engine.record import recorded
from rubrica.engine.sitting import NotApplicable, NotNeeded, Outcome, Sitting
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.evaluation import RuleHit, Score, Unscored
from rubrica.model.evidence import Field
from rubrica.scorers.patterns import PatternRule
from rubrica.scorers.recipe import RuleScorer
from rubrica.scorers.situation import CONTEXT_COUNTS, Situation

from .bulk_kinds import Kinds, limits_of
from .bulk_tables import Growing, Kind, Memo, Reads, Table, names_before, names_read, names_ruling, rules_of, scorer_of
from .rows import Row, row_of

NOTHING = Context()


class Given(NamedTuple):
    """What a rule, or a scorer as a whole, gave: points in the order they are added, and what a row tells of it."""

    points: tuple[float, ...] = ()
    fired: tuple[str, ...] = ()
    errors: int = 0
    outcome: Outcome | None = None  # of a scorer


@dataclass(frozen=True, slots=True)
class Part:
    """A rule or a scorer: what it reads, and what it gives by that. The first place of the table is nothing at all."""

    reads: Reads
    table: Table[Given]
    fired: Memo[int]  # the place of what fired, by the place of what was given


@dataclass(frozen=True, slots=True)
class AxisTables:
    """One dimension: the rules that add up, or the scorer that settles it as a whole."""

    name: str
    start: float
    parts: tuple[Part, ...]
    sums: tuple[Memo[float], ...]  # per rule, by the points so far and the place of what it gave; none for a scorer
    settled: Memo[int]  # the place of the outcome, by points or by the place of what the scorer gave
    outcomes: Table[Outcome]


class Workings:
    """All the tables of one plan. They only grow: make new ones when they have become too large."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        limits = limits_of(plan)
        self.kinds = {f: Kinds(patterns, limits.get(f, {})) for f, patterns in plan.sources.lexicon.sets.items()}
        self.axes = tuple(self._axis(axis) for axis in plan.axes)
        self.before = self._reads(names_before(plan))
        self.begun: Table[tuple[Outcome | None, ...]] = Table(self._begin)
        self.after = self._reads(names_ruling(plan))
        self.rows: Table[Row] = Table(self._conclude)
        self.fired: Table[tuple[str, ...]] = Table(tuple)
        self.fired[()]  # the first place is that of nothing
        self.joined = Memo(self._join)
        self.profiles: Table[str | None] = Table(self._profile)

    @property
    def size(self) -> int:
        """How many results are kept."""
        tables: list[Any] = [*self.kinds.values(), self.begun, self.rows, self.profiles, self.fired, self.joined]
        for axis in self.axes:
            tables += [axis.outcomes, *axis.sums, *(part.table for part in axis.parts)]
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

    def _reads(self, names: Iterable[str] | None) -> Reads:
        plan = self.plan
        scored = {axis.name for axis in plan.axes} | {f"{axis.name}_share" for axis in plan.axes}
        told = {"score", "section", "threshold", *plan.rubric.settings, *CONTEXT_COUNTS, *scored}
        return Reads(plan.profiles is not None, (), tuple(sorted(set(names or ()) - told)))

    def _axis(self, axis: AxisPlan) -> AxisTables:
        scorer = scorer_of(axis)
        outcomes: Table[Outcome] = Table(plain)
        if not isinstance(scorer, RuleScorer):
            part = self._part(axis.name, scorer)
            given = part.table.results
            settled = Memo(lambda place: outcomes[given[place].outcome])
            return AxisTables(axis.name, 0.0, (part,), (), settled, outcomes)
        parts = tuple(self._part(axis.name, rule) for rule in rules_of(scorer))
        sums = tuple(Memo(_Sum(part.table.results, None if i else scorer.start)) for i, part in enumerate(parts))
        still = Situation(NOTHING, self.plan.sources, {})
        settled = Memo(lambda points: outcomes[plain(replace(scorer, rules=(), start=points)(still))])
        return AxisTables(axis.name, scorer.start, parts, sums, settled, outcomes)

    def _part(self, axis: str, part: Any) -> Part:
        fields = tuple(part.by_field) if isinstance(part, PatternRule) else ()
        reads = Reads(False, fields) if fields else self._reads(names_read(part))
        work = self._patterns(axis, part, reads) if fields else partial(self._work, axis, part, reads)
        # The kinds of the texts of one field count up from 0, in which nothing is found.
        table = Growing(work, Given()) if len(fields) == 1 else Table(work, Given())
        return Part(reads, table, Memo(lambda place: self.fired[table.results[place].fired]))

    def _work(self, axis: str, part: Any, reads: Reads, key: Any) -> Given:
        gave = part(self._situation(reads, key))
        if isinstance(gave, Score | Unscored):
            return _given(axis, gave.hits, plain(gave))
        return _given(axis, gave)

    def _patterns(self, axis: str, rule: PatternRule, reads: Reads) -> Callable[[Any], Given]:
        """What a rule of patterns gives is what each pattern gives, in order: kinds are many, patterns are few."""
        alone: dict[tuple[Field, int, int], Given] = {}

        def one(field: Field, index: int, kind: Kind) -> Given:
            key = (field, index, kind.counts.get(index, 0))
            found = alone.get(key)
            if found is None:
                situation = Situation(NOTHING, self.plan.sources, {})
                for other in reads.fields:
                    situation.know_scan(other, self.kinds[other].scan(kind, index if other == field else None))
                found = alone[key] = _given(axis, rule(situation))
            return found

        def work(key: Any) -> Given:
            places = (key,) if len(reads.fields) == 1 else key
            kinds = [(field, self.kinds[field].kind(place)) for field, place in zip(reads.fields, places, strict=True)]
            return _together([one(field, index, kind) for field, kind in kinds for index in kind.found])

        return work

    def _situation(self, reads: Reads, key: Any) -> Situation:
        """A situation that holds what a part reads and nothing else."""
        profile, _, names = reads.values(key)
        situation = Situation(NOTHING, self.plan.sources, self.plan.ruling.terms[profile].constants)
        for name, value in zip(reads.names, names, strict=True):
            if value is not None:
                situation[name] = value[1] if type(value) is tuple else value
        return situation

    def _begin(self, key: Any) -> tuple[Outcome | None, ...]:
        """The outcomes that dimensions have before scoring."""
        terms = self.plan.ruling.terms[self.before.values(key).profile]
        sitting = opened(self.plan, terms, self._situation(self.before, key))
        if self.plan.ruling.vetoes:
            vetoed(sitting)
        found = (sitting.outcomes.get(axis.name) for axis in self.axes)
        return tuple(None if outcome is None else plain(outcome) for outcome in found)

    def _conclude(self, key: Any) -> Row:
        """The figures that follow from the places of all outcomes, and from what is read after scoring."""
        every = key if isinstance(key, tuple) else (key,)
        count = len(self.axes)
        read = every[count] if len(every) == count + 1 else every[count:]
        terms = self.plan.ruling.terms[self.after.values(read).profile]
        sitting = Sitting(self.plan, NOTHING, terms, self._situation(self.after, read))
        for axis, place in zip(self.axes, every, strict=False):
            sitting.outcomes[axis.name] = axis.outcomes.results[place]
        return msgspec.structs.replace(row_of(recorded(sitting, None)), duration_ms=0.0)

    def _join(self, places: tuple[int, int]) -> int:
        """The place of what fired in two parts together."""
        one, other = places
        return self.fired[self.fired.results[one] + self.fired.results[other]]

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


class _Sum:
    """Adds what a rule gave to the points so far, one hit after the other: another order could round otherwise."""

    def __init__(self, given: list[Given], start: float | None) -> None:
        self._given = given
        self._start = start  # of the first rule, which has no points before it

    def __call__(self, key: Any) -> float:
        points, place = key if self._start is None else (self._start, key)
        for added in self._given[place].points:
            points += added
        return float(points)


def _together(several: list[Given]) -> Given:
    if len(several) == 1:
        return several[0]
    return Given(
        tuple([points for given in several for points in given.points]),
        tuple([name for given in several for name in given.fired]),
        sum([given.errors for given in several]),
    )


def _given(axis: str, hits: Iterable[RuleHit], outcome: Outcome | None = None) -> Given:
    hits = tuple(hits)
    return Given(
        tuple([hit.points for hit in hits]),
        tuple([f"{axis}: {hit.rule}" for hit in hits if hit.points]),
        sum(bool(hit.error) for hit in hits),
        outcome,
    )
