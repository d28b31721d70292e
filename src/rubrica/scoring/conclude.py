"""From weighed scores to the explained parts of an Evaluation: verdict and why, gates, steps, sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula, Interval, conjuncts
from rubrica.model.evaluation import INCONCLUSIVE, Effect, GateResult, SectionResult, Step
from rubrica.model.evidence import Span

from .decision_plan import DecisionPlan, GateRule, ProfilePlan, VerdictRule
from .normalise import population_variance
from .weigh import GateReading, Reader, Weighing, first_holding, weigh

Evidence = Callable[[frozenset[str]], tuple[Span, ...]]
"""The stretches of text behind the names a formula reads."""


class Conclusion(msgspec.Struct, frozen=True):
    """All that follows from the scores."""

    verdict: str
    reason: str
    score: float | None
    bounds: tuple[float, float]
    band: str
    variance: float | None  # of the dimensions' values
    gates: tuple[GateResult, ...]
    steps: tuple[Step, ...]
    sections: Mapping[str, SectionResult]
    errors: tuple[str, ...]


def conclude(
    decision: DecisionPlan,
    terms: ProfilePlan,
    names: dict[str, object],
    unknown: Mapping[str, Interval],
    evidence: Evidence,
    unread: Mapping[str, str],
) -> Conclusion:
    """Weigh the scores, and say why. `unread` are the names that hang on what was not read of a text, and how much."""
    weighing = weigh(decision, terms, names, unknown)
    low, high = weighing.bounds
    known = low == high
    verdict = weighing.decided
    values = [names.get(name) for name in decision.scales if name not in unknown]
    return Conclusion(
        verdict=verdict if verdict is not None else INCONCLUSIVE,
        reason=_why(weighing, decision, names, unknown, unread),
        score=low if known else None,
        bounds=weighing.bounds,
        band=decision.band(low / decision.out_of) if known else "",
        variance=population_variance([value for value in values if isinstance(value, int | float)]),
        gates=tuple(_gate_result(reading, names, evidence, unread) for reading in weighing.gates),
        steps=_steps(decision, terms, names, weighing) if known and not unknown else (),
        sections=_sections(decision, names, unknown) if decision.sections else {},
        errors=weighing.faults,
    )


def with_values(formula: Formula, names: dict[str, object], unread: Mapping[str, str] | None = None) -> str:
    """A condition and the numbers it met: ``score >= threshold (score = 72, threshold = 85)``."""
    values = []
    for name in sorted(formula.names - (unread or {}).keys()):
        try:
            value = names[name]
        except KeyError:
            continue
        if isinstance(value, int | float):
            values.append(f"{name} = {_format_number(value)}")
    return f"{formula.text} ({', '.join(values)})" if values else formula.text


def _format_number(value: float) -> str:
    """A number in few digits. JSON has whole numbers that no float can hold."""
    try:
        return f"{value:.4g}"
    except OverflowError:
        return "−∞" if value < 0 else "∞"


def _why_not(rules: tuple[VerdictRule, ...], label: str, names: dict[str, object]) -> str:
    """Why no other verdict was earned; of conditions joined by `and`, only those that failed."""
    reasons = []
    for rule in rules:
        if rule.when is not None and rule.label != label:
            failed = [with_values(part, names) for part in conjuncts(rule.when) if _fails(part, names)]
            reasons.append(f"not {rule.label}: {', '.join(failed)}")
    return "; ".join(reasons)


def _fails(condition: Formula, names: dict[str, object]) -> bool:
    try:
        return not condition.holds(names)
    except FormulaFault:  # it has no value here, so it does not hold
        return True


def _why(
    weighing: Weighing,
    decision: DecisionPlan,
    names: dict[str, object],
    unknown: Mapping[str, Interval],
    unread: Mapping[str, str],
) -> str:
    match weighing.decider:
        case GateRule() as rule:
            return f"gate {rule.gate.name}: {rule.gate.because or with_values(rule.when, names, unread)}"
        case VerdictRule() as rule if weighing.decided is not None:
            if rule.when is not None:
                return rule.because or with_values(rule.when, names, unread)
            parts = [rule.because, _why_not(decision.verdicts, rule.label, names)]
            return "; ".join(part for part in parts if part) or f"{rule.label} is the only verdict"
        case _:
            pass
    if weighing.decided is not None:
        return f"whatever the missing scores are, the verdict is {weighing.decided}"
    open_ends = [name for name in unknown if not name.endswith("_share") and name not in unread]
    causes = [f"no score for {', '.join(open_ends)}"] if open_ends else []
    causes += dict.fromkeys(unread.values())
    cause = "; ".join(causes or weighing.faults)
    return f"{cause}: the verdict could be {' or '.join(weighing.verdicts)}"


def _gate_result(
    reading: GateReading, names: dict[str, object], evidence: Evidence, unread: Mapping[str, str]
) -> GateResult:
    gate = reading.rule.gate
    effect: Effect = "verdict" if gate.verdict is not None else "cap" if gate.cap is not None else "floor"
    fired = reading.truth == "yes"
    open_for = "" if fired else "; ".join(unread[name] for name in sorted(reading.rule.when.names & unread.keys()))
    return GateResult(
        name=gate.name,
        fired=True if fired else None,
        effect=effect,
        when=gate.when,
        limit=reading.low if effect != "verdict" and reading.low == reading.high else None,
        verdict=gate.verdict,
        reason=open_for or gate.because or with_values(reading.rule.when, names, unread),
        spans=evidence(reading.rule.when.names) if fired else (),
    )


def _steps(
    decision: DecisionPlan, terms: ProfilePlan, names: dict[str, object], weighing: Weighing
) -> tuple[Step, ...]:
    """The way from the lowest possible score to this one: one step per dimension, then the gates.

    Each dimension in turn is set from the bottom of its scale to its value; the difference is its step. The steps
    add up to the score for any formula, and for a weighted score each is just weight times value.
    """
    formula, digits = terms.score, decision.digits
    values = {name: names[name] for name in formula.names}
    present = [read for read in terms.reads if values[read.name] is not None]
    trial = {**values, **{read.name: read.lowest for read in present}}
    try:
        total = decision.to_score(formula.value(trial))
        steps = [Step("base", "lowest possible", total, total)]
        for read in present:
            trial[read.name] = values[read.name]
            after = decision.to_score(formula.value(trial))
            steps.append(Step("dimension", read.dimension, round(after - total, digits), after))
            total = after
    except FormulaFault:  # the formula has no value at the bottom of the scales: show the score as one step
        total = weighing.raw[0]
        steps = [Step("base", "score formula", total, total)]
    score = weighing.bounds[0]
    if score != total:
        label = ", ".join(r.rule.gate.name for r in weighing.gates if r.rule.gate.verdict is None)
        steps.append(Step("gate", label, round(score - total, digits), score))
    return tuple(steps)


def _sections(
    decision: DecisionPlan, names: dict[str, object], unknown: Mapping[str, Interval]
) -> dict[str, SectionResult]:
    results = {}
    for section in decision.sections:
        reader = Reader(names, {name: value for name, value in unknown.items() if name != "score"})
        found = reader.range(section.score)
        if found is None:
            reason = "does not apply" if all(names.get(n) is None for n in section.score.names) else reader.faults[-1]
            results[section.name] = SectionResult(None, None, reason)
            continue
        low, high = decision.to_section_score(found[0]), decision.to_section_score(found[1])
        if low != high:
            results[section.name] = SectionResult(None, None, f"between {low:g} and {high:g}: a score is missing")
            continue
        names["section"] = low
        labels, rule = first_holding(section.verdicts, reader)
        reason = ""
        if rule is not None:
            when = rule.when
            reason = _why_not(section.verdicts, rule.label, names) if when is None else with_values(when, names)
        results[section.name] = SectionResult(low, labels[0] if len(labels) == 1 else None, reason)
    return results
