"""From an Evaluation to what is kept and told of it: points, share, and where every point came from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.engine.expand import POINTS
from rubrica.engine.plan import Plan
from rubrica.model.context import Context, refuse_files
from rubrica.model.evaluation import DimensionResult, Evaluation, Status
from rubrica.model.evidence import Span
from rubrica.store.scores import StoredScore

from .access import Caller
from .work_pool import RunInThread

MOST_INLINE = 250_000
"""How much is judged at once: characters of text times what each costs, some five milliseconds' worth. More of it is
judged in a thread, so that nobody else waits."""

OF_FEATURES = 50
"""What one character costs beside the patterns it is compared with, in patterns: the text features may all be read."""

LONG_TEXT = MOST_INLINE // OF_FEATURES
"""Characters of a text that anything else is done with in a thread."""

NOISE_DIGITS = 9
"""Decimals that mean something; the rest is the noise of binary fractions."""


class RuleLine(msgspec.Struct, frozen=True, gc=False):
    """What one rule gave or took, and the dimension it counted for."""

    dimension: str
    rule: str
    type: str
    points: float
    reason: str
    category: str
    count: int
    spans: tuple[Span, ...]
    error: str | UnsetType = UNSET  # why the rule could not be applied; its points are then 0


class DimensionScore(msgspec.Struct, frozen=True):
    """How one dimension came out: `value` on its own scale from `low` to `high`, `share` from 0 to 1."""

    value: float | None
    share: float | None
    status: Status
    reason: str
    weight: float | None
    low: float
    high: float
    confidence: float
    parts: dict[str, DimensionScore] | UnsetType = UNSET
    bounds: tuple[float, float] | UnsetType = UNSET  # an offline score is only known within these
    label: str | UnsetType = UNSET  # the answer, where a judge chose among answers
    points: float | UnsetType = UNSET  # in place of a weight
    earned: float | UnsetType = UNSET  # of those points
    tags: tuple[str, ...] | UnsetType = UNSET
    asks: str | UnsetType = UNSET  # of a criterion that the case brought


class ScoreOutcome(msgspec.Struct, frozen=True):
    """What a score row holds of an Evaluation. A score that what is missing leaves open is None, within bounds."""

    raw_score: float | None  # on the rubric's own count: points of a short form, else the score on out_of
    normalized_score: float | None  # 0 to 1
    bounds: tuple[float, float]  # the normalised score lies between these
    verdict: str
    reason: str
    rule_breakdown: list[RuleLine]
    dimension_scores: dict[str, DimensionScore]
    errors: tuple[str, ...]
    notes: tuple[str, ...]
    offline: bool


def outcome(evaluation: Evaluation, *, short: bool) -> ScoreOutcome:
    """What is kept and told of an evaluation; `short` says whether its rubric was written in the short form.

    >>> from rubrica import evaluate
    >>> told = outcome(evaluate("norm-macdonald-classic", response="In 1974 my doctor had a moth."), short=True)
    >>> told.raw_score, told.normalized_score, [(line.rule, line.points) for line in told.rule_breakdown]
    (25.0, 0.25, [('year_mention_1970s', 10.0), ('medical_reference', 15.0)])
    """
    score, out_of = evaluation.score, evaluation.out_of
    low, high = evaluation.bounds
    return ScoreOutcome(
        evaluation.dimensions[POINTS].value if short else score,
        None if score is None else _share(score, out_of),
        (_share(low, out_of), _share(high, out_of)),
        evaluation.verdict,
        evaluation.reason,
        list(_lines(evaluation.dimensions)),
        {name: _dimension_score(result) for name, result in evaluation.dimensions.items()},
        evaluation.errors,
        evaluation.notes,
        evaluation.offline,
    )


def is_short(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is written in the short form."""
    return "scoring_type" in definition


def record(evaluation: Evaluation) -> msgspec.Raw:
    """The Evaluation without its context, as JSON: what `Evaluation.from_json` reads back."""
    return msgspec.Raw(msgspec.structs.replace(evaluation, context=None).to_json())


