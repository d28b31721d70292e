"""One request's way: classify, ask tier-0, grade, and return its answer or escalate to tier-1.

The rules, in order:

1. A forced tier, or a request without grading, asks that one tier; nothing is classified or graded.
2. A request whose answer could not be graded goes where `grading.ungraded` says.
3. Otherwise tier-0 is asked while the question is classified, and its answer is graded. If it passes, it is returned.
   A learned gate may know enough to do without tier-0, or without the grade.
   An answer that calls tools is held against their schemas, and graded as a call and not as a text.
4. If it fails, or tier-0 is down, tier-1 answers. With more than two tiers, each is asked and graded in turn, and the
   last answers where none of them passes. Where tier-0 is slow, `hedge` may have the last one asked meanwhile.
5. If tier-1 is down or there is none, the best answer seen is returned, marked as degraded.
6. If a gate of the rubric vetoes tier-0's answer, tier-1's is graded, too. Where no answer is known to pass the gates,
   the client gets a refusal, unless `grading.unsafe` says otherwise: an unsafe answer is never the best one.
7. If there is no answer at all, `AllDownError` tells what went wrong where.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from rubrica.errors import InputError
from rubrica.llm.model import ModelError
from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.model.judge import QuestionClass
from rubrica.text.safety import search_unsafe

from .chat import Chat
from .classifier import Classifier
from .controls import PREFIX, TIERS, Controls, Tier
from .grading import Grade, Grader, why_open
from .hedging import SpareAnswer, ask_tier, end_tasks, first_answer, overtaken
from .learned_gate.holder import GateHolder
from .learned_gate.learn import LearnedGate
from .learned_gate.signals import QuestionSignals, answer_signals, question_signals
from .middle_tiers import TWO_TIERS, MiddleTiers, TierQuestion, best_try
from .refusal import refusal
from .routed_answer import AllDownError, RoutedAnswer, RouteStep, StepStatus
from .tool_calls import calls_of, check_calls, shown_calls
from .upstream import Completion, HedgedCall, Upstream


@dataclass(frozen=True, slots=True)
class Route:
    """The models and the grader that requests go through."""

    tier0: Upstream
    tier1: Upstream | None
    grader: Grader
    classifier: Classifier
    ungraded: Tier = "tier-1"
    sees_images: bool = False  # whether the grader does
    sends_unsafe: bool = False  # for want of a better answer, and marked
    gate: GateHolder | None = None
    measurer: Grader | None = None  # grades what is compared; None: the grader does, once more
    made_for: str = ""  # the models and the rubric that comparisons teach the learned gate about
    call_grader: Grader | None = None  # asks a judge about calls of tools; None: code alone looks at them
    middle: MiddleTiers = TWO_TIERS  # between tier-0 and the last one, which is `tier1`
    hedge: float | None = None  # seconds after which the last tier is asked as well, where tier-0 has not answered

    @property
    def measures_alike(self) -> bool:
        """Whether grading an answer once more would only say the same."""
        return self.measurer is None and not self.grader.judged

    async def __call__(self, chat: Chat, controls: Controls, routed: RoutedAnswer | None = None) -> RoutedAnswer:
        """Answer one request by the rules above. A `routed` given here tells how far it came if it is cut short."""
        self._check(controls)
        routed = routed or RoutedAnswer("tier-0", self.tier0)
        routed.threshold = controls.threshold
        if controls.force is not None:
            return await self._ask_only(routed, chat, controls.force, "asked for by the request")
        if not controls.grading:
            return await self._ask_only(routed, chat, "tier-0", "grading is off for this request")
        reason = chat.ungradable or self._unseen(chat)
        if reason:
            tier = self.last if self.ungraded == "tier-1" else "tier-0"
            return await self._ask_only(routed, chat, tier, f"not gradable: {reason}")
        try:
            return await self._ask_and_grade(routed, chat, controls)
        finally:
            if (spare := routed.spare) is not None:
                routed.spare = None
                if (call := await spare.end()) is not None:
                    routed.hedged.append((spare.tier, call))

    def _check(self, controls: Controls) -> None:
        """Refuse what the rubric does not know before anybody is asked."""
        known, out_of = self.grader.question_types, self.grader.rubric.score.out_of
        if controls.question_type is not None and controls.question_type not in known:
            raise InputError(f"{PREFIX}type: {controls.question_type!r} is none of {', '.join(known)}")
        if controls.threshold is not None and (not known or controls.threshold > out_of):
            reason = f"scores end at {out_of:g}" if known else f"{self.grader.rubric.name} has no question types"
            raise InputError(f"{PREFIX}threshold: {controls.threshold:g} cannot be set: {reason}")

        if controls.force is not None and controls.force > self.last:
            tiers = TIERS[: TIERS.index(self.last) + 1]
            raise InputError(f"{PREFIX}force: {controls.force!r} is none of {', '.join(tiers)}")

    @property
    def last(self) -> Tier:
        """What `tier1` is called: the best of all tiers."""
        return self.middle.last

    def _unseen(self, chat: Chat) -> str:
        return "the grader cannot see images" if chat.images and not self.sees_images else ""

    def tier(self, tier: str) -> Upstream | None:
        """One of the tiers by its name."""
        return self.tier0 if tier == "tier-0" else self.tier1 if tier == self.last else self.middle.of(tier)

    async def _ask_only(self, routed: RoutedAnswer, chat: Chat, tier: Tier, why: str) -> RoutedAnswer:
        """Ask one tier without a grade; the other one stands in if it is down."""
        wanted = self.tier(tier)
        tier, asked = (tier, wanted) if wanted is not None else ("tier-0", self.tier0)
        routed.tier = tier
        if wanted is None:
            routed.degraded = "there is no tier-1"
        routed.steps += [RouteStep("classification", "skipped", why), RouteStep("grading", "skipped", why)]
        error = await _answer(routed, chat, asked)
        if error is None:
            return routed
        other: Tier = self.last if tier == "tier-0" else "tier-0"
        stand_in = self.tier(other)
        if stand_in is None or wanted is None:
            raise AllDownError({tier: error})
        routed.tier, routed.degraded = other, f"{tier} failed ({error.trouble})"
        second = await _answer(routed, chat, stand_in)
        if second is not None:
            raise AllDownError({tier: error, other: second})
        return routed

    async def _ask_and_grade(self, routed: RoutedAnswer, chat: Chat, controls: Controls) -> RoutedAnswer:
        gate = self._gate(controls)
        signals = question_signals(chat) if gate is not None else None
        if gate is not None and signals is not None and gate.skips_tier0(signals.values):
            routed.zone, routed.classified = "escalate", signals.classified
            return await self._ask_only(routed, chat, self.last, "tier-0 would hardly do, by the learned gate")
        found = await self._ask_and_classify(routed, chat, controls)
        if isinstance(found, ModelError):
            why = "tier-0 is slow" if routed.overtaken else f"tier-0 failed ({found.trouble})"
            return await self._escalate(routed, chat, why, found)
        answer, classified = found
        if answer.calls_tools and (called := await self._by_calls(routed, chat, answer, classified)) is not None:
            return called
        if not answer.text.strip():
            reason = "it calls tools" if answer.calls_tools else "it is empty"
            routed.steps.append(RouteStep("grading", "skipped", f"not gradable: {reason}"))
            if self.ungraded == "tier-0" and answer.calls_tools:
                return _accept_tier0(routed, answer, "not gradable: tier-0's answer stands")
            return await self._escalate(routed, chat, f"tier-0's answer cannot be graded: {reason}", answer)
        routed.passed_over = answer  # until it has passed
        if gate is not None and signals is not None:
            ended = await self._by_gate(routed, chat, answer, gate, signals)
            if ended is not None:
                return ended
        grade = await self.grader(chat, answer.text, classified.type, controls.threshold)
        return await self._by_grade(routed, chat, answer, grade)

    async def _by_calls(
        self, routed: RoutedAnswer, chat: Chat, answer: Completion, classified: QuestionClass
    ) -> RoutedAnswer | None:
        """Send or escalate tier-0's calls of tools; None: they cannot be graded as such."""
        calls = calls_of(answer)
        checked = check_calls(chat, calls)
        if checked is None or _may_be_unsafe("\n".join([answer.text, *(call.arguments for call in calls)])):
            return None
        routed.passed_over = answer  # until it has passed
        if checked.fault or self.call_grader is None:
            reason = checked.fault or checked.doubt
            routed.steps.append(RouteStep("grading", "complete", reason or "tools are called as their schemas say"))
            if not reason:
                return _accept_tier0(routed, answer, "its calls of tools are valid")
            return await self._escalate(routed, chat, f"a call of a tool: {reason}", answer)
        grade = await self.call_grader(chat, shown_calls(chat, answer, calls), classified.type)
        return await self._by_grade(routed, chat, answer, grade)

    async def _by_grade(self, routed: RoutedAnswer, chat: Chat, answer: Completion, grade: Grade) -> RoutedAnswer:
        """Send or escalate tier-0's answer, as its grade says."""
        routed.grade, said = grade, grade.failure or grade.note
        routed.steps.append(RouteStep("grading", "failed" if grade.failure else "complete", said, grade.duration_ms))
        if grade.passed:
            return _accept_tier0(routed, answer, f"{grade.words} reaches {grade.threshold:g}")
        if grade.veto and not self.sends_unsafe:
            return await self._replace_unsafe(routed, chat, answer, grade)
        return await self._escalate(routed, chat, grade.failure or _why_not(grade), answer)

    def _gate(self, controls: Controls) -> LearnedGate | None:
        """The learned gate, where it decides anything and the request left everything as it was learnt."""
        chosen = controls.threshold is not None or controls.question_type is not None
        found = self.gate.current if self.gate is not None and self.tier1 is not None and not chosen else None
        return found if found is not None and found.active else None

    async def _by_gate(
        self, routed: RoutedAnswer, chat: Chat, answer: Completion, gate: LearnedGate, question: QuestionSignals
    ) -> RoutedAnswer | None:
        """Send or escalate tier-0's answer without a grade, where the gate is sure; None: it has to be graded."""
        chance = gate.chance(question.values, answer_signals(chat, answer))
        zone = gate.policy.zone(chance)
        if zone == "send" and _may_be_unsafe(answer.text):
            zone = "grade"
        if zone == "grade":
            return None
        routed.zone = zone
        why = f"the learned gate gives it {chance:.0%}"
        routed.steps.append(RouteStep("grading", "skipped", why))
        if zone == "send":
            return _accept_tier0(routed, answer, why)
        return await self._escalate(routed, chat, why, answer)

    async def _ask_and_classify(
        self, routed: RoutedAnswer, chat: Chat, controls: Controls
    ) -> tuple[Completion, QuestionClass] | ModelError:
        """Tier-0's answer and the type of the question, found at the same time."""
        classification = asyncio.create_task(self._question_type(routed, chat, controls))
        try:
            answer = await self._first_answer(routed, chat)
            if isinstance(answer, ModelError):  # nothing to grade: the type is welcome if it is there, not waited for
                await asyncio.wait([classification], timeout=0)
                return answer
            return answer, await classification
        finally:
            classification.cancel()

    async def _first_answer(self, routed: RoutedAnswer, chat: Chat) -> Completion | ModelError:
        """Tier-0's whole answer: it is graded before the client sees any of it."""
        started = time.perf_counter()
        try:
            asking = self.tier0.complete(_without_streaming(chat.body))
            answer = await (asking if self.hedge is None or self.tier1 is None else self._hedged(routed, chat, asking))
        except ModelError as error:
            status: StepStatus = "skipped" if routed.overtaken else "failed"
            routed.steps.append(RouteStep("tier-0", status, str(error), _since(started)))
            return error
        routed.steps.append(RouteStep("tier-0", "complete", "", _since(started)))
        return answer

    async def _hedged(self, routed: RoutedAnswer, chat: Chat, asking: Coroutine[Any, Any, Completion]) -> Completion:
        """Tier-0's answer, unless it has not come in a while and the last tier, asked as well, is quicker."""
        asked, seconds = asyncio.create_task(asking), self.hedge or 0.0
        try:
            await asyncio.wait([asked], timeout=seconds)
            if not asked.done() and self.tier1 is not None:
                routed.spare = SpareAnswer(self.last, self.tier1, chat)
                if not await first_answer(asked, routed.spare):
                    routed.hedged.append(("tier-0", HedgedCall(self.tier0.name, first=True)))
                    raise overtaken(self.last, seconds)
            return asked.result()
        finally:
            await end_tasks([asked])

    async def _question_type(self, routed: RoutedAnswer, chat: Chat, controls: Controls) -> QuestionClass:
        if controls.question_type is not None:
            found = QuestionClass(controls.question_type, 1.0, "given", "named by the request")
        else:
            found = await self.classifier(chat)
        routed.classified = found
        routed.steps.append(RouteStep("classification", "complete", found.reason, found.duration_ms))
        return found

    async def _escalate(
        self, routed: RoutedAnswer, chat: Chat, why: str, first: Completion | ModelError
    ) -> RoutedAnswer:
        """Ask tier-1, after those between; without an answer from it, tier-0's is better than none."""
        routed.passed_over = first if isinstance(first, Completion) else None
        gradable = isinstance(first, ModelError) or bool(first.text.strip())
        if self.middle and gradable and not routed.overtaken:
            routed.steps.append(RouteStep("decision", "complete", f"escalated: {why}"))
            if await self._climb(routed, chat):
                return routed
            why = f"{why}; nor did any tier below {self.last}"
        if self.tier1 is None:
            trouble: ModelError | None = None
            missing = "there is no tier-1"
        else:
            routed.tier = self.last
            routed.steps.append(RouteStep("decision", "complete", f"escalated: {why}"))
            trouble = await _answer(routed, chat, self.tier1)
            if trouble is None:
                return routed
            missing = f"{self.last} failed ({trouble.trouble})"
        below = routed.grade if routed.passed_over is not None else None
        if (best := best_try(routed.tries, below)) is not None:
            routed.tier, routed.upstream, routed.completion = best.tier, best.upstream, best.answer
            routed.degraded, told = f"{why}; {missing}", f"{best.tier}'s answer is the best there is: {missing}"
            routed.steps.append(RouteStep("decision", "complete", told))
            return routed
        if isinstance(first, Completion):
            routed.tier, routed.upstream = "tier-0", self.tier0
            routed.degraded = f"{why}; {missing}"
            return _accept_tier0(routed, first, f"tier-0's answer is the best there is: {missing}")
        raise AllDownError({"tier-0": first, **({self.last: trouble} if trouble is not None else {})})

    async def _climb(self, routed: RoutedAnswer, chat: Chat) -> bool:
        """Ask the tiers between, until the answer of one passes; whether it did."""
        found = routed.classified = routed.classified or await self.classifier(chat)
        asked = TierQuestion(chat, _without_streaming(chat.body), found.type, routed.threshold)
        async with aclosing(self.middle.tries(asked, self.grader)) as tries:
            async for one in tries:
                routed.tries.append(one)
                routed.steps.append(RouteStep(one.tier, one.status, one.explanation, one.duration_ms))
                if one.grade is not None and one.grade.passed:
                    routed.tier, routed.upstream, routed.completion = one.tier, one.upstream, one.answer
                    return True
        return False

    async def _replace_unsafe(self, routed: RoutedAnswer, chat: Chat, first: Completion, vetoed: Grade) -> RoutedAnswer:
        """Tier-1's answer where it is graded and no gate vetoes it, else a refusal."""
        gate, routed.passed_over = vetoed.veto, first
        if self.tier1 is None:
            return _refuse(routed, gate, f"gate {gate}: tier-0's answer is not sent, and there is no tier-1")
        routed.tier, routed.upstream, started = self.last, self.tier1, time.perf_counter()
        routed.steps.append(RouteStep("decision", "complete", f"escalated: vetoed by the gate {gate}"))
        try:
            second = await self.tier1.complete(_without_streaming(chat.body))
        except ModelError as error:
            routed.steps.append(RouteStep(self.last, "failed", str(error), _since(started)))
            return _refuse(routed, gate, f"gate {gate}: tier-0's answer is not sent, and tier-1 failed")
        routed.steps.append(RouteStep(self.last, "complete", "", _since(started)))
        routed.second_grade = await self.grader(chat, second.text, vetoed.question_type)
        if gate := routed.second_grade.may_be_vetoed:
            routed.withheld = second
            return _refuse(routed, gate, f"gate {gate}: neither answer is sent")
        routed.completion = second
        return routed


