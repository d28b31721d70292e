"""Learns the gate from requests of which both tiers' answers were graded.

Some of them teach the chances and propose limits, from the safest to the cheapest. The others, which had no say in
that, test the limits in this order: those that hold lose no more against asking tier-1 always than was allowed, with
the probability that was asked for, on requests like these. The cheapest of them is used. While the records show too
little, everything is graded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

import msgspec

from rubrica.report.figures import count_of
from rubrica.scoring.risk_control import draws_needed, fixed_sequence_test, is_below

from .policy import GRADE_ALL, GatePolicy, KnownOutcome, PolicyOutcome, cells_of, loss_of, outcome, worth_testing
from .signals import ANSWER_SIGNALS, QUESTION_SIGNALS
from .weights import ChanceWeights, fit_chance

TAUGHT = 0.4
"""The share of the requests that teach; the others test."""

FEWEST = 100
"""Requests that it takes to learn anything."""

FOLDS = 3
GOOD = 0.1
"""Tier-0's answer will do where tier-1's is worth less than this more, of 1."""

GateState = Literal["learned", "too few", "not proven", "no prices"]


class GateSample(msgspec.Struct, frozen=True):
    """A request that was compared: what was seen of it, and what came of it. Costs are US dollars."""

    question: tuple[float, ...]
    answer: tuple[float, ...]
    passed: bool  # tier-0's answer, when it was graded
    loss: float  # of 1: what tier-1's answer is worth more, by grades that had no say in passing
    tier0_usd: float | None = None
    tier1_usd: float | None = None
    grading_usd: float | None = None
    above_loss: float = 0.0  # as `loss`, of what is sent in place of tier-0's answer where there are tiers between
    above_usd: float | None = None  # what that costs; None: tier-1 answers at once, or nobody knows

    @property
    def fits(self) -> bool:
        """Whether it was kept by this version of the gate."""
        return len(self.question) == len(QUESTION_SIGNALS) and len(self.answer) == len(ANSWER_SIGNALS)


@dataclass(frozen=True, slots=True)
class GateTerms:
    """What the gate is held to."""

    loss: float = 0.01  # of 1, on average against asking tier-1 always
    confidence: float = 0.95  # that this holds

    @property
    def delta(self) -> float:
        return 1 - self.confidence


class LearnedGate(msgspec.Struct, frozen=True):
    """The chances, the limits, and what they rest on."""

    state: GateState
    why: str
    samples: int  # compared requests that it rests on
    missing: int = 0  # about how many more it takes, where there are too few
    question: ChanceWeights | None = None
    answer: ChanceWeights | None = None
    policy: GatePolicy = GRADE_ALL
    loss: float | None = None  # measured on the requests that tested it
    usd: float | None = None  # of one request, on average
    tier1_usd: float | None = None  # of one request by tier-1 alone
    grade_all_usd: float | None = None
    sent: float = 0.0  # shares of requests: sent without a grade,
    escalated: float = 0.0  # to tier-1 without a grade
    graded: float = 1.0

    @property
    def active(self) -> bool:
        """Whether it decides anything."""
        return self.state == "learned" and self.policy != GRADE_ALL

    def skips_tier0(self, question: Sequence[float]) -> bool:
        """Whether tier-1 is asked at once."""
        return self.question is not None and self.question.chance(question) < self.policy.before

    def chance(self, question: Sequence[float], answer: Sequence[float]) -> float:
        """How likely tier-0's answer will do."""
        return self.answer.chance((*question, *answer)) if self.answer is not None else 0.0


def learn_gate(samples: Sequence[GateSample], terms: GateTerms, seed: int = 0) -> LearnedGate:
    """The gate that these requests support. They are independent draws of the traffic that it will stand before."""
    usable = [sample for sample in samples if sample.fits]
    tests = draws_needed(terms.loss, terms.delta, lowest=-1.0)
    enough = max(FEWEST, math.ceil(tests / (1 - TAUGHT)))
    if len(usable) < enough:
        points = f"{100 * terms.loss:.3g} points"
        compared = count_of(len(usable), "request was", "requests were")
        why = f"{compared} compared; to hold a loss of {points} it takes {enough:,} at the least"
        return LearnedGate("too few", why, len(usable), enough - len(usable))
    priced = _with_prices(usable)
    if priced is None:
        why = "the price of a model is not known, so that nothing tells what is cheaper"
        return LearnedGate("no prices", why, len(usable))
    Random(seed).shuffle(priced)  # noqa: S311 - no secret
    taught = priced[: round(TAUGHT * len(priced))]
    good = [sample.loss < GOOD for sample in taught]
    if all(good) or not any(good):
        why = "tier-0's answers are all alike beside tier-1's: there is nothing to tell apart"
        return LearnedGate("not proven", why, len(usable))
    return _proven(_Taught.from_samples(taught, good, len(priced) - len(taught)), priced[len(taught) :], terms)


