"""Figures for Prometheus, on a registry of their own, counted as each request ends.

They are added up in plain numbers and put into Prometheus's form when it asks: its own counters take a lock and
a microsecond each, and a request counts in a dozen of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from rubrica.llm.breaker import CircuitBreaker, State
from rubrica.llm.model import ModelError
from rubrica.store.gateway import GONE, RequestRecord, TierComparison

from .names import public_name

Outcome = Literal["passed", "escalated", "ungraded", "cached", "degraded", "refused", "gone", "error"]
MILLISECONDS = (5.0, 25.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 30_000.0, 120_000.0)
PREFIX = "rubrica_gateway_"
STATES: tuple[State, ...] = get_args(State)
NONE = "none"
"""The label of a request without a tier or a question type."""


class _Times:
    """How often something took how long."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(MILLISECONDS) + 1)
        self.total = 0.0  # ms

    def add(self, spent: float) -> None:
        self.counts[bisect_left(MILLISECONDS, spent)] += 1
        self.total += spent

    def buckets(self) -> list[tuple[str, float]]:
        names = [*(f"{bound / 1000:g}" for bound in MILLISECONDS), "+Inf"]
        return list(zip(names, map(float, accumulate(self.counts)), strict=True))


class Metrics(Collector):
    """What Prometheus is told. Use it on one event loop; `observe` takes a few microseconds."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.in_flight = 0  # requests under way
        self._requests: Counter[tuple[str, str, Outcome]] = Counter()
        self._grades: Counter[tuple[str, bool]] = Counter()
        self._cache_hits: Counter[str] = Counter()
        self._comparisons: Counter[bool | None] = Counter()
        self._zones: Counter[str] = Counter()
        self._hedges: Counter[tuple[str, str]] = Counter()
        self._failures: Counter[tuple[str, str, str]] = Counter()
        self.breakers: Callable[[], Iterable[CircuitBreaker]] = tuple  # of all models
        self._total, self._first_byte, self._classification = _Times(), _Times(), _Times()
        self._tier0, self._grading, self._tier1 = _Times(), _Times(), _Times()
        self._usd = dict.fromkeys(("tier0", "tier1", "classification", "grading", "shadow", "health"), 0.0)
        self._baseline_usd = 0.0
        self._unpriced = 0
        self._dropped = 0
        self.registry.register(self)

    def observe(self, record: RequestRecord) -> None:
        """Count a request that has ended."""
        question_type = record.question_type or NONE
        self._requests[record.tier or NONE, question_type, outcome_of(record)] += 1
        if record.passed is not None:
            self._grades[question_type, record.passed] += 1
        if record.zone is not None:
            self._zones[record.zone] += 1
        if record.cached:
            self._cache_hits[record.cached] += 1
        self._time(record)
        self._price(record)

    def compared(self, comparison: TierComparison) -> None:
        """Count a comparison with tier-1."""
        self._comparisons[comparison.better] += 1
        self._usd["shadow"] += comparison.usd or 0.0

    def failed(self, model: str, error: ModelError) -> None:
        """Count a call to a model that failed, whether it was tried again or not."""
        self._failures[model, error.trouble, NONE if error.status is None else str(error.status)] += 1

    def hedged(self, tier: str, *, first_won: bool) -> None:
        """Count a request for which somebody else was asked as well."""
        self._hedges[tier, "first" if first_won else "second"] += 1

    def checked(self, record: RequestRecord) -> None:
        """Count what asking a deployment whether it is back cost."""
        self._usd["health"] += record.total_usd or 0.0

    def dropped(self, entries: Sequence[object]) -> None:
        """Count what could not be written."""
        self._dropped += len(entries)

    def text(self) -> bytes:
        """Everything, in the form that Prometheus reads."""
        return generate_latest(self.registry)

    def _time(self, record: RequestRecord) -> None:
        self._total.add(record.total_ms)
        if record.first_byte_ms is not None:
            self._first_byte.add(record.first_byte_ms)
        if record.classification_ms is not None:
            self._classification.add(record.classification_ms)
        if record.tier0_ms is not None:
            self._tier0.add(record.tier0_ms)
        if record.grading_ms is not None:
            self._grading.add(record.grading_ms)
        if record.tier1_ms is not None:
            self._tier1.add(record.tier1_ms)

    def _price(self, record: RequestRecord) -> None:
        usd = self._usd
        usd["tier0"] += record.tier0_usd or 0.0
        usd["tier1"] += record.tier1_usd or 0.0
        usd["classification"] += record.classification_usd or 0.0
        usd["grading"] += record.grading_usd or 0.0
        if record.total_usd is None:
            self._unpriced += 1
        self._baseline_usd += record.baseline_usd or 0.0

    def collect(self) -> Iterator[Metric]:
        """What the registry asks for."""
        yield GaugeMetricFamily(PREFIX + "in_flight", "Requests under way.", self.in_flight)
        yield _counter(
            "requests",
            "Requests that ended.",
            ("tier", "question_type", "outcome"),
            list(self._requests.items()),
        )
        grades = [((name, _word(passed)), count) for (name, passed), count in self._grades.items()]
        yield _counter("grades", "Answers graded.", ("question_type", "passed"), grades)
        yield self._seconds()
        spent = [((part,), usd) for part, usd in self._usd.items()]
        yield _counter("usd", "US dollars spent, as far as prices are known.", ("part",), spent)
        said = "US dollars that asking tier-1 alone would have cost, as far as that is known."
        yield _counter("baseline_usd", said, (), [((), self._baseline_usd)])
        yield _counter("unpriced_requests", "Requests whose cost is not known.", (), [((), self._unpriced)])
        hits = [((kind,), count) for kind, count in self._cache_hits.items()]
        yield _counter("cache_hits", "Requests answered from the cache.", ("kind",), hits)
        compared = [((_word(better),), count) for better, count in self._comparisons.items()]
        yield _counter("comparisons", "Answers compared with tier-1's.", ("better",), compared)
        zones = [((zone,), count) for zone, count in self._zones.items()]
        yield _counter("learned_gate", "Requests decided by the learned gate, without a grade.", ("zone",), zones)
        said = "Requests for which a second model was asked because the first had not answered, and who was quicker."
        yield _counter("hedges", said, ("tier", "won"), list(self._hedges.items()))
        said = "Calls to models that failed, those that were tried again among them."
        yield _counter("upstream_failures", said, ("model", "trouble", "status"), list(self._failures.items()))
        yield self._breaker_states()
        yield _counter("dropped_records", "Records that were never written.", (), [((), self._dropped)])

    def _breaker_states(self) -> Metric:
        said = "Circuit breakers by model and state: one for each address, key and use of a model."
        family = GaugeMetricFamily(PREFIX + "breakers", said, labels=("model", "state"))
        found = Counter((public_name(breaker.name), breaker.state) for breaker in self.breakers())
        for model in {model for model, _ in found}:
            for state in STATES:
                family.add_metric((model, state), found[model, state])
        return family

    def _seconds(self) -> Metric:
        family = HistogramMetricFamily(PREFIX + "seconds", "How long requests and their parts took.", labels=("part",))
        parts = {
            "total": self._total,
            "first_byte": self._first_byte,
            "classification": self._classification,
            "tier0": self._tier0,
            "grading": self._grading,
            "tier1": self._tier1,
        }
        for part, times in parts.items():
            family.add_metric((part,), times.buckets(), times.total / 1000)
        return family


def outcome_of(record: RequestRecord) -> Outcome:
    """How a request ended, in a word. An answer that failed, and was given for want of a better one, is `degraded`."""
    if record.status >= 500 or (record.tier is None and record.status < 400):
        return "error"
    if record.status >= 400:
        return "gone" if record.status == GONE else "refused"
    if record.cached:
        return "cached"
    if record.degraded:
        return "degraded"
    if record.passed is None:
        return "ungraded"
    return "passed" if record.passed else "escalated"


def _counter(
    name: str, says: str, labels: Sequence[str], values: Sequence[tuple[tuple[str, ...], float]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(PREFIX + name, says, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family


def _word(truth: bool | None) -> str:
    return "unknown" if truth is None else "true" if truth else "false"
