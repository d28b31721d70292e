"""Thresholds proposed from comparisons, put into a gateway.yaml; and ratings made into labels."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from databases import Opened
from gateway_samples import NOW, record
from rubrica.errors import InputError
from rubrica.gateway import feedback
from rubrica.gateway.feedback import labels, read_feedback
from rubrica.gateway.settings import GatewaySettings
from rubrica.gateway.thresholds import fragment, with_thresholds_in
from rubrica.gateway.tuning import FEWEST, MOST, Proposal, TuningTerms, changes, propose
from rubrica.judges.labels import read_labels
from rubrica.model.scale import Scale
from rubrica.store import gateway
from rubrica.store.columns import new_id
from rubrica.store.gateway import ComparedRequest, GradedDimension, TierComparison
from rubrica.store.users import ensure_user
from rubrica.workspace.access import LOCAL


def rows(
    count: int, loss: Callable[[float], float], *, noise: float = 5.0, gated: float = 0.0, seed: int = 1
) -> list[ComparedRequest]:
    """Requests whose tier-0 answers score 50 to 100, and lose `loss` of their score against tier-1's."""
    chance = random.Random(seed)  # noqa: S311
    scores = [chance.uniform(50, 100) for _ in range(count)]
    return [
        ComparedRequest("FACTUAL", score, loss(score) + chance.gauss(0, noise), chance.random() < gated, 85.0)
        for score in scores
    ]


def proposed(found: list[ComparedRequest], current: float = 85.0, **terms: Any) -> Proposal:
    chance = random.Random(2)  # noqa: S311
    [one] = propose(found, {"FACTUAL": current}, chance, TuningTerms(**terms))
    return one


def test_a_threshold_that_is_too_high_is_lowered_to_where_quality_begins_to_suffer() -> None:
    one = proposed(rows(1500, lambda score: max(0.0, 75 - score)))
    assert one.advice == "change"
    assert one.threshold is not None
    assert 60 <= one.threshold < 75
    chosen = next(candidate for candidate in one.candidates if candidate.threshold == one.threshold)
    assert chosen.loss.high <= 3.0
    assert chosen.to_tier1.value == pytest.approx((one.threshold - 50) / 50, abs=0.03)
    assert changes([one]) == {"FACTUAL": one.threshold}
    assert changes([one], out_of=10) == {"FACTUAL": one.threshold / 10}


def test_a_threshold_that_is_too_low_is_raised() -> None:
    one = proposed(rows(1500, lambda score: 2 * (100 - score) / 5), current=50.0)
    assert one.threshold is not None
    assert one.threshold > 75


def test_a_few_bad_answers_are_not_hidden_among_many_good_ones() -> None:
    def loss(score: float) -> float:
        return 40.0 if score < 53 else 0.0

    found = rows(3000, loss)
    one = proposed(found)
    assert one.threshold is not None
    assert one.threshold >= 52  # at 51 the mean loss is 1.7, but the weakest answers lose 17
    lax = proposed(found, clearly=100.0)
    assert lax.threshold is not None
    assert lax.threshold <= 51


def test_too_few_comparisons_cannot_tell_and_say_how_many_are_missing() -> None:
    one = proposed(rows(12, lambda _: 0.0))
    assert (one.advice, one.threshold, one.missing, one.samples) == ("cannot tell", None, 2 * FEWEST - 12, 12)
    [nothing] = propose([], {"ETHICAL": 75.0}, random.Random(1))  # noqa: S311
    assert (nothing.question_type, nothing.advice, nothing.missing) == ("ETHICAL", "cannot tell", 2 * FEWEST)


def test_noisy_comparisons_cannot_tell_though_the_mean_is_within_the_tolerance() -> None:
    few = proposed(rows(80, lambda _: 1.0, noise=25.0))
    assert (few.advice, few.threshold) == ("cannot tell", None)
    assert few.missing > 20
    many = proposed(rows(3000, lambda _: 1.0, noise=25.0))
    assert many.advice == "change"