def kept_evaluation(score: StoredScore) -> Evaluation:
    """The evaluation that was kept with a score, with the context it judged."""
    evaluation = Evaluation.from_json(msgspec.json.encode(score.record))
    return msgspec.structs.replace(evaluation, case=score.rubric, context=Context.of(score.context_snapshot))


def snapshot(context: Context) -> dict[str, Any]:
    """The context as it was judged, as plain data that `Context.of` reads back."""
    return context.as_given()


def affordable(plan: Plan, caller: Caller) -> tuple[Plan, tuple[str, ...]]:
    """A plan as a caller may try it out: judges cost, so a viewer gets it without; and a note that says so."""
    if not asks_judge(plan) or caller.may("player"):
        return plan, ()
    return replace(plan, judge=None), (f"no judge was asked: that needs the role player; this key has {caller.role}",)


async def judge(plan: Plan, context: Context, run: RunInThread = asyncio.to_thread) -> Evaluation:
    """Judge one context, with the plan's judge where it is wanted. Nobody else waits for what takes long."""
    refuse_files(context)
    if asks_judge(plan):
        return await aevaluate(plan, context)
    if _takes_long((plan,), context):
        return await run(_evaluate_with_evidence, plan, context)
    return evaluate(plan, context)


async def judge_all(plans: Sequence[Plan], context: Context, run: RunInThread = asyncio.to_thread) -> list[Evaluation]:
    """Judge one context by several plans: by code one after the other, then by models at the same time."""
    refuse_files(context)
    coded = [plan for plan in plans if not asks_judge(plan)]
    if _takes_long(coded, context):
        by_code = await run(lambda: [_evaluate_with_evidence(plan, context) for plan in coded])
    else:
        by_code = [evaluate(plan, context) for plan in coded]
    by_models = await asyncio.gather(*(aevaluate(plan, context) for plan in plans if asks_judge(plan)))
    done = {True: iter(by_models), False: iter(by_code)}
    return [next(done[asks_judge(plan)]) for plan in plans]


def asks_judge(plan: Plan) -> bool:
    """Whether a model is asked."""
    return plan.judge is not None and plan.judged


def _takes_long(plans: Sequence[Plan], context: Context) -> bool:
    return length(context) * sum(OF_FEATURES + plan.sources.lexicon.steps for plan in plans) > MOST_INLINE


def _evaluate_with_evidence(plan: Plan, context: Context) -> Evaluation:
    """An evaluation whose evidence has been looked for already: finding it takes time, too."""
    evaluation = evaluate(plan, context)
    list(_lines(evaluation.dimensions))
    return evaluation


def length(context: Context) -> int:
    """Characters of text in a context.

    >>> length(Context(prompt="Why?", response="So."))
    7
    """
    total = len(context.prompt) + len(context.response)
    for round_ in context.round_history:
        total += len(round_.prompt) + len(round_.response)
    for message in context.messages:
        total += len(message.content)
    return total


def _share(score: float, out_of: float) -> float:
    return min(max(round(score / out_of, NOISE_DIGITS), 0.0), 1.0)


def _lines(dimensions: Mapping[str, DimensionResult]) -> Iterator[RuleLine]:
    for name, result in dimensions.items():
        for hit in result.hits:
            yield RuleLine(
                name,
                hit.rule,
                hit.type,
                hit.points,
                hit.reason,
                hit.category,
                hit.count,
                tuple(hit.spans),
                hit.error or UNSET,
            )
        if result.parts:
            yield from _lines(result.parts)


def _dimension_score(result: DimensionResult) -> DimensionScore:
    return DimensionScore(
        result.value,
        result.share,
        result.status,
        result.reason,
        result.weight,
        result.low,
        result.high,
        result.confidence,
        {name: _dimension_score(part) for name, part in result.parts.items()} if result.parts else UNSET,
        result.bounds or UNSET,
        result.label or UNSET,
        UNSET if result.points is None else result.points,
        UNSET if result.earned is None else result.earned,
        result.tags or UNSET,
        result.asks or UNSET,
    )
