"""Rubrics as assertions: a test fails when a response does not pass, and says why."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from rubrica import api
from rubrica.api import ContextLike, RubricLike
from rubrica.engine.counterfactuals import attainability
from rubrica.engine.plan import Plan
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.evaluation import INCONCLUSIVE, DimensionResult, Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.report.figures import STATUS_WORDS, duration, figure, price, within
from rubrica.report.roles import role_of

PLUGIN = "rubrica.pytest_plugin"
WEAKEST = 3
"""Dimensions that a failed assertion names."""
LONGEST = 300
"""Characters of a response that are quoted."""


@dataclass(slots=True)
class Session:
    """What assertions have in common while tests run: the judge they ask by default, and what they found so far."""

    judge: str | None = None
    listening: bool = field(default_factory=lambda: PLUGIN in sys.modules)  # whether anybody takes what was heard
    heard: list[Judged] = field(default_factory=list)

    def take(self) -> list[Judged]:
        """What was found since the last time."""
        found, self.heard = self.heard, []
        return found


@dataclass(frozen=True, slots=True)
class Judged:
    """An evaluation that an assertion made, and what it complained about, if anything."""

    evaluation: Evaluation
    rubric: Rubric
    complaint: str = ""


SESSION = Session()
"""The pytest plugin sets the judge and takes what was heard; without it nothing is kept."""


def assert_passes(
    rubric: RubricLike,
    *,
    response: str = "",
    prompt: str = "",
    context: ContextLike = None,
    judge: Judge | str | Sequence[str] | None = None,
    min_score: float | None = None,
    verdict: str | Collection[str] | None = None,
) -> Evaluation:
    """Judge a response, and raise an AssertionError that explains itself unless it passes.

    It passes with the rubric's good verdict. `verdict` asks for another one, or for one of several; `min_score` for a
    score, out of the rubric's full marks: a score that is only known within bounds has to reach it with their lower
    end. With `min_score` alone the verdict does not matter. Without a judge, the one of ``pytest --rubrica-judge`` is
    asked; without that, offline stand-ins judge.

    >>> assert_passes("norm-macdonald-classic", response="In 1974 my doctor had a moth.", min_score=0.2).score
    0.25
    """
    __tracebackhide__ = True
    plan = api.compile(rubric)
    wanted = _wanted(plan.rubric, min_score, verdict)
    seen = Context.of(context, **{name: text for name, text in (("prompt", prompt), ("response", response)) if text})
    evaluation = _evaluated(plan, seen, judge if judge is not None or plan.judge is not None else SESSION.judge)
    complaint = "" if wanted.met_by(evaluation) else "\n".join(explanation_of(plan, evaluation, wanted))
    if SESSION.listening:
        SESSION.heard.append(Judged(evaluation, plan.rubric, complaint))
    if complaint:
        raise AssertionError(complaint)
    return evaluation


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an assertion asks for."""

    verdicts: frozenset[str]  # empty: any
    min_score: float | None = None

    def met_by(self, evaluation: Evaluation) -> bool:
        if self.min_score is not None and (evaluation.score is None or evaluation.bounds[0] < self.min_score):
            return False
        return not self.verdicts or evaluation.verdict in self.verdicts

    def __str__(self) -> str:
        parts = [" or ".join(sorted(self.verdicts))] if self.verdicts else []
        parts += [f"a score of {figure(self.min_score)} or more"] if self.min_score is not None else []
        return " with ".join(parts)


def _wanted(rubric: Rubric, min_score: float | None, verdict: str | Collection[str] | None) -> Wanted:
    labels = dict.fromkeys([rule.label for rule in rubric.verdicts] + [g.verdict for g in rubric.gates if g.verdict])
    if verdict is not None:
        asked = frozenset([verdict] if isinstance(verdict, str) else verdict)
        if unknown := asked - labels.keys() - {INCONCLUSIVE}:
            raise ContextError(f"{rubric.reference} never gives {sorted(unknown)[0]!r}; it gives {', '.join(labels)}")
        return Wanted(asked, min_score)
    if min_score is not None:
        return Wanted(frozenset(), min_score)
    good = frozenset(label for label in labels if role_of(label, rubric) == "good")
    if not good:
        raise ContextError(
            f"{rubric.reference} has no verdict that says a response is good; it gives {', '.join(labels)} "
            "(say which one passes with verdict=…, or ask for a score with min_score=…)"
        )
    return Wanted(good)


