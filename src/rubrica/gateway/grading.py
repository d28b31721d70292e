"""Grades an answer as the rubric says, within a deadline.

An answer that nobody could grade does not pass, nor does one of which the bounds of offline scores leave that open.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.engine.plan import Plan
from rubrica.engine.plan_cache import PlanCache
from rubrica.errors import ContextError, InputError
from rubrica.model.context import Context
from rubrica.model.evaluation import INCONCLUSIVE, Cost, Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.text.truncation import excerpt

from .chat import SHOWN_ROLES, Chat, ChatTurn
from .variants import with_thresholds
from .workers import GradingBusyError, Workers

FAILED_SHARE = 0.5
"""Of full marks: what an answer counts that nobody could grade. It does not pass, so the request escalates."""

MOST_VARIANTS = 64
"""Compiled rubrics kept for thresholds that requests choose."""

CHARACTERS = 20_000
"""Of a question, of an answer, and of the turns between, that are graded; of longer ones their head and tail."""

AT_ONCE = 1_000
"""Characters that are graded on the event loop: they take a millisecond or two, less than a thread may hold it up."""


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
    note: str = ""  # what was left out of long texts

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

    def __init__(
        self,
        rubric: Rubric,
        judge: Judge | None = None,
        *,
        deadline: float,  # seconds
        characters: int = CHARACTERS,
        workers: Workers | None = None,
    ) -> None:
        self.rubric = rubric
        self.question_types = tuple(rubric.profiles.named) if rubric.profiles is not None else ()
        self._judge = judge
        self._deadline, self._characters = deadline, characters
        self._workers = Workers() if workers is None else workers
        self._plan = compile_rubric(rubric, judge)
        self._variants: PlanCache[Plan] = PlanCache(lambda plan: plan, MOST_VARIANTS)

    async def __call__(self, chat: Chat, answer: str, question_type: str, threshold: float | None = None) -> Grade:
        """Grade one answer. Nothing is raised but an InputError for a threshold that cannot be."""
        started = time.perf_counter()
        plan = self._plan if threshold is None else await self._variant(question_type, threshold)
        evaluation: Evaluation | None = None
        failure = ""
        shown = excerpt_of(chat, answer, self._characters)
        try:
            async with asyncio.timeout(self._deadline):
                evaluation = await self._evaluate(plan, shown, question_type)
        except TimeoutError:
            failure = f"no grade within {self._deadline:g} s"
        except Exception as error:  # noqa: BLE001 - the boundary of a grader: whatever it raises, the request goes on
            failure = f"grading failed: {error or type(error).__name__}"
        if evaluation is not None and not _scored(evaluation):
            failure = "no dimension could be graded"
        out_of = plan.decision.out_of
        wanted = self.threshold(question_type) if threshold is None else threshold
        spent = (time.perf_counter() - started) * 1000
        if not failure and evaluation is not None and evaluation.verdict == INCONCLUSIVE and evaluation.score is None:
            failure = f"the grade is open: {evaluation.reason}"
        if failure or evaluation is None:
            return Grade(question_type, wanted, FAILED_SHARE * out_of, False, evaluation, failure, spent, shown.note)
        passed = evaluation.verdict == self.rubric.verdicts[0].label
        # Grading that stopped once the verdict was decided leaves the score open: the nearer end of what it can be.
        low, high = evaluation.bounds
        score = evaluation.score if evaluation.score is not None else low if passed else high
        return Grade(question_type, wanted, score, passed, evaluation, "", spent, shown.note)

    async def _evaluate(self, plan: Plan, shown: GradedTexts, question_type: str) -> Evaluation:
        """On the event loop where it takes next to no time or waits for judges; else in a thread."""
        context = context_of(shown, question_type)
        if plan.judge is not None or shown.size <= AT_ONCE:
            return await aevaluate(plan, context)
        return await self._workers.run(evaluate, plan, context)

    @property
    def questions(self) -> int:
        """The most questions that judges are asked about one answer."""
        if self._judge is None:
            return 0
        axes = [axis for axis in self._plan.axes if axis.judged or axis.parts]
        each = sum(max(1, sum(part.judged for part in axis.parts)) for axis in axes)
        return each * self.rubric.judging.repeats

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

    async def _variant(self, question_type: str, threshold: float) -> Plan:
        key = (question_type, threshold)
        found = self._variants.get(key)
        if found is None:
            rubric = with_thresholds(self.rubric, {question_type: threshold})
            try:
                found = await self._workers.run(compile_rubric, rubric, self._judge)
            except GradingBusyError:
                found = compile_rubric(rubric, self._judge)
            self._variants.put(key, found)
        return found


@dataclass(frozen=True, slots=True)
class GradedTexts:
    """What a grader sees of a conversation and its answer."""

    question: str
    answer: str
    turns: tuple[ChatTurn, ...]  # before the answer; none where the question is all
    images: tuple[str, ...]
    note: str = ""  # what was left out

    @property
    def size(self) -> int:
        """Characters in all."""
        return len(self.question) + len(self.answer) + sum(len(turn.text) for turn in self.turns)


def excerpt_of(chat: Chat, answer: str, characters: int) -> GradedTexts:
    """The question with the turns before it, and the answer; of long ones their head and tail.

    Of a long conversation, the latest turns are shown that are no longer together.
    """
    question, given = excerpt(chat.question, characters), excerpt(answer, characters)
    asked = [turn for turn in chat.turns if turn.text and turn.role in SHOWN_ROLES]
    turns: list[ChatTurn] = []
    if len(asked) > 1:
        left = characters
        for turn in reversed(asked):
            kept = excerpt(turn.text, characters)
            left -= len(kept.text)
            if left < 0 and turns:
                break
            turns.append(ChatTurn(turn.role, kept.text))
        turns.reverse()
    notes = [question.note("question"), given.note("answer")]
    if turns and len(turns) < len(asked):
        notes.append(f"the conversation has {len(asked):,} turns: the last {len(turns):,} were read")
    return GradedTexts(question.text, given.text, tuple(turns), chat.images, "; ".join(filter(None, notes)))


def context_of(shown: GradedTexts, question_type: str) -> Context:
    """The same as a rubric takes it."""
    earlier = [{"role": _role(turn.role), "content": turn.text} for turn in shown.turns]
    return Context.of(
        {
            "prompt": shown.question,
            "response": shown.answer,
            "messages": [*earlier, {"role": "assistant", "content": shown.answer}] if earlier else [],
            "images": list(shown.images),
            "question_type": question_type,
        }
    )


def _role(role: str) -> str:
    return "system" if role == "developer" else role


def _scored(evaluation: Evaluation) -> bool:
    return any(result.status in ("scored", "not_needed") for result in evaluation.dimensions.values())
