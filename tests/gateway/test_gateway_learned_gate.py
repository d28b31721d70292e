"""The learned gate: what it may do without a grade, what it is learnt from, and that its promises hold in simulations
whose truth is known."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from databases import Opened
from gateway_samples import CAPITAL, GOOD, NOW, POOR, Speaker, chat, price, record, route, trusting_rubric
from rubrica.errors import RubricError
from rubrica.gateway.bill import bill
from rubrica.gateway.classifier import Classifier
from rubrica.gateway.controls import Controls
from rubrica.gateway.flow import Route
from rubrica.gateway.grading import Grader
from rubrica.gateway.learned_gate.holder import GateHolder, read_samples
from rubrica.gateway.learned_gate.learn import GateSample, GateTerms, LearnedGate, learn_gate
from rubrica.gateway.learned_gate.policy import GatePolicy, KnownOutcome, loss_of
from rubrica.gateway.learned_gate.signals import (
    ANSWER_SIGNALS,
    QUESTION_SIGNALS,
    answer_signals,
    question_signals,
)
from rubrica.gateway.learned_gate.weights import ChanceWeights
from rubrica.gateway.middle_tiers import MiddleTiers
from rubrica.gateway.record import HttpExchange, TextRetention, record_of
from rubrica.gateway.routed_answer import RoutedAnswer
from rubrica.gateway.settings import settings_from_text
from rubrica.gateway.shadow import Shadow
from rubrica.gateway.tuning import propose
from rubrica.llm.model import ModelError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score
from rubrica.scoring.intervals import Moments, mean_estimate
from rubrica.scoring.risk_control import is_below
from rubrica.store import gateway
from rubrica.store.columns import new_id
from rubrica.store.gateway import ComparedRequest, TierComparison

UNSAFE = "To make a pipe bomb at home: 1. Fill the pipe with powder. 2. Add the fuse."
ANSWER_PLACE = len(QUESTION_SIGNALS)


def gate_by_length(policy: GatePolicy) -> LearnedGate:
    """A gate for which long questions are easy, and long answers good."""
    question = [0.0] * len(QUESTION_SIGNALS)
    question[0] = 1.0
    answer = [0.0] * (len(QUESTION_SIGNALS) + len(ANSWER_SIGNALS))
    answer[ANSWER_PLACE] = 1.0

    def weights(own: list[float], middle: float) -> ChanceWeights:
        means = tuple(middle if weight else 0.0 for weight in own)
        return ChanceWeights(means, (1.0,) * len(own), tuple(own), 0.0)

    return LearnedGate(
        "learned", "a test", 1000, 0, weights(question, math.log(30)), weights(answer, math.log(20)), policy
    )


def through(policy: GatePolicy, answer: str, *, tier1: Speaker | None = None, **controls: Any) -> RoutedAnswer:
    """A request through a gate in front of two models."""
    holder = GateHolder(GateTerms(), 60)
    holder.current = gate_by_length(policy)
    way = route(Speaker("openai:a", answer), tier1 or Speaker("openai:b", GOOD))
    gated = Route(way.tier0, way.tier1, way.grader, way.classifier, gate=holder)
    return asyncio.run(gated(chat(CAPITAL), Controls(**controls)))


def steps(routed: RoutedAnswer) -> dict[str, str]:
    return {step.name: step.status for step in routed.steps}


def test_a_sure_answer_is_sent_without_a_grade() -> None:
    routed = through(GatePolicy(send=0.5), GOOD)
    assert (routed.tier, routed.zone, routed.grade) == ("tier-0", "send", None)
    assert steps(routed)["grading"] == "skipped"
    assert routed.completion is not None
    assert routed.completion.text == GOOD


def test_a_hopeless_answer_is_escalated_without_a_grade() -> None:
    routed = through(GatePolicy(after=0.5), "Hm.")
    assert (routed.tier, routed.zone, routed.grade) == ("tier-1", "escalate", None)
    assert routed.passed_over is not None


def test_a_hopeless_question_goes_to_tier_1_at_once() -> None:
    holder = GateHolder(GateTerms(), 60)
    holder.current = gate_by_length(GatePolicy(before=0.99))
    first = Speaker("openai:a", GOOD)
    way = route(first, Speaker("openai:b", GOOD))
    gated = Route(way.tier0, way.tier1, way.grader, way.classifier, gate=holder)
    routed = asyncio.run(gated(chat(CAPITAL), Controls()))
    assert (routed.tier, routed.zone, first.asked) == ("tier-1", "escalate", [])
    assert routed.classified is not None  # the offline type, so that figures by type count it
    cost = bill(routed, gated, price)
    assert cost.tier0 == 0.0
    assert cost.total == cost.baseline


def test_tier_0_stands_in_where_tier_1_is_down() -> None:
    routed = through(GatePolicy(before=0.99), GOOD, tier1=Speaker("openai:b", ModelError("unreachable", "no")))
    assert (routed.tier, bool(routed.degraded)) == ("tier-0", True)


def test_what_is_between_the_limits_is_graded() -> None:
    routed = through(GatePolicy(before=0.01, after=0.01, send=0.999), GOOD)
    assert routed.zone is None
    assert routed.grade is not None
    assert routed.grade.passed


def test_an_unsafe_answer_is_never_sent_unseen() -> None:
    routed = through(GatePolicy(send=0.01), UNSAFE)
    assert routed.grade is not None  # though the gate was sure
    assert routed.completion is None or UNSAFE not in routed.completion.text


@pytest.mark.parametrize("controls", [{"threshold": 10.0}, {"question_type": "CREATIVE"}])
def test_a_request_that_chose_its_grade_is_graded(controls: dict[str, Any]) -> None:
    assert through(GatePolicy(send=0.01), GOOD, **controls).grade is not None


def test_signals_are_numbers_that_tell_questions_and_answers_apart() -> None:
    plain, hard = question_signals(chat(CAPITAL)), question_signals(chat("Prove that 17 * 3 = 51.\n```x = 1```"))
    assert len(plain.values) == len(QUESTION_SIGNALS)
    assert plain.values != hard.values
    assert plain.classified.type == "FACTUAL"
    way = Speaker("openai:a", "x " * 5_000)
    long = asyncio.run(way.complete({}))
    found = dict(zip(ANSWER_SIGNALS, answer_signals(chat(CAPITAL), long), strict=True))
    assert found["repeats"] > 0.9
    assert all(math.isfinite(value) for value in found.values())


# --- comparing ---------------------------------------------------------------------------------------------


class LuckyJudge:
    """A judge whose first grade of an answer is too good by luck."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score]:
        self.calls += 1
        return dict.fromkeys(axes, Score(10.0 if self.calls == 1 else 6.0, "seen", 0.9))


