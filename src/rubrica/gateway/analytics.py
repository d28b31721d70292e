"""What the gateway did over a time: passing and escalating, money, waiting, trust in the grades, and what people say.

Shares come with Wilson's 95 % interval. Sums of money say of how many requests they are, and of how many the price
is not known; those are left out, and never taken for 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from sqlalchemy import Connection

from rubrica.errors import InputError
from rubrica.report.figures import count_of
from rubrica.scoring.intervals import Estimate, Moments, mean_estimate, share_estimate, wilson
from rubrica.store.gateway_figures import (
    Bucket,
    ComparisonFigures,
    ExperimentArm,
    Part,
    RatingFigures,
    RequestGroup,
    RequestSums,
    RequestWindow,
    arms,
    comparisons,
    corrections,
    groups,
    latencies,
    ratings,
)

from .experiment import ArmContrast, contrasts

K = TypeVar("K")
MOST_BUCKETS = 2_000
LENGTHS: dict[Bucket, timedelta] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}


class Share(msgspec.Struct, frozen=True):
    """How many of how many. `share` is None of nothing."""

    count: int
    of: int
    share: Estimate | None


class Mean(msgspec.Struct, frozen=True):
    """A mean and how many values it is of; None of nothing."""

    value: float | None
    of: int


class Money(msgspec.Struct, frozen=True):
    """US dollars, of the requests whose price is known."""

    usd: float | None  # their sum; None: there is none
    mean: float | None  # of one request
    of: int
    unknown: int  # requests whose price is not known

    def __str__(self) -> str:
        """For people.

        >>> print(Money(1.5, 0.015, 100, 7), "|", Money(None, None, 0, 7))
        $1.5000 (unknown for 7 requests) | unknown for 7 requests
        """
        gap = f"unknown for {count_of(self.unknown, 'request')}" if self.unknown else ""
        if self.usd is None:
            return gap or "none"
        return f"${self.usd:.4f}" + (f" ({gap})" if gap else "")


class Percentiles(msgspec.Struct, frozen=True):
    """Milliseconds within which so many percent were done, of `of` requests that did it."""

    p50: float
    p95: float
    p99: float
    of: int


class RequestFigures(msgspec.Struct, frozen=True):
    """Figures of some requests: all, those of one question type, or those of one time."""

    requests: int
    tier0: Share  # of answers: given by tier-0
    passed: Share  # of grades
    score: Mean
    confidence: Mean  # the graders' own
    variance: Mean  # of the dimensions' scores
    cost: Money
    evaluation: Money  # what grading cost, of what was graded
    savings: Money  # against tier-1 alone


class Costs(msgspec.Struct, frozen=True):
    """Where money went."""

    tier0: Money
    tier1: Money
    classification: Money
    grading: Money
    total: Money
    savings: Money
    saved_share: float | None  # of what tier-1 alone would have cost


class TroubleShares(msgspec.Struct, frozen=True):
    """What did not go as it should. All are shares of requests, but for `grading`, which is one of grades."""

    degraded: Share
    errors: Share
    refused: Share  # by the gateway or by the models: the client's mistake, or more than it may
    gone: Share  # clients that did not wait
    cached: Share
    streams: Share
    tier0_down: Share
    grading: Share


class GateShares(msgspec.Struct, frozen=True):
    """What the learned gate decided without a grade, as shares of answers."""

    sent: Share
    escalated: Share


class Classification(msgspec.Struct, frozen=True):
    """What was asked, and who said so."""

    types: dict[str, int]
    sources: dict[str, int]
    confidence: Mean  # the classifiers' own
    unclassified: int
    right: Share  # of the questions of which somebody says what type they were
    mistaken: dict[str, int]  # of these, by the type that was found and the one that was meant


class FeedbackFigures(msgspec.Struct, frozen=True):
    """What people think of one kind of answers."""

    opinions: int
    rating: Mean  # 1 to 5
    liked: Share  # of those who liked or disliked


class FeedbackSummary(msgspec.Struct, frozen=True):
    """What people think, beside the grades."""

    passed: FeedbackFigures  # tier-0's answers that passed
    escalated: FeedbackFigures  # tier-1's answers, given in place of tier-0's
    failed: FeedbackFigures  # tier-0's answers that failed, and were given for want of a better one
    ungraded: FeedbackFigures
    agreement: Share  # of tier-0's graded answers: liked and passed, or disliked and failed


class ShadowFigures(msgspec.Struct, frozen=True):
    """What asking tier-1 too has shown for one question type."""

    question_type: str
    compared: int
    passed_loss: Estimate | None  # points that answers which passed scored less than tier-1's
    passed_worse: Share  # of these, tier-1's answer was clearly better
    escalated_gain: Estimate | None  # points that escalating won
    escalated_better: Share  # of these, tier-1's answer was clearly better
    not_compared: int  # begun, and nothing came of it
    cost: Money


class ArmFigures(msgspec.Struct, frozen=True):
    """One arm of an experiment."""

    variant: str
    requests: int
    conversations: int  # with a graded request
    passed: Estimate | None
    score: Estimate | None
    total_usd: Estimate | None  # the mean of requests whose price is known
    unpriced: int
    rating: Estimate | None


class Comparisons(msgspec.Struct, frozen=True):
    """The arms of an experiment, and how the others differ from the control."""

    arms: tuple[ArmFigures, ...]
    contrasts: tuple[ArmContrast, ...]


class Analytics(msgspec.Struct, frozen=True):
    """All of it."""

    since: datetime
    until: datetime
    question_type: str | None  # None: of all types
    bucket: Bucket
    all: RequestFigures
    types: dict[str, RequestFigures]
    trend: dict[str, RequestFigures]  # by the time that a bucket begins, in ISO 8601
    costs: Costs
    latency: dict[Part, Percentiles]
    latency_sampled: bool  # whether the percentiles are those of a sample
    classification: Classification
    troubles: TroubleShares
    learned_gate: GateShares
    opinions: FeedbackSummary
    shadow: tuple[ShadowFigures, ...]
    experiment: Comparisons | None


def analytics(
    conn: Connection, since: datetime, until: datetime, question_type: str | None = None, bucket: Bucket = "day"
) -> Analytics:
    """Figures of the requests that came from `since` until just before `until`, in buckets of UTC."""
    if not since < until:
        raise InputError("the time looked at ends after it begins")
    if (until - since) / LENGTHS[bucket] > MOST_BUCKETS:
        raise InputError(f"that is more than {MOST_BUCKETS} {bucket}s: take longer buckets, or a shorter time")
    window = RequestWindow(since, until, question_type)
    found = groups(conn, window, bucket)
    whole = _sum(group.sums for group in found)
    times = latencies(conn, window, whole.requests)
    compared = arms(conn, window)
    return Analytics(
        since,
        until,
        question_type,
        bucket,
        _figures(whole),
        {
            name: _figures(sums)
            for name, sums in _group_by(found, lambda group: group.question_type)
            if name is not None
        },
        {at.isoformat(): _figures(sums) for at, sums in _group_by(found, lambda group: group.at)},
        _costs(whole),
        {part: percentiles(ordered) for part, ordered in times.items() if ordered},
        len(times["total"]) < whole.requests,
        _classification(found, whole, corrections(conn, window)),
        _troubles(whole),
        GateShares(_share(whole.sent, whole.answered), _share(whole.escalated, whole.answered)),
        _opinions(ratings(conn, window)),
        _shadow(comparisons(conn, window)),
        Comparisons(tuple(map(_arm, compared)), tuple(contrasts(compared))) if compared else None,
    )


def _sum(parts: Iterable[RequestSums]) -> RequestSums:
    total = RequestSums()
    for part in parts:
        total.add(part)
    return total


def _group_by(found: Sequence[RequestGroup], key: Callable[[RequestGroup], K]) -> list[tuple[K, RequestSums]]:
    """Sums by whatever `key` says, in its order."""
    sums: dict[K, RequestSums] = {}
    for group in found:
        sums.setdefault(key(group), RequestSums()).add(group.sums)
    return sorted(sums.items(), key=lambda item: str(item[0]))


def _share(count: int, of: int) -> Share:
    return Share(count, of, wilson(count, of))


def _mean(total: float, of: int) -> Mean:
    return Mean(total / of if of else None, of)


def _money(usd: float, of: int, requests: int) -> Money:
    return Money(usd if of else None, usd / of if of else None, of, requests - of)


def _figures(sums: RequestSums) -> RequestFigures:
    return RequestFigures(
        sums.requests,
        _share(sums.tier0, sums.answered),
        _share(sums.passed, sums.graded),
        _mean(sums.score, sums.scored),
        _mean(sums.confidence, sums.scored),
        _mean(sums.variance, sums.varied),
        _money(sums.total_usd, sums.total_priced, sums.requests),
        _money(sums.grading_usd, sums.grading_priced, sums.graded),
        _money(sums.saved_usd, sums.saved_priced, sums.requests),
    )


def _costs(sums: RequestSums) -> Costs:
    return Costs(
        _money(sums.tier0_usd, sums.tier0_priced, sums.requests),
        _money(sums.tier1_usd, sums.tier1_priced, sums.requests),
        _money(sums.classification_usd, sums.classification_priced, sums.requests),
        _money(sums.grading_usd, sums.grading_priced, sums.graded),
        _money(sums.total_usd, sums.total_priced, sums.requests),
        _money(sums.saved_usd, sums.saved_priced, sums.requests),
        sums.saved_usd / sums.baseline_usd if sums.baseline_usd else None,
    )


def _troubles(sums: RequestSums) -> TroubleShares:
    return TroubleShares(
        _share(sums.degraded, sums.requests),
        _share(sums.errors, sums.requests),
        _share(sums.refused, sums.requests),
        _share(sums.gone, sums.requests),
        _share(sums.cached, sums.requests),
        _share(sums.streams, sums.requests),
        _share(sums.tier0_failures, sums.requests),
        _share(sums.grading_failures, sums.graded),
    )


def _classification(
    found: Sequence[RequestGroup], whole: RequestSums, said: Mapping[tuple[str | None, str], int]
) -> Classification:
    types = {
        name: sums.requests for name, sums in _group_by(found, lambda group: group.question_type) if name is not None
    }
    sources = {
        name: sums.requests for name, sums in _group_by(found, lambda group: group.classified_by) if name is not None
    }
    confidence = _mean(whole.classification_confidence, whole.classified)
    right = sum(count for (taken, meant), count in said.items() if taken == meant)
    mistaken = {f"{taken or 'none'} for {meant}": count for (taken, meant), count in said.items() if taken != meant}
    told = (_share(right, sum(said.values())), dict(sorted(mistaken.items())))
    return Classification(types, sources, confidence, whole.requests - sum(types.values()), *told)


def percentiles(ordered: Sequence[float]) -> Percentiles:
    """Of times in ascending order."""

    def within(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return Percentiles(within(0.50), within(0.95), within(0.99), len(ordered))


def _opinions(found: Sequence[RatingFigures]) -> FeedbackSummary:
    passed = [one for one in found if one.tier == "tier-0" and one.passed]
    failed = [one for one in found if one.tier == "tier-0" and one.passed is False]
    escalated = [one for one in found if one.tier not in (None, "tier-0") and one.passed is not None]
    ungraded = [one for one in found if one.passed is None]
    right = sum(one.liked for one in passed) + sum(one.disliked for one in failed)
    agreement = _share(right, sum(one.liked + one.disliked for one in (*passed, *failed)))
    return FeedbackSummary(_opinion(passed), _opinion(escalated), _opinion(failed), _opinion(ungraded), agreement)


def _opinion(found: Sequence[RatingFigures]) -> FeedbackFigures:
    liked, disliked = sum(one.liked for one in found), sum(one.disliked for one in found)
    rating = _mean(sum(one.rating for one in found), sum(one.rated for one in found))
    return FeedbackFigures(sum(one.opinions for one in found), rating, _share(liked, liked + disliked))


def _shadow(found: Sequence[ComparisonFigures]) -> tuple[ShadowFigures, ...]:
    return tuple(
        _comparing(name, [one for one in found if one.question_type == name])
        for name in sorted({one.question_type for one in found if one.question_type is not None})
    )


def _comparing(name: str, found: Sequence[ComparisonFigures]) -> ShadowFigures:
    passed, failed = ([one for one in found if one.passed is truth] for truth in (True, False))
    counted = sum(one.count for one in found)
    not_compared = sum(one.uncompared for one in found)
    unpriced = sum(one.unpriced for one in found)
    begun = counted + not_compared
    return ShadowFigures(
        name,
        counted,
        _mean_difference(passed),
        _share(sum(one.better for one in passed), sum(one.count for one in passed)),
        _mean_difference(failed),
        _share(sum(one.better for one in failed), sum(one.count for one in failed)),
        not_compared,
        _money(sum(one.usd for one in found), begun - unpriced, begun),
    )


def _mean_difference(found: Sequence[ComparisonFigures]) -> Estimate | None:
    count, total = sum(one.count for one in found), sum(one.difference for one in found)
    return mean_estimate(Moments(count, count, total, sum(one.squares for one in found), total, float(count)))


def _arm(arm: ExperimentArm) -> ArmFigures:
    return ArmFigures(
        arm.variant,
        arm.requests,
        arm.passed.groups,
        share_estimate(arm.passed),
        mean_estimate(arm.score),
        mean_estimate(arm.total_usd),
        arm.unpriced,
        mean_estimate(arm.rating),
    )
