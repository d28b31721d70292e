"""From a context to an Evaluation: gates, verdicts, absences, parts, sections, profiles."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

import rubrica
from rubrica import Context, ContextError, Evaluation, Score, Unscored
from rubrica.engine.cases import Case, read_case
from rubrica.engine.evaluate import evaluate
from rubrica.model.dimensions import Axis


def rubric(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "name": "toy",
        "scale": {"min": 1, "max": 10},
        "dimensions": {"accuracy": {"weight": 0.6}, "style": {"weight": 0.4}},
        "threshold": 70,
        "score": {"out_of": 100, "round": 1},
        "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
    }
    return {**base, **changes}


def test_weighted_score_uses_weights_and_the_own_scale() -> None:
    evaluation = rubrica.decide(rubric(), {"accuracy": 9, "style": 5})
    assert evaluation.score == 74.0
    assert evaluation.verdict == "pass"
    assert evaluation.dimensions["accuracy"].share == 0.9


def test_a_score_equal_to_the_threshold_passes() -> None:
    assert rubrica.decide(rubric(), {"accuracy": 7, "style": 7}).verdict == "pass"


def test_float_noise_does_not_push_a_score_below_its_threshold() -> None:
    tenths = rubric(dimensions={n: {"weight": 0.1} for n in "abcdefghij"}, threshold=30, score={"out_of": 100})
    assert rubrica.decide(tenths, dict.fromkeys("abcdefghij", 3)).verdict == "pass"


def test_a_cap_lowers_the_score_and_is_told() -> None:
    capped = rubric(gates=[{"name": "ceiling", "when": "accuracy < 5", "cap": 40}])
    evaluation = rubrica.decide(capped, {"accuracy": 4, "style": 10})
    assert evaluation.score == 40.0
    assert [gate.name for gate in evaluation.gates] == ["ceiling"]
    assert evaluation.gates[0].limit == 40.0
    assert evaluation.steps[-1].kind == "gate"
    assert evaluation.steps[-1].amount == -24.0


def test_a_cap_may_be_a_formula() -> None:
    capped = rubric(gates=[{"name": "ceiling", "when": "accuracy < 5", "cap": "threshold - 0.1"}])
    assert rubrica.decide(capped, {"accuracy": 4.9, "style": 10}).score == 69.4
    assert rubrica.decide({**capped, "threshold": 20}, {"accuracy": 4.9, "style": 10}).score == 19.9


def test_a_floor_lifts_the_score_but_a_cap_wins_over_it() -> None:
    floor = {"name": "floor", "when": "style > 9", "floor": 80}
    cap = {"name": "cap", "when": "accuracy < 5", "cap": 40}
    assert rubrica.decide(rubric(gates=[floor]), {"accuracy": 1, "style": 10}).score == 80.0
    assert rubrica.decide(rubric(gates=[cap, floor]), {"accuracy": 1, "style": 10}).score == 40.0
    assert rubrica.decide(rubric(gates=[floor, cap]), {"accuracy": 1, "style": 10}).score == 40.0


def test_a_veto_gate_overrides_a_high_score() -> None:
    veto = rubric(gates=[{"name": "off-topic", "when": "style < 3", "verdict": "fail"}])
    evaluation = rubrica.decide(veto, {"accuracy": 10, "style": 2})
    assert (evaluation.score, evaluation.verdict) == (68.0, "fail")
    assert "off-topic" in evaluation.reason


def test_the_steps_add_up_to_the_score() -> None:
    evaluation = rubrica.decide(
        rubric(gates=[{"name": "ceiling", "when": "accuracy < 7", "cap": 50}]), {"accuracy": 6, "style": 10}
    )
    assert math.isclose(sum(step.amount for step in evaluation.steps), evaluation.score or 0)
    assert [step.label for step in evaluation.steps] == ["lowest possible", "accuracy", "style", "ceiling"]


def test_a_formula_score_is_rescaled_to_out_of() -> None:
    formula = rubric(
        score={"formula": "0.75 * mean(accuracy, style) + 0.25 * min(accuracy, style)", "out_of": 1}, threshold=0.5
    )
    assert rubrica.decide(formula, {"accuracy": 10, "style": 6}).score == 0.75


def test_dimensions_on_different_scales_are_weighed_as_shares() -> None:
    mixed = rubric(dimensions={"accuracy": {"weight": 0.5}, "stars": {"weight": 0.5, "scale": {"min": 0, "max": 5}}})
    assert rubrica.decide(mixed, {"accuracy": 8, "stars": 5}).score == 90.0


def test_a_missing_score_is_never_invented() -> None:
    evaluation = rubrica.decide(rubric(), {"style": 10})
    assert evaluation.verdict == "inconclusive"
    assert evaluation.score is None
    assert evaluation.bounds == (46.0, 100.0)
    assert evaluation.dimensions["accuracy"].value is None
    assert "accuracy" in evaluation.reason


def test_a_missing_score_that_cannot_matter_leaves_the_verdict() -> None:
    evaluation = rubrica.decide(rubric(), {"accuracy": 2})
    assert evaluation.verdict == "fail"
    assert evaluation.score is None


def test_neutral_stands_in_visibly_at_confidence_zero() -> None:
    evaluation = rubrica.decide(rubric(on_unscored={"neutral": 5}), {"style": 10})
    assert evaluation.score == 70.0
    result = evaluation.dimensions["accuracy"]
    assert (result.value, result.status, result.confidence) == (5.0, "neutral", 0.0)
    assert evaluation.confidence == 0.5


def test_skip_shares_the_weight_out() -> None:
    evaluation = rubrica.decide(rubric(on_unscored="skip"), {"style": 8})
    assert evaluation.score == 80.0
    assert evaluation.dimensions["accuracy"].status == "unscored"


def test_a_dimension_with_nothing_to_judge_does_not_apply() -> None:
    dimensions = {
        "accuracy": {"weight": 0.6, "formula": "8"},
        "style": {"weight": 0.4, "formula": "2", "applies": "question_count > 0"},
    }
    gates = [{"name": "bad-style", "when": "style < 3", "verdict": "fail"}]
    both = rubrica.evaluate(rubric(dimensions=dimensions, gates=gates), response="Well?")
    assert (both.score, both.verdict) == (56.0, "fail")
    alone = rubrica.evaluate(rubric(dimensions=dimensions, gates=gates), response="Well.")
    assert (alone.score, alone.verdict) == (80.0, "pass")
    assert alone.dimensions["style"].status == "not_applicable"


def test_a_gate_before_scoring_saves_the_scoring() -> None:
    asked = []

    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        asked.append(axes)
        return {name: Score(10.0) for name in axes}

    gated = rubric(gates=[{"name": "empty", "when": "word_count == 0", "verdict": "fail", "before": True}])
    evaluation = asyncio.run(rubrica.aevaluate(gated, response="", judge=judge))
    assert (evaluation.verdict, evaluation.score, asked) == ("fail", None, [])
    assert evaluation.dimensions["accuracy"].status == "not_needed"
    assert asyncio.run(rubrica.aevaluate(gated, response="Hello", judge=judge)).verdict == "pass"
    assert len(asked) == 1


def test_a_judge_reply_off_the_scale_is_unscored() -> None:
    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        return {"accuracy": Score(11.0, source="llm"), "style": Score(math.nan, source="llm")}

    evaluation = rubrica.evaluate(rubric(), judge=judge)
    assert evaluation.verdict == "inconclusive"
    assert "off the scale" in evaluation.dimensions["accuracy"].reason
    assert evaluation.dimensions["style"].value is None


def test_a_judge_that_takes_too_long_is_unscored() -> None:
    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        await asyncio.sleep(30)
        return {}

    evaluation = rubrica.evaluate(rubric(judging={"deadline": 0.05}), judge=judge)
    assert evaluation.verdict == "inconclusive"
    assert "deadline of 0.05 s" in evaluation.dimensions["style"].reason
    assert evaluation.duration_ms < 5000


def test_a_judge_that_raises_leaves_its_dimensions_unscored() -> None:
    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        raise ZeroDivisionError("oops")

    evaluation = rubrica.evaluate(rubric(on_unscored={"neutral": 5}), judge=judge)
    assert evaluation.score == 50.0
    assert evaluation.dimensions["style"].reason == "the judge failed: ZeroDivisionError: oops"


def test_without_a_judge_the_offline_scorer_stands_in_and_says_so() -> None:
    dimensions = {
        "accuracy": {"weight": 0.6, "offline": {"formula": "8", "confidence": 0.3}},
        "style": {"weight": 0.4, "formula": "6"},
    }
    evaluation = rubrica.evaluate(rubric(dimensions=dimensions), response="x")
    assert evaluation.offline
    assert evaluation.dimensions["accuracy"].offline
    assert not evaluation.dimensions["style"].offline
    assert evaluation.confidence == pytest.approx(0.65)


def test_with_neither_judge_nor_offline_scorer_a_dimension_is_unscored() -> None:
    evaluation = rubrica.evaluate(rubric(), response="x")
    assert evaluation.verdict == "inconclusive"
    assert "no judge" in evaluation.dimensions["accuracy"].reason


PARTS = {
    "accuracy": {"weight": 0.6},
    "style": {"weight": 0.4, "parts": {"tone": {"weight": 0.75}, "length": {"weight": 0.25}}},
}


def test_parts_are_weighed_into_their_dimension() -> None:
    evaluation = rubrica.decide(rubric(dimensions=PARTS), {"accuracy": 10, "style": {"tone": 8, "length": 4}})
    assert evaluation.dimensions["style"].value == 7.0
    assert evaluation.dimensions["style"].parts["tone"].value == 8.0
    assert evaluation.score == 88.0


def test_a_dimension_with_parts_may_be_given_whole() -> None:
    assert rubrica.decide(rubric(dimensions=PARTS), {"accuracy": 10, "style": 5}).score == 80.0


def test_a_missing_part_leaves_its_dimension_unscored() -> None:
    evaluation = rubrica.decide(rubric(dimensions=PARTS), {"accuracy": 10, "tone": 8})
    assert evaluation.dimensions["style"].value is None
    skipped = rubrica.decide(rubric(dimensions=PARTS, on_unscored="skip"), {"accuracy": 10, "tone": 8})
    assert skipped.dimensions["style"].value == 8.0


def test_sections_have_their_own_score_and_verdict() -> None:
    sections = {
        "facts": {
            "dimensions": ["accuracy"],
            "verdicts": [{"label": "good", "when": "section >= 80"}, {"label": "bad"}],
        },
        "all": {"dimensions": ["accuracy", "style"]},
    }
    evaluation = rubrica.decide(rubric(sections=sections), {"accuracy": 9, "style": 4})
    assert (evaluation.sections["facts"].score, evaluation.sections["facts"].verdict) == (90.0, "good")
    assert evaluation.sections["all"].score == 65.0
    missing = rubrica.decide(rubric(sections=sections), {"style": 4})
    assert missing.sections["facts"].score is None


def test_bands_are_half_open() -> None:
    banded = rubric(bands={"good": 0.7, "poor": 0.0})
    assert rubrica.decide(banded, {"accuracy": 7, "style": 7}).band == "good"
    assert rubrica.decide(banded, {"accuracy": 7, "style": 6.9}).band == "poor"


PROFILES = {
    "by": "kind",
    "default": "long",
    "short": {"threshold": 90, "weights": {"accuracy": 1.0, "style": 0.0}},
    "long": {"threshold": 50},
}


def test_the_context_chooses_the_profile() -> None:
    scores = {"accuracy": 8, "style": 2}
    short = rubrica.decide(rubric(profiles=PROFILES), scores, context={"kind": "short"})
    assert (short.score, short.verdict, short.threshold, short.profile) == (80.0, "fail", 90.0, "short")
    long = rubrica.decide(rubric(profiles=PROFILES), scores, context={"kind": "long"})
    assert (long.score, long.verdict) == (56.0, "pass")


def test_an_unknown_profile_falls_back_to_the_default_and_says_so() -> None:
    evaluation = rubrica.decide(rubric(profiles=PROFILES), {"accuracy": 8, "style": 2}, context={"kind": "odd"})
    assert evaluation.profile == "long"
    assert any("'odd'" in note for note in evaluation.notes)


def test_without_a_default_an_unknown_profile_is_an_error_that_lists_them() -> None:
    profiles = {key: value for key, value in PROFILES.items() if key != "default"}
    with pytest.raises(ContextError, match="short, long"):
        rubrica.decide(rubric(profiles=profiles), {"accuracy": 8, "style": 2})


def test_a_gate_that_cannot_be_judged_makes_the_verdict_inconclusive_not_a_pass() -> None:
    gated = rubric(gates=[{"name": "slow", "when": "latency > 5", "verdict": "fail"}])
    evaluation = rubrica.decide(gated, {"accuracy": 10, "style": 10})
    assert evaluation.verdict == "inconclusive"
    assert evaluation.gates[0].fired is None
    assert any("latency" in error for error in evaluation.errors)
    assert rubrica.decide(gated, {"accuracy": 1, "style": 1}).verdict == "fail"
    assert rubrica.decide(gated, {"accuracy": 10, "style": 10}, context={"latency": 2}).verdict == "pass"


def test_a_score_formula_without_a_value_is_reported_never_a_crash() -> None:
    formula = rubric(score={"formula": "accuracy / (style - style)", "out_of": 100})
    evaluation = rubrica.decide(formula, {"accuracy": 5, "style": 5})
    assert evaluation.score is None
    assert evaluation.verdict == "inconclusive"
    assert any("division by zero" in error for error in evaluation.errors)


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"accuracy": 11, "style": 5}, "off its scale"),
        ({"accuracy": math.nan, "style": 5}, "not a number"),
        ({"accuracy": "9", "style": 5}, "not a number"),
        ({"acuracy": 9, "style": 5}, "did you mean 'accuracy'"),
    ],
)
def test_scores_that_cannot_be_are_refused(scores: dict[str, Any], told: str) -> None:
    with pytest.raises(ContextError, match=told):
        rubrica.decide(rubric(), scores)


def test_an_evaluation_survives_the_way_through_json() -> None:
    evaluation = rubrica.evaluate(
        rubric(dimensions={"accuracy": {"weight": 0.6, "formula": "8"}, "style": {"weight": 0.4, "formula": "6"}}),
        prompt="¿Qué?",
        response="naïve 🙂 answer",
        context={"kind": "x", "custom_metrics": {"latency": 3}},
    )
    assert Evaluation.from_json(evaluation.to_json()) == evaluation


def test_rejudging_under_a_changed_rubric_scores_nothing_again() -> None:
    stored = rubrica.decide(rubric(), {"accuracy": 8, "style": 6})
    stricter = rubrica.rejudge(rubric(threshold=90, version="2.0.0"), Evaluation.from_json(stored.to_json()))
    assert (stored.verdict, stricter.verdict) == ("pass", "fail")
    assert stricter.score == stored.score
    assert stricter.version == "2.0.0"


def test_rejudging_under_the_same_rubric_changes_nothing() -> None:
    for name, prompt, response in (
        ("voice-companion", "I had pasta for lunch.", "Oh nice, pasta is great for lunch. What did you have with it?"),
        ("answer-quality", "What is the capital of France?", "The capital of France is Paris."),
        ("education-question", "Write a question about fractions.", "not a question"),
    ):
        stored = rubrica.evaluate(name, prompt=prompt, response=response)
        again = rubrica.rejudge(name, Evaluation.from_json(stored.to_json()))
        assert (again.verdict, again.score, again.reason) == (stored.verdict, stored.score, stored.reason)


def test_rejudging_with_a_new_dimension_says_that_it_has_no_score() -> None:
    stored = rubrica.decide(rubric(), {"accuracy": 8, "style": 6})
    dimensions = {"accuracy": {"weight": 0.5}, "depth": {"weight": 0.5}}
    evaluation = rubrica.rejudge(rubric(dimensions=dimensions), stored)
    assert evaluation.verdict == "inconclusive"
    assert "no such dimension" in evaluation.dimensions["depth"].reason


def test_a_changed_setting_changes_the_hash() -> None:
    loaded = rubrica.load(rubric(settings={"limit": 5}))
    changed = loaded.with_settings(limit=6)
    assert changed.hash != loaded.hash
    with pytest.raises(ValueError, match="no setting"):
        loaded.with_settings(other=1)


def test_the_same_document_in_another_order_has_the_same_hash() -> None:
    shuffled = dict(reversed(list(rubric().items())))
    assert rubrica.load(shuffled).hash == rubrica.load(rubric()).hash


@pytest.mark.parametrize("policy", ["neutral", "skip", "inconclusive"])
def test_a_plan_used_before_concludes_as_a_fresh_one(policy: str) -> None:
    document = rubric(on_unscored=policy, bands={"good": 0.7, "poor": 0.0})
    document["dimensions"]["style"]["applies"] = "given(tone)"
    used = rubrica.compile(document)
    levels = (1, 5, 10, None)
    cases = [
        ({"accuracy": accuracy, "style": style} if tone is not None else {"accuracy": accuracy}, {"tone": tone})
        for accuracy in levels
        for style in levels
        for tone in (1, None)
    ]
    for scores, metrics in cases * 2:
        document["description"] = f"fresh {scores} {metrics}"  # another hash, so another plan
        again = rubrica.decide(used, scores, context={"custom_metrics": metrics})
        fresh = rubrica.decide(document, scores, context={"custom_metrics": metrics})
        assert msgspec.structs.replace(again, duration_ms=0.0, hash="") == msgspec.structs.replace(
            fresh, duration_ms=0.0, hash=""
        )


def test_a_metric_never_stands_in_for_what_a_rubric_works_out_itself() -> None:
    document = {
        "name": "names",
        "settings": {"most": 3},
        "patterns": {"shouted": {"keywords": ["wow"]}},
        "context": {"extra": {"default": 7}},
        "dimensions": {"points": {"formula": "word_count + 10 * shouted + 100 * most + 1000 * extra"}},
        "scale": {"min": 0, "max": 10_000},
        "verdicts": [{"label": "done"}],
    }
    misleading = {"word_count": 50, "shouted": 60, "most": 70, "points": 80, "score": 90, "extra": None}
    evaluation = rubrica.evaluate(document, response="oh wow", context={"custom_metrics": misleading})
    assert evaluation.dimensions["points"].value == 2 + 10 + 300 + 7000
    given = rubrica.evaluate(document, response="oh wow", context={"custom_metrics": {"extra": 1}})
    assert given.dimensions["points"].value == 2 + 10 + 300 + 1000


@pytest.mark.parametrize(("early", "status"), [(True, "not_needed"), (False, "unscored")])
def test_whether_a_gate_is_checked_before_scoring_can_depend_on_a_setting(early: bool, status: str) -> None:
    gate = {"name": "empty", "when": "word_count == 0", "verdict": "fail", "before": "early"}
    result = rubrica.evaluate(rubric(gates=[gate], settings={"early": early}), response="")
    assert (result.verdict, [found.name for found in result.gates if found.fired]) == ("fail", ["empty"])
    assert {dimension.status for dimension in result.dimensions.values()} == {status}


def test_a_condition_of_when_a_gate_is_checked_reads_no_scores() -> None:
    gate = {"name": "empty", "when": "word_count == 0", "verdict": "fail", "before": "score > 1"}
    with pytest.raises(rubrica.RubricError, match="score"):
        rubrica.evaluate(rubric(gates=[gate]), response="")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400])
def test_a_number_beyond_all_bounds_in_the_context_leaves_open_what_it_might_decide(number: str) -> None:
    case = read_case(f'{{"response": "x", "far": {number}}}'.encode(), 1)
    assert isinstance(case, Case)
    plan = rubrica.compile(
        rubric(
            dimensions={"accuracy": {"weight": 0.6, "formula": "10"}, "style": {"weight": 0.4}},
            gates=[{"name": "far", "when": "far + style > 5", "cap": 20}],
        )
    )
    evaluation = evaluate(plan, case.context, case.id)
    assert evaluation.verdict == "inconclusive"
    assert [gate.fired for gate in evaluation.gates] == [None]
    assert Evaluation.from_json(evaluation.to_json()).verdict == "inconclusive"