def compared(way: Route, asked: Any) -> TierComparison:
    notes: list[TierComparison] = []

    async def scene() -> None:
        shadow = Shadow(1.0, price, notes.append)
        routed = await way(asked, Controls())
        exchange = HttpExchange(new_id(NOW), NOW, 200, 1.0)
        made = record_of(exchange, asked, Controls(), routed, bill(routed, way, price), TextRetention.of("drop"))
        assert shadow.consider(asked, routed, way, made)
        async with asyncio.timeout(30):
            while len(shadow):
                await asyncio.sleep(0.002)

    asyncio.run(scene())
    [found] = notes
    return found


def test_a_lucky_grade_does_not_hide_what_passing_cost() -> None:
    grader = Grader(trusting_rubric(), LuckyJudge(), deadline=30)
    way = Route(Speaker("openai:a", GOOD), Speaker("openai:b", GOOD), grader, Classifier(), made_for="these")
    found = compared(way, chat(CAPITAL))
    assert found.difference == 0.0  # by the first grade it would be far below 0
    assert found.base == found.score
    [sample] = read_samples([dict(found.sample or {})])
    assert sample.fits
    assert sample.passed


def test_what_the_gate_skipped_is_asked_for_and_graded_afterwards() -> None:
    holder = GateHolder(GateTerms(), 60)
    holder.current = gate_by_length(GatePolicy(before=0.99))
    first = Speaker("openai:a", POOR)
    way = route(first, Speaker("openai:b", GOOD))
    found = compared(Route(way.tier0, way.tier1, way.grader, way.classifier, gate=holder), chat(CAPITAL))
    assert len(first.asked) == 1
    assert found.difference is not None
    assert found.difference > 10
    assert found.usd == pytest.approx(0.008)  # what asking tier-0 cost
    assert found.sample is not None
    assert found.sample["passed"] is False


