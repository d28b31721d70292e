"""Memo tables of results by their inputs, and which inputs the parts of a plan have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import polars as pl

from rubrica.engine.plan import AxisPlan, Plan
from rubrica.formula import Formula
from rubrica.model.evidence import Field
from rubrica.scorers.recipe import RuleScorer
from rubrica.scorers.reference_checks import REFERENCE_CHECKS

from .indices import places_of

Result = TypeVar("Result")
Column: TypeAlias = Sequence[Any] | pl.Series
"""What is read of many records: values, or the places of the kinds of their texts."""


class ResultTable(dict[Any, int], Generic[Result]):
    """Results by key, each worked out when its key is first met; a key leads to the place of its result.

    >>> squares = ResultTable[int](lambda number: number * number)
    >>> [squares[number] for number in (3, 5, 3)], squares.results
    ([0, 1, 0], [9, 25])
    """

    def __init__(self, work: Callable[[Any], Result], *first: Result) -> None:
        super().__init__()
        self.results = list(first)
        self._work = work

    def __missing__(self, key: Any) -> int:
        self.results.append(self._work(key))
        place = self[key] = len(self.results) - 1
        return place

    def places(self, keys: Iterable[Any]) -> pl.Series:
        """Where the results of many keys are."""
        return places_of(map(self.__getitem__, keys))


class GrowingTable(ResultTable[Result]):
    """A table by keys that count up from 0, so that a key is the place of its result."""

    def __missing__(self, key: Any) -> int:
        while len(self.results) <= key:
            self.results.append(self._work(len(self.results)))
        return int(key)

    def places(self, keys: Iterable[Any]) -> pl.Series:
        places = keys if isinstance(keys, pl.Series) else places_of(keys)
        if len(places):
            self.__missing__(places.max())
        return places


class TextKind(NamedTuple):
    """Texts in which the same patterns occur, and as often where that matters."""

    found: tuple[int, ...]
    counts: Mapping[int, int]  # by pattern
    sample: bytes = b""  # such a text, where patterns are counted


class ReadValues(NamedTuple):
    """What one result depends on."""

    profile: str | None
    kinds: tuple[int, ...]  # per field
    names: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ReadNames:
    """What a part of a plan reads: the profile, which patterns occur in fields, and names in formulas."""

    profile: bool
    fields: tuple[Field, ...] = ()
    names: tuple[str, ...] = ()

    def columns(self, read: Callable[[str], Column]) -> list[Column]:
        """What is read of many texts; `read` gives a column by ``profile``, ``field:NAME`` or ``name:NAME``."""
        wanted = ["profile"] if self.profile else []
        wanted += [f"field:{field}" for field in self.fields]
        wanted += [f"name:{name}" for name in self.names]
        return [read(name) for name in wanted]

    def keys(self, read: Callable[[str], Column], count: int) -> Iterable[Any]:
        """What is read of each of `count` texts as a key: a bare value where it is one, a tuple where it is more."""
        found = self.columns(read)
        if not found:
            return repeat((), count)
        return found[0] if len(found) == 1 else zip(*map(as_list, found), strict=True)

    def values(self, key: Any) -> ReadValues:
        """What a key stands for."""
        width = self.profile + len(self.fields) + len(self.names)
        every = (key,) if width == 1 else key
        named = self.profile + len(self.fields)
        return ReadValues(every[0] if self.profile else None, every[self.profile : named], every[named:])


def as_list(column: Column) -> Sequence[Any]:
    """A column that is quick to go through."""
    return column.to_list() if isinstance(column, pl.Series) else column


def scorer_of(axis: AxisPlan) -> object:
    """The scorer behind the function that a plan keeps of it."""
    return getattr(axis.scorer, "__self__", axis.scorer)


def rules_of(scorer: RuleScorer) -> list[Any]:
    """The rules behind the functions that a scorer keeps of them."""
    return [getattr(rule, "__self__", rule) for rule in scorer.rules]


def is_known(plan: Plan) -> bool:
    """Whether all that a plan's parts read can be told: no judge, no parts of dimensions, no scorer of others, nothing
    that compares two texts of a case."""
    if plan.judge is not None or plan.judged or any(axis.parts for axis in plan.axes):
        return False
    read = set(names_ruling(plan)).union(*(applies.names for _, applies in plan.conditions))
    for axis in plan.axes:
        scorer = scorer_of(axis)
        for part in rules_of(scorer) if isinstance(scorer, RuleScorer) else [scorer]:
            names = names_read(part)
            if names is None:
                return False
            read |= names
    return read.isdisjoint(REFERENCE_CHECKS)


def names_read(part: object) -> frozenset[str] | None:
    """The names that a rule or a scorer reads; None where that cannot be told."""
    names: frozenset[str] | None = getattr(part, "names", None)
    return names


def names_ruling(plan: Plan) -> frozenset[str]:
    """The names that the way from scores to a verdict reads."""
    decision = plan.decision
    formulas = [terms.score for terms in decision.terms.values()]
    for gate in decision.gates:
        formulas += [gate.when, gate.limit] if isinstance(gate.limit, Formula) else [gate.when]
    formulas += [section.score for section in decision.sections]
    verdicts = (*decision.verdicts, *(verdict for section in decision.sections for verdict in section.verdicts))
    formulas += [verdict.when for verdict in verdicts if verdict.when is not None]
    return frozenset().union(*(formula.names for formula in formulas))


def names_before(plan: Plan) -> frozenset[str]:
    """The names that decide, before scoring, what is scored."""
    formulas = [*(applies for _, applies in plan.conditions), *(rule.when for rule in plan.decision.vetoes)]
    return frozenset().union(*(formula.names for formula in formulas))
