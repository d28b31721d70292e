"""Stage 2 as it is held: all reviewers at once, no longer than the winner is open, and rounds of debate after it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from rubrica.model.evaluation import Evaluation

from .ballots import hold_ceilings
from .early_consensus import OpenBallot, VoteTally, decided_winner
from .events import DebateStarted, GivenReview, Listener, ReviewerCancelled, ReviewFinished
from .members import Members
from .order import reviewing_orders
from .ranking import DECIMALS, CouncilVotes, Pool, ballot_points
from .review import AnswerReview, opinions, pool_reviews
from .reviewer_work import ReviewerWork, ReviewSetup, sum_costs
from .settings import CouncilSettings

Drop = Callable[[str, str], None]
"""Takes a reviewer that gave nothing, and why."""


class ScoreChange(msgspec.Struct, frozen=True):
    """A score that a reviewer changed after it had read the others' points."""

    reviewer: str
    label: str
    round: int  # from 1
    before: float
    after: float


@dataclass(slots=True)
class ReviewStage:
    """The reviews of one session."""

    setup: ReviewSetup
    authors: Mapping[str, str]  # by label
    unscored: Mapping[str, Evaluation]  # the answers as they are before anybody has scored them
    settings: CouncilSettings
    members: Members
    tell: Listener
    drop: Drop
    cancelled: list[ReviewerCancelled] = field(default_factory=list)
    changes: list[ScoreChange] = field(default_factory=list)

    async def hold(self) -> list[ReviewerWork]:
        """What every reviewer said, in the order of the answers they wrote."""
        labels = list(self.setup.answers)
        orders = {
            self.authors[label]: order
            for label, order in reviewing_orders(labels, exclude_self=self.settings.exclude_self).items()
            if order
        }
        works = await self._first_round(orders)
        for number in range(1, self.settings.limits.debate + 1):
            works = await self._debate(works, number)
        return works

    async def _first_round(self, orders: Mapping[str, Sequence[str]]) -> list[ReviewerWork]:
        tasks = {asyncio.create_task(self._review(name, order)): name for name, order in orders.items()}
        waiting = set(tasks)
        done: dict[str, ReviewerWork] = {}
        try:
            while waiting:
                finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                done |= {tasks[task]: task.result() for task in finished}
                out = {tasks[task]: orders[tasks[task]] for task in waiting}
                if out and self._stops_early and (winner := self.decided(list(done.values()), out)):
                    reason = f"not waited for: response {winner} has won, whatever it would have said"
                    for name in out:
                        self.cancelled.append(ReviewerCancelled(name, reason))
                        self.tell(self.cancelled[-1])
                    break
        finally:
            for task in waiting:
                task.cancel()
            if waiting:
                await asyncio.wait(waiting)
        return [done[name] for name in orders if name in done]

    async def _review(self, reviewer: str, order: Sequence[str], points: str = "") -> ReviewerWork:
        work = await self.setup.hear(reviewer, order, self.members, points)
        if not work.silence:
            self.tell(ReviewFinished(reviewer, work.seconds, work.scored, len(order), self._given(work)))
        elif not points:  # in a debate, what it said before stands
            if work.refused:  # a refusal abstains: it is told in the review itself
                self.tell(ReviewFinished(reviewer, work.seconds, 0, len(order)))
            else:
                self.drop(reviewer, work.silence)
        return work

    def _given(self, work: ReviewerWork) -> tuple[GivenReview, ...]:
        """What a reviewer said, by the answers' authors: all that is left of it where the session is cut off."""
        ballot = work.ballot
        places = {} if ballot is None else {label: place for place, label in enumerate(ballot.order, 1)}
        return tuple(
            GivenReview(self.authors[label], scores, overall, places.get(label), notes)
            for label in work.order
            for scores, overall, notes in [work.review_of(label)]
            if scores or overall is not None or label in places
        )

    # --- early consensus ----------------------------------------------------------------------------------

    @property
    def _stops_early(self) -> bool:
        limits = self.settings.limits
        return limits.early and not limits.debate and self.settings.pool != "z" and self.settings.scoring != "both"

    def decided(self, done: Sequence[ReviewerWork], out: Mapping[str, Sequence[str]]) -> str | None:
        """The label that wins whatever the reviewers say who are still out; None where that is open."""
        found = self.opinions(done)
        if any(one.status == "ranked" or (one.status == "holistic" and self._by_rubric) for one in found):
            return None  # others' scores set its ceilings, or how all are pooled
        votes = votes_of(found, reviewer_weights(self.settings))
        winner = self._winner_by(self.settings.pool, votes, out)
        # One that is out may rank without scores, and then all are pooled by Borda: the winner has to win there too.
        return winner if winner is not None and winner == self._winner_by("borda", votes, out) else None

    def _winner_by(self, pool: Pool, votes: CouncilVotes, out: Mapping[str, Sequence[str]]) -> str | None:
        if pool == "borda" and any(len(order) < 2 for order in out.values()):
            return None
        points = ballot_points(votes, pool)
        tallies = {label: _tally(label, points, votes) for label in self.setup.answers}
        waiting = [OpenBallot(order, votes.weight(name)) for name, order in out.items()]
        span = (0.0, 1.0) if pool == "borda" else (0.0, self.setup.plan.decision.out_of)
        return decided_winner(tallies, waiting, span, DECIMALS[pool])

    @property
    def _by_rubric(self) -> bool:
        return self.settings.scoring != "holistic"

    def opinions(self, works: Sequence[ReviewerWork]) -> list[AnswerReview]:
        """What the reviews come to so far; nobody is told."""
        together = pool_reviews(self.setup, works, notify=False)
        return opinions(self.setup, works, self.authors, (self.unscored, together), notify=False)

    # --- debate -------------------------------------------------------------------------------------------

    async def _debate(self, works: Sequence[ReviewerWork], number: int) -> list[ReviewerWork]:
        """One round: whoever has given scores sees what the others noted, and may change its mind."""
        before = self.opinions(works)
        points = {work.reviewer: points_for(work, before) for work in works if not work.silence}
        asked = {name for name, told in points.items() if told}
        if not asked:
            return list(works)
        self.tell(DebateStarted(number, tuple(work.reviewer for work in works if work.reviewer in asked)))
        async with asyncio.TaskGroup() as group:
            tasks = {
                work.reviewer: group.create_task(self._review(work.reviewer, work.order, points[work.reviewer]))
                for work in works
                if work.reviewer in asked
            }
        after = [self._later(work, tasks[work.reviewer].result()) if work.reviewer in asked else work for work in works]
        said = {(one.reviewer, one.label): one.score for one in self.opinions(after)}
        self.changes += [
            ScoreChange(one.reviewer, one.label, number, one.score, now)
            for one in before
            if one.score is not None and (now := said[one.reviewer, one.label]) is not None and now != one.score
        ]
        return after

    @staticmethod
    def _later(before: ReviewerWork, after: ReviewerWork) -> ReviewerWork:
        """What a reviewer says after a round; where that is nothing, or less, what it said before."""
        kept = before if after.silence or after.scored < before.scored else after
        other = after if kept is before else before
        seconds = before.seconds + after.seconds
        return replace(kept, earlier=sum_costs([kept.earlier, other.cost]), seconds=seconds)