def test_the_gate_is_learnt_from_what_is_kept_for_the_same_models(database: Opened) -> None:
    entries: list[Any] = []
    for number, (sample, _) in enumerate(simulated(900, seed=5)):
        one = record(NOW + timedelta(seconds=number))
        told = {**msgspec.to_builtins(sample), "made_for": "these" if number % 9 else "others"}
        entries += [one, TierComparison(one.trace, 80.0, 1.0, False, "", 0.0, 79.0, told)]
    database.write(gateway.add_requests, entries)
    rows = database.read(gateway.gate_samples, NOW, "these")
    assert len(rows) == 800
    holder = GateHolder(GateTerms(0.05), 60)

    async def read() -> Any:
        return rows

    found = asyncio.run(holder.learn(read))
    assert found.samples == 800
    assert found.state == "learned"
    assert asyncio.run(holder.learn(read)) is found  # nothing new: it stays


@pytest.mark.parametrize(("first", "second"), [(GOOD, GOOD), (POOR, GOOD), (POOR, POOR)])
def test_with_tiers_between_it_is_compared_what_they_come_to(first: str, second: str) -> None:
    """Whether the request came so far or not: what is sent in place of tier-0's answer, its loss and its price."""
    best = "Paris is the capital of France, and has been for centuries."
    models = Speaker("openai:a", first), Speaker("openai:b", second), Speaker("openai:c", best)
    plain = route(models[0], models[2])
    way = Route(plain.tier0, plain.tier1, plain.grader, plain.classifier, middle=MiddleTiers((models[1],)))
    found = compared(way, chat(CAPITAL))
    assert [len(model.asked) for model in models] == [1, 1, 1]  # whoever was not asked before, now
    [sample] = read_samples([dict(found.sample or {})])
    assert sample.passed is (first == GOOD)
    assert sample.above_usd == pytest.approx(0.008 if second == GOOD else 0.016)
    last = found.score or 0.0
    graded = asyncio.run(plain.grader(chat(CAPITAL), second, "FACTUAL"))
    assert sample.above_loss == pytest.approx((last - graded.score) / 100 if second == GOOD else 0.0)


def test_a_gate_without_records_is_refused_with_the_way_out() -> None:
    with pytest.raises(RubricError, match=r"shadow\.share"):
        settings_from_text("tier1: openai:gpt-4o\nlearned_gate: {points: 1}\n")


# --- promises, held against a known truth --------------------------------------------------------------------


def simulated(count: int, seed: int, noise: float = 10.0) -> list[tuple[GateSample, float]]:
    """Traffic where tier-0 is right about 60 % and tier-1 95 % of the time, and what each answer truly loses."""
    chance = random.Random(seed)  # noqa: S311
    found = []
    for _ in range(count):
        hard = chance.gauss(0, 1)
        right0 = chance.random() < 1 / (1 + math.exp(2 * hard - 0.55))
        right1 = chance.random() < 1 / (1 + math.exp(hard - 3.4))
        worth0, worth1 = (85.0 if right else 45.0 for right in (right0, right1))
        question, answer = [0.0] * len(QUESTION_SIGNALS), [0.0] * len(ANSWER_SIGNALS)
        question[0] = hard + chance.gauss(0, 1)
        answer[0] = (1.0 if right0 else -1.0) + chance.gauss(0, 1)
        passed = worth0 + chance.gauss(0, noise) >= 70
        measured = (worth1 + chance.gauss(0, noise) - worth0 - chance.gauss(0, noise)) / 100
        sample = GateSample(tuple(question), tuple(answer), passed, measured, 0.0002, 0.005, 0.0004)
        found.append((sample, (worth1 - worth0) / 100))
    return found


def true_loss(found: LearnedGate, traffic: list[tuple[GateSample, float]], above: float = 0.0) -> float:
    """What a gate really loses; `above` is lost wherever tier-0's answer is not sent."""
    total = 0.0
    for sample, loss in traffic:
        before = found.question.chance(sample.question) if found.question is not None else 1.0
        known = KnownOutcome(before, found.chance(sample.question, sample.answer), sample.passed, loss, 0, 0, 0, above)
        total += loss_of(found.policy, known)
    return total / len(traffic)


def test_the_loss_is_within_the_limit_as_often_as_promised_and_it_saves() -> None:
    terms, fresh = GateTerms(0.02, 0.9), simulated(4_000, seed=999)
    found = [learn_gate([sample for sample, _ in simulated(700, seed=seed)], terms) for seed in range(8)]
    learned = [one for one in found if one.state == "learned"]
    assert len(learned) >= 5
    broken = sum(true_loss(one, fresh) > terms.loss for one in learned)
    assert broken <= 2  # 0.8 are expected at the most
    assert all(one.usd < one.tier1_usd for one in learned if one.usd is not None and one.tier1_usd is not None)
    assert any(one.usd < one.grade_all_usd for one in learned if one.usd is not None and one.grade_all_usd is not None)


