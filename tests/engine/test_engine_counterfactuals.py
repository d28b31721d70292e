"""What would have been otherwise: nearest other verdicts, gates left out, other weights."""

from __future__ import annotations

from typing import Any

import pytest

from rubrica import api
from rubrica.engine.audience import listen
from rubrica.engine.counterfactuals import attainability, gate_releases, reweigh, verdict_flips, weights_of
from rubrica.engine.load import rubric_from_data
from rubrica.engine.plan import Plan
from rubrica.engine.rejudge import decide, rejudge
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation


def plan(**more: Any) -> Plan:
    document = {
        "name": "two", "scale": {"min": 0, "max": 10}, "score": {"weighted": True, "out_of": 100},
        "dimensions": {"a": {"weight": 0.75}, "b": {"weight": 0.25}},
        "verdicts": [{"label": "pass", "when": "score >= 60"}, {"label": "fail"}],
    }  # fmt: skip
    return api.compile(rubric_from_data(document | more))


def judged(plan: Plan, **scores: float | None) -> Evaluation:
    return decide(plan, scores, Context(response="x"))


def test_the_nearest_value_with_another_verdict_is_found_in_both_directions() -> None:
    found = verdict_flips(plan(), judged(plan(), a=7, b=6))
    assert [(turn.dimension, turn.value, turn.verdict, turn.is_increase) for turn in found] == [
        ("a", 5.0, "fail", False),
        ("b", 2.0, "fail", False),
    ]
    assert [(turn.dimension, turn.value) for turn in verdict_flips(plan(), judged(plan(), a=5.5, b=2))] == [
        ("a", 8.0),
        ("b", 8.0),
    ]


def test_a_turn_is_true_and_the_value_before_it_is_not() -> None:
    compiled = plan()
    for a in range(11):
        for b in range(11):
            evaluation = judged(compiled, a=a, b=b)
            for turn in verdict_flips(compiled, evaluation):
                scores = {"a": a, "b": b} | {turn.dimension: turn.value}
                assert judged(compiled, **scores).verdict == turn.verdict != evaluation.verdict
                nearer = {**scores, turn.dimension: turn.value + (-1 if turn.is_increase else 1)}
                assert judged(compiled, **nearer).verdict == evaluation.verdict


def test_a_missing_score_is_tried_from_the_bottom_of_its_scale() -> None:
    found = attainability(plan(), judged(plan(), a=6, b=None), lambda evaluation: evaluation.verdict == "pass")
    assert [(turn.dimension, turn.value, turn.now) for turn in found.alone] == [("a", 8.0, 6.0), ("b", 6.0, None)]
    hopeless = attainability(plan(), judged(plan(), a=0, b=0), lambda evaluation: evaluation.verdict == "pass")
    assert [turn.dimension for turn in hopeless.alone] == ["a"]
    never = attainability(plan(), judged(plan(), a=0, b=0), lambda evaluation: evaluation.verdict == "superb")
    assert (never.alone, never.together) == ((), False)


def test_a_gate_that_fired_is_left_out_for_once() -> None:
    gated = plan(gates=[{"name": "ceiling", "when": "b < 5", "cap": 40}, {"name": "idle", "when": "b > 9", "cap": 1}])
    evaluation = judged(gated, a=10, b=4)
    assert (evaluation.verdict, evaluation.score) == ("fail", 40)
    assert [(one.gate, one.verdict, one.score) for one in gate_releases(gated, evaluation)] == [("ceiling", "pass", 85)]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"scale": {"min": -5, "max": 5}},
        {"dimensions": {"a": {"weight": 0.75}, "b": {"weight": 0.25, "scale": {"min": 0, "max": 4}}}},
        {"scale": {"min": 0, "max": 1}, "dimensions": {"a": {"weight": 0.75, "scale": {"min": 1, "max": 10}},
                                                     "b": {"weight": 0.25, "scale": {"min": 0, "max": 4}}}},
    ],
)  # fmt: skip
def test_other_weights_give_what_a_rubric_with_those_weights_gives(more: dict[str, Any]) -> None:
    own = plan(**more)
    dimensions = {name: {**spec.model_dump(exclude_defaults=True)} for name, spec in own.rubric.dimensions.items()}
    for weight in (0.0, 0.1, 0.5, 1.0):
        dimensions["a"]["weight"], dimensions["b"]["weight"] = weight, 1 - weight
        written = plan(**more | {"dimensions": dimensions})
        evaluation = judged(own, a=3, b=2)
        moved = rejudge(reweigh(own, None, {"a": weight, "b": 1 - weight}), evaluation)
        wanted = judged(written, a=3, b=2)
        assert (moved.score, moved.verdict, moved.steps) == (wanted.score, wanted.verdict, wanted.steps)
    assert weights_of(own, None) == {"a": 0.75, "b": 0.25}


def test_weights_are_those_of_the_profile_and_none_where_a_formula_makes_the_score() -> None:
    quality = api.compile("answer-quality")
    assert weights_of(quality, "ETHICAL")["depth"] == 0.2
    formula = plan(score={"formula": "min(a, b)", "out_of": 100}, dimensions={"a": {}, "b": {}})
    assert weights_of(formula, None) == {}


def test_nobody_hears_of_what_was_only_tried() -> None:
    evaluation = judged(plan(), a=7, b=6)
    heard: list[Evaluation] = []
    stop = listen(heard.append)
    try:
        verdict_flips(plan(), evaluation)
        gate_releases(plan(), evaluation)
        attainability(plan(), evaluation, lambda one: one.verdict == "superb")
    finally:
        stop()
    assert heard == []


def test_no_turn_is_told_where_only_scores_between_turn_the_verdict() -> None:
    """With the other score anywhere on the scale, exactly 7 fails, and a 9 is as open as what was found."""
    document: dict[str, Any] = {
        "name": "open", "scale": {"min": 0, "max": 10}, "score": {"weighted": True, "out_of": 100},
        "judging": {"offline": "bounds"},
        "dimensions": {
            "a": {"weight": 0.5, "asks": "Is it right?", "offline": {"formula": "6"}},
            "b": {"weight": 0.5, "asks": "Is it kind?", "offline": {"formula": "9"}},
        },
        "verdicts": [{"label": "pass", "when": "score >= 88"}, {"label": "fail"}],
    }  # fmt: skip
    compiled = api.compile(rubric_from_data(document))
    evaluation = api.evaluate(compiled, response="x")
    assert evaluation.verdict == "inconclusive"
    assert [
        (turn.dimension, turn.value, turn.verdict, turn.is_increase) for turn in verdict_flips(compiled, evaluation)
    ] == [
        ("a", 5.0, "fail", False),
        ("b", 7.0, "fail", False),
    ]
