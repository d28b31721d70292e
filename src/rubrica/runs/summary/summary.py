"""Sums up a run: how every measure is spread, the verdicts, what it took, and which cases stand out.

One pass over the rows; what is kept of a row is eight bytes for every value, whatever its texts are.
"""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import isnan, nan
from random import Random

from rubrica.model.evaluation import Cost
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.measures import SCORE, Kind, Measure
from rubrica.scoring.agreement import spearman
from rubrica.scoring.correlation import pearson
from rubrica.scoring.intervals import Estimate, Moments, share_estimate, wilson
from rubrica.scoring.spread import FAR, SortedCounts, Spread, robust_range, spread_of

from .figures import Correlation, Outlier, RubricSummary, Summary, VerdictShare

TIME_PERCENTS = (50, 75, 90, 95, 99)
MOST_OUTLIERS = 20
MOST_CORRELATED = 10_000
"""Rows that correlations are worked out from; of more, so many are drawn by lot, which leaves an error of 0.01."""
CHUNK = 1_024
_MISSING = nan


def summarise(rows: Iterable[RunRow]) -> Summary:
    """Sum up a run.

    >>> found = summarise([RunRow("1", "r@1.0.0", "pass", 80.0, 100.0), RunRow("2", "r@1.0.0", "fail", 40.0, 100.0)])
    >>> found.parts["r@1.0.0"].verdicts["pass"].rate.value
    0.5
    """
    gathering = SummaryBuilder()
    for row in rows:
        gathering.add(row)
    return gathering.summary()


@dataclass(slots=True)
class SummaryBuilder:
    """Rows counted as they go by."""

    _sheets: dict[str, _Sheet] = field(default_factory=dict)
    _times: array[float] = field(default_factory=lambda: array("d"))
    _usd: float | None = None
    _tokens: list[int] = field(default_factory=lambda: [0, 0])
    _cases: int = 0
    _unpriced: int = 0
    _offline: int = 0
    _errors: int = 0

    def add(self, row: RunRow) -> None:
        sheet = self._sheets.get(row.rubric)
        if sheet is None:
            sheet = self._sheets[row.rubric] = _Sheet(row.out_of)
        sheet.add(row)
        self._times.append(row.duration_ms)
        self._cases += row.repeat == 0
        self._offline += row.offline
        self._errors += row.errors
        if row.usd is not None:
            self._usd = (self._usd or 0.0) + row.usd
        elif row.input_tokens or row.output_tokens:
            self._unpriced += 1
        self._tokens[0] += row.input_tokens
        self._tokens[1] += row.output_tokens

    def summary(self) -> Summary:
        """All that was added, summed up."""
        return Summary(
            evaluations=len(self._times),
            cases=self._cases,
            parts={rubric: sheet.part() for rubric, sheet in self._sheets.items()},
            durations=spread_of(SortedCounts.of(self._times), TIME_PERCENTS),
            cost=Cost(self._usd, *self._tokens),
            unpriced=self._unpriced,
            offline=self._offline,
            errors=self._errors,
        )


@dataclass(slots=True)
class _Column:
    """The values of one measure, in the order of the rows, and who has the lowest and the highest."""

    values: array[float] = field(default_factory=lambda: array("d"))
    low: list[tuple[float, int, RunRow]] = field(default_factory=list)
    high: list[tuple[float, int, RunRow]] = field(default_factory=list)

    def extend(self, values: list[float | None], rows: list[RunRow]) -> None:
        """The values of further rows. Most chunks hold no new extreme, which is seen without looking at each value."""
        first = len(self.values)
        self.values.extend([_MISSING if value is None else value for value in values])
        known = [value for value in values if value is not None]
        if not known:
            return
        for heap, sign, end in ((self.low, -1.0, min(known)), (self.high, 1.0, max(known))):
            if len(heap) < MOST_OUTLIERS or sign * end > heap[0][0]:
                for place, value in enumerate(values):
                    if value is not None and (len(heap) < MOST_OUTLIERS or sign * value > heap[0][0]):
                        _push_bounded(heap, (sign * value, -first - place, rows[place]))

    def fill(self, length: int) -> None:
        self.values.extend([_MISSING] * (length - len(self.values)))


def _push_bounded(heap: list[tuple[float, int, RunRow]], found: tuple[float, int, RunRow]) -> None:
    if len(heap) < MOST_OUTLIERS:
        heapq.heappush(heap, found)
    else:
        heapq.heapreplace(heap, found)