def _may_be_unsafe(text: str) -> bool:
    """Whether an answer holds what a gate of the rubric may veto, or is too long to tell."""
    found = search_unsafe(text)
    return bool(found.unread) or any(not item.excused for item in found.found)


def _refuse(routed: RoutedAnswer, gate: str, why: str) -> RoutedAnswer:
    routed.refused, routed.degraded, routed.completion = gate, why, refusal(gate)
    routed.steps.append(RouteStep("decision", "complete", f"refused: {why}"))
    return routed


async def _answer(routed: RoutedAnswer, chat: Chat, upstream: Upstream) -> ModelError | None:
    """Let a model answer, as a stream where the client wants one; the trouble, if it cannot."""
    routed.upstream, started = upstream, time.perf_counter()
    spare, routed.spare = routed.spare, None
    try:
        answer = await (ask_tier(upstream, chat) if spare is None else spare.task)
        if isinstance(answer, Completion):
            routed.completion = answer
        else:
            routed.stream = answer
    except ModelError as error:
        routed.steps.append(RouteStep(routed.tier, "failed", str(error), _since(started)))
        return error
    routed.steps.append(RouteStep(routed.tier, "complete", "", _since(started)))
    return None


def _accept_tier0(routed: RoutedAnswer, answer: Completion, why: str) -> RoutedAnswer:
    routed.completion, routed.passed_over = answer, None
    routed.steps.append(RouteStep("decision", "complete", f"tier-0: {why}"))
    return routed


def _without_streaming(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request as one whole answer, not a stream."""
    return {key: value for key, value in body.items() if key not in ("stream", "stream_options")}


def _why_not(grade: Grade) -> str:
    """Why an answer did not pass: a gate, its score, or that offline scores leave it open."""
    if grade.evaluation is not None and grade.evaluation.verdict == INCONCLUSIVE:
        return why_open(grade.evaluation)
    gates = grade.evaluation.gates if grade.evaluation is not None else ()
    fired = [gate.name for gate in gates if gate.fired]
    short = f"{grade.words} does not reach {grade.threshold:g}"
    return f"{short} ({', '.join(fired)})" if fired else short


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
