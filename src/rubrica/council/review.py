"""Stage 2: every member reviews the others' answers; scores are capped by the rubric's gates.

Ceilings and gates are the engine's: nothing here knows what accuracy is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import msgspec

from rubrica.engine.audience import listeners
from rubrica.engine.evaluate import evaluate_scores
from rubrica.engine.plan import Plan
from rubrica.judges.judge import ResponseReview
from rubrica.model.evaluation import Evaluation, Score, Unscored, Vote

from .reviewer_work import ReviewerWork, ReviewSetup, scores_given, sum_costs
from .rubric import OVERALL, holistic_plan

Status = Literal[
    "scored",  # by the rubric
    "holistic",  # by one score for the whole: asked for, or given in place of the rubric
    "ranked",  # by a place in a ranking without scores, which counts by Borda
    "inconclusive",  # something that the rubric needs is missing, so its ceilings cannot be told
    "abstained",  # no score at all
]


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
    place: int | None = None  # in a ranking without scores, 1 being best
    ceiling: float | None = None  # the most that it could have scored, by the gates that fired
    text_ceiling: float | None = None  # the same by the gates that read the text alone; kept with a place


def evaluate_gates(setup: ReviewSetup) -> dict[str, Evaluation]:
    """Each answer with no score yet: only gates that need none can have fired."""
    return {label: evaluate_scores(setup.plan, setup.context(label), {}, notify=False) for label in setup.answers}


def pool_reviews(setup: ReviewSetup, works: Sequence[ReviewerWork], *, notify: bool = True) -> dict[str, Evaluation]:
    """Each answer with the mean of what reviewers gave its dimensions; every reviewer's vote is kept."""
    notify = notify and setup.scoring != "holistic"
    return {label: _pool_answer(setup, works, label, notify=notify) for label in setup.answers}


def report_holistic_scores(setup: ReviewSetup, works: Sequence[ReviewerWork]) -> None:
    """Let whoever listens to evaluations hear the mean score for the whole of each answer, where it was asked for."""
    if setup.scoring == "rubric" or not listeners:
        return
    plan = holistic_plan(setup.plan)
    for label in setup.answers:
        reviews = [(one.reviewer, one.holistic[label]) for one in works if label in one.holistic]
        votes = [(reviewer, _overall(review) or review.scores[OVERALL]) for reviewer, review in reviews]
        if votes:
            evaluate_scores(plan, setup.context(label), {OVERALL: _mean(votes)}, f"Response {label}")


def opinions(
    setup: ReviewSetup,
    works: Sequence[ReviewerWork],
    authors: Mapping[str, str],
    gated: tuple[Mapping[str, Evaluation], Mapping[str, Evaluation]],
    *,
    notify: bool = True,
) -> list[AnswerReview]:
    """What every reviewer gave every answer it saw.

    `gated` are the answers without a score and with all reviewers'. With `notify`, whoever listens to evaluations is
    told of each.
    """
    unscored, together = gated
    return [
        _opinion(setup, work, place, authors[label] == work.reviewer, (unscored[label], together[label], notify))
        for work in works
        for place, label in enumerate(work.order, 1)
    ]


def _opinion(
    setup: ReviewSetup,
    work: ReviewerWork,
    place: int,
    own: bool,
    gated: tuple[Evaluation, Evaluation, bool],
) -> AnswerReview:
    label = work.order[place - 1]
    by_rubric, whole = work.rubric.get(label), work.holistic.get(label)
    unscored, together, notify = gated
    overall = _overall(whole)
    seen = AnswerReview(
        reviewer=work.reviewer,
        label=label,
        position=place,
        own=own,
        status="abstained",
        holistic=None if overall is None else _apply_caps(setup.plan, overall.value, unscored),
    )
    ballot = work.ballot
    if ballot is not None and label in ballot.order:
        return msgspec.structs.replace(
            seen,
            status="ranked",
            place=ballot.order.index(label) + 1,
            gates=fired_gates(together),
            ceiling=ceiling_of(together),
            text_ceiling=ceiling_of(unscored),
            reason="a ranking without scores",
        )
    if by_rubric is None:
        return seen if whole is None else _as_a_whole(setup, seen, whole, overall, unscored)
    if given := scores_given(by_rubric):
        evaluation = evaluate_scores(
            setup.plan, setup.context(label), by_rubric.scores, f"Response {label}", notify=notify
        )
        return msgspec.structs.replace(
            seen,
            status="inconclusive" if evaluation.score is None else "scored",
            score=evaluation.score,
            scores={name: outcome.value for name, outcome in given.items()},
            verdict=evaluation.verdict,
            gates=fired_gates(evaluation),
            ceiling=ceiling_of(evaluation),
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
        ceiling=ceiling_of(ceiling),
        notes=review.notes or overall.reason,
        reason=why,
    )


def fired_gates(evaluation: Evaluation) -> tuple[str, ...]:
    """The names of the gates that fired."""
    return tuple(gate.name for gate in evaluation.gates if gate.fired)


def ceiling_of(evaluation: Evaluation) -> float | None:
    """The lowest cap that fired; None where none did."""
    caps = [gate.limit for gate in evaluation.gates if gate.fired and gate.effect == "cap" and gate.limit is not None]
    return min(caps, default=None)


def _apply_caps(plan: Plan, value: float, evaluation: Evaluation) -> float:
    """A score for the whole, laid out on out_of, under the caps that fired for the answer."""
    score = plan.rubric.scale.share(value) * plan.decision.out_of
    ceiling = ceiling_of(evaluation)
    return round(score if ceiling is None else min(score, ceiling), 2)


def _pool_answer(setup: ReviewSetup, works: Sequence[ReviewerWork], label: str, *, notify: bool) -> Evaluation:
    scores: dict[str, Score | Unscored] = {}
    for axis in setup.plan.axes:
        votes = [
            (work.reviewer, outcome)
            for work in works
            if label in work.rubric and (outcome := work.rubric[label].scores.get(axis.name)) is not None
        ]
        if votes:
            scores[axis.name] = _mean(votes)
    return evaluate_scores(setup.plan, setup.context(label), scores, f"Response {label}", notify=notify)


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


def _overall(review: ResponseReview | None) -> Score | None:
    if review is None:
        return None
    asked = review.scores.get(OVERALL)
    return asked if isinstance(asked, Score) else review.overall