@dataclass(slots=True)
class _Sheet:
    """The rows of one rubric."""

    out_of: float
    rows: int = 0
    cases: int = 0
    columns: dict[Measure, _Column] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    by_group: dict[str, Counter[str]] = field(default_factory=dict)  # verdicts, of rows that have a group
    unscored: Counter[str] = field(default_factory=Counter)
    gates: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    _waiting: list[RunRow] = field(default_factory=list)

    def add(self, row: RunRow) -> None:
        self._waiting.append(row)
        if len(self._waiting) == CHUNK:
            self._settle()

    def _settle(self) -> None:
        """Count the rows that wait. Column by column takes a third of the time that row by row does."""
        rows = self._waiting
        self._column(SCORE, [row.score for row in rows])
        named_values: tuple[tuple[Kind, list[Mapping[str, float | None]]], ...] = (
            ("section", [row.sections for row in rows]),
            ("dimension", [row.dimensions for row in rows]),
        )
        for kind, found in named_values:
            for name in dict.fromkeys(chain.from_iterable(found)):
                self._column(Measure(kind, name), [values.get(name) for values in found])
        self.rows += len(rows)
        self.cases += sum(row.repeat == 0 for row in rows)
        self.verdicts.update([row.verdict for row in rows])
        for row in rows:
            if row.group is not None:
                self.by_group.setdefault(row.group, Counter())[row.verdict] += 1
        for counts, named in (
            (self.unscored, [row.unscored for row in rows]),
            (self.gates, [row.gates for row in rows]),
            (self.rules, [row.fired for row in rows]),
        ):
            counts.update(chain.from_iterable(named))
        self._waiting = []

    def _column(self, measure: Measure, values: list[float | None]) -> None:
        column = self.columns.get(measure)
        if column is None:
            column = self.columns[measure] = _Column()
        column.fill(self.rows)
        column.extend(values, self._waiting)

    def part(self) -> RubricSummary:
        self._settle()
        spreads: dict[Measure, Spread | None] = {}
        outliers: list[Outlier] = []
        outlying = 0
        for measure, column in self.columns.items():
            column.fill(self.rows)
            counted = SortedCounts.of([value for value in column.values if not isnan(value)])
            spreads[measure] = spread_of(counted)
            found, count = _outliers(measure, column, counted)
            outliers += found
            outlying += count
        furthest = sorted(outliers, key=lambda outlier: (-abs(outlier.off), outlier.case, outlier.repeat))
        return RubricSummary(
            evaluations=self.rows,
            out_of=self.out_of,
            spreads=spreads,
            verdicts={label: VerdictShare(n, self._rate(label)) for label, n in self.verdicts.most_common()},
            unscored=dict(self.unscored.most_common()),
            gates=dict(self.gates.most_common()),
            rules=dict(self.rules.most_common()),
            correlations=self._correlations(),
            outliers=tuple(furthest[:MOST_OUTLIERS]),
            outlying=outlying,
        )

    def _rate(self, label: str) -> Estimate:
        count = self.verdicts[label]
        share = count / self.rows
        if self.by_group:
            found = share_estimate(self._moments(label))
        else:
            worth = min(self.cases, self.rows) or self.rows  # repeats of a case may all be alike
            found = wilson(share * worth, worth)
        return found or Estimate(share, 0.0, 1.0)

    def _moments(self, label: str) -> Moments:
        """Rows without a group are groups of their own."""
        groups = [(counts[label], counts.total()) for counts in self.by_group.values()]
        alone = self.rows - sum(size for _, size in groups)
        alone_hits = self.verdicts[label] - sum(hits for hits, _ in groups)
        return Moments(
            len(groups) + alone,
            self.rows,
            float(self.verdicts[label]),
            float(sum(hits * hits for hits, _ in groups) + alone_hits),
            float(sum(hits * size for hits, size in groups) + alone_hits),
            float(sum(size * size for _, size in groups) + alone),
        )

    def _correlations(self) -> tuple[Correlation, ...]:
        names = [measure for measure in self.columns if measure.kind == "dimension"]
        if len(names) < 2 or self.rows < 2:
            return ()
        columns = {measure.name: self.columns[measure].values for measure in names}
        if self.rows > MOST_CORRELATED:
            places = sorted(Random(0).sample(range(self.rows), MOST_CORRELATED))  # noqa: S311 - the same ones each time
            columns = {name: array("d", map(values.__getitem__, places)) for name, values in columns.items()}
        known = list(columns)
        return tuple(
            _correlation(one, other, columns[one], columns[other])
            for place, one in enumerate(known)
            for other in known[place + 1 :]
        )


def _correlation(one: str, other: str, xs: Iterable[float], ys: Iterable[float]) -> Correlation:
    """How two columns go together, over the rows where both have a number."""
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if not (isnan(x) or isnan(y))]
    if not pairs:
        return Correlation(one, other, None, None, 0)
    left, right = [x for x, _ in pairs], [y for _, y in pairs]
    return Correlation(one, other, pearson(left, right), spearman(left, right), len(pairs))


def _outliers(measure: Measure, column: _Column, counted: SortedCounts) -> tuple[list[Outlier], int]:
    """The furthest values of a column, and how many lie far off in all."""
    centre = robust_range(counted)
    if centre is None:
        return [], 0
    ends = {-place: row for _, place, row in (*column.low, *column.high)}
    found = []
    for place, row in ends.items():
        value = column.values[place]
        if abs(centre.off(value)) > FAR:
            found.append(Outlier(row.case, row.repeat, measure, value, centre.off(value), row.verdict))
    return found, centre.far(counted)
