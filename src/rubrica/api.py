"""The functions of the Python interface. Everything here takes a rubric by name, by path, or loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubrica.engine import evaluate as engine
from rubrica.engine import rejudge as rejudging
from rubrica.engine.compile import compile_rubric
from rubrica.engine.plan import Plan
from rubrica.extras import requires
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation, Unscored
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load

if TYPE_CHECKING:
    from rubrica.judges.jury import Jury
    from rubrica.judges.preference import Preference

RubricLike = str | Path | Mapping[str, Any] | Rubric | Plan
ContextLike = Mapping[str, Any] | Context | None


def compile(rubric: RubricLike, *, judge: Judge | None = None) -> Plan:
    """Compile a rubric once into a Plan that can be reused.

    >>> plan = compile("answer-quality")
    >>> evaluate(plan, prompt="What is 2 + 2?", response="4").rubric
    'answer-quality'
    """
    if isinstance(rubric, Plan):
        return rubric if judge is None else compile_rubric(rubric.rubric, judge)
    return compile_rubric(load(rubric), judge)


def evaluate(
    rubric: RubricLike,
    *,
    prompt: str = "",
    response: str | None = None,
    context: ContextLike = None,
    judge: Judge | str | Sequence[str] | None = None,
) -> Evaluation:
    """Judge one response. Without a judge, judged dimensions use their offline scorer and say so.

    A judge may be given by name, such as ``"anthropic:claude-haiku-4-5"``, and several names are a panel; for many
    responses open a `Jury` once.

    >>> result = evaluate("speed-demon", response="Done.", context={"metadata": {"response_time": 20}})
    >>> result.score, result.verdict
    (0.5, 'scored')
    """
    if judge is None:
        plan = compile(rubric)
        if plan.judge is None:
            return engine.evaluate(plan, _context(context, prompt, response))
    return asyncio.run(aevaluate(rubric, prompt=prompt, response=response, context=context, judge=judge))


async def aevaluate(
    rubric: RubricLike,
    *,
    prompt: str = "",
    response: str | None = None,
    context: ContextLike = None,
    judge: Judge | str | Sequence[str] | None = None,
) -> Evaluation:
    """Judge one response inside a running event loop."""
    seen = _context(context, prompt, response)
    if not isinstance(judge, str | Sequence):
        return await engine.aevaluate(compile(rubric, judge=judge), seen)
    plan = compile(rubric)
    async with _jury(*([judge] if isinstance(judge, str) else judge)) as jury:
        return await engine.aevaluate(compile(plan, judge=jury.judge(plan.rubric)), seen)


def decide(rubric: RubricLike, scores: Mapping[str, Any], context: ContextLike = None) -> Evaluation:
    """Compute an Evaluation from given dimension scores, each on its own scale. Nothing is scored.

    >>> marks = {"accuracy": 9, "completeness": 9, "clarity": 9, "depth": 8, "safety": 10}
    >>> result = decide("answer-quality", marks, context={"question_type": "FACTUAL"})
    >>> result.score, result.verdict
    (90.0, 'pass')
    """
    return rejudging.decide(compile(rubric), scores, Context.of(context))


def rejudge(rubric: RubricLike, stored: Evaluation) -> Evaluation:
    """Apply a changed rubric to a stored evaluation, without scoring anything again."""
    return rejudging.rejudge(compile(rubric), stored)


def prefer(
    prompt: str,
    first: str,
    second: str,
    *,
    judge: str | Sequence[str],
    rubric: RubricLike | None = None,
    graded: bool = False,
) -> Preference | Unscored:
    """Say which of two responses is better: ``first``, ``second``, or a tie where `choice` is None.

    Every model is asked twice, with the responses in both orders, so that position bias cancels out. If no reply can be
    read, the result is Unscored with the reason. With a rubric, its dimensions are the criteria, and its calibration
    weights the models.
    """
    return rank(prompt, {"first": first, "second": second}, judge=judge, rubric=rubric, graded=graded)


def rank(
    prompt: str,
    responses: Mapping[str, str],
    *,
    judge: str | Sequence[str],
    rubric: RubricLike | None = None,
    graded: bool = False,
) -> Preference | Unscored:
    """Rank two or more responses by name; `prefer` describes how they are compared."""
    return asyncio.run(arank(prompt, responses, judge=judge, rubric=rubric, graded=graded))


async def arank(
    prompt: str,
    responses: Mapping[str, str],
    *,
    judge: str | Sequence[str],
    rubric: RubricLike | None = None,
    graded: bool = False,
) -> Preference | Unscored:
    """`rank` inside a running event loop."""
    by = None if rubric is None else compile(rubric).rubric
    async with _jury(*([judge] if isinstance(judge, str) else judge)) as jury:
        return await jury.rank(prompt, responses, by, graded=graded)


def _jury(*names: str) -> Jury:
    """A jury of models. Imported here because scoring by code needs neither the HTTP client nor the price list."""
    with requires("judges", ", ".join(names)):
        from rubrica.judges.jury import Jury
    return Jury(names)


def _context(context: ContextLike, prompt: str, response: str | None) -> Context:
    texts = {key: text for key, text in (("prompt", prompt), ("response", response)) if text}
    found = Context.of(context, **texts)
    return Context.of(found, response="") if response == "" and not found.has_response else found