@dataclass(frozen=True, slots=True)
class _Taught:
    """The chances, and policies in the order in which they are to be tested."""

    question: ChanceWeights
    answer: ChanceWeights
    policies: Sequence[PolicyOutcome]

    @classmethod
    def from_samples(cls, samples: Sequence[GateSample], good: Sequence[bool], tests: int) -> _Taught:
        questions = [sample.question for sample in samples]
        both = [(*sample.question, *sample.answer) for sample in samples]
        before, after = _left_out(questions, good), _left_out(both, good)
        known = [_known(*each) for each in zip(samples, before, after, strict=True)]
        return cls(fit_chance(questions, good), fit_chance(both, good), worth_testing(known, tests))

    def known(self, sample: GateSample) -> KnownOutcome:
        both = (*sample.question, *sample.answer)
        return _known(sample, self.question.chance(sample.question), self.answer.chance(both))


def _proven(taught: _Taught, tests: Sequence[GateSample], terms: GateTerms) -> LearnedGate:
    """The cheapest policy that the tests prove; grading everything where they prove none that is cheaper."""
    known = [taught.known(sample) for sample in tests]

    def holds(candidate: PolicyOutcome) -> bool:
        losses = [loss_of(candidate.policy, one) for one in known]
        return is_below(losses, terms.loss, terms.delta, lowest=-1.0)

    held = fixed_sequence_test(taught.policies, holds)
    cells = cells_of(known)
    all_graded = outcome(GRADE_ALL, cells)
    found = outcome(held[-1].policy, cells) if held else all_graded
    if not held or (found.usd >= all_graded.usd and not _too_lossy(known, terms)):
        points = f"{100 * terms.loss:.3g} points"
        why = f"no limits that are cheaper than grading everything are proven yet to lose at most {points}"
        return _gate("not proven", why, taught, known, all_graded)
    why = (
        f"loses at most {100 * terms.loss:.3g} points of 100 against asking tier-1 always, with probability "
        f"{terms.confidence:.3g} (tested on {len(tests):,} requests that it was not learnt from)"
    )
    return _gate("learned", why, taught, known, found)


def _gate(
    state: GateState, why: str, taught: _Taught, known: Sequence[KnownOutcome], found: PolicyOutcome
) -> LearnedGate:
    samples = round(len(known) / (1 - TAUGHT))
    return LearnedGate(
        state,
        why,
        samples,
        0 if state == "learned" else samples,  # twice as many tell more; how many it takes is not known
        taught.question,
        taught.answer,
        found.policy,
        found.loss,
        found.usd,
        sum(one.tier1 for one in known) / len(known),
        outcome(GRADE_ALL, cells_of(known)).usd,
        found.sent,
        found.escalated,
        found.graded,
    )


def _too_lossy(known: Sequence[KnownOutcome], terms: GateTerms) -> bool:
    """Whether grading everything surely loses more than is allowed."""
    gains = [-loss_of(GRADE_ALL, one) for one in known]
    return is_below(gains, -terms.loss, terms.delta, lowest=-1.0)


def _known(sample: GateSample, before: float, after: float) -> KnownOutcome:
    loss = max(-1.0, min(1.0, sample.loss))
    prices = (sample.tier0_usd or 0.0, sample.tier1_usd or 0.0, sample.grading_usd or 0.0)
    above = max(-1.0, min(1.0, sample.above_loss))
    return KnownOutcome(before, after, sample.passed, loss, *prices, above, sample.above_usd)


def _left_out(rows: Sequence[Sequence[float]], good: Sequence[bool]) -> list[float]:
    """The chance of each row by weights that were learnt from the others."""
    found = [0.0] * len(rows)
    for fold in range(FOLDS):
        own = [place for place in range(len(rows)) if place % FOLDS != fold]
        weights = fit_chance([rows[place] for place in own], [good[place] for place in own])
        for place in range(fold, len(rows), FOLDS):
            found[place] = weights.chance(rows[place])
    return found


def _with_prices(samples: Sequence[GateSample]) -> list[GateSample] | None:
    """The samples with every price: where one is not known, what the others cost on average. None: no tier-1's is."""
    means = {}
    for name in ("tier0_usd", "tier1_usd", "grading_usd", "above_usd"):
        known = [value for sample in samples if (value := getattr(sample, name)) is not None]
        means[name] = sum(known) / len(known) if known else None
    if not means["tier1_usd"] or means["tier0_usd"] is None:
        return None
    return [
        msgspec.structs.replace(
            sample,
            **{
                name: mean if name == "above_usd" else mean or 0.0
                for name, mean in means.items()
                if getattr(sample, name) is None
            },
        )
        for sample in samples
    ]