def _evaluated(plan: Plan, context: Context, judge: Judge | str | Sequence[str] | None) -> Evaluation:
    """Judge here; inside a running event loop, which cannot be waited for, on a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return api.evaluate(plan, context=context, judge=judge)
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(api.evaluate, plan, context=context, judge=judge).result()


# --- what a failed assertion says -------------------------------------------------------------------------


def explanation_of(plan: Plan, evaluation: Evaluation, wanted: Wanted) -> Iterator[str]:
    """Why a response does not pass, line by line."""
    ends = within(evaluation.bounds)
    score = figure(evaluation.score) + (f" (within {ends})" if ends else "")
    if evaluation.score is None:
        score = "between " + " and ".join(figure(end) for end in evaluation.bounds)
    yield f"{plan.rubric.reference}: {evaluation.verdict}, {score} of {figure(evaluation.out_of)}; wanted: {wanted}"
    yield f"  why: {evaluation.reason}"
    for gate in evaluation.gates:
        if gate.fired:
            yield f"  gate {gate.name}: {gate.reason or gate.when}"
    yield from (f"  could not be applied: {error}" for error in evaluation.errors)
    weakest = _weakest(evaluation)
    if weakest:
        yield "  weakest:"
        width = max(len(name) for name, _ in weakest)
        for name, result in weakest:
            scored = f"{figure(result.value)} / {figure(result.high)}" if result.value is not None else "not scored"
            stand_in = " (offline stand-in)" if result.offline else ""
            yield f"    {name:<{width}}  {scored}{stand_in}  {result.why}".rstrip()
    changes = list(_changes(plan, evaluation, wanted))
    if changes:
        yield "  what would change it:"
        yield from (f"    {change}" for change in changes)
    response = evaluation.context.response if evaluation.context is not None else ""
    yield f"  response: {_quote(response)}"
    if evaluation.offline:
        yield "  no judge was asked: --rubrica-judge MODEL, or judge=…, asks one"


def outline_of(evaluation: Evaluation) -> Iterator[str]:
    """An evaluation with all its dimensions, line by line."""
    paid = price(evaluation.cost)
    traces = ", ".join(part for part in (duration(evaluation.duration_ms), paid) if part)
    score = figure(evaluation.score)
    told = f"{evaluation.verdict}, {score} of {figure(evaluation.out_of)} ({traces})"
    yield f"{evaluation.rubric}@{evaluation.version}: {told}"
    width = max(map(len, evaluation.dimensions), default=0)
    for name, result in evaluation.dimensions.items():
        value = f"{figure(result.value)} / {figure(result.high)}"
        scored = value if result.value is not None else STATUS_WORDS[result.status]
        yield f"  {name:<{width}}  {scored}  {result.why}".rstrip()


def _weakest(evaluation: Evaluation) -> list[tuple[str, DimensionResult]]:
    """The dimensions that cost most, those without a score first."""

    def loss(found: tuple[str, DimensionResult]) -> float:
        result = found[1]
        return math.inf if result.share is None else (1 - result.share) * (result.weight or 1.0)

    judged = (
        (name, r) for name, r in evaluation.dimensions.items() if r.status not in ("not_applicable", "not_needed")
    )
    return [found for found in sorted(judged, key=loss, reverse=True)[:WEAKEST] if loss(found) > 0]


def _changes(plan: Plan, evaluation: Evaluation, wanted: Wanted) -> Iterator[str]:
    """Which dimension, scored higher with all else the same, would have made it pass: found by trying."""
    found = attainability(plan, evaluation, wanted.met_by)
    if not found.rests_on_scores:
        return
    for turn in found.alone:
        now = "it has none" if turn.now is None else f"now {figure(turn.now)}"
        yield f"{turn.dimension} at {figure(turn.value)} or more ({now}), all else the same"
    if not found.alone:
        yield "no dimension alone" if found.together else "not the scores: full marks everywhere would not pass either"


def _quote(text: str) -> str:
    line = " ".join(text[: LONGEST * 2].split())
    return repr(line if len(line) <= LONGEST else line[: LONGEST - 1] + "…")