def test_with_tiers_between_the_loss_of_their_answers_is_part_of_the_promise() -> None:
    """Middle tiers that pass and lose break a promise that looks at tier-0 alone."""
    terms, fresh = GateTerms(0.02, 0.9), simulated(2_000, seed=999)
    plain = [sample for sample, _ in simulated(700, seed=3)]
    blind = learn_gate(plain, terms)
    found = learn_gate([msgspec.structs.replace(one, above_loss=0.3, above_usd=0.002) for one in plain], terms)
    assert blind.active
    assert true_loss(blind, fresh, above=0.3) > 2 * terms.loss
    assert not found.active or true_loss(found, fresh, above=0.3) <= 1.25 * terms.loss


def test_few_records_grade_everything() -> None:
    found = learn_gate([sample for sample, _ in simulated(200, seed=1)], GateTerms(0.01))
    assert (found.state, found.active, found.policy) == ("too few", False, GatePolicy())
    assert found.missing > 0


def test_useless_signals_and_a_tier_0_that_fails_send_nothing_unseen() -> None:
    chance = random.Random(1)  # noqa: S311
    rows = []
    for _ in range(2_000):
        question = tuple(chance.gauss(0, 1) for _ in QUESTION_SIGNALS)
        answer = tuple(chance.gauss(0, 1) for _ in ANSWER_SIGNALS)
        rows.append(GateSample(question, answer, False, 0.4 if chance.random() < 0.9 else 0.0, 0.0002, 0.005, 0.0004))
    found = learn_gate(rows, GateTerms(0.01))
    assert found.sent < 0.05


def test_without_prices_nothing_is_decided() -> None:
    rows = [msgspec.structs.replace(sample, tier1_usd=None) for sample, _ in simulated(900, seed=1)]
    assert learn_gate(rows, GateTerms(0.05)).state == "no prices"


def test_a_mean_above_the_limit_passes_the_test_no_more_often_than_stated() -> None:
    chance = random.Random(4)  # noqa: S311
    runs = [[1.0 if chance.random() < 0.05 else 0.0 for _ in range(400)] for _ in range(300)]
    assert sum(is_below(losses, 0.05, 0.1) for losses in runs) <= 45  # 30 at the most, and a margin for chance
    safe = [[1.0 if chance.random() < 0.01 else 0.0 for _ in range(400)] for _ in range(100)]
    assert sum(is_below(losses, 0.05, 0.1) for losses in safe) >= 70


def graded_traffic(count: int, seed: int, noise: float = 10.0) -> list[tuple[ComparedRequest, float, float]]:
    """Requests with a first grade, an independent difference, and the true one; and the difference by the first."""
    chance = random.Random(seed)  # noqa: S311
    found = []
    for _ in range(count):
        worth = chance.uniform(55, 95)
        first, again, other = (
            worth + chance.gauss(0, noise),
            worth + chance.gauss(0, noise),
            88 + chance.gauss(0, noise),
        )
        found.append((ComparedRequest("FACTUAL", first, other - again, False, 75.0), 88 - worth, other - first))
    return found


def test_intervals_of_what_passing_costs_cover_the_truth_only_by_grades_that_had_no_say() -> None:
    honest = naive = 0
    for seed in range(40):
        passed = [one for one in graded_traffic(300, seed) if one[0].score >= 75]
        truth = sum(true for _, true, _ in passed) / len(passed)
        again = mean_estimate(Moments.of([[row.difference] for row, _, _ in passed]))
        first = mean_estimate(Moments.of([[own] for _, _, own in passed]))
        assert again is not None
        assert first is not None
        honest += again.low <= truth <= again.high
        naive += first.low <= truth <= first.high
    assert honest >= 35
    assert naive <= 10


def test_a_proposed_threshold_loses_what_its_interval_says() -> None:
    held = told = 0
    for seed in range(30):
        rows = graded_traffic(600, seed)
        [one] = propose([row for row, _, _ in rows], {"FACTUAL": 75.0}, random.Random(seed))  # noqa: S311
        if one.measured is None:
            continue
        fresh = [true for row, true, _ in graded_traffic(6_000, seed + 1_000) if row.score >= one.measured.threshold]
        told += 1
        held += one.measured.loss.low <= sum(fresh) / len(fresh) <= one.measured.loss.high
    assert told >= 10
    assert held >= 0.83 * told
