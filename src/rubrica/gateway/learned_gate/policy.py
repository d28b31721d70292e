"""The three zones of the learned gate, and what a choice of their limits comes to on requests with a known outcome."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Literal

import msgspec

Zone = Literal["grade", "send", "escalate"]
NEVER, ALWAYS = 0.0, 1.1
"""Limits that no chance is below, and that none reaches."""

SURE = 2.0
"""Standard errors that a mean loss may well be off by."""


class GatePolicy(msgspec.Struct, frozen=True):
    """Limits of the chance that tier-0's answer will do.

    >>> GatePolicy(before=0.2, after=0.3, send=0.9).zone(0.5)
    'grade'
    """

    before: float = NEVER  # below it, by the question alone, tier-1 is asked at once
    after: float = NEVER  # below it, by the answer too, tier-1 is asked without a grade
    send: float = ALWAYS  # from it on the answer is sent without a grade

    def zone(self, chance: float) -> Zone:
        """What to do with an answer."""
        return "send" if chance >= self.send else "escalate" if chance < self.after else "grade"


GRADE_ALL = GatePolicy()


@dataclass(frozen=True, slots=True)
class KnownOutcome:
    """A request of which everything is known: what either tier's answer is worth, the grade, and the prices."""

    before: float  # the chance that tier-0's answer will do, by the question
    after: float  # by the answer, too
    passed: bool  # tier-0's answer, when it was graded
    loss: float  # what tier-1's answer is worth more, -1 to 1; measured by other grades than the one that passed it
    tier0: float  # US dollars
    tier1: float  # of the last tier alone
    grading: float
    above_loss: float = 0.0  # of what is sent where tier-0's answer is not, by tiers between
    above: float | None = None  # what that costs; None: the last tier answers at once


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """What a policy comes to, per request."""

    policy: GatePolicy
    loss: float  # against asking tier-1 always
    spread: float  # of the losses
    usd: float
    sent: float  # shares: sent without a grade,
    escalated: float  # to tier-1 without a grade,
    graded: float


def sent_by(policy: GatePolicy, known: KnownOutcome) -> Literal["tier-0", "above", "last"]:
    """Whose answer is sent: tier-0's, that of the tiers above it, each graded in turn, or at once the last one's."""
    if known.before < policy.before:
        return "last"
    zone = policy.zone(known.after)
    return "tier-0" if zone == "send" or (zone == "grade" and known.passed) else "above"


def loss_of(policy: GatePolicy, known: KnownOutcome) -> float:
    """What a request loses against the last tier's answer: nothing where that is the one that is sent."""
    match sent_by(policy, known):
        case "tier-0":
            return known.loss
        case "above":
            return known.above_loss
        case "last":
            return 0.0


def usd_of(policy: GatePolicy, known: KnownOutcome) -> float:
    """What a request costs."""
    if known.before < policy.before:
        return known.tier1
    above = known.tier1 if known.above is None else known.above
    match policy.zone(known.after):
        case "send":
            return known.tier0
        case "escalate":
            return known.tier0 + above
        case "grade":
            return known.tier0 + known.grading + (0.0 if known.passed else above)


@dataclass(frozen=True, slots=True)
class OutcomeCell:
    """Requests that every candidate treats alike, as one with their averages."""

    count: int
    known: KnownOutcome
    squares: float  # the mean of their squared losses
    above_squares: float  # the same of what is sent in place of tier-0's answer


def outcome(policy: GatePolicy, cells: Sequence[OutcomeCell]) -> PolicyOutcome:
    """The average over requests."""
    total = sum(cell.count for cell in cells)
    loss = squares = usd = sent = escalated = 0.0
    for cell in cells:
        known, share = cell.known, cell.count / total
        loss += share * loss_of(policy, known)
        squared = {"tier-0": cell.squares, "above": cell.above_squares, "last": 0.0}
        squares += share * squared[sent_by(policy, known)]
        usd += share * usd_of(policy, known)
        zone = "escalate" if known.before < policy.before else policy.zone(known.after)
        sent += share * (zone == "send")
        escalated += share * (zone == "escalate")
    spread = max(squares - loss * loss, 0.0) ** 0.5
    return PolicyOutcome(policy, loss, spread, usd, sent, escalated, 1 - sent - escalated)


def cells_of(known: Sequence[KnownOutcome]) -> list[OutcomeCell]:
    """Each request as a cell of its own."""
    return [OutcomeCell(1, one, one.loss**2, one.above_loss**2) for one in known]


def worth_testing(known: Sequence[KnownOutcome], tests: int, steps: int = 8) -> list[PolicyOutcome]:
    """Policies than which none is both cheaper and easier to prove by so many tests, from the easiest on.

    Their limits are at even shares of the requests. The first asks tier-1 always, which loses nothing.
    """
    early = _levels([one.before for one in known], steps)
    late = _levels([one.after for one in known], 2 * steps)
    cells = _cells(known, early, late)
    limits = product((NEVER, *early), (NEVER, *late), (*late, ALWAYS))
    policies = [GatePolicy(ALWAYS), *(GatePolicy(*each) for each in limits if each[1] <= each[2])]
    reach = SURE / tests**0.5
    found = sorted(
        (outcome(policy, cells) for policy in policies),
        key=lambda one: (max(one.loss, 0.0) + reach * one.spread, one.usd),
    )
    front: list[PolicyOutcome] = []
    for one in found:
        if not front or one.usd < front[-1].usd:
            front.append(one)
    return front


def _levels(values: Iterable[float], steps: int) -> list[float]:
    ordered = sorted(values)
    return sorted({ordered[len(ordered) * step // steps] for step in range(1, steps)})


def _cells(known: Sequence[KnownOutcome], early: Sequence[float], late: Sequence[float]) -> list[OutcomeCell]:
    groups: dict[tuple[int, int, bool], list[KnownOutcome]] = {}
    for one in known:
        place = bisect_right(early, one.before), bisect_right(late, one.after), one.passed
        groups.setdefault(place, []).append(one)
    return [
        OutcomeCell(
            len(group),
            _average(group),
            fmean(one.loss**2 for one in group),
            fmean(one.above_loss**2 for one in group),
        )
        for group in groups.values()
    ]


def _average(group: Sequence[KnownOutcome]) -> KnownOutcome:
    return KnownOutcome(
        min(one.before for one in group),
        min(one.after for one in group),
        group[0].passed,
        fmean(one.loss for one in group),
        fmean(one.tier0 for one in group),
        fmean(one.tier1 for one in group),
        fmean(one.grading for one in group),
        fmean(one.above_loss for one in group),
        fmean(one.tier1 if one.above is None else one.above for one in group),
    )
