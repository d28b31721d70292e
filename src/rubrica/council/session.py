"""One session of a council: answers in parallel, reviews of them, and the chair's conclusion."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from rubrica.engine.plan import Plan
from rubrica.errors import InputError, RubricaError
from rubrica.llm.model import ChatMessage
from rubrica.llm.text_stream import Transcript
from rubrica.model.evaluation import Cost
from rubrica.report.figures import count_of

from .answer_stage import MemberSpeeches, answer_messages
from .chair import BestAnswer, ChairNotes, FinalAnswer, chair_messages, conclude
from .events import (
    Concluded,
    FinalWriting,
    Listener,
    MemberDropped,
    Ranked,
    Stage,
    StageFinished,
    StageStarted,
    ignore_event,
)
from .instruction_checks import broken_instructions
from .member_reply import MemberReply, ReplyBounds
from .members import Members
from .order import labels_for
from .ranking import RankedAnswer, Ranking, rank
from .result import CouncilResult, MemberAnswer, MissingPart, Refusal, StageReport, name_of, notes_on
from .review import AnswerReview, evaluate_gates, opinions, pool_reviews, report_holistic_scores
from .review_stage import ReviewStage, reviewer_weights, votes_of
from .reviewer_work import ReviewerWork, ReviewSetup, sum_costs
from .rubric import review_plan, task_for
from .safety_report import report_safety, unsafe_reasons
from .session_notes import session_notes
from .settings import CouncilSettings
from .task_rubrics import TaskChoice
from .tiers import words_for

SEEDS = 2**31


class QuorumError(RubricaError):
    """No member answered at all; `dropped` says why not. Where some did, what they said is a result that is marked."""

    def __init__(self, answered: int, settings: CouncilSettings, dropped: Sequence[MemberDropped]) -> None:
        self.dropped = tuple(dropped)
        told = "".join(f"\n  {one.model}: {one.reason}" for one in dropped)
        super().__init__(
            f"{answered} of {len(settings.models)} models answered within {settings.seconds:g} s, "
            f"and the council needs {settings.quorum}:{told}"
        )


async def run(
    question: str,
    settings: CouncilSettings,
    members: Members,
    *,
    history: Sequence[ChatMessage] = (),
    on_event: Listener = ignore_event,
) -> CouncilResult:
    """Put a question to a council. Members that fail are dropped and named; only where all do, it is a QuorumError.

    What is missing of a session is told under `missing`: a quorum, reviews, or a part of the final answer. `history` is
    what was said before the question, system messages too. Two runs with the same seed and the same replies are the
    same but for their timings, unless reviewers stop early.
    """
    if not question.strip():
        raise InputError("there is no question")
    if len(settings.models) < 2:
        raise InputError("a council has at least two models (name them as a,b,c)")
    for name in settings.everybody:
        members.named(name)  # before anybody is asked
    seed = settings.seed if settings.seed is not None else secrets.randbelow(SEEDS)
    task = task_for(settings, question)
    plan = review_plan(settings, "general" if task is None else task.task)
    session = _Session(question, tuple(history), settings, members, on_event, plan, Random(seed), task)  # noqa: S311
    return await session.whole(seed)


@dataclass(slots=True)
class _Session:
    """A session under way."""

    question: str
    history: tuple[ChatMessage, ...]
    settings: CouncilSettings
    members: Members
    tell: Listener
    plan: Plan
    chance: Random
    task: TaskChoice | None = None
    dropped: list[MemberDropped] = field(default_factory=list)
    stages: list[StageReport] = field(default_factory=list)
    missing: list[MissingPart] = field(default_factory=list)
    refusals: tuple[Refusal, ...] = ()

    def bounds(self, tokens: int) -> ReplyBounds:
        limits, settings = self.settings.limits, self.settings
        return ReplyBounds(limits.seconds, tokens, settings.longest_answer, limits.effort, settings.seed)

    @property
    def asked(self) -> str:
        """The question as reviewers and the chair read it, with the talk before it."""
        if not self.history:
            return self.question
        turns = [f"{message.role}: {message.content}" for message in self.history]
        return "\n\n".join([*turns, f"user: {self.question}"])

    async def whole(self, seed: int) -> CouncilResult:
        answers = await self._answers()
        texts = {answer.label: answer.text for answer in answers}
        authors = {answer.label: answer.model for answer in answers}
        limits = self.settings.limits
        broken = {answer.label: answer.broken for answer in answers if answer.broken}
        setup = ReviewSetup(
            self.plan,
            self.asked,
            texts,
            self.settings.scoring,
            limits.seconds,
            limits.review_tokens,
            limits.effort,
            broken,
        )
        unscored = evaluate_gates(setup)
        stage = ReviewStage(setup, authors, unscored, self.settings, self.members, self.tell, self._drop_reviewer)
        works = await self._reviews(stage) if len(answers) >= self.settings.quorum else []
        together = pool_reviews(setup, works)
        report_holistic_scores(setup, works)
        found = opinions(setup, works, authors, (unscored, together))
        weights = reviewer_weights(self.settings)
        ranking = rank(list(texts), votes_of(found, weights), self.settings.pool)
        both = self.settings.scoring == "both"
        holistic = rank(list(texts), votes_of(found, weights, whole=True), self.settings.pool) if both else None
        if works and not ranking.order:
            self.missing.append(MissingPart("reviews", "a ranking", "no reviewer gave a score or a ranking"))
        elif works and ranking.unranked:
            which = ", ".join(map(name_of, ranking.unranked))
            self.missing.append(MissingPart("reviews", f"a place for {which}", "no review that counts speaks of it"))
        self.tell(Ranked(ranking.order, ranking.ties, authors))
        failed = {label: reasons for label, one in unscored.items() if (reasons := unsafe_reasons(self.plan, one))}
        final = await self._final(answers, ranking, found, failed)
        return CouncilResult(
            question=self.question,
            seed=seed,
            settings=self.settings,
            rubric=self.plan.rubric.reference,
            rubric_hash=self.plan.rubric.hash,
            out_of=self.plan.decision.out_of,
            tops={axis.name: axis.scale.max for axis in self.plan.axes},
            answers=answers,
            opinions=tuple(found),
            evaluations={} if self.settings.scoring == "holistic" or not works else together,
            ranking=ranking,
            holistic=holistic,
            final=final,
            dropped=tuple(self.dropped),
            safety=report_safety(self.plan, self.settings, (self.asked, final.text), failed),
            stages=tuple(self.stages),
            cost=sum_costs(stage.cost for stage in self.stages),
            notes=session_notes(self.settings, (ranking, holistic), found, works, final)
            if works
            else _bare_notes(final),
            refusals=self.refusals,
            cancelled=tuple(stage.cancelled),
            changes=tuple(stage.changes),
            task=self.task,
            missing=tuple(self.missing),
        )

    # --- stage 1 ------------------------------------------------------------------------------------------

    async def _answers(self) -> tuple[MemberAnswer, ...]:
        """The answers that came, each under a label. Refusals are kept beside them."""
        settings, began = self.settings, self._begin("answers", self.settings.models)
        messages = answer_messages(self.question, self.history, words_for(settings.limits.tokens))
        speeches = await MemberSpeeches(self.members, self.bounds(settings.limits.tokens), self.tell, self._drop).ask(
            settings.models, messages
        )
        self._end("answers", began, [speech.cost for speech in speeches])
        said = {speech.model: speech for speech in speeches if speech.text is not None}
        self.refusals = tuple(Refusal(one.model, one.refusal) for one in speeches if one.refusal)
        if not said and not self.refusals:
            raise QuorumError(0, settings, self.dropped)
        if len(said) < settings.quorum:
            why = f"{len(said)} of {len(settings.models)} models answered, and the council needs {settings.quorum}"
            self.missing.append(MissingPart("answers", "a quorum", why))
        labels = labels_for(list(said), self.chance)
        return tuple(self._answer(label, said[name]) for label, name in labels.items())

    def _answer(self, label: str, speech: MemberReply) -> MemberAnswer:
        text = speech.text or ""
        broken = broken_instructions(self.question, text)
        return MemberAnswer(
            label, speech.model, text, len(text.split()), speech.seconds, speech.cost, speech.cut, broken
        )

    # --- stage 2 ------------------------------------------------------------------------------------------

    async def _reviews(self, stage: ReviewStage) -> list[ReviewerWork]:
        began = self._begin("reviews", tuple(stage.authors.values()))
        works = await stage.hold()
        self._end("reviews", began, [work.cost for work in works])
        return works

    def _drop_reviewer(self, model: str, reason: str) -> None:
        self._drop(model, "reviews", reason)

    # --- stage 3 ------------------------------------------------------------------------------------------

    async def _final(
        self,
        answers: Sequence[MemberAnswer],
        ranking: Ranking,
        found: Sequence[AnswerReview],
        failed: Mapping[str, object],
    ) -> FinalAnswer:
        refused = len(self.refusals)
        if len(answers) < self.settings.quorum:
            final = self._without_quorum(answers, failed)
        else:
            best = _best(ranking.standings, answers, failed, refused)
            chair, limits = self.settings.chair or best.author, self.settings.limits
            began = self._begin("final", (chair,))
            shown = {one.label: one.text for one in answers if one.label not in failed}
            shown = shown or {one.label: one.text for one in answers}
            told = ChairNotes(
                {label: notes_on(label, found) for label in shown},
                words_for(limits.final_tokens),
                frozenset(one.label for one in answers if one.cut),
                {one.label: one.broken for one in answers if one.broken},
                f"{refused} of {len(self.settings.models)} writers refused to answer." if refused else "",
            )
            messages = chair_messages(self.asked, shown, ranking.standings, told, self.members.fence_source)
            transcript = Transcript(lambda text, anew: self.tell(FinalWriting(text, anew)))
            asking = (self.bounds(limits.final_tokens), transcript)
            final, speech = await conclude(chair, self.members, messages, best, asking)
            if speech.silence:
                self._drop(chair, "final", speech.silence)
                self.missing.append(MissingPart("final", "the chair's answer", speech.silence))
            self._end("final", began, [speech.cost])
        if final.cut:
            self.missing.append(MissingPart("final", "the end of the answer", final.cut))
        self.tell(Concluded(final.text, final.chair, final.fallback))
        return final

    def _without_quorum(self, answers: Sequence[MemberAnswer], failed: Mapping[str, object]) -> FinalAnswer:
        """What stands where too few answered: the refusal where more refuse than answer, else an answer unreviewed."""
        if len(self.refusals) > len(answers):
            count, first = len(self.refusals), self.refusals[0]
            who = "every member" if not answers and count == len(self.settings.models) else count_of(count, "member")
            return FinalAnswer(first.text, None, first.model, refusal=f"{who} refused to answer")
        first_answer = next((one for one in answers if one.label not in failed), answers[0])
        reason = "there is no quorum: an answer stands that nobody has reviewed"
        return FinalAnswer(first_answer.text, None, first_answer.model, reason, cut=first_answer.cut)

    # --- what is told -------------------------------------------------------------------------------------

    def _drop(self, model: str, stage: Stage, reason: str) -> None:
        self.dropped.append(MemberDropped(model, stage, reason))
        self.tell(self.dropped[-1])

    def _begin(self, stage: Stage, models: tuple[str, ...]) -> float:
        self.tell(StageStarted(stage, models, self.settings.seconds))
        return self.members.clock()

    def _end(self, stage: Stage, began: float, costs: Sequence[Cost | None]) -> None:
        report = StageReport(stage, self.members.clock() - began, sum_costs(costs))
        self.stages.append(report)
        self.tell(StageFinished(report.stage, report.seconds, report.cost))


def _bare_notes(final: FinalAnswer) -> tuple[str, ...]:
    """What is told of a session without reviews."""
    return tuple(note for note in (final.fallback, final.refusal) if note)


def _best(
    standings: Sequence[RankedAnswer], answers: Sequence[MemberAnswer], failed: Mapping[str, object], refused: int
) -> BestAnswer:
    """The best answer that passed the safety gate, and whether a chair that refuses is right."""
    by_label = {answer.label: answer for answer in answers}
    passed = [one for one in standings if one.label not in failed]
    first = by_label[(passed or standings)[0].label]
    need = "" if passed else "no answer is safe"
    if refused > len(answers):
        need = need or "most members refuse"
    return BestAnswer(first.model, first.text, need, first.cut)
