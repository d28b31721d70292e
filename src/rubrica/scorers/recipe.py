"""Scoring without a model: by rules, by one formula, or by a checklist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, assert_never

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula
from rubrica.model.dimensions import Check, UnscoredWhen
from rubrica.model.evaluation import RuleHit, Score, Unscored

from .namespace import Namespace
from .rule import names_of, points_between

Scorer = Callable[[Namespace], Score | Unscored]
"""Anything that maps a namespace to a Score, or to a reasoned absence."""


class RuleScorer(msgspec.Struct, frozen=True):
    """Adds up what the rules give and take."""

    rules: tuple[Callable[[Namespace], list[RuleHit]], ...]
    start: float
    ends: tuple[float, float]  # of the scale
    scoring: Literal["cumulative", "proportional", "binary"]
    mark: float | None  # proportional: points for full marks; binary: points that win (None: any above 0)
    confidence: float
    offline: bool = False

    def __call__(self, namespace: Namespace) -> Score | Unscored:
        hits: list[RuleHit] = []
        for rule in self.rules:
            hits += rule(namespace)
        if not namespace.in_full and namespace.reasons:
            between = self._between(namespace)
            if between[0] != between[1]:
                return partly_read(namespace, between, tuple(self._known_hits(namespace)))
        points = self.start
        for hit in hits:
            points += hit.points
        if not points.is_integer():
            points = round(points, 9)
        low, high = self.ends
        value, reason = points, ""
        if self.scoring != "cumulative" or not low <= points <= high:
            value = self._on_scale(points)
            reason = "" if value == points else f"{points:g} points become {value:g} on the scale"
        return Score(value, reason, self.confidence, "code", self.offline, tuple(hits), self.start)

    def _known_hits(self, namespace: Namespace) -> Iterator[RuleHit]:
        """What the rules give; one that reads a metric which nobody reported gives nothing, and says so."""
        for rule in self.rules:
            lacking = ", ".join(namespace.unreported(names_of(rule)))
            for hit in rule(namespace):
                yield RuleHit(hit.rule, hit.type, 0.0, error=f"{lacking} was not reported") if lacking else hit

    def _between(self, namespace: Namespace) -> tuple[float, float]:
        """The least and the greatest value, whatever stands in the parts of texts that were not read."""
        low = high = self.start
        for rule in self.rules:
            namespace.doubt = False
            given = sum(hit.points for hit in rule(namespace))
            least, most = points_between(rule, namespace) if namespace.doubt else (given, given)
            low, high = low + least, high + most
        return round(self._on_scale(low), 9), round(self._on_scale(high), 9)

    def _on_scale(self, points: float) -> float:
        low, high = self.ends
        match self.scoring:
            case "cumulative":
                return min(max(points, low), high)
            case "proportional":
                share = min(max(points / (self.mark or 1.0), 0.0), 1.0)
                return low + share * (high - low)
            case "binary":
                won = points > 0 if self.mark is None else points >= self.mark
                return high if won else low
            case _:
                assert_never(self.scoring)


class FormulaScorer(msgspec.Struct, frozen=True):
    """The value of one formula, kept on the scale."""

    formula: Formula
    ends: tuple[float, float]  # of the scale
    confidence: float
    offline: bool = False

    @property
    def names(self) -> frozenset[str]:
        return self.formula.names

    def __call__(self, namespace: Namespace) -> Score | Unscored:
        low, high = self.ends
        namespace.doubt = False
        try:
            value = self.formula.value(namespace)
        except FormulaFault as fault:
            open_to = self.ends if namespace.doubt else None
            return Unscored(f"{self.formula.text}: {fault}", between=open_to)
        if namespace.doubt:
            found = namespace.interval(self.formula)
            between = (max(low, min(found.lo, high)), min(high, max(found.hi, low))) if found.sure else self.ends
            if between[0] != between[1]:
                return partly_read(namespace, between)
        kept = min(max(value, low), high) + 0.0  # -0.0 becomes 0.0: equal scores must be alike to the last bit
        reason = self.formula.text if kept == value else f"{self.formula.text} = {value:g}, kept on the scale"
        return Score(kept, reason, self.confidence, "code", self.offline)


class Checklist(msgspec.Struct, frozen=True):
    """The weighted share of conditions that hold, spread over the scale."""

    checks: tuple[tuple[Check, Formula], ...]
    ends: tuple[float, float]  # of the scale
    confidence: float
    offline: bool = False

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(condition.names for _, condition in self.checks))

    def __call__(self, namespace: Namespace) -> Score | Unscored:
        hits = [self._apply(check, condition, namespace) for check, condition in self.checks]
        share = sum(hit.points for hit in hits) / sum(check.weight for check, _ in self.checks)
        low, high = self.ends
        if not namespace.in_full and namespace.reasons:
            opens = [check.weight for check, condition in self.checks if _is_open(condition, namespace)]
            most = share + sum(opens) / sum(check.weight for check, _ in self.checks)
            if opens:
                return partly_read(namespace, (low + share * (high - low), low + most * (high - low)), tuple(hits))
        value = low + share * (high - low)
        passed = sum(bool(hit.points) for hit in hits)
        return Score(
            round(value, 9),
            f"{passed} of {len(hits)} checks hold",
            self.confidence,
            "code",
            self.offline,
            tuple(hits),
        )

    def _apply(self, check: Check, condition: Formula, namespace: Namespace) -> RuleHit:
        try:
            holds = namespace.holds(condition)
        except FormulaFault as fault:
            return RuleHit(check.name, "check", 0.0, check.otherwise, error=str(fault))
        if holds is None:
            return RuleHit(check.name, "check", 0.0, error=f"{condition.text} hangs on a text that was read in part")
        if holds:
            return RuleHit(check.name, "check", check.weight, condition.text)
        spans = namespace.evidence(condition.names)
        return RuleHit(check.name, "check", 0.0, check.otherwise or f"not {condition.text}", spans=spans)


class GuardedScorer(msgspec.Struct, frozen=True):
    """A scorer that stays silent, with the reason, where one of some conditions holds."""

    guards: tuple[tuple[UnscoredWhen, Formula], ...]
    scorer: Scorer

    def __call__(self, namespace: Namespace) -> Score | Unscored:
        for guard, condition in self.guards:
            try:
                if namespace.holds(condition):
                    return Unscored(guard.because)
            except FormulaFault as fault:
                return Unscored(f"{condition.text}: {fault}")
        return self.scorer(namespace)


def partly_read(namespace: Namespace, between: tuple[float, float], hits: tuple[RuleHit, ...] = ()) -> Unscored:
    """What a scorer gives whose value hangs on the parts of texts that were not read."""
    low, high = between
    return Unscored(f"between {low:g} and {high:g}: {'; '.join(namespace.reasons)}", hits=hits, between=between)


def _is_open(condition: Formula, namespace: Namespace) -> bool:
    try:
        return namespace.holds(condition) is None
    except FormulaFault:
        return False
