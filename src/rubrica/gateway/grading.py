"""Grades an answer as the rubric says, within a deadline.

An answer that nobody could grade does not pass, nor does one of which the bounds of offline scores leave that open.
Judges are shown head and tail of a long answer. Code reads all of it, and looks for unsafe statements in what judges
are not shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate, ask_judge, begin, evaluate
from rubrica.engine.plan import Plan
from rubrica.engine.plan_cache import PlanCache
from rubrica.engine.state import EvaluationState
from rubrica.errors import ContextError, InputError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import INCONCLUSIVE, Cost, Evaluation, GateResult, Score, Unscored
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.text.safety import search_unsafe
from rubrica.text.truncation import Excerpt, excerpt

from .chat import SHOWN_ROLES, Chat, ChatTurn
from .variants import with_thresholds
from .workers import GradingBusyError, Workers

FAILED_SHARE = 0.5
"""Of full marks: what an answer counts that nobody could grade. It does not pass, so the request escalates."""

MOST_VARIANTS = 64
"""Compiled rubrics kept for thresholds that requests choose."""

CHARACTERS = 20_000
"""Of a question, of an answer, and of the turns between, that judges are shown; of longer ones their head and tail."""

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
    unsafe_beyond: str = ""  # the family of an unsafe statement in the part that judges were not shown

    @property
    def cost(self) -> Cost | None:
        return self.evaluation.cost if self.evaluation is not None else None

    @property
    def veto(self) -> str:
        """The gate that settled the verdict against the answer, whatever its score; empty where none did."""
        if self.unsafe_beyond:
            return f"unsafe-{self.unsafe_beyond}"
        return next((gate.name for gate in self._vetoes if gate.fired), "") if not self.passed else ""

    @property
    def may_be_vetoed(self) -> str:
        """The gate that settled the verdict, or that could not be judged; for an answer without a grade, that."""
        if self.evaluation is None:
            return "ungraded"
        if self.unsafe_beyond:
            return self.veto
        return next((gate.name for gate in self._vetoes), "") if not self.passed else ""

    @property
    def _vetoes(self) -> tuple[GateResult, ...]:
        gates = self.evaluation.gates if self.evaluation is not None else ()
        return tuple(gate for gate in gates if gate.effect == "verdict")

    @property
    def words(self) -> str:
        """The score, and between what it lies where formulas estimated it."""
        if self.evaluation is None or not self.estimated:
            return f"{self.score:g}"
        low, high = self.evaluation.bounds
        return f"{self.score:g} (an offline estimate{f' within {low:g} to {high:g}' if low < high else ''})"

    @property
    def estimated(self) -> bool:
        """Whether formulas stood in for judges."""
        return self.evaluation is not None and self.evaluation.offline

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
        failure, unseen = "", _Unseen()
        shown = excerpt_of(chat, answer, self._characters)
        whole = replace(shown, answer=Excerpt(answer))
        shown = whole if plan.judge is None else shown
        try:
            async with asyncio.timeout(self._deadline):
                if plan.judge is not None and shown.answer.left_out:
                    evaluation, unseen = await self._evaluate_long(plan, shown, whole, question_type)
                else:
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
            failure = why_open(evaluation)
        passed = evaluation is not None and evaluation.verdict == self.rubric.verdicts[0].label
        failure = failure or (unseen.reason if passed else "")
        notes = (shown.note, *(evaluation.notes if evaluation is not None else ()))
        note = "; ".join(dict.fromkeys(filter(None, notes)))
        if failure or evaluation is None:
            failed = FAILED_SHARE * out_of
            return Grade(question_type, wanted, failed, False, evaluation, failure, spent, note, unseen.family)
        # Grading that stopped once the verdict was decided leaves the score open: the nearer end of what it can be.
        low, high = evaluation.bounds
        score = evaluation.score if evaluation.score is not None else low if passed else high
        return Grade(question_type, wanted, score, passed, evaluation, "", spent, note, unseen.family)

    async def _evaluate(self, plan: Plan, texts: GradedTexts, question_type: str) -> Evaluation:
        """On the event loop where it takes next to no time or waits for judges; else in a thread."""
        if plan.judge is not None or texts.size <= AT_ONCE:
            return await aevaluate(plan, context_of(texts, question_type))
        return await self._workers.run(lambda: evaluate(plan, context_of(texts, question_type)))

    async def _evaluate_long(
        self, plan: Plan, shown: GradedTexts, whole: GradedTexts, question_type: str
    ) -> tuple[Evaluation, _Unseen]:
        """By judges, who are shown a part of the answer, and by code, which reads all of it in a thread.

        With it comes why the answer cannot pass, where that lies in what judges are not shown.
        """
        seen = context_of(shown, question_type)

        async def ask(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:  # noqa: ARG001
            return {} if plan.judge is None else await plan.judge(axes, seen)

        state, unseen = await self._workers.run(_begin_whole, plan, whole, shown.answer, question_type)
        return await ask_judge(state, ask), unseen

    @property
    def judged(self) -> bool:
        """Whether judges grade, who may give the same answer another grade the next time."""
        return self._judge is not None

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
    answer: Excerpt
    turns: tuple[ChatTurn, ...]  # before the answer; none where the question is all
    images: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # what was left out beside the answer

    @property
    def note(self) -> str:
        """What was left out."""
        return "; ".join(filter(None, (*self.left_out, self.answer.note("answer"))))

    @property
    def size(self) -> int:
        """Characters in all."""
        return len(self.question) + len(self.answer.text) + sum(len(turn.text) for turn in self.turns)


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
    notes = [question.note("question")]
    if turns and len(turns) < len(asked):
        notes.append(f"the conversation has {len(asked):,} turns: the last {len(turns):,} were read")
    return GradedTexts(question.text, given, tuple(turns), chat.images, tuple(notes))


def context_of(shown: GradedTexts, question_type: str) -> Context:
    """The same as a rubric takes it."""
    earlier = [{"role": _role(turn.role), "content": turn.text} for turn in shown.turns]
    return Context.of(
        {
            "prompt": shown.question,
            "response": shown.answer.text,
            "messages": [*earlier, {"role": "assistant", "content": shown.answer.text}] if earlier else [],
            "images": list(shown.images),
            "question_type": question_type,
        }
    )


def _role(role: str) -> str:
    return "system" if role == "developer" else role


def why_open(evaluation: Evaluation) -> str:
    """Why it is open whether an answer passes, with what the gateway is started with to have a judge tell."""
    way_out = " (--grader MODEL)" if evaluation.offline else ""
    return f"the grade is open: {evaluation.reason}{way_out}"


def _scored(evaluation: Evaluation) -> bool:
    return any(result.status in ("scored", "not_needed") for result in evaluation.dimensions.values())


@dataclass(frozen=True, slots=True)
class _Unseen:
    """What the part of an answer that judges are not shown says about it."""

    reason: str = ""  # why the answer cannot pass
    family: str = ""  # of the unsafe statement in it


def _begin_whole(plan: Plan, texts: GradedTexts, shown: Excerpt, question_type: str) -> tuple[EvaluationState, _Unseen]:
    """All that code reads of a whole answer, and why it cannot pass whatever judges say of the part they are shown."""
    state = begin(plan, context_of(texts, question_type))
    state.namespace.partial_counts(plan.decision.reads_others)  # which gates would read on the event loop
    found = search_unsafe(texts.answer.text)
    first, last = shown.head, len(texts.answer.text) - shown.tail
    for item in found.found:
        if not item.excused and item.end > first and item.start < last:
            why = f"the part of the answer that judges were not shown has an unsafe statement ({item.family})"
            return state, _Unseen(why, item.family)
    if found.unread:
        return state, _Unseen(f"nobody has looked for unsafe statements in {found.unread:,} characters of the answer")
    return state, _Unseen()
