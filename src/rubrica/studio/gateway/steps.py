"""The steps of one gateway request, from its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rubrica.report.figures import figure
from rubrica.store.gateway import RequestRecord

State = Literal["done", "failed"]
CACHES = {"exact": "the same was asked before", "semantic": "the same was asked before in other dress"}


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One thing that was done for a request. Times are milliseconds, costs US dollars; None is not known."""

    title: str
    said: str
    state: State = "done"
    ms: float | None = None
    usd: float | None = None


def steps_of(record: RequestRecord) -> list[FlowStep]:
    """What was done for a request, in order."""
    failed = {name for name in record.failed_steps.split(",") if name}
    if record.cached:
        return [
            FlowStep("Cache", f"{CACHES[record.cached]}; {_model_name(record)} had answered", "done", record.total_ms)
        ]
    if record.tier == "council" or "council" in failed:
        said = "several models answered and reviewed each other" if "council" not in failed else "gave no answer"
        return [FlowStep("Council", said, _state("council", failed), record.tier1_ms, record.tier1_usd)]
    if record.tier == "embeddings":
        return [FlowStep("Embeddings", f"{_model_name(record)} answered", "done", record.total_ms, record.total_usd)]
    found = [
        *_classified(record, failed),
        *_tier_steps(record, "tier-0", failed, record.tier0_ms, record.tier0_usd),
        *_graded(record, failed),
        *_decided(record),
        *_tier_steps(record, _above(record, failed), failed, record.tier1_ms, record.tier1_usd),
    ]
    return found or [FlowStep("Refused", "no model was asked", "failed", record.total_ms)]


def _classified(record: RequestRecord, failed: set[str]) -> list[FlowStep]:
    if record.question_type is None and "classification" not in failed:
        return []
    sure = record.classification_confidence
    said = record.question_type or "no type was found"
    said += f", found by {record.classified_by}" if record.classified_by else ""
    said += f", {sure:.0%} sure" if sure is not None else ""
    state = _state("classification", failed)
    return [FlowStep("Classification", said, state, record.classification_ms, record.classification_usd)]


def _above(record: RequestRecord, failed: set[str]) -> str:
    """The tier above tier-0 that the request came to."""
    if record.tier is not None and record.tier != "tier-0":
        return record.tier
    return max((name for name in failed if name.startswith("tier-") and name != "tier-0"), default="tier-1")


def _tier_steps(
    record: RequestRecord, tier: str, failed: set[str], ms: float | None, usd: float | None
) -> list[FlowStep]:
    if ms is None and tier not in failed and record.tier != tier:
        return []
    if tier in failed:
        return [FlowStep(tier.capitalize(), "gave no answer", "failed", ms, usd)]
    said = f"{record.model or 'a model'} answered; this is what the client got" if record.tier == tier else "answered"
    return [FlowStep(tier.capitalize(), said, "done", ms, usd)]


def _graded(record: RequestRecord, failed: set[str]) -> list[FlowStep]:
    if record.passed is None and "grading" not in failed:
        return []
    if record.score is None:
        said = "no score came of it"
    else:
        needed = f" (needs {figure(record.threshold)})" if record.threshold is not None else ""
        said = f"{figure(round(record.score, 1))} of 100{needed}"
        said += ", a gate took part" if record.gated else ""
    return [FlowStep("Grading", said, _state("grading", failed), record.grading_ms, record.grading_usd)]


def _decided(record: RequestRecord) -> list[FlowStep]:
    """Where the answer comes from, and why; nothing where no model was asked."""
    if record.chosen and record.passed is None and record.tier is not None:
        return [FlowStep("Decision", f"{record.tier}, as the request chose ({record.chosen})")]
    if record.degraded:
        given = f"{record.tier}'s answer is given all the same" if record.tier else "there is no answer"
        return [FlowStep("Decision", f"{record.degraded}: {given}", "failed")]
    if record.passed is None:
        return []
    escalated = f"not good enough: {_above(record, set())} is asked"
    said = "good enough: tier-0's answer is given" if record.passed else escalated
    return [FlowStep("Decision", said)]


def _state(name: str, failed: set[str]) -> State:
    return "failed" if name in failed else "done"


def _model_name(record: RequestRecord) -> str:
    return record.model or record.tier or "a model"
