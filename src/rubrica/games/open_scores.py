"""Open scores: those that a failed judge left without a number, judged again later, by themselves or when asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from rubrica.model.evaluation import INCONCLUSIVE, DimensionResult, Evaluation

from .composite import Composite

NO_ANSWER = "the judge gave no answer"
"""All that others than whoever made a game are told of why a judge gave none."""

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
MOST_TRIES = 12
"""How often an open score is judged again by itself: for some two days. Who asks for it has it judged at any time."""


def judge_failed(evaluation: Evaluation) -> bool:
    """Whether a score is open because a judge that was asked gave none."""
    return evaluation.score is None and any(map(dimension_failed, evaluation.dimensions.values()))


def record_failed(record: Mapping[str, Any]) -> bool:
    """The same of a kept record.

    >>> record_failed({"score": None, "dimensions": {"wise": {"value": None, "status": "unscored", "source": "llm"}}})
    True
    """
    return record.get("score") is None and any(map(kept_failure, record.get("dimensions", {}).values()))


def next_try(tries: int, now: datetime) -> datetime | None:
    """When an open score is judged again after so many tries; None: it is left to whoever asks.

    >>> from datetime import UTC
    >>> now = datetime(2026, 5, 1, tzinfo=UTC)
    >>> [str(at - now) if (at := next_try(tries, now)) else None for tries in (0, 1, 5, 11, 12)]
    ['0:01:00', '0:02:00', '0:32:00', '6:00:00', None]
    """
    return None if tries >= MOST_TRIES else now + min(FIRST_PAUSE * 2**tries, LONGEST_PAUSE)


def tell_open(evaluation: Evaluation) -> Evaluation:
    """An evaluation that says why it has no score, where its reason tells of its verdict alone."""
    open_ones = {name: result.reason for name, result in evaluation.dimensions.items() if result.status == "unscored"}
    if evaluation.score is not None or evaluation.verdict == INCONCLUSIVE or not open_ones:
        return evaluation
    why = "; ".join(dict.fromkeys(open_ones.values()))
    reason = f"no score for {', '.join(open_ones)}: {why}; {evaluation.reason}"
    return msgspec.structs.replace(evaluation, reason=reason)


def at_lowest(evaluation: Evaluation, reason: str) -> Evaluation:
    """An evaluation as the game counts it: at the lowest that a missing report leaves."""
    low = evaluation.bounds[0]
    return msgspec.structs.replace(evaluation, score=low, bounds=(low, low), reason=reason)


def first_clause(reason: str) -> str:
    """What a reason says before it quotes anybody.

    >>> first_clause("no score for wise: the judge failed: http://10.0.0.7 said no")
    'no score for wise'
    """
    return reason.partition(":")[0]


def without_provider_errors(composite: Composite) -> Composite:
    """A composite without what a provider said when it failed."""
    if not composite.missing:
        return composite
    missing = [msgspec.structs.replace(each, reason=first_clause(each.reason)) for each in composite.missing]
    return msgspec.structs.replace(composite, missing=missing)


def dimension_failed(result: DimensionResult) -> bool:
    """Whether a judge that was asked for a dimension, or for a part of it, gave no score."""
    own = result.status == "unscored" and result.source == "llm"
    return own or any(map(dimension_failed, (result.parts or {}).values()))


def kept_failure(result: Mapping[str, Any]) -> bool:
    """The same of a dimension in a kept record."""
    own = result.get("status") == "unscored" and result.get("source") == "llm"
    return own or any(map(kept_failure, (result.get("parts") or {}).values()))
