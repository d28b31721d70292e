"""From weighed scores to the explained parts of an Evaluation: verdict and why, gates, steps, sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula, Interval, conjuncts
from rubrica.model.evaluation import INCONCLUSIVE, Effect, GateResult, SectionResult, Step
from rubrica.model.evidence import Span
from rubrica.phrases import either

from .decision_plan import DecisionPlan, GateRule, ProfilePlan, SectionRule, VerdictRule
from .normalise import population_variance
from .weigh import GateReading, Reader, Weighing, first_true_rule, weigh

MOST_NAMED = 3
"""How many dimensions a reason names with their bounds; the result has all of them."""
KNOWN_WITHIN_BOUNDS = "are only known within bounds"
OFFLINE_WITHIN_BOUNDS = ("offline scores", "a judge can tell")  # how to ask one, each surface says itself
JUDGED_WITHIN_BOUNDS = ("judges' scores", "a person can tell, or judges that agree with people more closely")
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


class Doubts(msgspec.Struct, frozen=True):
    """Why some names are known as an interval only."""

    estimated: frozenset[str] = frozenset()  # scores that are known within bounds only
    estimated_offline: frozenset[str] = frozenset()  # those of them that no judge gave
    unread: Mapping[str, str] = msgspec.field(default_factory=dict)  # names that hang on unread text


CERTAIN = Doubts()


def conclude(
    decision: DecisionPlan,
    terms: ProfilePlan,
    names: dict[str, object],
    unknown: Mapping[str, Interval],
    evidence: Evidence,
    doubts: Doubts,
) -> Conclusion:
    """Weigh the scores, and explain the result.

    Estimated names are unknown, but have a value in `names`. The score and its steps use those values; the bounds of
    the score, the gates and the verdict use the whole range of every unknown name.
    """
    weighing = at = weigh(decision, terms, names, unknown)
    missing = unknown
    if doubts.estimated:
        missing = {name: interval for name, interval in unknown.items() if name not in doubts.estimated}
        at = weigh(decision, terms, names, missing)
    low, high = weighing.bounds
    known = at.bounds[0] == at.bounds[1]
    bands = {decision.band(end / decision.out_of) for end in (low, high)} if known else set()
    verdict = weighing.decided
    values = [names.get(name) for name in decision.scales if name not in missing]
    return Conclusion(
        verdict=verdict if verdict is not None else INCONCLUSIVE,
        reason=_why(weighing, decision, names, unknown, doubts, terms.constants),
        score=at.bounds[0] if known else None,
        bounds=weighing.bounds,
        band=bands.pop() if len(bands) == 1 else "",
        variance=population_variance([value for value in values if isinstance(value, int | float)]),
        gates=tuple(_gate_result(reading, names, evidence, doubts.unread) for reading in weighing.gates),
        steps=_steps(decision, terms, names, at) if known and not missing else (),
        sections=_sections(decision, names, unknown, missing, weighing.bounds) if decision.sections else {},
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


def _why_not(
    rules: tuple[VerdictRule, ...], label: str, names: dict[str, object], constants: Mapping[str, object]
) -> str:
    """Why no other verdict was earned; of conditions joined by `and`, only those that failed."""
    reasons = []
    for rule in rules:
        if rule.when is not None and rule.label != label:
            reasons.append(f"not {rule.label}: {', '.join(_failed(rule.when, names, constants))}")
    return "; ".join(reasons)


def _failed(condition: Formula, names: dict[str, object], constants: Mapping[str, object]) -> Iterator[str]:
    """The conditions joined by `and` that failed. What a setting rules out is not worked out any further."""
    for part in conjuncts(condition):
        if _fails(part, names):
            yield with_values(part, names)
            if constants.keys() >= part.names:
                return


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
    doubts: Doubts,
    constants: Mapping[str, object],
) -> str:
    match weighing.decider:
        case GateRule() as rule if weighing.decided is not None:
            return _gate_words(rule, names, doubts)
        case VerdictRule() as rule if weighing.decided is not None:
            if rule.when is not None:
                return rule.because or with_values(rule.when, names, doubts.unread)
            parts = [rule.because, _why_not(decision.verdicts, rule.label, names, constants)]
            return "; ".join(part for part in parts if part) or f"{rule.label} is the only verdict"
        case _:
            pass
    explained = doubts.estimated | doubts.unread.keys()
    explained_names = {*explained, *decision.labels}
    missing = [name for name in unknown if not name.endswith("_share") and name not in explained_names]
    if weighing.decided is not None and missing:
        return f"whatever the missing scores are, the verdict is {weighing.decided}"
    if weighing.decided is not None:
        fired = [reading.rule for reading in weighing.gates if reading.truth == "yes"]
        gates_text = "".join(f"gate {rule.gate.name}: {rule.gate.because or rule.gate.when}; " for rule in fired)
        certain = f"{gates_text}whatever the exact scores are, the verdict is {weighing.decided}"
        narrow = "" if fired else _several(_narrowed(decision, unknown, doubts))
        return f"{certain} ({narrow})" if narrow else certain
    possible = either(weighing.verdicts) + _ruled_out(weighing, decision, names, doubts)
    causes = [f"no score for {', '.join(missing)}"] if missing else []
    causes += dict.fromkeys(doubts.unread.values())
    within = [
        f"{name} {_within(unknown[name])}"
        for name in decision.scales
        if name in doubts.estimated and unknown[name].lo < unknown[name].hi
    ]
    if not within:
        return f"{'; '.join(causes or weighing.faults)}: the verdict could be {possible}"
    before = "".join(f"{cause}; " for cause in causes)
    by_code = any(unknown[name].lo < unknown[name].hi for name in decision.scales if name in doubts.estimated_offline)
    scores, help_from = OFFLINE_WITHIN_BOUNDS if by_code else JUDGED_WITHIN_BOUNDS
    return f"the verdict could be {possible}: {before}{scores} {KNOWN_WITHIN_BOUNDS} ({_several(within)}); {help_from}"


def _ruled_out(weighing: Weighing, decision: DecisionPlan, names: dict[str, object], doubts: Doubts) -> str:
    """The verdicts that a gate rules out which certainly fires, where one before it may fire as well."""
    rule = weighing.decider
    others = [
        label for label in dict.fromkeys(one.label for one in decision.verdicts) if label not in weighing.verdicts
    ]
    if not isinstance(rule, GateRule) or not others:
        return ""
    return f", not {either(others)} ({_gate_words(rule, names, doubts)})"


def _gate_words(rule: GateRule, names: dict[str, object], doubts: Doubts) -> str:
    return f"gate {rule.gate.name}: {rule.gate.because or with_values(rule.when, names, doubts.unread)}"


def _narrowed(decision: DecisionPlan, unknown: Mapping[str, Interval], doubts: Doubts) -> list[str]:
    """The scores that cannot be anywhere on their scale, and where they can: what makes a verdict certain."""
    return [
        f"{name} {_within(unknown[name])}"
        for name, scale in decision.scales.items()
        if name in doubts.estimated and (unknown[name].lo > scale.min or unknown[name].hi < scale.max)
    ]


def _several(told: Sequence[str]) -> str:
    return ", ".join(told[:MOST_NAMED]) + (", …" if len(told) > MOST_NAMED else "")


def _within(interval: Interval) -> str:
    return f"{interval.lo:.4g} to {interval.hi:.4g}"


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
    to_score = decision.to_points_score if decision.points else decision.to_score
    values = {name: names[name] for name in formula.names}
    present = [read for read in terms.reads if values[read.name] is not None]
    trial = {**values, **{read.name: read.lowest for read in present}}
    try:
        total = to_score(formula.value(trial))
        steps = [Step("base", "no points" if decision.points else "lowest possible", total, total)]
        for read in present:
            trial[read.name] = values[read.name]
            after = to_score(formula.value(trial))
            steps.append(Step("dimension", read.dimension, round(after - total, digits), after))
            total = after
    except FormulaFault:  # the formula has no value at the bottom of the scales: show the score as one step
        total = weighing.raw[0]
        steps = [Step("base", "score formula", total, total)]
    if decision.points and total != (clipped := weighing.raw[0]):
        steps.append(Step("clip", "no less than 0", round(clipped - total, digits), clipped))
        total = clipped
    score = weighing.bounds[0]
    if score != total:
        label = ", ".join(r.rule.gate.name for r in weighing.gates if r.rule.gate.verdict is None)
        steps.append(Step("gate", label, round(score - total, digits), score))
    return tuple(steps)


def _sections(
    decision: DecisionPlan,
    names: dict[str, object],
    unknown: Mapping[str, Interval],
    missing: Mapping[str, Interval],
    score: tuple[float, float],
) -> dict[str, SectionResult]:
    results = {}
    for section in decision.sections:
        reader = Reader(names, dict(unknown))
        reader.set_score(score)
        found = reader.range(section.score)
        if found is None:
            reason = "does not apply" if all(names.get(n) is None for n in section.score.names) else reader.faults[-1]
            results[section.name] = SectionResult(None, None, reason)
            continue
        low, high = decision.to_section_score(found[0]), decision.to_section_score(found[1])
        value = low if low == high else _estimate(section, decision, Reader(names, dict(missing)))
        if value is None:
            results[section.name] = SectionResult(None, None, f"between {low:g} and {high:g}: a score is missing")
            continue
        names["section"] = value
        if low != high:
            reader.unknown["section"] = Interval.of(low, high)
        labels, rule = first_true_rule(section.verdicts, reader)
        reason = "" if low == high else f"between {low:g} and {high:g}"
        if rule is not None:
            when = rule.when
            why = _why_not(section.verdicts, rule.label, names, {}) if when is None else with_values(when, names)
            why = rule.because or why
            reason = f"{reason}; {why}" if reason else why
        results[section.name] = SectionResult(value, labels[0] if len(labels) == 1 else None, reason)
    return results


def _estimate(section: SectionRule, decision: DecisionPlan, reader: Reader) -> float | None:
    """A section's score by the estimated values of its dimensions; None where one is missing."""
    found = reader.range(section.score)
    ends = {decision.to_section_score(end) for end in found or (0.0, decision.out_of)}
    return ends.pop() if len(ends) == 1 else None
