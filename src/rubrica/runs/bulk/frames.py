"""Judges a chunk of records and puts the figures into columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from rubrica.engine.plan import Plan
from rubrica.runs.files.parquet_rows import frame_of
from rubrica.text import text_features

from .chunk import Chunk
from .column_keys import ColumnKeys
from .plan_tables import LATE, AxisTables, PlanPart, PlanTables, with_sign
from .result_tables import as_list, is_known

MOST_KEPT = 400_000
"""Results that are kept at once, so that memory stays flat."""
LINE = "line"
"""The column that says where in its file a record is."""
_SEPARATOR = "\x1e"


class ColumnJudge:
    """The quick way through a plan, for chunk after chunk."""

    def __init__(self, plan: Plan, group: str) -> None:
        self.plan, self.group = plan, group
        self.known = PlanColumns(PlanTables(plan))

    @staticmethod
    def supports(plan: Plan) -> bool:
        """Whether a plan can be judged the quick way."""
        return is_known(plan) and all(patterns.matcher is not None for patterns in plan.sources.lexicon.sets.values())

    @property
    def names(self) -> frozenset[str]:
        """The names that are read of contexts."""
        profiles = self.plan.profiles
        others = {self.group} if profiles is None else {self.group, profiles.by}
        return (self.known.workings.names | others) - self.plan.sources.lexicon.named.keys() - text_features().keys()

    def frame(self, chunk: Chunk) -> tuple[pl.DataFrame, set[int]]:
        """The figures of a chunk, and the rows of it that can only be judged one at a time."""
        if self.known.workings.size > MOST_KEPT:
            self.known = PlanColumns(PlanTables(self.plan))
        reading = ColumnKeys(self.known.workings, chunk)
        columns = _Judging(self.known, reading).columns()
        columns["case"] = pl.Series(chunk.cases, dtype=pl.String)
        columns[LINE] = pl.Series(chunk.lines, dtype=pl.Int64)
        if chunk.has_value(self.group):
            groups = [None if value is None else str(value) for value in chunk.given(self.group)]
            columns["group"] = pl.Series(groups, dtype=pl.String)
        return pl.DataFrame(columns), reading.odd


class PlanColumns:
    """The tables of a plan, and what they tell in columns. Both grow with what is met."""

    def __init__(self, workings: PlanTables) -> None:
        self.workings = workings
        self._rows = pl.DataFrame()
        self._same: dict[str, pl.Series] = {}  # the columns of it that have the same value everywhere, at length
        self._fired = pl.Series([], dtype=pl.List(pl.String))

    def figures(self, places: pl.Series) -> dict[str, pl.Series]:
        """What the ways to conclude at some places tell."""
        rows = self.workings.rows.results
        if self._rows.height < len(rows):
            new = frame_of(rows[self._rows.height :])
            self._rows = pl.concat([self._rows, new]) if self._rows.height else new
            self._same = {column.name: column.head(1) for column in self._rows if _is_same(column)}
        found = {}
        for column in self._rows:
            same = column.name in self._same
            found[column.name] = self._repeated(column.name, len(places)) if same else column[places]
        return found

    def fired(self, places: pl.Series) -> pl.Series:
        """What fired, at some places."""
        fired = self.workings.fired.results
        if len(self._fired) < len(fired):
            self._fired.extend(_lists(fired[len(self._fired) :]))
        return self._fired[places]

    def _repeated(self, name: str, count: int) -> pl.Series:
        """A column that has the same value everywhere: made once, and cut to measure."""
        if len(self._same[name]) < count:
            self._same[name] = self._rows[name].new_from_index(0, count)
        return self._same[name].head(count)


class _Judging:
    """One chunk on its way through the tables."""

    def __init__(self, known: PlanColumns, reading: ColumnKeys) -> None:
        self.known, self.reading = known, reading
        self.workings = known.workings
        self.count = len(reading.chunk)
        self._fired: pl.Series | None = None  # places of what fired so far; None: nothing did
        self._errors: list[pl.Series] = []

    def columns(self) -> dict[str, pl.Series]:
        workings = self.workings
        before: pl.Series | None = None
        if workings.plan.conditions or workings.plan.decision.vetoes:
            before = workings.begun.places(workings.before.keys(self.reading, self.count))
        keys: list[Sequence[Any]] = [self._outcomes(axis, before).to_list() for axis in workings.axes]
        keys += map(as_list, workings.after.columns(self.reading))
        found = self.known.figures(workings.rows.places(keys[0] if len(keys) == 1 else zip(*keys, strict=True)))
        if self._fired is not None:
            found["fired"] = self.known.fired(self._fired)
        for errors in self._errors:
            found["errors"] = found["errors"] + errors.cast(pl.Int64)
        if sure := self.reading.classified:
            found["profile_confidence"] = pl.Series([sure.get(row) for row in range(self.count)], dtype=pl.Float64)
        return found

    def _outcomes(self, axis: AxisTables, before: pl.Series | None) -> pl.Series:
        """The place of each record's outcome."""
        gave = [part.table.places(part.reads.keys(self.reading, self.count)) for part in axis.parts]
        settled = axis.settled(self._points(axis, gave))
        early = axis.early(before) if before is not None else None
        if early is not None and (early != LATE).any():
            settled = early.zip_with(early != LATE, settled)
            gave = [places.set(early != LATE, 0) for places in gave]
        for part, places in zip(axis.parts, gave, strict=True):
            self._tell(part, places)
        return settled

    def _points(self, axis: AxisTables, gave: list[pl.Series]) -> pl.Series:
        """The place of each record's points; for a scorer, that of what it gave."""
        if axis.first is None:
            return gave[0] if gave else axis.points.places([with_sign(axis.start)] * self.count)
        points = axis.first(gave[0])
        for total, part, places in zip(axis.sums, axis.parts[1:], gave[1:], strict=True):
            points = total(points, places, (len(axis.points.results), len(part.table.results)))
        return points

    def _tell(self, part: PlanPart, places: pl.Series) -> None:
        """Keep which rules fired, and how many could not be applied."""
        if part.errors:
            self._errors.append(part.errors(places))
        if self._fired is None:
            self._fired = part.fired(places) if part.fired else None
        elif part.own:
            sizes = (len(self.workings.fired.results), part.own_size())
            self._fired = part.joined(self._fired, part.own(places), sizes)


def _is_same(column: pl.Series) -> bool:
    """Whether a column has the same value everywhere; of lists, whether all are empty."""
    if column.dtype == pl.List:
        return not column.list.len().max()
    return column.n_unique() == 1 and (column[0] != 0 or len(set(map(str, column.to_list()))) == 1)  # -0.0 is not 0.0


def _lists(texts: Sequence[tuple[str, ...]]) -> pl.Series:
    """A column of lists of texts. Splitting joined texts takes a tenth of the time that one list at a time takes."""
    if any(_SEPARATOR in text for several in texts for text in several):
        return pl.Series(texts, dtype=pl.List(pl.String))
    joined = pl.Series([_SEPARATOR.join(several) if several else None for several in texts], dtype=pl.String)
    return joined.str.split(_SEPARATOR).fill_null([])
