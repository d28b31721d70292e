"""Judges a chunk of records and puts the figures into columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from rubrica.engine.plan import Plan
from rubrica.text import FEATURES

from .bulk_chunk import Chunk
from .bulk_reading import Reading
from .bulk_tables import is_known
from .bulk_workings import AxisTables, Part, Workings
from .columns import frame_of

MOST_KEPT = 400_000
"""Results that are kept at once, so that memory stays flat."""
LINE = "line"
"""The column that says where in its file a record is."""
_SEPARATOR = "\x1e"


class Quick:
    """The quick way through a plan, for chunk after chunk."""

    def __init__(self, plan: Plan, group: str) -> None:
        self.plan, self.group = plan, group
        self.known = Known(Workings(plan))

    @staticmethod
    def serves(plan: Plan) -> bool:
        """Whether a plan can be judged the quick way."""
        return is_known(plan) and all(patterns.matcher is not None for patterns in plan.sources.lexicon.sets.values())

    @property
    def names(self) -> frozenset[str]:
        """The names that are read of contexts."""
        profiles = self.plan.profiles
        others = {self.group} if profiles is None else {self.group, profiles.by}
        return (self.known.workings.names | others) - self.plan.sources.lexicon.named.keys() - FEATURES.keys()

    def frame(self, chunk: Chunk) -> tuple[pl.DataFrame, set[int]]:
        """The figures of a chunk, and the rows of it that can only be judged one at a time."""
        if self.known.workings.size > MOST_KEPT:
            self.known = Known(Workings(self.plan))
        reading = Reading(self.known.workings, chunk)
        columns = _Judging(self.known, reading).columns()
        columns["case"] = pl.Series(chunk.cases, dtype=pl.String)
        columns[LINE] = pl.Series(chunk.lines, dtype=pl.Int64)
        if chunk.gives(self.group):
            groups = [None if value is None else str(value) for value in chunk.given(self.group)]
            columns["group"] = pl.Series(groups, dtype=pl.String)
        return pl.DataFrame(columns), reading.odd


class Known:
    """The tables of a plan, and what they tell in columns. Both grow with what is met."""

    def __init__(self, workings: Workings) -> None:
        self.workings = workings
        self._rows = pl.DataFrame()
        self._same: dict[str, pl.Series] = {}  # the columns of it that have the same value everywhere, at length
        self._fired = pl.Series([], dtype=pl.List(pl.String))

    def figures(self, places: list[int]) -> dict[str, pl.Series]:
        """What the ways to conclude at some places tell."""
        rows = self.workings.rows.results
        if self._rows.height < len(rows):
            new = frame_of(rows[self._rows.height :])
            self._rows = pl.concat([self._rows, new]) if self._rows.height else new
            self._same = {column.name: column.head(1) for column in self._rows if _is_same(column)}
        found = pl.Series(places, dtype=pl.UInt32)
        return {
            column.name: self._repeated(column.name, len(found)) if column.name in self._same else column.gather(found)
            for column in self._rows
        }

    def fired(self, places: list[int]) -> pl.Series:
        """What fired, at some places."""
        fired = self.workings.fired.results
        if len(self._fired) < len(fired):
            self._fired.extend(_lists(fired[len(self._fired) :]))
        return self._fired.gather(pl.Series(places, dtype=pl.UInt32))

    def _repeated(self, name: str, count: int) -> pl.Series:
        """A column that has the same value everywhere: made once, and cut to measure."""
        if len(self._same[name]) < count:
            self._same[name] = self._rows[name].new_from_index(0, count)
        return self._same[name].head(count)


class _Judging:
    """One chunk on its way through the tables."""

    def __init__(self, known: Known, reading: Reading) -> None:
        self.known, self.reading = known, reading
        self.workings = known.workings
        self.count = len(reading.chunk)
        self._fired: list[int] | None = None  # places of what fired so far; None: nothing did
        self._errors: list[pl.Series] = []

    def columns(self) -> dict[str, pl.Series]:
        workings = self.workings
        before: list[int] | None = None
        if workings.plan.conditions or workings.plan.ruling.vetoes:
            before = workings.begun.places(workings.before.keys(self.reading, self.count))
        keys: list[Sequence[Any]] = [self._outcomes(i, axis, before) for i, axis in enumerate(workings.axes)]
        keys += workings.after.columns(self.reading)
        found = self.known.figures(workings.rows.places(keys[0] if len(keys) == 1 else zip(*keys, strict=True)))
        if self._fired is not None:
            found["fired"] = self.known.fired(self._fired)
        for errors in self._errors:
            found["errors"] = found["errors"] + errors
        return found

    def _outcomes(self, number: int, axis: AxisTables, before: list[int] | None) -> list[int]:
        """The place of each record's outcome."""
        gave = [part.table.places(part.reads.keys(self.reading, self.count)) for part in axis.parts]
        state: Sequence[Any] = gave[0] if gave else [axis.start] * self.count
        for first, (total, places) in enumerate(zip(axis.sums, gave, strict=False)):
            state = list(map(total.__getitem__, zip(state, places, strict=True) if first else places))
        settled = list(map(axis.settled.__getitem__, state))
        if before is not None:
            begun = enumerate(self.workings.begun.results)
            early = {place: axis.outcomes[found] for place, every in begun if (found := every[number]) is not None}
            if early:
                settled = [early.get(place, late) for place, late in zip(before, settled, strict=True)]
                gave = [[0 if b in early else g for b, g in zip(before, places, strict=True)] for places in gave]
        for part, places in zip(axis.parts, gave, strict=True):
            self._tell(part, places)
        return settled

    def _tell(self, part: Part, places: list[int]) -> None:
        """Keep which rules fired, and how many could not be applied."""
        given = part.table.results
        if any(result.errors for result in given):
            self._errors.append(pl.Series([given[place].errors for place in places], dtype=pl.Int64))
        if not any(result.fired for result in given):
            return
        fired = list(map(part.fired.__getitem__, places))
        if self._fired is None:
            self._fired = fired
        else:
            joined = self.workings.joined
            self._fired = list(map(joined.__getitem__, zip(self._fired, fired, strict=True)))


def _is_same(column: pl.Series) -> bool:
    """Whether a column has the same value everywhere; of lists, whether all are empty."""
    return not column.list.len().max() if column.dtype == pl.List else column.n_unique() == 1


def _lists(texts: Sequence[tuple[str, ...]]) -> pl.Series:
    """A column of lists of texts. Splitting joined texts takes a tenth of the time that one list at a time takes."""
    if any(_SEPARATOR in text for several in texts for text in several):
        return pl.Series(texts, dtype=pl.List(pl.String))
    joined = pl.Series([_SEPARATOR.join(several) if several else None for several in texts], dtype=pl.String)
    return joined.str.split(_SEPARATOR).fill_null([])
