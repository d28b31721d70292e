"""Sums up a run: how every measure is spread, the verdicts, what it took, and which cases stand out.

One pass over the rows. What is kept of them does not grow with how many there are: how often each value occurred, a
sample, and the few most extreme rows.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from random import Random

from rubrica.model.evaluation import Cost
from rubrica.report.run_figures import Reservoir
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.measures import SCORE, Kind, Measure
from rubrica.scoring.agreement import spearman
from rubrica.scoring.correlation import pearson
from rubrica.scoring.intervals import Estimate, Moments, share_estimate, wilson
from rubrica.scoring.spread import FAR, SortedCounts, Spread, robust_range, spread_of

from .certainty import CertaintyCounts
from .criteria_counts import CriteriaCounts
from .figures import Correlation, Outlier, RubricSummary, Summary, VerdictShare
from .value_counts import ValueCounts

TIME_PERCENTS = (50, 75, 90, 95, 99)
MOST_OUTLIERS = 20
MOST_CORRELATED = 10_000
"""Rows that correlations are worked out from; of more, so many are drawn by lot, which leaves an error of 0.01."""
CHUNK = 1_024


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
    _times: ValueCounts = field(default_factory=ValueCounts)
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
            durations=spread_of(self._times.counted(), TIME_PERCENTS),
            cost=Cost(self._usd, *self._tokens),
            unpriced=self._unpriced,
            offline=self._offline,
            errors=self._errors,
        )


@dataclass(slots=True)
class _Column:
    """The values of one measure, and who has the lowest and the highest."""

    values: ValueCounts = field(default_factory=ValueCounts)
    low: list[tuple[float, int, RunRow]] = field(default_factory=list)
    high: list[tuple[float, int, RunRow]] = field(default_factory=list)

    def extend(self, values: list[float | None], first: int, rows: list[RunRow]) -> None:
        """The values of further rows, from place `first` on. Most chunks hold no new extreme, which is seen without
        looking at each value."""
        known = [value for value in values if value is not None]
        if not known:
            return
        self.values.extend(known)
        for heap, sign, end in ((self.low, -1.0, min(known)), (self.high, 1.0, max(known))):
            if len(heap) < MOST_OUTLIERS or sign * end > heap[0][0]:
                for place, value in enumerate(values):
                    if value is not None and (len(heap) < MOST_OUTLIERS or sign * value > heap[0][0]):
                        _push_bounded(heap, (sign * value, -first - place, rows[place]))

    def ends(self) -> Iterator[tuple[float, RunRow]]:
        """The lowest and the highest values, each row once."""
        found = {
            place: (sign * value, row)
            for sign, heap in ((-1.0, self.low), (1.0, self.high))
            for value, place, row in heap
        }
        yield from found.values()


def _push_bounded(heap: list[tuple[float, int, RunRow]], found: tuple[float, int, RunRow]) -> None:
    if len(heap) < MOST_OUTLIERS:
        heapq.heappush(heap, found)
    else:
        heapq.heapreplace(heap, found)


def _fair_sample() -> Reservoir[Mapping[str, float | None]]:
    return Reservoir(MOST_CORRELATED, Random(0))  # noqa: S311 - the same ones each time


@dataclass(slots=True)
class _Sheet:
    """The rows of one rubric."""

    out_of: float
    rows: int = 0
    cases: int = 0
    columns: dict[Measure, _Column] = field(default_factory=dict)
    sample: Reservoir[Mapping[str, float | None]] = field(default_factory=_fair_sample)  # values of dimensions
    verdicts: Counter[str] = field(default_factory=Counter)
    by_group: dict[str, Counter[str]] = field(default_factory=dict)  # verdicts, of rows that have a group
    unscored: Counter[str] = field(default_factory=Counter)
    gates: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    criteria: CriteriaCounts = field(default_factory=CriteriaCounts)
    certainty: CertaintyCounts = field(default_factory=CertaintyCounts)
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
            ("tag", [row.tags for row in rows] if any(row.counted for row in rows) else []),
        )
        self.criteria.add(rows)
        self.certainty.add(rows)
        for kind, found in named_values:
            for name in dict.fromkeys(chain.from_iterable(found)):
                self._column(Measure(kind, name), [values.get(name) for values in found])
        self.sample.offer([row.dimensions for row in rows])
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
        column.extend(values, self.rows, self._waiting)

    def part(self) -> RubricSummary:
        self._settle()
        spreads: dict[Measure, Spread | None] = {}
        outliers: list[Outlier] = []
        outlying = 0
        for measure, column in self.columns.items():
            counted = column.values.counted()
            spreads[measure] = spread_of(counted)
            if measure.kind == "tag":  # of which a case may have few
                continue
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
            tags=self.criteria.tags,
            positions=self.criteria.positions,
            profiles=self.certainty.profiles,
            point_verdicts=self.certainty.point_verdicts,
            undecided=self.certainty.undecided,
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
        columns = {measure.name: [one.get(measure.name) for one in self.sample.items] for measure in names}
        known = list(columns)
        return tuple(
            _correlation(one, other, columns[one], columns[other])
            for place, one in enumerate(known)
            for other in known[place + 1 :]
        )


def _correlation(one: str, other: str, xs: list[float | None], ys: list[float | None]) -> Correlation:
    """How two columns go together, over the rows where both have a number."""
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    if not pairs:
        return Correlation(one, other, None, None, 0)
    left, right = [x for x, _ in pairs], [y for _, y in pairs]
    return Correlation(one, other, pearson(left, right), spearman(left, right), len(pairs))


def _outliers(measure: Measure, column: _Column, counted: SortedCounts) -> tuple[list[Outlier], int]:
    """The furthest values of a column, and how many lie far off in all."""
    centre = robust_range(counted)
    if centre is None:
        return [], 0
    found = []
    for value, row in column.ends():
        if abs(centre.deviations(value)) > FAR:
            found.append(Outlier(row.case, row.repeat, measure, value, centre.deviations(value), row.verdict))
    return found, centre.count_outliers(counted)
