"""One reviewer at work: what it is shown, what it said of the answers, and what that cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rubrica.engine.plan import Plan
from rubrica.judges.exchange import REFUSED
from rubrica.judges.judge import ModelJudge, ResponseReview, ReviewAsides
from rubrica.llm.reasoning import Effort, reasoning_tokens
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Cost, Score, total_cost
from rubrica.model.rubric import Rubric

from .ballots import Ballot, clean_ballot, stray_names
from .members import Members
from .rubric import HOLISTIC
from .settings import Scoring

Reviews = Mapping[str, ResponseReview]
"""One reviewer's reviews, by label."""


@dataclass(frozen=True, slots=True)
class ReviewerWork:
    """One reviewer's work: which answers it saw, in which order, and what it said of them."""

    reviewer: str
    order: tuple[str, ...]
    rubric: Reviews  # empty where it was not asked
    holistic: Reviews
    seconds: float
    earlier: Cost | None = None  # of rounds before this one

    @property
    def cost(self) -> Cost | None:
        asked = [
            outcome.cost
            for reviews in (self.rubric, self.holistic)
            for review in reviews.values()
            for outcome in review.scores.values()
        ]
        return sum_costs([self.earlier, *asked])

    @property
    def ballot(self) -> Ballot | None:
        """Its ranking, where that is all it gave; one of a single answer says nothing."""
        every = [*self.rubric.values(), *self.holistic.values()]
        names = next((review.ranking for review in every if review.ranking), ())
        if not names or any(map(has_score, every)):
            return None
        found = clean_ballot(names, self.order)
        return found if len(found.order) > 1 else None

    @property
    def oddities(self) -> tuple[str, ...]:
        """What had to be cleaned in its votes, and whether its reply was cut."""
        every = [*self.rubric.values(), *self.holistic.values()]
        ballot = self.ballot
        if ballot is not None:
            return ballot.notes
        names = next((review.entries for review in every if review.entries), ())
        cut = next((review.cut for review in every if review.cut), "")
        return (*stray_names(names, self.order), *([cut] if cut else []))

    @property
    def silence(self) -> str:
        """Why there is no score at all; empty where there is one."""
        every = [*self.rubric.values(), *self.holistic.values()]
        if any(map(has_score, every)) or self.ballot is not None:
            return ""
        reasons = (outcome.reason for review in every for outcome in review.scores.values())
        return next(reasons, "there was nothing to review")

    @property
    def scored(self) -> int:
        """How many answers have a score."""
        if (ballot := self.ballot) is not None:
            return len(ballot.order)
        every = (self.rubric, self.holistic)
        return sum(any(label in reviews and has_score(reviews[label]) for reviews in every) for label in self.order)

    def review_of(self, label: str) -> tuple[dict[str, float], float | None, str]:
        """Its scores of one answer by dimension, the one for the whole, and its notes."""
        own = [reviews[label] for reviews in (self.rubric, self.holistic) if label in reviews]
        given = {name: score.value for review in own for name, score in scores_given(review).items()}
        whole = next((review.overall.value for review in own if review.overall is not None), None)
        overall = given.pop(next(iter(HOLISTIC)), whole)
        return given, overall, next((review.notes for review in own if review.notes), "")

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
    tokens: int | None = None  # of one review; None: by the number of answers
    effort: Effort | None = None
    broken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # instructions that answers break, by label

    def context(self, label: str) -> Context:
        return Context(prompt=self.question, response=self.answers[label])

    async def hear(self, reviewer: str, order: Sequence[str], members: Members, points: str = "") -> ReviewerWork:
        """One reviewer's reviews: by rubric, as a whole, or both, each in a call of its own.

        `points` are what the other reviewers noted, where they debate.
        """
        began = members.clock()
        judge = ModelJudge(
            members.named(reviewer),
            self._rubric(),
            max_tokens=self._room(reviewer, members),
            limit_key="review_tokens",
            price=members.price,
            fence_source=members.fence_source,
            clock=members.clock,
        )
        shown = {label: self.answers[label] for label in order}
        asides = ReviewAsides(points, self._checked(order))
        rubric, holistic = await asyncio.gather(
            self._asked(judge, shown, None if self.scoring != "holistic" else {}, asides),
            self._asked(judge, shown, HOLISTIC if self.scoring != "rubric" else {}, asides),
        )
        return ReviewerWork(reviewer, tuple(order), rubric, holistic, members.clock() - began)

    async def _asked(
        self, judge: ModelJudge, shown: Mapping[str, str], axes: Mapping[str, Axis] | None, asides: ReviewAsides
    ) -> Reviews:
        """The reviews by some axes; None are those of the rubric, and where there are none nobody is asked."""
        return {} if axes == {} else await judge.review(self.question, shown, axes, self.seconds, asides)

    def _rubric(self) -> Rubric:
        """The rubric, with the effort that reviewers make."""
        rubric = self.plan.rubric
        effort = self.effort or rubric.judging.effort
        if effort is None or effort == rubric.judging.effort:
            return rubric
        return rubric.model_copy(update={"judging": rubric.judging.model_copy(update={"effort": effort})})

    def _room(self, reviewer: str, members: Members) -> int | None:
        if self.tokens is None:
            return None
        return self.tokens + reasoning_tokens(members.spec(reviewer), self.effort)

    def _checked(self, order: Sequence[str]) -> str:
        """What code found out about the answers that a reviewer sees."""
        told = [f"response {label}: {'; '.join(self.broken[label])}" for label in order if self.broken.get(label)]
        return ". ".join(told) + "." if told else ""


def sum_costs(costs: Iterable[Cost | None]) -> Cost | None:
    """What is known of several costs; None where nothing is."""
    known = [cost for cost in costs if cost is not None]
    return total_cost(known) if known else None


def scores_given(review: ResponseReview) -> dict[str, Score]:
    return {name: outcome for name, outcome in review.scores.items() if isinstance(outcome, Score)}


def has_score(review: ResponseReview) -> bool:
    return bool(scores_given(review)) or review.overall is not None
