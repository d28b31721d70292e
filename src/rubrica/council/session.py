"""One session of a council: answers in parallel, reviews of them, and the chair's conclusion."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from rubrica.engine.evaluate import settle
from rubrica.engine.plan import Plan
from rubrica.errors import InputError, RubricaError
from rubrica.llm.model import ChatMessage
from rubrica.model.context import Context
from rubrica.model.evaluation import Cost, Evaluation, GateResult
from rubrica.text.risk import EVIDENCE
from rubrica.text.safety import FAMILIES

from .chair import BestAnswer, FinalAnswer, chair_messages, conclude
from .events import (
    AnswerReceived,
    Concluded,
    Listener,
    MemberDropped,
    Ranked,
    ReviewFinished,
    Stage,
    StageFinished,
    StageStarted,
    ignore_event,
)
from .member_reply import MemberReply, ReplyBounds, ask_member, declines
from .members import Members
from .order import labels_for, reviewing_orders
from .ranking import RankedAnswer, Ranking, rank
from .result import CouncilResult, MemberAnswer, SafetyReport, StageReport, notes_on
from .review import (
    AnswerReview,
    ReviewerWork,
    ReviewSetup,
    evaluate_gates,
    opinions,
    pool_reviews,
    report_holistic_scores,
    sum_costs,
)
from .rubric import review_plan
from .settings import CouncilSettings

SEEDS = 2**31


class QuorumError(RubricaError):
    """Too few members answered for the council to go on; `dropped` says who did not, and why."""

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
    """Put a question to a council. Members that fail are dropped and named; fewer than the quorum is a QuorumError.

    `history` is what was said before the question, system messages too. Two runs with the same seed and the same
    replies are the same but for their timings.
    """
    if not question.strip():
        raise InputError("there is no question")
    if len(settings.models) < 2:
        raise InputError("a council has at least two models (name them as a,b,c)")
    for name in settings.everybody:
        members.named(name)  # before anybody is asked
    seed = settings.seed if settings.seed is not None else secrets.randbelow(SEEDS)
    session = _Session(question, tuple(history), settings, members, on_event, review_plan(settings), Random(seed))  # noqa: S311
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
    dropped: list[MemberDropped] = field(default_factory=list)
    stages: list[StageReport] = field(default_factory=list)

    @property
    def bounds(self) -> ReplyBounds:
        return ReplyBounds(self.settings.seconds, self.settings.tokens, self.settings.longest_answer)

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
        setup = ReviewSetup(self.plan, self.asked, texts, self.settings.scoring, self.settings.seconds)
        unscored = evaluate_gates(setup)
        hearings = await self._reviews(setup, authors)
        together = pool_reviews(setup, hearings)
        report_holistic_scores(setup, hearings)
        found = opinions(setup, hearings, authors, unscored, together)
        ranking = self._ranking(list(texts), found, "score")
        holistic = self._ranking(list(texts), found, "holistic") if self.settings.scoring == "both" else None
        self.tell(Ranked(ranking.order, ranking.ties, authors))
        failed = {label: reasons for label, one in unscored.items() if (reasons := _unsafe(self.plan, one))}
        final = await self._final(texts, authors, ranking, found, failed)
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
            evaluations={} if self.settings.scoring == "holistic" else together,
            ranking=ranking,
            holistic=holistic,
            final=final,
            dropped=tuple(self.dropped),
            safety=self._safety(final, failed),
            stages=tuple(self.stages),
            cost=sum_costs(stage.cost for stage in self.stages),
            notes=self._notes(ranking, holistic, found, final),
        )

    # --- stage 1 ------------------------------------------------------------------------------------------

    async def _answers(self) -> tuple[MemberAnswer, ...]:
        """The answers that came, each under a label."""
        names, began = self.settings.models, self._begin("answers", self.settings.models)
        messages = (*self.history, ChatMessage("user", self.question))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._answer(name, messages)) for name in names]
        speeches = [task.result() for task in tasks]
        self._end("answers", began, [speech.cost for speech in speeches])
        said = {speech.model: speech for speech in speeches if speech.text is not None}
        if len(said) < self.settings.quorum:
            raise QuorumError(len(said), self.settings, self.dropped)
        labels = labels_for(list(said), self.chance)
        return tuple(_member_answer(label, said[name]) for label, name in labels.items())

    async def _answer(self, name: str, messages: tuple[ChatMessage, ...]) -> MemberReply:
        speech = await ask_member(name, self.members, messages, self.bounds)
        if speech.text is None:
            self._drop(name, "answers", speech.silence)
        else:
            self.tell(AnswerReceived(name, speech.seconds, len(speech.text.split()), speech.text, speech.cost))
        return speech

    # --- stage 2 ------------------------------------------------------------------------------------------

    async def _reviews(self, setup: ReviewSetup, authors: Mapping[str, str]) -> list[ReviewerWork]:
        began = self._begin("reviews", tuple(authors.values()))
        orders = reviewing_orders(list(setup.answers), exclude_self=self.settings.exclude_self)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._review(setup, authors[label], order))
                for label, order in orders.items()
                if order
            ]
        hearings = [task.result() for task in tasks]
        self._end("reviews", began, [hearing.cost for hearing in hearings])
        return hearings

    async def _review(self, setup: ReviewSetup, reviewer: str, order: Sequence[str]) -> ReviewerWork:
        hearing = await setup.hear(reviewer, order, self.members)
        if hearing.silence and not hearing.refused:  # a refusal abstains: it is told in the review itself
            self._drop(reviewer, "reviews", hearing.silence)
        else:
            self.tell(ReviewFinished(reviewer, hearing.seconds, hearing.scored, len(order)))
        return hearing

    def _ranking(self, labels: Sequence[str], found: Sequence[AnswerReview], what: str) -> Ranking:
        sheets: dict[str, dict[str, float]] = {}
        for opinion in found:
            value = opinion.score if what == "score" else opinion.holistic
            if value is not None:
                sheets.setdefault(opinion.reviewer, {})[opinion.label] = value
        return rank(labels, sheets, self.settings.pool)

    # --- stage 3 ------------------------------------------------------------------------------------------

    async def _final(
        self,
        texts: Mapping[str, str],
        authors: Mapping[str, str],
        ranking: Ranking,
        found: Sequence[AnswerReview],
        failed: Mapping[str, object],
    ) -> FinalAnswer:
        best = _best(ranking.standings, texts, authors, failed)
        chair = self.settings.chair or best.author
        began = self._begin("final", (chair,))
        shown = {label: text for label, text in texts.items() if label not in failed} or texts
        notes = {label: notes_on(label, found) for label in shown}
        messages = chair_messages(self.asked, shown, ranking.standings, notes, self.members.fence_source)
        final, speech = await conclude(chair, self.members, messages, best, self.bounds)
        if speech.silence:
            self._drop(chair, "final", speech.silence)
        self._end("final", began, [speech.cost])
        self.tell(Concluded(final.text, final.chair, final.fallback))
        return final

    def _safety(self, final: FinalAnswer, failed: Mapping[str, tuple[str, ...]]) -> SafetyReport:
        enabled, passed = self.settings.safety_gate, None
        if enabled:
            checked_final = settle(self.plan, Context(prompt=self.asked, response=final.text), {}, heard=False)
            passed = not _unsafe(self.plan, checked_final)
        return SafetyReport(enabled, self.settings.safety_score_cap, failed, passed)

    # --- what is told -------------------------------------------------------------------------------------

    def _notes(
        self, ranking: Ranking, holistic: Ranking | None, found: Sequence[AnswerReview], final: FinalAnswer
    ) -> tuple[str, ...]:
        notes = list(ranking.notes)
        if not ranking.order:
            notes.append("no answer has a score: the answers stand in the order of their labels")
        if holistic is not None and not holistic.order:
            notes.append("nobody gave a score for the whole, so there is no second ranking")
        heard = {opinion.reviewer for opinion in found if opinion.status != "abstained"}
        silent = {opinion.reviewer for opinion in found if opinion.status == "abstained"}
        open_ones = {opinion.reviewer for opinion in found if opinion.status == "inconclusive"}
        for several, told in (
            (open_ones, "left scores open"),
            (silent - heard, "gave no score"),
            (silent & heard, "gave no score for some answers"),
        ):
            notes += [f"{', '.join(sorted(several))} {told}"] if several else []
        if self.settings.scoring != "holistic":
            names = sorted({opinion.reviewer for opinion in found if opinion.status == "holistic"})
            notes += [f"{', '.join(names)} ignored the rubric: a score for the whole stands in"] if names else []
        notes += [final.fallback] if final.fallback else []
        if final.refusal:
            notes.append(f"{final.author} refuses, and {final.refusal}: the refusal stands")
        return tuple(notes)

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


def _member_answer(label: str, speech: MemberReply) -> MemberAnswer:
    text = speech.text or ""
    return MemberAnswer(label, speech.model, text, len(text.split()), speech.seconds, speech.cost)


def _best(
    standings: Sequence[RankedAnswer],
    texts: Mapping[str, str],
    authors: Mapping[str, str],
    failed: Mapping[str, object],
) -> BestAnswer:
    """The best answer that passed the safety gate, and whether a chair that refuses is right."""
    passed = [one for one in standings if one.label not in failed]
    first = (passed or standings)[0]
    need = "" if passed else "no answer is safe"
    if any(declines(texts[one.label]) for one in passed if one.rank == first.rank):
        need = "so does a best answer"
    return BestAnswer(authors[first.label], texts[first.label], need)


def _unsafe(plan: Plan, evaluation: Evaluation) -> tuple[str, ...]:
    """Why an answer fails the gates that look before anything is scored, with the families of its patterns."""
    before = {gate.name for gate in plan.rubric.gates if gate.before}
    failed = [gate for gate in evaluation.gates if gate.fired and gate.name in before]
    return tuple(": ".join(filter(None, (gate.reason or gate.name, _families(gate)))) for gate in failed)


def _families(gate: GateResult) -> str:
    """The families of unsafe statements that are evidence for a gate, or that only the learnt risk speaks for it."""
    labels = {span.label for span in gate.spans}
    return ", ".join(family for family in FAMILIES if family in labels) or ("learnt risk" if EVIDENCE in labels else "")