def test_where_tier_1_is_always_better_there_is_no_threshold() -> None:
    one = proposed(rows(4000, lambda _: 20.0, noise=2.0))
    assert (one.advice, one.threshold, one.missing) == ("no threshold", None, 0)
    assert "20" in one.why


def test_what_a_gate_decides_goes_to_tier_1_at_every_threshold() -> None:
    one = proposed(rows(2000, lambda _: 0.0, gated=0.3))
    assert one.threshold == 50.0
    assert all(candidate.to_tier1.value >= 0.27 for candidate in one.candidates)
    assert changes([proposed(rows(20, lambda _: 0.0, gated=1.0))]) == {}


def test_a_threshold_is_not_lowered_below_what_was_seen() -> None:
    one = proposed([row for row in rows(2000, lambda _: 0.0) if row.score >= 85])
    assert (one.advice, one.threshold) == ("keep", 85.0)


def test_the_same_chance_gives_the_same_proposal() -> None:
    found = rows(200, lambda score: max(0.0, 80 - score))
    assert proposed(found) == proposed(found)


def test_intervals_hold_the_true_loss() -> None:
    held = 0
    for seed in range(60):
        one = proposed(rows(60, lambda _: 2.0, seed=seed), replicates=300)
        lowest = one.candidates[-1]
        held += lowest.loss.low <= 2.0 <= lowest.loss.high
    assert held >= 53


def test_many_comparisons_take_seconds() -> None:
    found = rows(MOST + 1000, lambda score: max(0.0, 75 - score))
    started = time.process_time()
    assert proposed(found).samples == MOST
    assert time.process_time() - started < 15


# --- gateway.yaml -----------------------------------------------------------------------------------------

NEW = {"FACTUAL": 80.0, "CREATIVE": 62.5}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "grading:\n  thresholds:\n    FACTUAL: 80\n    CREATIVE: 62.5\n"),
        ("tier0: 'local:'  # free", "tier0: 'local:'  # free\n" + fragment(NEW)),
        (
            "grading:\n  # how long\n  deadline: 5  # seconds\ntier0: 'local:'\n",
            "grading:\n  thresholds:\n    FACTUAL: 80\n    CREATIVE: 62.5\n  # how long\n  deadline: 5  # seconds\n"
            "tier0: 'local:'\n",
        ),
        (
            "grading:\n  thresholds:\n    # facts are easy\n    FACTUAL: 85  # for now\n    ETHICAL: 70\n",
            "grading:\n  thresholds:\n    CREATIVE: 62.5\n    # facts are easy\n    FACTUAL: 80  # for now\n"
            "    ETHICAL: 70\n",
        ),
        (
            "grading:\n  thresholds: {FACTUAL: 85, ETHICAL: 70}  # by hand\n",
            "grading:\n  thresholds: {CREATIVE: 62.5, FACTUAL: 80, ETHICAL: 70}  # by hand\n",
        ),
        ("grading:\n  thresholds: {}\n", "grading:\n  thresholds: {FACTUAL: 80, CREATIVE: 62.5}\n"),
        ("a: 1\r\n", "a: 1\r\ngrading:\r\n  thresholds:\r\n    FACTUAL: 80\r\n    CREATIVE: 62.5\r\n"),
    ],
)
def test_thresholds_are_put_in_and_the_rest_stays(before: str, after: str) -> None:
    assert with_thresholds_in(before, NEW) == after
    assert with_thresholds_in(after, NEW) == after


@pytest.mark.parametrize(
    "text",
    [
        "grading: {mode: each}\n",
        "grading:\n",
        "- a list\n",
        "a: &x {FACTUAL: 85}\ngrading:\n  thresholds: *x\n",
        "grading:\n  thresholds:\n    FACTUAL: &f 85\n    ETHICAL: *f\n",
        "grading: [\n",
        "---\na: 1\n...\n",
    ],
)
def test_a_text_that_is_not_plain_is_left_to_its_author(text: str) -> None:
    assert with_thresholds_in(text, NEW) is None


