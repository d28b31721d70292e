"""metric_threshold: points by the first row of a table that a metric meets."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula, Interval
from rubrica.model.evaluation import RuleHit
from rubrica.model.rules import MetricThreshold, Threshold
from rubrica.phrases import Code, Phrase, figure, listed, phrase

from .namespace import Namespace, is_number
from .rule import Reach
from .rule_form import NAME, FormField, form_row
from .rule_type import RuleReader, RuleType

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class ThresholdRow(msgspec.Struct, frozen=True):
    """One threshold with its score as a number or a formula."""

    spec: Threshold
    score: float | Formula

    def may_meet(self, metric: Interval) -> tuple[bool, bool]:
        """Whether some value of an interval meets it, and whether all do."""
        if self.spec.operator == "==" or self.spec.operator == "!=":
            within, alone = (self.spec.value or 0.0) in metric, metric.is_point
            some, every = within, within and alone
            return (some, every) if self.spec.operator == "==" else (not every, not some)
        ends = self.meets(metric.lo), self.meets(metric.hi)
        return any(ends), all(ends)

    def meets(self, value: float) -> bool:
        if self.spec.operator is None or self.spec.value is None:
            return True
        return COMPARISONS[self.spec.operator](value, self.spec.value)

    def __str__(self) -> str:
        return "otherwise" if self.spec.default else f"{self.spec.operator} {self.spec.value:g}"


class MetricRule(msgspec.Struct, frozen=True):
    """A compiled metric_threshold."""

    label: str
    metric: str
    rows: tuple[ThresholdRow, ...]

    @property
    def reach(self) -> Reach:
        lows, highs = [0.0], []
        left = (-math.inf, math.inf)  # the metric's values that no earlier row has taken
        for row in self.rows:
            taken, left = _split(left, row.spec)
            if isinstance(row.score, Formula):
                found = row.score.interval({self.metric: Interval.of(*taken)})
                lows.append(found.lo)
                highs.append(found.hi)
            else:
                lows.append(row.score)
                highs.append(row.score)
        return min(lows), max(highs)

    def between(self, namespace: Namespace) -> Reach:
        """The least and the most it gives where texts were read in part."""
        value = namespace[self.metric]  # which was read already, or nothing would be open
        if not is_number(value):
            return 0.0, 0.0  # told as an error
        metric = namespace.interval_of(self.metric, float(value))
        given: list[float] = []
        for row in self.rows:
            some, every = row.may_meet(metric)
            if some:
                score = namespace.interval(row.score) if isinstance(row.score, Formula) else Interval.point(row.score)
                given += [score.lo, score.hi] if score.sure else [score.lo, score.hi, 0.0]
            if every:
                break
        else:
            given.append(0.0)
        return min(given), max(given)

    @property
    def names(self) -> frozenset[str]:
        scores = (row.score.names for row in self.rows if isinstance(row.score, Formula))
        return frozenset({self.metric}).union(*scores)

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        try:
            value = namespace[self.metric]
        except KeyError:
            return [self._failed(f"the context has no metric {self.metric!r}")]
        if not is_number(value):
            return [self._failed(f"the metric {self.metric!r} is {str(value)[:60]!r}, not a number")]
        row = next((row for row in self.rows if row.meets(value)), None)
        if row is None:
            return [RuleHit(self.label, "metric_threshold", 0.0, f"{self.metric} = {value:g} meets no threshold")]
        try:
            points = row.score.value(namespace) if isinstance(row.score, Formula) else row.score
        except FormulaFault as fault:
            return [self._failed(f"{row.spec.score_formula}: {fault}")]
        return [RuleHit(self.label, "metric_threshold", points, f"{self.metric} = {value:g} ({row})")]

    def _failed(self, error: str) -> RuleHit:
        return RuleHit(self.label, "metric_threshold", 0.0, error=error)


def _split(left: tuple[float, float], row: Threshold) -> tuple[tuple[float, float], tuple[float, float]]:
    """The values a row takes out of those left, and the values it leaves; both as their enclosing range."""
    low, high = left
    if row.operator is None or row.value is None:
        return left, left
    match row.operator:
        case "<" | "<=":
            return (low, min(high, row.value)), (max(low, row.value), high)
        case ">" | ">=":
            return (max(low, row.value), high), (low, min(high, row.value))
        case "==":
            return (row.value, row.value), left
        case "!=":
            return left, (row.value, row.value)


def _compile(rule: MetricThreshold, reader: RuleReader) -> MetricRule:
    rows = tuple(
        ThresholdRow(spec, spec.score)
        if spec.score is not None
        else ThresholdRow(spec, reader.formula(spec.score_formula or "", "thresholds", i, "score_formula"))
        for i, spec in enumerate(rule.thresholds)
    )
    return MetricRule(rule.name or rule.metric, rule.metric, rows)


def _phrases(rule: MetricThreshold) -> Iterator[Phrase]:
    rows = [_threshold(spec) for spec in rule.thresholds]
    yield phrase("By ", Code(rule.metric), ", the first that fits: ", listed(rows, "; "), ".")


def _threshold(spec: Threshold) -> Phrase:
    worth: Phrase = (figure(spec.score),) if spec.score is not None else (Code(spec.score_formula or ""),)
    if spec.default or spec.operator is None:
        return phrase("otherwise ", worth)
    return phrase(Code(f"{spec.operator} {spec.value:g}"), " gives ", worth)


def _formulas(rule: MetricThreshold) -> tuple[str, ...]:
    return (rule.metric, *(spec.score_formula for spec in rule.thresholds if spec.score_formula is not None))


METRIC_THRESHOLD = RuleType(
    "metric_threshold",
    MetricThreshold,
    title="Points by a number",
    says="the first row that a number meets gives the points",
    begins={
        "type": "metric_threshold",
        "metric": "word_count",
        "thresholds": [{"operator": ">=", "value": 50, "score": 1}, {"default": True, "score": 0}],
    },
    form=(
        form_row(NAME, FormField("metric", "formula")),
        form_row(FormField("thresholds", "thresholds")),
    ),
    compile=_compile,
    phrases=_phrases,
    summary=lambda draft: f"by {draft.get('metric', '')}",
    formulas=_formulas,
    context_names=lambda rule: (rule.metric,),
    parts={"A row of `thresholds`": Threshold},
)