def points_for(work: ReviewerWork, found: Sequence[AnswerReview]) -> str:
    """What the other reviewers noted on the answers that one of them sees, without their names."""
    lines = []
    for label in work.order:
        others = [one for one in found if one.label == label and one.reviewer != work.reviewer and one.notes]
        for one in others:
            given = "" if one.score is None else f" (score {one.score:g})"
            lines.append(f"On response {label}{given}: {' '.join(one.notes.split())}")
    return "\n".join(lines)


def votes_of(found: Sequence[AnswerReview], weights: Mapping[str, float], *, whole: bool = False) -> CouncilVotes:
    """The reviewers' votes: scores, or places where that is all there is, under the ceilings that hold.

    With `whole`, the scores for the whole that were asked for beside the rubric's.
    """
    sheets: dict[str, dict[str, float]] = {}
    places: dict[str, list[AnswerReview]] = {}
    for one in found:
        value = one.holistic if whole else one.score
        if value is not None:
            sheets.setdefault(one.reviewer, {})[one.label] = value
        elif one.place is not None and not whole:
            places.setdefault(one.reviewer, []).append(one)
    scored = {one.label for one in found if one.scores}
    for reviewer, own in places.items():
        order: Sequence[str] = [one.label for one in sorted(own, key=lambda one: one.place or 0)]
        order = hold_ceilings(order, {one.label: _or_infinity(one.text_ceiling) for one in own})
        held = hold_ceilings(order, {one.label: _or_infinity(one.ceiling) for one in own if one.label in scored})
        sheets[reviewer] = {label: -float(place) for place, label in enumerate(held, 1)}
    return CouncilVotes(sheets, frozenset(places), weights)


def reviewer_weights(settings: CouncilSettings) -> dict[str, float]:
    """What each member's reviews count; one of whom nothing was learnt counts as those do on average.

    >>> reviewer_weights(CouncilSettings(models="a,b,c", reviewer_weights={"a": 1.5, "b": 0.5}))
    {'a': 1.5, 'b': 0.5, 'c': 1.0}
    """
    learned = settings.reviewer_weights
    known = [learned[name] for name in settings.models if name in learned]
    if not known or sum(known) <= 0:
        return {}
    usual = sum(known) / len(known)
    return {name: learned.get(name, usual) for name in settings.models}


def _or_infinity(ceiling: float | None) -> float:
    return math.inf if ceiling is None else ceiling


def _tally(label: str, points: Mapping[str, Mapping[str, float]], votes: CouncilVotes) -> VoteTally:
    given = [(own[label], votes.weight(reviewer)) for reviewer, own in points.items() if label in own]
    return VoteTally(sum(value * weight for value, weight in given), sum(weight for _, weight in given))