def test_a_fragment_is_a_part_of_the_settings() -> None:
    assert GatewaySettings.model_validate(yaml.safe_load(fragment(NEW))).grading.thresholds == NEW
    assert yaml.safe_load(fragment({"NO": 1.0, "a b": 2.0})) == {"grading": {"thresholds": {"NO": 1.0, "a b": 2.0}}}


@given(
    st.dictionaries(
        st.sampled_from(["tier0", "grading", "cache", "budget"]),
        st.one_of(
            st.none(),
            st.text(max_size=5),
            st.dictionaries(
                st.sampled_from(["thresholds", "mode", "deadline"]),
                st.one_of(
                    st.none(), st.integers(), st.dictionaries(st.sampled_from(["FACTUAL", "OTHER"]), st.integers())
                ),
            ),
        ),
    ),
    st.booleans(),
)
def test_whatever_is_put_in_is_read_back_and_nothing_else_changes(data: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow or None, allow_unicode=True)
    after = with_thresholds_in(text, NEW)
    if after is not None:
        read = yaml.safe_load(after)
        for name, value in NEW.items():
            assert read["grading"]["thresholds"].pop(name) == value
        for found in (read, data):
            found["grading"] = dict(found.get("grading") or {})
            kept = found["grading"].pop("thresholds", None) or {}
            found["grading"]["thresholds"] = {key: kept[key] for key in kept if key not in NEW}
        assert read == data


# --- feedback ---------------------------------------------------------------------------------------------

TRACE = "00000000-0000-7000-8000-000000000001"


def test_feedback_is_read_and_its_comment_masked() -> None:
    raw = {"trace": TRACE, "rating": 4, "comment": "Ask ann@example.org.\0", "scores": {"depth": 7}}
    found = read_feedback(json.dumps(raw).encode())
    assert (found.trace, found.given, found.scores) == (UUID(TRACE), 4, {"depth": 7.0})
    assert found.comment == "Ask [EMAIL].\ufffd"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{", "not JSON"),
        ("[]", "JSON object"),
        ({"rating": 5}, "x-sleipner-trace"),
        ({"trace": "nothing", "rating": 5}, "x-sleipner-trace"),
        ({"trace": TRACE}, "from 1 to 5"),
        ({"trace": TRACE, "rating": 6}, "from 1 to 5"),
        ({"trace": TRACE, "rating": True}, "from 1 to 5"),
        ({"trace": TRACE, "rating": 4.5}, "from 1 to 5"),
        ({"trace": TRACE, "rating": 4, "coment": ""}, "no 'coment'"),
        ({"trace": TRACE, "rating": 4, "comment": "x" * 4001}, "at most 4000"),
        ({"trace": TRACE, "rating": 4, "scores": {}}, "numbers by dimension"),
        ({"trace": TRACE, "rating": 4, "scores": {"depth": "8"}}, "numbers by dimension"),
    ],
)
def test_feedback_that_cannot_be_read_is_refused(body: Any, told: str) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(InputError, match=told):
        read_feedback(raw.encode())


SCALES = {name: Scale(min=1, max=10) for name in ("accuracy", "depth")}
JUDGED = {
    "accuracy": GradedDimension(7.0, 0.9, "openai:gpt-5-mini"),
    "depth": GradedDimension(4.0, 0.9, "openai:gpt-5-mini"),
}


def rate(database: Opened, rating: Any, scores: dict[str, float] | None = None, **fields: Any) -> str:
    one = record(**({"dimension_scores": JUDGED} | fields))
    database.write(gateway.add_requests, [one])
    database.write(gateway.add_feedback, gateway.Feedback(one.trace, rating, scores=scores), LOCAL.user_id, NOW)
    return str(one.trace)


