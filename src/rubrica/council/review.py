"""Stage 2: every member reviews the others' answers; scores are capped by the rubric's gates.

Ceilings and gates are the engine's: nothing here knows what accuracy is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import msgspec

from rubrica.engine.audience import listeners
from rubrica.engine.evaluate import settle
from rubrica.engine.plan import Plan
from rubrica.judges.exchange import REFUSED
from rubrica.judges.judge import ModelJudge, ResponseReview
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Cost, Evaluation, Score, Unscored, Vote, total_cost

from .members import Members
from .rubric import HOLISTIC, OVERALL, holistic_plan
from .settings import Scoring

Status = Literal[
    "scored",  # by the rubric
    "holistic",  # by one score for the whole: asked for, or given in place of the rubric
    "inconclusive",  # something that the rubric needs is missing, so its ceilings cannot be told
    "abstained",  # no score at all
]
Reviews = Mapping[str, ResponseReview]
"""One reviewer's reviews, by label."""


class AnswerReview(msgspec.Struct, frozen=True, kw_only=True):
    """What one reviewer gave one answer, and what it counts for."""

    reviewer: str
    label: str
    position: int  # the place in which the reviewer saw the answer, from 1
    own: bool  # the reviewer wrote it
    status: Status
    score: float | None = None  # on the rubric's out_of, after its gates; this is what is ranked
    scores: Mapping[str, float] = {}  # by dimension, on its own scale
    holistic: float | None = None  # for the whole, on out_of, after the gates that need no dimension
    verdict: str = ""
    gates: tuple[str, ...] = ()  # that fired
    notes: str = ""
    reason: str = ""  # why there is no score, or why it is not by the rubric


@dataclass(frozen=True, slots=True)
class ReviewerWork:
    """One reviewer's work: which answers it saw, in which order, and what it said of them."""

    reviewer: str
    order: tuple[str, ...]
    rubric: Reviews  # empty where it was not asked
    holistic: Reviews
    seconds: float

    @property
    def cost(self) -> Cost | None:
        return sum_costs(
            outcome.cost
            for reviews in (self.rubric, self.holistic)
            for review in reviews.values()
            for outcome in review.scores.values()
        )

    @property
    def silence(self) -> str:
        """Why there is no score at all; empty where there is one."""
        every = [*self.rubric.values(), *self.holistic.values()]
        if any(map(_has_score, every)):
            return ""
        reasons = (outcome.reason for review in every for outcome in review.scores.values())
        return next(reasons, "there was nothing to review")

    @property
    def scored(self) -> int:
        """How many answers have a score."""
        every = (self.rubric, self.holistic)
        return sum(any(label in reviews and _has_score(reviews[label]) for reviews in every) for label in self.order)

    @property
    def refused(self) -> bool:
        return self.silence.startswith(REFUSED)


@dataclass(frozen=True, slots=True)
class ReviewSetup:
    """What all reviewers share."""

    plan: Plan
    question: str
    answers: Mapping[str, str]  # texts by label
    scoring: Scoring
    seconds: float

    def context(self, label: str) -> Context:
        return Context(prompt=self.question, response=self.answers[label])

    async def hear(self, reviewer: str, order: Sequence[str], members: Members) -> ReviewerWork:
        """One reviewer's reviews: by rubric, as a whole, or both, each in a call of its own."""
        began = members.clock()
        judge = ModelJudge(
            members.named(reviewer),
            self.plan.rubric,
            price=members.price,
            fence_source=members.fence_source,
            clock=members.clock,
        )
        shown = {label: self.answers[label] for label in order}
        rubric, holistic = await asyncio.gather(
            self._asked(judge, shown, None, self.scoring != "holistic"),
            self._asked(judge, shown, HOLISTIC, self.scoring != "rubric"),
        )
        return ReviewerWork(reviewer, tuple(order), rubric, holistic, members.clock() - began)

    async def _asked(
        self, judge: ModelJudge, shown: Mapping[str, str], axes: Mapping[str, Axis] | None, wanted: bool
    ) -> Reviews:
        return await judge.review(self.question, shown, axes, self.seconds) if wanted else {}


def evaluate_gates(setup: ReviewSetup) -> dict[str, Evaluation]:
    """Each answer with no score yet: only gates that need none can have fired."""
    return {label: settle(setup.plan, setup.context(label), {}, heard=False) for label in setup.answers}


def pool_reviews(setup: ReviewSetup, hearings: Sequence[ReviewerWork]) -> dict[str, Evaluation]:
    """Each answer with the mean of what reviewers gave its dimensions; every reviewer's vote is kept."""
    return {label: _pool_answer(setup, hearings, label) for label in setup.answers}


def report_holistic_scores(setup: ReviewSetup, hearings: Sequence[ReviewerWork]) -> None:
    """Let whoever listens to evaluations hear the mean score for the whole of each answer, where it was asked for."""
    if setup.scoring == "rubric" or not listeners:
        return
    plan = holistic_plan(setup.plan)
    for label in setup.answers:
        reviews = [(one.reviewer, one.holistic[label]) for one in hearings if label in one.holistic]
        votes = [(reviewer, _overall(review) or review.scores[OVERALL]) for reviewer, review in reviews]
        if votes:
            settle(plan, setup.context(label), {OVERALL: _mean(votes)}, f"Response {label}")


