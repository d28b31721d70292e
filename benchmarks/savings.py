"""What the gateway costs and loses beside asking tier-1 always, grading included: ``python -m benchmarks.savings``.

Traffic is replayed through the ways a request can go. Prices are real ones: a question and an answer of common length,
the judge's question as it is written, all dimensions in one call. A judge's grade is the truth and noise: it is wrong
about as often as the table's title says. What the learned gate learns from are compared requests, whose differences are
measured by a better judge (`shadow.grader`); what is counted is the truth, on requests that nothing was learnt from.

*Simulated*: tier-0 is right 60 % of the time and tier-1 95 %; how hard a question is shows in its signals, dimly.
*Recorded*: the answers of a weak and a strong model to word problems (routing_gsm8k), with the signals that the gateway
reads of them. There are few of these, so that the smallest losses cannot be proven.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from rich.console import Console
from rich.table import Table

from rubrica.gateway.chat import Chat, ChatTurn
from rubrica.gateway.learned_gate.learn import GateSample, GateTerms, LearnedGate, learn_gate
from rubrica.gateway.learned_gate.policy import GRADE_ALL, GatePolicy, KnownOutcome, loss_of, usd_of
from rubrica.gateway.learned_gate.signals import (
    ANSWER_SIGNALS,
    QUESTION_SIGNALS,
    answer_signals,
    question_signals,
)
from rubrica.gateway.price_list import RequestPrice, price_list
from rubrica.gateway.settings import GatewaySettings
from rubrica.gateway.upstream import Completion
from rubrica.llm.model import Usage
from rubrica.llm.settings import Settings

from . import routing

TIER0, TIER1, GRADER = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5", "openai:gpt-4o-mini"
ANSWER_TOKENS = 300
RIGHT, WRONG, THRESHOLD = 100.0, 0.0, 50.0
"""What a right and a wrong answer are worth, so that points are those of accuracy, and the pass mark."""

GRADE_NOISE, MEASURE_NOISE = 28.0, 12.0
"""How far the grade is off that routes, and those that compare: they are given by a better model."""

LEARNT, COUNTED, ROUNDS = 5_000, 5_000, 5


@dataclass(frozen=True, slots=True)
class Replayed:
    """A request with its truth."""

    question: tuple[float, ...]
    answer: tuple[float, ...]
    right0: bool
    right1: bool
    length: float  # of its answer

    def sample(self, cost: RequestPrice, chance: random.Random) -> GateSample:
        """What a comparison keeps of it."""
        worth0, worth1 = (RIGHT if right else WRONG for right in (self.right0, self.right1))
        first = worth0 + chance.gauss(0, GRADE_NOISE)
        again, other = (worth + chance.gauss(0, MEASURE_NOISE) for worth in (worth0, worth1))
        prices = (cost.tier0, cost.tier1, cost.grading)
        return GateSample(self.question, self.answer, first >= THRESHOLD, (other - again) / 100, *prices)

    def known(self, sample: GateSample, before: float, after: float) -> KnownOutcome:
        """The same with what it is truly worth."""
        prices = (sample.tier0_usd or 0.0, sample.tier1_usd or 0.0, sample.grading_usd or 0.0)
        return KnownOutcome(before, after, sample.passed, float(self.right1) - float(self.right0), *prices)


@dataclass(frozen=True, slots=True)
class Way:
    """What a way of routing came to: cost beside tier-1 alone, points of accuracy lost, and the APGR of its order."""

    cost: float
    loss: float
    apgr: float | None = None


def simulated(count: int, chance: random.Random) -> list[Replayed]:
    """Requests where tier-0 is right 60 % of the time and tier-1 95 %."""
    found = []
    for _ in range(count):
        hard = chance.gauss(0, 1)
        right0 = chance.random() < _logistic(0.55 - 2.0 * hard)
        right1 = chance.random() < _logistic(3.45 - 1.0 * hard)
        question, answer = [0.0] * len(QUESTION_SIGNALS), [0.0] * len(ANSWER_SIGNALS)
        question[0] = hard + chance.gauss(0, 1)
        answer[0] = (1.0 if right0 else -1.0) + chance.gauss(0, 1)
        found.append(Replayed(tuple(question), tuple(answer), right0, right1, hard + chance.gauss(0, 2)))
    return found


@cache
def recorded() -> tuple[Replayed, ...] | None:
    """The recorded answers, with the signals that the gateway reads."""
    rows = routing.load()
    if rows is None:
        return None
    found = []
    for row in rows:
        chat = Chat({}, (ChatTurn("user", row.prompt),), stream=False)
        answer = Completion(b"", row.answer, TIER0, Usage())
        signals = question_signals(chat).values, answer_signals(chat, answer)
        found.append(Replayed(*signals, row.weak, row.strong, len(row.answer)))
    return tuple(found)


@cache
def prices() -> RequestPrice:
    """What a request costs, part by part."""
    settings = GatewaySettings.model_validate({"tier0": TIER0, "tier1": TIER1, "grader": GRADER})
    return asyncio.run(price_list(settings, Settings(), lengths=(ANSWER_TOKENS,))).requests[0]


def ways(traffic: Sequence[Replayed], gate: LearnedGate, chance: random.Random) -> dict[str, Way]:
    """Every way of routing over the same requests."""
    cost = prices()
    samples = [one.sample(cost, chance) for one in traffic]
    known = [
        one.known(
            sample,
            gate.question.chance(one.question) if gate.question is not None else 1.0,
            gate.chance(one.question, one.answer),
        )
        for one, sample in zip(traffic, samples, strict=True)
    ]
    sent = fmean(sample.passed for sample in samples)
    lengths = sorted(one.length for one in traffic)
    cut = lengths[min(len(lengths) - 1, round(sent * len(lengths)))]
    chosen: dict[str, Callable[[int], bool]] = {
        "random, as many": lambda _: chance.random() < sent,
        "short ones, as many": lambda place: traffic[place].length < cut,
    }
    found = {"tier-1 always": Way(1.0, 0.0)}
    for name, keeps in chosen.items():
        kept = [keeps(place) for place in range(len(known))]
        found[name] = Way(
            fmean(one.tier0 if keep else one.tier1 for one, keep in zip(known, kept, strict=True)) / known[0].tier1,
            fmean(one.loss if keep else 0.0 for one, keep in zip(known, kept, strict=True)),
            _apgr(traffic, [chance.random() if name.startswith("random") else -one.length for one in traffic]),
        )
    found["grading every answer"] = _followed(GRADE_ALL, known, None)
    order = [one.after for one in known] if gate.answer is not None else None
    found["learned gate"] = _followed(gate.policy, known, _apgr(traffic, order) if order is not None else None)
    return found


def _followed(policy: GatePolicy, known: Sequence[KnownOutcome], apgr: float | None) -> Way:
    usd, loss = (fmean(measure(policy, one) for one in known) for measure in (usd_of, loss_of))
    return Way(usd / known[0].tier1, loss, apgr)


def _apgr(traffic: Sequence[Replayed], goodness: Sequence[float]) -> float:
    rows = [routing.Record(str(place), "", "", one.right0, one.right1) for place, one in enumerate(traffic)]
    return routing.routed(rows, goodness, 0.0).apgr


def savings_table(name: str, points: float, draw: Callable[[random.Random], tuple[Sequence[Replayed], ...]]) -> Table:
    """The ways beside each other: learnt and counted anew several times."""
    terms = GateTerms(points / 100)
    found: list[dict[str, Way]] = []
    states: list[LearnedGate] = []
    for seed in range(ROUNDS):
        chance = random.Random(seed)  # noqa: S311 - a simulation
        learnt, counted = draw(chance)
        states.append(learn_gate([one.sample(prices(), chance) for one in learnt], terms))
        found.append(ways(counted, states[-1], chance))
    off = 1 - _normal((RIGHT - THRESHOLD) / GRADE_NOISE)
    table = Table(title=f"{name}; a judge is wrong {off:.0%} of the time; at most {points:g} points may be lost, 95 %")
    for column in ("", "cost, tier-1 = 1", "points lost", "APGR", f"lost more than {points:g}"):
        table.add_column(column, justify="right" if column else "left")
    for way in found[0]:
        own = [each[way] for each in found]
        apgr = [one.apgr for one in own if one.apgr is not None]
        table.add_row(
            way,
            f"{fmean(one.cost for one in own):.2f}",
            f"{100 * fmean(one.loss for one in own):.1f}",
            f"{fmean(apgr):.2f}" if apgr else "",
            f"{sum(one.loss > terms.loss for one in own)} of {len(own)}",
        )
    learned = sum(state.state == "learned" for state in states)
    table.caption = f"the gate was proven in {learned} of {len(states)}; otherwise it grades everything"
    return table


def simulated_table() -> Table:
    """Traffic where tier-0 is right 60 % and tier-1 95 % of the time."""
    return savings_table(
        f"{LEARNT:,} simulated requests compared",
        1.0,
        lambda chance: (simulated(LEARNT, chance), simulated(COUNTED, chance)),
    )


def recorded_table() -> Table | None:
    """The recorded answers: two halves, drawn anew each time."""
    rows = recorded()
    if rows is None:
        return None

    def halves(chance: random.Random) -> tuple[Sequence[Replayed], ...]:
        mixed = chance.sample(rows, len(rows))
        return mixed[: len(rows) // 2], mixed[len(rows) // 2 :]

    return savings_table(f"{len(rows) // 2} recorded requests compared", 5.0, halves)


def _logistic(line: float) -> float:
    return 1 / (1 + math.exp(-line))


def _normal(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def main() -> None:
    console = Console()
    cost = prices()
    told = ", ".join(f"{name} ${usd:.5f}" for name, usd in (("tier-0", cost.tier0), ("grading", cost.grading)) if usd)
    console.print(f"{TIER0} before {TIER1}, graded by {GRADER}: {told}, tier-1 ${cost.tier1:.5f} a request")
    for table in (simulated_table, recorded_table):
        if (made := table()) is not None:
            console.print(made)


if __name__ == "__main__":
    main()