def exported(database: Opened, **options: Any) -> feedback.FeedbackLabels:
    found = database.read(gateway.rated_requests, NOW, NOW + timedelta(days=1))
    return labels(found, "answer-quality@1.0.0", SCALES, **options)


def test_scores_by_dimension_become_labels_that_calibrate_reads(database: Opened) -> None:
    texts = {"prompt": "Why?", "answer": "Because.", "prompt_digest": b"\1" * 32}
    trace = rate(database, 4, {"accuracy": 9.0, "depth": 99.0, "wit": 3.0}, **texts)
    ann = database.write(ensure_user, "ann", NOW)
    database.write(gateway.add_feedback, gateway.Feedback(UUID(trace), "up", scores={"depth": 6.0}), ann.id, NOW)
    found = exported(database)
    assert found.left_out == {}
    assert {"prompt": "Why?", "response": "Because."}.items() <= found.rows[0].items()
    read = read_labels([json.dumps(row) for row in found.rows], SCALES).scores
    assert sorted((label.dimension, label.score, label.human, label.judge, label.item) for label in read) == [
        ("accuracy", 7.0, 9.0, "openai:gpt-5-mini", trace),
        ("depth", 4.0, 6.0, "openai:gpt-5-mini", trace),
    ]
    assert {label.group for label in read} == {"01" * 32}


def test_a_rating_of_the_whole_answer_stands_for_a_dimension_only_where_that_is_said(database: Opened) -> None:
    for rating in (1, 5, 3):
        rate(database, rating)
    assert exported(database).left_out == {feedback.WHOLE: 3}
    found = exported(database, stands_for="accuracy")
    assert sorted(row["human"]["accuracy"] for row in found.rows) == [1.0, 5.5, 10.0]
    with pytest.raises(InputError, match="no dimension 'wit'"):
        exported(database, stands_for="wit")


def test_what_cannot_be_exported_is_told_by_reason(database: Opened) -> None:
    scores = {"accuracy": 8.0}
    rate(database, "down")
    rate(database, 5, scores, tier="tier-1", passed=False)
    rate(database, 5, scores, dimension_scores=None)
    rate(database, 5, scores, rubric="other@2.0.0")
    rate(database, 5, scores, dimension_scores={"accuracy": GradedDimension(7.0, 0.3)})
    rate(database, 5, scores, dimension_scores={"accuracy": GradedDimension(5.0, 0.0, "m", stands_in=True)})
    rate(database, 5, {"accuracy": 11.0})
    assert exported(database).rows == ()
    assert exported(database).left_out == {
        feedback.THUMB: 1,
        feedback.NOT_TIER_0: 1,
        feedback.UNGRADED: 1,
        feedback.OTHER_RUBRIC: 1,
        feedback.UNJUDGED: 2,
        feedback.OFF_SCALE: 1,
    }


def kept_comparisons() -> Iterator[Any]:
    for number in range(80):
        one = record(NOW + timedelta(seconds=number), score=85.0 + number % 10)
        yield one
        yield TierComparison(one.trace, 90.0, 0.5, False, "", 0.0)


def test_proposals_come_from_what_is_kept(database: Opened) -> None:
    odd = [record(score=10.0, rubric="other@1.0.0"), record(score=20.0)]
    database.write(gateway.add_requests, [*kept_comparisons(), *odd, TierComparison(odd[0].trace, 90.0, 80.0, True)])
    found = database.read(gateway.compared_requests, NOW, NOW + timedelta(days=1), rubric="answer-quality@1.0.0")
    assert len(found) == 80
    [one] = propose(found, {"FACTUAL": 90.0}, random.Random(1))  # noqa: S311
    assert (one.advice, one.threshold) == ("change", 85.0)
    assert database.read(gateway.request_by_trace, new_id(NOW)) is None
