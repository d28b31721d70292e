"""What the gates found that look at an answer before it is scored."""

from __future__ import annotations

from collections.abc import Mapping

from rubrica.engine.evaluate import evaluate_scores
from rubrica.engine.plan import Plan
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation, GateResult
from rubrica.text.risk import EVIDENCE
from rubrica.text.safety import FAMILIES

from .result import SafetyReport
from .settings import CouncilSettings


def report_safety(
    plan: Plan, settings: CouncilSettings, final: tuple[str, str], failed: Mapping[str, tuple[str, ...]]
) -> SafetyReport:
    """Who failed the gate, and whether the final answer passes it. `final` is the question and that answer."""
    passed = None
    if settings.safety_gate:
        question, text = final
        checked = evaluate_scores(plan, Context(prompt=question, response=text), {}, notify=False)
        passed = not unsafe_reasons(plan, checked)
    return SafetyReport(settings.safety_gate, settings.safety_score_cap, failed, passed)


def unsafe_reasons(plan: Plan, evaluation: Evaluation) -> tuple[str, ...]:
    """Why an answer fails the gates that look before anything is scored, with the families of its patterns."""
    before = {gate.name for gate in plan.rubric.gates if gate.before}
    failed = [gate for gate in evaluation.gates if gate.fired and gate.name in before]
    return tuple(": ".join(filter(None, (gate.reason or gate.name, _families(gate)))) for gate in failed)


def _families(gate: GateResult) -> str:
    """The families of unsafe statements that are evidence for a gate."""
    labels = {span.label for span in gate.spans}
    return ", ".join(family for family in FAMILIES if family in labels) or ("learnt risk" if EVIDENCE in labels else "")
