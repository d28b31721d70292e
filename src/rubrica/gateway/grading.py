"""Grades an answer as the rubric says, within a deadline. An answer that nobody could grade does not pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import ContextError, InputError
from rubrica.model.context import Context
from rubrica.model.evaluation import INCONCLUSIVE, Cost, Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric

from .chat import SHOWN_ROLES, Chat
from .variants import with_thresholds

FAILED_SHARE = 0.5
"""Of full marks: what an answer counts that nobody could grade. It does not pass, so the request escalates."""

MOST_VARIANTS = 64
"""Compiled rubrics kept for thresholds that requests choose."""


@dataclass(frozen=True, slots=True)
class Grade:
    """What an answer is worth, and whether that is enough."""

    question_type: str
    threshold: float  # on out_of
    score: float  # on out_of; where grading stopped early, the bound of it that decided
    passed: bool
    evaluation: Evaluation | None = None
    failure: str = ""  # why there is no evaluation
    duration_ms: float = 0.0

    @property
    def cost(self) -> Cost | None:
        return self.evaluation.cost if self.evaluation is not None else None

    @property
    def api_call_ms(self) -> float:
        """The longest call to a judge: dimensions are judged side by side."""
        found = self.evaluation.dimensions.values() if self.evaluation is not None else ()
        return max((result.duration_ms for result in found if result.source == "llm"), default=0.0)


class Grader:
    """Grades under one rubric. The plan carries the judges, or its offline scorers stand in."""

    def __init__(self, rubric: Rubric, judge: Judge | None = None, *, deadline: float) -> None:
        self.rubric = rubric
        self.question_types = tuple(rubric.profiles.named) if rubric.profiles is not None else ()
        self._judge = judge
        self._deadline = deadline  # seconds
        self._plan = compile_rubric(rubric, judge)
        self._variants: dict[tuple[str, float], Plan] = {}

    async def __call__(self, chat: Chat, answer: str, question_type: str, threshold: float | None = None) -> Grade:
        """Grade one answer. Nothing is raised but an InputError for a threshold that cannot be."""
        started = time.perf_counter()
        plan = self._plan if threshold is None else self._variant(question_type, threshold)
        evaluation: Evaluation | None = None
        failure = ""
        try:
            async with asyncio.timeout(self._deadline):
                evaluation = await aevaluate(plan, context_of(chat, answer, question_type))
        except TimeoutError:
            failure = f"no grade within {self._deadline:g} s"
        except Exception as error:  # noqa: BLE001 - the boundary of a grader: whatever it raises, the request goes on
            failure = f"grading failed: {error or type(error).__name__}"
        if evaluation is not None and not _scored(evaluation):
            failure = "no dimension could be graded"
        out_of = plan.ruling.out_of
        wanted = self.threshold(question_type) if threshold is None else threshold
        spent = (time.perf_counter() - started) * 1000
        if not failure and evaluation is not None and evaluation.verdict == INCONCLUSIVE:
            failure = f"the grade is open: {evaluation.reason}"
        if failure or evaluation is None:
            return Grade(question_type, wanted, FAILED_SHARE * out_of, False, evaluation, failure, spent)
        passed = evaluation.verdict == self.rubric.verdicts[0].label
        # Grading that stopped once the verdict was decided leaves the score open: the nearer end of what it can be.
        low, high = evaluation.bounds
        score = evaluation.score if evaluation.score is not None else low if passed else high
        return Grade(question_type, wanted, score, passed, evaluation, "", spent)

    def prepare(self, question_types: Sequence[str]) -> None:
        """Grade a sentence of each type, offline: a rubric that cannot is refused now, and not by every request.

        It also does what the first grade would wait for: patterns and word lists are made ready when first used.
        """
        for question_type in question_types:
            sample = {"prompt": "Is it ready?", "response": "Yes, it is ready.", "question_type": question_type}
            try:
                evaluate(self._plan, Context.of(sample))
            except ContextError as error:
                raise InputError(f"{self.rubric.reference} cannot grade answers of a gateway: {error}") from None

    def threshold(self, question_type: str) -> float:
        """The pass mark of a question type."""
        profiles = self.rubric.profiles
        if profiles is not None:
            profile = profiles.named.get(question_type) or profiles.named.get(profiles.default or "")
            if profile is not None and profile.threshold is not None:
                return profile.threshold
        return self.rubric.threshold if self.rubric.threshold is not None else 0.0

    def _variant(self, question_type: str, threshold: float) -> Plan:
        key = (question_type, threshold)
        if key not in self._variants:
            if len(self._variants) >= MOST_VARIANTS:
                self._variants.clear()
            rubric = with_thresholds(self.rubric, {question_type: threshold})
            self._variants[key] = compile_rubric(rubric, self._judge)
        return self._variants[key]


def context_of(chat: Chat, answer: str, question_type: str) -> Context:
    """What the grader sees: the question with the turns before it, and the answer."""
    asked = [turn for turn in chat.turns if turn.text and turn.role in SHOWN_ROLES]
    earlier = [{"role": _role(turn.role), "content": turn.text} for turn in asked]
    return Context.of(
        {
            "prompt": chat.question,
            "response": answer,
            "messages": [*earlier, {"role": "assistant", "content": answer}] if len(asked) > 1 else [],
            "images": list(chat.images),
            "question_type": question_type,
        }
    )


def _role(role: str) -> str:
    return "system" if role == "developer" else role


def _scored(evaluation: Evaluation) -> bool:
    return any(result.status in ("scored", "not_needed") for result in evaluation.dimensions.values())
