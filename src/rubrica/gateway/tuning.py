"""Proposes thresholds from requests of which both tiers' answers were graded.

At a threshold, the answers of tier-0 that reach it are given to clients. What that costs in quality is how much
better tier-1's answers to the same requests scored, on average. One half of the requests proposes the lowest threshold
at which that loss is within a tolerance, and at which the weakest answers that still pass are not clearly worse. The
other half, which had no say in the choice, tells what it costs: the best of many thresholds looks better than it is on
the requests that it was chosen by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from random import Random
from typing import Literal

import msgspec

from rubrica.report.figures import count_of
from rubrica.scoring.intervals import REPLICATES, Estimate, Moments, mean_estimate, percentile_interval, wilson
from rubrica.store.gateway import ComparedRequest

from .shadow import CLEARLY

TOLERANCE = 3.0
"""Points of 100 that answers may lose on average."""

FEWEST = 30
"""Answers over a threshold that it takes to judge it; of fewer, resampling makes too narrow an interval."""

MOST = 5_000
"""Requests of one type that are looked at, the newest."""

WEAKEST = 0.1
"""The share of passing answers that counts as the weakest, but at least FEWEST_WEAK of them."""

FEWEST_WEAK = 10

Advice = Literal["change", "keep", "cannot tell", "no threshold"]


class ThresholdCandidate(msgspec.Struct, frozen=True):
    """What would come of one threshold."""

    threshold: float  # of 100
    to_tier1: Estimate  # the share of graded requests that would go to tier-1
    passing: int  # answers that reach it
    loss: Estimate  # points of 100 that they score less than tier-1's, on average
    weakest_loss: float  # the same for the weakest of them


class Proposal(msgspec.Struct, frozen=True):
    """What to do about the threshold of one question type, and why."""

    question_type: str
    advice: Advice
    why: str
    current: float | None  # of 100
    threshold: float | None  # the proposed one
    samples: int  # requests of which both answers were graded
    missing: int = 0  # about how many more it takes to tell
    candidates: tuple[ThresholdCandidate, ...] = ()  # those that could be judged, highest first
    measured: ThresholdCandidate | None = None  # the proposed one, on the requests that had no say in it


@dataclass(frozen=True, slots=True)
class TuningTerms:
    """What a proposal is held to."""

    tolerance: float = TOLERANCE
    clearly: float = CLEARLY
    fewest: int = FEWEST
    replicates: int = REPLICATES


PLAIN = TuningTerms()


def propose(
    rows: Sequence[ComparedRequest], current: Mapping[str, float], chance: Random, terms: TuningTerms = PLAIN
) -> list[Proposal]:
    """A proposal for every question type that has a threshold or was compared, in the order of their names.

    `rows` are newest first, `current` the thresholds of 100 that hold now.
    """
    by_type: dict[str, list[ComparedRequest]] = {name: [] for name in current}
    for row in rows:
        own = by_type.setdefault(row.question_type, [])
        if len(own) < MOST:
            own.append(row)
    return [_propose(name, by_type[name], current.get(name), chance, terms) for name in sorted(by_type)]


def changes(proposals: Sequence[Proposal], out_of: float = 100.0) -> dict[str, float]:
    """The thresholds to be changed, on the full marks of the rubric, as `grading.thresholds` has them."""
    return {
        one.question_type: round(one.threshold * out_of / 100, 6)
        for one in proposals
        if one.advice == "change" and one.threshold is not None
    }


def _propose(
    name: str, rows: Sequence[ComparedRequest], current: float | None, chance: Random, terms: TuningTerms
) -> Proposal:
    mixed = chance.sample(rows, len(rows))
    found = tuple(candidates(mixed[::2], chance, terms))
    if not found:
        free = sum(not row.gated for row in rows)
        missing = max(1, 2 * terms.fewest - free)
        compared = count_of(free, "answer was", "answers were")
        why = f"{compared} compared that a threshold decides about; it takes {2 * terms.fewest}"
        return Proposal(name, "cannot tell", why, current, None, len(rows), missing)
    fit = [one for one in found if one.loss.high <= terms.tolerance and one.weakest_loss <= terms.clearly]
    if fit:
        best = min(fit, key=lambda one: one.threshold)
        return _measured(
            best, mixed[1::2], Proposal(name, "cannot tell", "", current, None, len(rows), 0, found), terms
        )
    missing = 2 * _missing(found, terms)
    if missing:
        why = f"no threshold keeps the loss surely within {terms.tolerance:g} points, but some may"
        return Proposal(name, "cannot tell", why, current, None, len(rows), missing, found)
    best = found[-1]
    why = (
        f"at every threshold tier-1's answers are better by more than {terms.tolerance:g} points, or the weakest that "
        f"pass by more than {terms.clearly:g}; at {best.threshold:g} by {best.loss}"
    )
    return Proposal(name, "no threshold", why, current, None, len(rows), 0, found)


def _measured(
    best: ThresholdCandidate, rows: Sequence[ComparedRequest], proposal: Proposal, terms: TuningTerms
) -> Proposal:
    """The proposal with a threshold, as the half of the requests measures it that had no say in it."""
    passing = [row.difference for row in rows if not row.gated and row.score >= best.threshold]
    loss = mean_estimate(Moments.of([[one] for one in passing]))
    to_tier1 = wilson(len(rows) - len(passing), len(rows))
    if loss is None or to_tier1 is None or len(passing) < terms.fewest:
        why = f"too few answers reach {best.threshold:g} to measure it on requests that it was not chosen by"
        return msgspec.structs.replace(proposal, why=why, missing=2 * terms.fewest)
    measured = ThresholdCandidate(best.threshold, to_tier1, len(passing), loss, best.weakest_loss)
    if loss.high > terms.tolerance:
        why = f"{best.threshold:g} was chosen, and then lost {loss} points on requests that it was not chosen by"
        missing = max(1, 2 * _missing([measured], terms))
        return msgspec.structs.replace(proposal, why=why, missing=missing, measured=measured)
    return msgspec.structs.replace(
        proposal,
        advice="keep" if best.threshold == proposal.current else "change",
        why=_reason(measured, terms),
        threshold=best.threshold,
        measured=measured,
    )


def candidates(rows: Sequence[ComparedRequest], chance: Random, terms: TuningTerms) -> list[ThresholdCandidate]:
    """Every whole number that some answer just reaches and enough answers do, highest first."""
    free = sorted((row for row in rows if not row.gated), key=lambda row: -row.score)
    if len(free) < terms.fewest:
        return []
    losses = [row.difference for row in free]
    levels: dict[int, int] = {}  # how many answers reach a threshold
    for place, row in enumerate(free):
        levels[math.floor(row.score)] = place + 1
    kept = [(level, count) for level, count in levels.items() if count >= terms.fewest]
    sums = [0.0, *accumulate(losses)]
    intervals = _intervals(losses, [count for _, count in kept], chance, terms.replicates)
    found = []
    for (level, count), (low, high) in zip(kept, intervals, strict=True):
        weak = max(FEWEST_WEAK, round(WEAKEST * count))
        to_tier1 = wilson(len(rows) - count, len(rows))
        assert to_tier1 is not None  # noqa: S101 - there are rows
        loss = Estimate(sums[count] / count, low, high)
        found.append(ThresholdCandidate(float(level), to_tier1, count, loss, (sums[count] - sums[count - weak]) / weak))
    return found


def _intervals(
    losses: Sequence[float], counts: Sequence[int], chance: Random, replicates: int
) -> list[tuple[float, float]]:
    """The interval of the mean of the first so many losses, for each of `counts`, from the same resamples."""
    means: list[list[float]] = [[] for _ in counts]
    places = range(len(losses))
    for _ in range(replicates):
        times = [0] * len(losses)
        for place in chance.choices(places, k=len(losses)):
            times[place] += 1
        drawn, totals = list(accumulate(times)), list(accumulate(map(mul, times, losses)))
        for own, count in zip(means, counts, strict=True):
            if drawn[count - 1]:
                own.append(totals[count - 1] / drawn[count - 1])
    return [percentile_interval(own) for own in means]


def _missing(found: Sequence[ThresholdCandidate], terms: TuningTerms) -> int:
    """About how many more answers it takes until some interval is within the tolerance; 0 if none would be."""
    needed = []
    for one in found:
        room, reach = terms.tolerance - one.loss.value, one.loss.high - one.loss.value
        if room > 0 and one.weakest_loss <= terms.clearly:
            needed.append(math.ceil(one.passing * ((reach / room) ** 2 - 1)))
    return max(1, min(needed)) if needed else 0


def _reason(best: ThresholdCandidate, terms: TuningTerms) -> str:
    return (
        f"answers that reach {best.threshold:g} score {best.loss} points less than tier-1's, which is within "
        f"{terms.tolerance:g}; {best.to_tier1.value:.0%} of requests would go to tier-1"
    )