def opinions(
    setup: ReviewSetup,
    hearings: Sequence[ReviewerWork],
    authors: Mapping[str, str],
    unscored: Mapping[str, Evaluation],
    together: Mapping[str, Evaluation],
) -> list[AnswerReview]:
    """What every reviewer gave every answer it saw, beside the answers without a score and with all reviewers'."""
    return [
        _opinion(setup, hearing, label, place, authors[label] == hearing.reviewer, (unscored[label], together[label]))
        for hearing in hearings
        for place, label in enumerate(hearing.order, 1)
    ]


def sum_costs(costs: Iterable[Cost | None]) -> Cost | None:
    """What is known of several costs; None where nothing is."""
    known = [cost for cost in costs if cost is not None]
    return total_cost(known) if known else None


def _opinion(
    setup: ReviewSetup,
    hearing: ReviewerWork,
    label: str,
    place: int,
    own: bool,
    ceilings: tuple[Evaluation, Evaluation],
) -> AnswerReview:
    by_rubric, whole = hearing.rubric.get(label), hearing.holistic.get(label)
    unscored, together = ceilings
    overall = _overall(whole)
    seen = AnswerReview(
        reviewer=hearing.reviewer,
        label=label,
        position=place,
        own=own,
        status="abstained",
        holistic=None if overall is None else _apply_caps(setup.plan, overall.value, unscored),
    )
    if by_rubric is None:
        return seen if whole is None else _as_a_whole(setup, seen, whole, overall, unscored)
    if given := _scores_given(by_rubric):
        evaluation = settle(setup.plan, setup.context(label), by_rubric.scores, f"Response {label}")
        return msgspec.structs.replace(
            seen,
            status="inconclusive" if evaluation.score is None else "scored",
            score=evaluation.score,
            scores={name: outcome.value for name, outcome in given.items()},
            verdict=evaluation.verdict,
            gates=fired_gates(evaluation),
            notes=by_rubric.notes,
            reason=evaluation.reason if evaluation.score is None else "",
        )
    # The reviewer said nothing about what sets the ceilings, so those that the others' scores set hold for it too.
    return _as_a_whole(setup, seen, by_rubric, by_rubric.overall or overall, together)


def _as_a_whole(
    setup: ReviewSetup, seen: AnswerReview, review: ResponseReview, overall: Score | None, ceiling: Evaluation
) -> AnswerReview:
    """An opinion that is one score for the whole, or none."""
    why = next((outcome.reason for outcome in review.scores.values() if isinstance(outcome, Unscored)), "")
    if overall is None:
        return msgspec.structs.replace(seen, notes=review.notes, reason=why)
    score = _apply_caps(setup.plan, overall.value, ceiling)
    return msgspec.structs.replace(
        seen,
        status="holistic",
        score=score,
        holistic=score if seen.holistic is None else seen.holistic,
        gates=fired_gates(ceiling),
        notes=review.notes or overall.reason,
        reason=why,
    )


def fired_gates(evaluation: Evaluation) -> tuple[str, ...]:
    """The names of the gates that fired."""
    return tuple(gate.name for gate in evaluation.gates if gate.fired)


def _apply_caps(plan: Plan, value: float, evaluation: Evaluation) -> float:
    """A score for the whole, laid out on out_of, under the caps that fired for the answer."""
    score = plan.rubric.scale.share(value) * plan.decision.out_of
    caps = [gate.limit for gate in evaluation.gates if gate.fired and gate.effect == "cap" and gate.limit is not None]
    return round(min([score, *caps]), 2)


def _pool_answer(setup: ReviewSetup, hearings: Sequence[ReviewerWork], label: str) -> Evaluation:
    scores: dict[str, Score | Unscored] = {}
    for axis in setup.plan.axes:
        votes = [
            (hearing.reviewer, outcome)
            for hearing in hearings
            if label in hearing.rubric and (outcome := hearing.rubric[label].scores.get(axis.name)) is not None
        ]
        if votes:
            scores[axis.name] = _mean(votes)
    return settle(setup.plan, setup.context(label), scores, f"Response {label}", heard=setup.scoring != "holistic")


def _mean(outcomes: Sequence[tuple[str, Score | Unscored]]) -> Score | Unscored:
    votes = tuple(
        Vote(judge, outcome.value, outcome.reason, outcome.confidence)
        if isinstance(outcome, Score)
        else Vote(judge, None, outcome.reason, 0.0)
        for judge, outcome in outcomes
    )
    cost = sum_costs(outcome.cost for _, outcome in outcomes)
    known = [outcome for _, outcome in outcomes if isinstance(outcome, Score)]
    if not known:
        reasons = "; ".join(sorted({vote.reason for vote in votes}))
        return Unscored(f"no reviewer gave a score: {reasons}", "llm", cost=cost, votes=votes)
    return Score(
        fmean(score.value for score in known),
        f"the mean of {len(known)} reviewer{'s' * (len(known) != 1)}",
        fmean(score.confidence for score in known),
        "llm",
        cost=cost,
        votes=votes,
    )


def _scores_given(review: ResponseReview) -> dict[str, Score]:
    return {name: outcome for name, outcome in review.scores.items() if isinstance(outcome, Score)}


def _has_score(review: ResponseReview) -> bool:
    return bool(_scores_given(review)) or review.overall is not None


def _overall(review: ResponseReview | None) -> Score | None:
    if review is None:
        return None
    asked = review.scores.get(OVERALL)
    return asked if isinstance(asked, Score) else review.overall
