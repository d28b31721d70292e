"""Figures over many requests: shares with intervals, money with what is unknown, times, people, arms; and metrics."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from databases import Opened
from gateway_samples import NOW, chat, record, traffic
from rubrica.errors import InputError
from rubrica.gateway.analytics import Analytics, Money, analytics
from rubrica.gateway.experiment import CONTROL, Experiment, contrasts
from rubrica.gateway.metrics import Metrics, outcome_of
from rubrica.scoring.intervals import Moments, mean_difference, share_difference, student, wilson
from rubrica.store import gateway
from rubrica.store.gateway import RequestRecord, TierComparison
from rubrica.store.gateway_figures import ExperimentArm
from rubrica.store.users import ensure_user
from rubrica.workspace.access import LOCAL

SINCE, UNTIL = NOW - timedelta(days=1), NOW + timedelta(days=8)


def figures(database: Opened, *records: RequestRecord, **options: Any) -> Analytics:
    database.write(gateway.add_requests, records)
    return database.read(analytics, SINCE, UNTIL, **options)


def test_of_nothing_there_are_no_figures(database: Opened) -> None:
    found = figures(database)
    assert (found.all.requests, found.all.passed.share, found.all.cost.usd, found.all.score.value) == (
        0,
        None,
        None,
        None,
    )
    assert (found.types, found.trend, found.latency, found.shadow, found.experiment) == ({}, {}, {}, (), None)
    assert msgspec.json.decode(msgspec.json.encode(found))["troubles"]["errors"] == {"count": 0, "of": 0, "share": None}


def test_pass_rates_are_by_question_type_with_intervals(database: Opened) -> None:
    batch = [record(passed=number < 8, tier="tier-0" if number < 8 else "tier-1") for number in range(10)]
    batch += [record(question_type="ETHICAL", passed=True), record(question_type=None, passed=None, score=None)]
    found = figures(database, *batch)
    factual = found.types["FACTUAL"].passed
    assert (factual.count, factual.of, factual.share) == (8, 10, wilson(8, 10))
    assert found.types["ETHICAL"].passed.count == 1
    assert set(found.types) == {"FACTUAL", "ETHICAL"}
    assert (found.all.passed.of, found.all.tier0.count, found.all.tier0.of) == (11, 10, 12)
    assert found.classification.types == {"FACTUAL": 10, "ETHICAL": 1}
    assert found.classification.unclassified == 1
    only = database.read(analytics, SINCE, UNTIL, "ETHICAL")
    assert (only.all.requests, set(only.types)) == (1, {"ETHICAL"})


def test_an_unknown_price_is_told_and_not_counted_as_nothing(database: Opened) -> None:
    unknown: dict[str, Any] = {"tier0_usd": None, "total_usd": None}
    found = figures(database, record(), record(), record(**unknown), record(baseline_usd=None))
    assert found.costs.total == Money(pytest.approx(0.009), pytest.approx(0.003), 3, 1)  # type: ignore[arg-type]
    assert str(found.costs.total) == "$0.0090 (unknown for 1 request)"
    assert found.costs.savings == Money(pytest.approx(0.014), pytest.approx(0.007), 2, 2)  # type: ignore[arg-type]
    assert found.costs.saved_share == pytest.approx(0.7)
    assert (found.costs.tier1.usd, found.costs.tier1.unknown) == (0.0, 0)
    assert figures(database, record(**unknown), question_type="FACTUAL").costs.tier0.unknown == 2


def test_the_cost_of_an_evaluation_is_over_what_was_graded(database: Opened) -> None:
    ungraded = record(passed=None, score=None, grading_usd=0.0)
    found = figures(database, record(grading_usd=0.004), record(grading_usd=0.002), record(grading_usd=None), ungraded)
    assert found.all.evaluation == Money(pytest.approx(0.006), pytest.approx(0.003), 2, 1)  # type: ignore[arg-type]


def test_trends_are_by_bucket_of_utc(database: Opened) -> None:
    batch = [
        record(NOW, grade_confidence=0.5, variance=1.0),
        record(NOW + timedelta(minutes=59), grade_confidence=1.0, variance=None),
        record(NOW + timedelta(hours=1), grade_confidence=0.25, variance=4.0, passed=False),
        record(NOW + timedelta(days=1)),
    ]
    found = figures(database, *batch, bucket="hour")
    assert list(found.trend) == ["2026-05-01T12:00:00+00:00", "2026-05-01T13:00:00+00:00", "2026-05-02T12:00:00+00:00"]
    first, second, _ = found.trend.values()
    assert (first.confidence.value, first.variance.value, first.variance.of) == (0.75, 1.0, 1)
    assert (second.confidence.value, second.passed.count, second.passed.of) == (0.25, 0, 1)
    assert len(database.read(analytics, SINCE, UNTIL, None, "day").trend) == 2


def test_times_are_told_by_part(database: Opened) -> None:
    found = figures(database, *(record(total_ms=float(number), tier1_ms=None) for number in range(1, 201)))
    total = found.latency["total"]
    assert (total.p50, total.p95, total.p99, total.of) == (100.0, 190.0, 198.0, 200)
    assert "tier1" not in found.latency
    assert not found.latency_sampled


def test_troubles_are_shares_of_requests(database: Opened) -> None:
    found = figures(
        database,
        record(degraded="tier-1 failed", failed_steps="tier-1"),
        record(status=503, tier=None, passed=None, failed_steps="tier-0,tier-1"),
        record(status=400, tier=None, passed=None),
        record(status=499, tier=None, passed=None),
        record(cached="exact", passed=None),
        record(failed_steps="grading", passed=False, score=None),
    )
    told = {name: share["count"] for name, share in msgspec.to_builtins(found.troubles).items()}
    assert told == {
        "degraded": 1, "errors": 1, "refused": 1, "gone": 1, "cached": 1, "streams": 0, "tier0_down": 1, "grading": 1,
    }  # fmt: skip
    assert found.troubles.grading.of == 2


def test_ratings_stand_beside_the_grades(database: Opened) -> None:
    passed = [record() for _ in range(3)]
    degraded = record(passed=False, degraded="no tier-1")
    escalated, plain = record(passed=False, tier="tier-1"), record(passed=None)
    database.write(gateway.add_requests, [*passed, degraded, escalated, plain])
    given: list[tuple[RequestRecord, Any]] = [
        (passed[0], 5), (passed[1], 1), (passed[2], 3), (degraded, "down"), (escalated, 4), (plain, "up"),
    ]  # fmt: skip
    for one, rating in given:
        database.write(gateway.add_feedback, gateway.Feedback(one.trace, rating), LOCAL.user_id, NOW)
    found = figures(database).opinions
    assert (found.passed.opinions, found.passed.rating.value, found.passed.liked.count, found.passed.liked.of) == (
        3,
        3,
        1,
        2,
    )
    assert (found.escalated.rating.value, found.ungraded.liked.count, found.failed.rating.value) == (4.0, 1, None)
    # liked and passed, disliked and failed; but for the one in the middle, and for what is not tier-0's
    assert (found.agreement.count, found.agreement.of) == (2, 3)


def test_comparisons_tell_what_passing_costs_and_escalating_wins(database: Opened) -> None:
    batch = [record() for _ in range(4)] + [record(passed=False, tier="tier-1") for _ in range(2)]
    results = [(2.0, False), (4.0, False), (12.0, True), (None, None), (30.0, True), (20.0, True)]
    compared = [
        TierComparison(
            one.trace, 50.0 if gap is not None else None, gap, better, "" if gap is not None else "not graded", 0.5
        )
        for one, (gap, better) in zip(batch, results, strict=True)
    ]
    [found] = figures(database, *batch, *compared).shadow  # type: ignore[arg-type]
    assert (found.compared, found.not_compared, found.cost.usd) == (5, 1, 3.0)
    assert found.passed_loss is not None
    assert found.escalated_gain is not None
    assert (found.passed_loss.value, found.escalated_gain.value) == (6.0, 25.0)
    assert found.passed_loss.low < 0 < found.passed_loss.high
    assert (found.passed_worse.count, found.passed_worse.of, found.escalated_better.count) == (1, 3, 2)


def test_figures_agree_with_the_records_whatever_the_database(database: Opened) -> None:
    batch = list(traffic(500))
    found = figures(database, *batch)
    known = [one for one in batch if one.total_usd is not None]
    assert found.all.requests == sum(one.requests for one in found.types.values())
    assert found.all.requests == sum(one.requests for one in found.trend.values())
    assert found.all.cost.usd == pytest.approx(sum(one.total_usd or 0 for one in known))
    assert found.all.score.value == pytest.approx(sum(one.score or 0 for one in batch) / 500)
    assert sum(found.classification.sources.values()) == 500
    assert found.experiment is not None
    assert [arm.variant for arm in found.experiment.arms] == ["a", "b"]
    assert sum(arm.requests for arm in found.experiment.arms) == 500


@pytest.mark.parametrize(
    ("since", "until", "bucket", "told"),
    [
        (NOW, NOW, "day", "ends after it begins"),
        (NOW, NOW + timedelta(days=3), "minute", "more than 2000 minutes"),
    ],
)
def test_a_time_that_cannot_be_looked_at_is_refused(
    database: Opened, since: Any, until: Any, bucket: Any, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        database.read(analytics, since, until, None, bucket)


# --- experiments ------------------------------------------------------------------------------------------


def test_a_conversation_stays_in_its_arm() -> None:
    experiment = Experiment("b", 0.5)
    arms = set()
    for number in range(50):
        first = chat(f"Question {number}?")
        later = chat(f"Question {number}?", "An answer.", "And why?")
        assert experiment.arm(first) == experiment.arm(later)
        arms.add(experiment.arm(first))
    assert arms == {CONTROL, "b"}
    assert {experiment.arm(chat("Hi", user=f"user {number}")) for number in range(20)} == {CONTROL, "b"}


def test_arms_have_their_share_and_another_experiment_deals_anew() -> None:
    chats = [chat(f"Question {number}?") for number in range(4000)]
    in_b = [Experiment("b", 0.25).arm(one) == "b" for one in chats]
    in_c = [Experiment("c", 0.25).arm(one) == "c" for one in chats]
    assert 0.22 < sum(in_b) / 4000 < 0.28
    both = sum(one and other for one, other in zip(in_b, in_c, strict=True))
    assert 0.04 < both / 4000 < 0.09  # a sixteenth


def test_an_experiment_cannot_be_named_like_the_control() -> None:
    with pytest.raises(InputError, match="cannot be named 'a'"):
        Experiment(CONTROL, 0.5)


def test_a_true_difference_of_arms_is_seen_and_none_is_not(database: Opened) -> None:
    chance = random.Random(7)  # noqa: S311
    rates = {"a": 0.6, "b": 0.8}
    batch = []
    for number in range(1200):
        variant = "ab"[number % 2]
        passed = chance.random() < rates[variant]
        batch.append(record(variant=variant, conversation=number, passed=passed, score=chance.gauss(80, 5)))
    users = [database.write(ensure_user, f"user {number}", NOW) for number in range(2)]
    found = figures(database, *batch).experiment
    assert found is not None
    [contrast] = found.contrasts
    assert contrast.passed is not None
    assert contrast.score is not None
    assert contrast.passed.clear
    assert contrast.passed.low < 0.2 < contrast.passed.high
    assert not contrast.score.clear
    assert contrast.rating is None
    for place, given in enumerate((5, 4, 1, 2)):
        database.write(gateway.add_feedback, gateway.Feedback(batch[place].trace, given), users[0].id, NOW)
    again = figures(database).experiment
    assert again is not None
    assert again.contrasts[0].rating is not None
    assert again.contrasts[0].rating.value == pytest.approx(0.0)


def test_requests_of_one_conversation_count_as_less_than_as_many_conversations() -> None:
    alone = Moments.of([[1.0]] * 60 + [[0.0]] * 40)
    together = Moments.of([[1.0] * 10] * 6 + [[0.0] * 10] * 4)
    other = Moments.of([[1.0]] * 50 + [[0.0]] * 50)
    narrow, wide = share_difference(alone, other), share_difference(together, other)
    assert narrow is not None
    assert wide is not None
    assert narrow.value == wide.value
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    chance = random.Random(8)  # noqa: S311
    held = {"share": 0, "mean": 0}
    for _ in range(400):
        one, other = ([[float(chance.random() < rate)] for _ in range(40)] for rate in (0.9, 0.7))
        share = share_difference(Moments.of(one), Moments.of(other))
        few, more = ([[chance.gauss(middle, 3)] for _ in range(size)] for middle, size in ((5, 6), (7, 12)))
        mean = mean_difference(Moments.of(few), Moments.of(more))
        assert share is not None
        assert mean is not None
        held["share"] += share.low <= -0.2 <= share.high
        held["mean"] += mean.low <= 2 <= mean.high
    assert all(0.92 <= count / 400 <= 0.98 for count in held.values()), held


def test_students_factor_falls_towards_the_normal_one() -> None:
    factors = [student(freedom / 10) for freedom in range(10, 400)]
    assert factors == sorted(factors, reverse=True)
    assert student(10) == pytest.approx(2.228, abs=0.001)
    assert student(4, 0.99) == pytest.approx(4.604, rel=0.01)


def test_without_a_control_there_is_nothing_to_compare_with() -> None:
    nothing = Moments.of([])
    assert contrasts([ExperimentArm("b", 0, nothing, nothing, nothing, nothing, 0)]) == []


# --- metrics ----------------------------------------------------------------------------------------------


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    return {
        (sample.name.removeprefix("rubrica_gateway_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_metrics_count_what_was_observed() -> None:
    metrics = Metrics()
    metrics.observe(record(total_ms=250.0))
    metrics.observe(record(passed=False, tier="tier-1", total_ms=99_000_000.0, total_usd=None, tier0_usd=None))
    metrics.observe(record(status=503, tier=None, question_type=None, passed=None, tier0_ms=None))
    metrics.observe(record(cached="exact", passed=None))
    metrics.compared(TierComparison(UUID(int=1), 90.0, 12.0, True, "", 0.5))
    metrics.dropped([1, 2])
    metrics.in_flight += 3
    found = samples(metrics)
    assert found["requests_total", "passed", "FACTUAL", "tier-0"] == 1
    assert found["requests_total", "escalated", "FACTUAL", "tier-1"] == 1
    assert found["requests_total", "error", "none", "none"] == 1
    assert found["grades_total", "true", "FACTUAL"] == found["grades_total", "false", "FACTUAL"] == 1
    assert found["cache_hits_total", "exact"] == 1
    assert found["seconds_bucket", "0.25", "total"] == 1
    assert found["seconds_bucket", "+Inf", "total"] == found["seconds_count", "total"] == 4
    assert found["seconds_count", "tier0"] == 3
    assert found["usd_total", "tier0"] == pytest.approx(0.003)
    assert found["usd_total", "shadow"] == 0.5
    assert found["unpriced_requests_total",] == 1
    assert (found["dropped_records_total",], found["in_flight",], found["comparisons_total", "true"]) == (2, 3, 1)


def test_two_gateways_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.observe(record())
    assert ("requests_total", "passed", "FACTUAL", "tier-0") not in samples(other)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, "passed"),
        ({"passed": False, "tier": "tier-1"}, "escalated"),
        ({"passed": False, "degraded": "no tier-1"}, "degraded"),
        ({"passed": None}, "ungraded"),
        ({"cached": "semantic", "passed": None}, "cached"),
        ({"status": 429, "tier": None}, "refused"),
        ({"status": 499}, "gone"),
        ({"status": 502}, "error"),
    ],
)
def test_every_request_has_one_outcome(fields: dict[str, Any], outcome: str) -> None:
    assert outcome_of(record(**fields)) == outcome
