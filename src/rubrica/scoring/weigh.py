"""From scores to what the verdict is, or can still be.

Where every score is known this is plain arithmetic. Where some are not, the interval reading of each formula bounds
the score and shows which gates may fire and which verdict rules may hold. When a single verdict is left, no missing
score can change it: the engine may stop asking, and an evaluation with a missing score is still conclusive.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula, Interval

from .decision_plan import DecisionPlan, GateRule, ProfilePlan, VerdictRule

Truth = Literal["yes", "no", "maybe"]


class GateReading(msgspec.Struct, frozen=True):
    """Whether a gate fires, and the range of its cap or floor."""

    rule: GateRule
    truth: Truth
    low: float = 0.0
    high: float = 0.0


class Weighing(msgspec.Struct, frozen=True):
    """The range of the score before and after the gates, and the verdicts still possible, in rubric order."""

    raw: tuple[float, float]
    bounds: tuple[float, float]
    verdicts: tuple[str, ...]
    decider: GateRule | VerdictRule | None  # what chose the verdict, where one thing did
    gates: tuple[GateReading, ...]  # those that fired or may
    faults: tuple[str, ...]

    @property
    def decided(self) -> str | None:
        """The verdict, when only one is possible."""
        return self.verdicts[0] if len(self.verdicts) == 1 else None


def weigh(
    decision: DecisionPlan, terms: ProfilePlan, names: dict[str, object], unknown: Mapping[str, Interval]
) -> Weighing:
    """Weigh the scores in `names`; the names in `unknown` may still take any value of their interval."""
    reader = Reader(names, dict(unknown))
    raw = bounds = _raw_score(decision, terms, reader)
    reader.set_score(raw)
    gates = [reading for rule in decision.gates if (reading := _read_gate(rule, decision, reader)).truth != "no"]
    forced: list[str] = []
    if gates:
        bounds = _after_gates(raw, gates)
        reader.set_score(bounds)
        forced, certain = _forced(gates)
        if certain is not None:
            labels = _in_order(forced, decision)
            return Weighing(raw, bounds, tuple(labels), certain, tuple(gates), tuple(reader.faults))
    labels, decider = first_true_rule(decision.verdicts, reader)
    if forced:
        labels = _in_order(forced + [label for label in labels if label not in forced], decision)
        decider = None
    return Weighing(raw, bounds, tuple(labels), decider, tuple(gates), tuple(reader.faults))


def _in_order(labels: list[str], decision: DecisionPlan) -> list[str]:
    """Verdicts in the order of the rubric."""
    order = [rule.label for rule in decision.verdicts]
    return sorted(labels, key=lambda label: order.index(label) if label in order else len(order))


def first_true_rule(rules: tuple[VerdictRule, ...], reader: Reader) -> tuple[list[str], VerdictRule | None]:
    """The labels whose rule may be the first to hold, and that rule if it is certain."""
    labels: list[str] = []
    for rule in rules:
        truth = "yes" if rule.when is None else reader.truth(rule.when)
        if truth != "no" and rule.label not in labels:
            labels.append(rule.label)
        if truth == "yes":
            return labels, rule if len(labels) == 1 else None
    return labels, None


@dataclass(slots=True)
class Reader:
    """Reads formulas exactly where all their names are known, as intervals where some are not."""

    names: dict[str, object]
    unknown: dict[str, Interval]
    faults: list[str] = field(default_factory=list)

    def set_score(self, bounds: tuple[float, float]) -> None:
        """Set `score` for formulas that are read next: a number if it is known, else an interval."""
        if bounds[0] == bounds[1]:
            self.unknown.pop("score", None)
            self.names["score"] = bounds[0]
        else:
            self.unknown["score"] = Interval.of(*bounds)

    def range(self, formula: Formula) -> tuple[float, float] | None:
        """Lowest and highest value, or None where the formula may have no value at all."""
        if not self.unknown or self.unknown.keys().isdisjoint(formula.names):
            try:
                value = formula.value(self.names)
            except FormulaFault as fault:
                self.faults.append(f"{formula.text}: {fault}")
                return None
            return value, value
        found = formula.interval(self._intervals(formula))
        return (found.lo, found.hi) if found.sure else None

    def truth(self, formula: Formula) -> Truth:
        """Whether a condition holds. One that reads a dimension which does not apply does not hold."""
        if not self.unknown or self.unknown.keys().isdisjoint(formula.names):
            try:
                return "yes" if formula.holds(self.names) else "no"
            except FormulaFault as fault:
                if any(self._absent(name) for name in formula.names):
                    return "no"
                self.faults.append(f"{formula.text}: {fault}")
                return "maybe"
        found = formula.interval(self._intervals(formula))
        if found.is_true:
            return "yes"
        return "no" if found.is_false else "maybe"

    def _absent(self, name: str) -> bool:
        try:
            return self.names[name] is None
        except KeyError:
            return False

    def _intervals(self, formula: Formula) -> dict[str, Interval | None]:
        """What is known of each name; a name without a number is left out, which reads as: anything, or a fault."""
        found: dict[str, Interval | None] = {}
        for name in formula.names:
            if name in self.unknown:
                found[name] = self.unknown[name]
                continue
            try:
                value = self.names[name]
            except KeyError:
                continue
            if value is None:
                found[name] = None
            elif isinstance(value, int | float) and abs(value) <= sys.float_info.max:
                found[name] = Interval.point(float(value))
        return found


def _raw_score(decision: DecisionPlan, terms: ProfilePlan, reader: Reader) -> tuple[float, float]:
    found = reader.range(terms.score)
    if found is None:
        return decision.lowest, decision.out_of
    low = decision.to_score(found[0])
    return (low, low) if found[0] == found[1] else (low, decision.to_score(found[1]))


def _read_gate(rule: GateRule, decision: DecisionPlan, reader: Reader) -> GateReading:
    truth = reader.truth(rule.when)
    if truth == "no" or rule.limit is None:
        return GateReading(rule, truth)
    if isinstance(rule.limit, Formula):
        low, high = reader.range(rule.limit) or (0.0, decision.out_of)
    else:
        low = high = rule.limit
    digits, top = decision.digits, decision.out_of
    return GateReading(rule, truth, round(min(max(low, 0.0), top), digits), round(min(max(high, 0.0), top), digits))


def _after_gates(raw: tuple[float, float], gates: list[GateReading]) -> tuple[float, float]:
    """Floors first, then caps: a cap wins."""
    low, high = raw
    for reading in gates:
        if reading.rule.gate.floor is not None:
            high = max(high, reading.high)
            low = max(low, reading.low) if reading.truth == "yes" else low
    for reading in gates:
        if reading.rule.gate.cap is not None:
            low = min(low, reading.low)
            high = min(high, reading.high) if reading.truth == "yes" else high
    return low, high


def _forced(gates: list[GateReading]) -> tuple[list[str], GateRule | None]:
    """The verdicts that gates force or may force, in order, and the gate that certainly does, if any."""
    labels: list[str] = []
    for reading in gates:
        verdict = reading.rule.gate.verdict
        if verdict is None:
            continue
        if verdict not in labels:
            labels.append(verdict)
        if reading.truth == "yes":
            return labels, reading.rule
    return labels, None
