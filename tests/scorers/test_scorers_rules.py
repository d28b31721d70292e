"""The rule types: what each gives, when it gives nothing, and how it fails."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rubrica
from rubrica import Evaluation
from rubrica.model.evidence import Span
from rubrica.text.patterns import compile_regex


def score(rules: list[dict[str, Any]], response: str = "", **context: Any) -> Evaluation:
    document = {"name": "Rules", "scoring_type": "cumulative", "max_score": 100, "rules": rules}
    return rubrica.evaluate(document, response=response, context=context)


def points(evaluation: Evaluation) -> list[tuple[str, float]]:
    return [(hit.rule, hit.points) for hit in evaluation.dimensions["points"].hits]


def patterns(*specs: dict[str, Any], kind: str = "pattern_detection") -> list[dict[str, Any]]:
    return [{"type": kind, "patterns": list(specs)}]


def test_a_pattern_counts_once_each_or_up_to_a_cap() -> None:
    text = "one two one two one"
    assert points(score(patterns({"name": "n", "keywords": ["one"], "score": 5}), text)) == [("n", 5.0)]
    assert points(score(patterns({"name": "n", "keywords": ["one"], "score": 5, "count": "each"}), text)) == [
        ("n", 15.0)
    ]
    capped = {"name": "n", "keywords": ["one"], "score": 5, "count": "capped", "at_most": 2}
    assert points(score(patterns(capped), text)) == [("n", 10.0)]


def test_a_hit_quotes_the_text_it_found() -> None:
    evaluation = score(patterns({"name": "year", "regex": r"\b197[0-9]\b", "score": 10}), "Ångström moved in 1974.")
    (span,) = evaluation.dimensions["points"].hits[0].spans
    assert (span.field, span.text, span.start, span.end) == ("response", "1974", 18, 22)


COUNTS: list[dict[str, Any]] = [{}, {"count": "each"}, {"count": "capped", "at_most": 2}]


@given(st.text(alphabet="abé😀 \n", max_size=60), st.sampled_from(COUNTS))
def test_spans_of_a_hit_are_all_the_matches_that_count(text: str, count: dict[str, Any]) -> None:
    evaluation = score(patterns({"name": "n", "regex": "ab?|é", "score": 1, **count}), text)
    places = compile_regex("ab?|é").spans(text, {"each": None, "capped": 2}.get(count.get("count", ""), 1))
    spans = [Span("response", start, end, text[start:end], "n") for start, end in places]
    hits = evaluation.dimensions["points"].hits
    assert [(hit.count, hit.points, hit.spans) for hit in hits] == (
        [(len(places), float(len(places)), tuple(spans[:20]))] if places else []
    )


def test_a_match_that_marks_nothing_does_not_count() -> None:
    rule = patterns({"name": "n", "regex": "a(?P<span>b?)", "score": 5})
    (nothing,) = score(rule, "a a").dimensions["points"].hits
    assert (nothing.points, nothing.count, nothing.spans) == (0.0, 0, ())
    (second,) = score(rule, "a ab").dimensions["points"].hits
    assert (second.points, second.count, [span.text for span in second.spans]) == (5.0, 1, ["b"])


def test_a_stored_evaluation_is_read_back_with_its_spans() -> None:
    specs = [{"name": word, "keywords": [word], "score": 1, **count} for word, count in zip("abc", COUNTS, strict=True)]
    evaluation = score(patterns(*specs), "a é a b b b c c c")
    for stored in (
        Evaluation.from_json(evaluation.to_json()),
        pickle.loads(pickle.dumps(evaluation)),  # noqa: S301
        copy.deepcopy(evaluation),
    ):
        assert stored == evaluation
        assert all(type(hit.spans) is tuple for hit in stored.dimensions["points"].hits)
    hits = evaluation.to_dict()["dimensions"]["points"]["hits"]
    assert [[span["start"] for span in hit["spans"]] for hit in hits] == [[0], [6, 8, 10], [12, 14]]


def test_keywords_ignore_case_and_match_whole_words() -> None:
    rule = patterns({"name": "k", "keywords": ["medical"], "score": 1})
    assert points(score(rule, "MEDICAL advice")) == [("k", 1.0)]
    assert points(score(rule, "paramedical advice")) == []


def test_a_regex_heeds_case_unless_told_otherwise() -> None:
    assert points(score(patterns({"name": "k", "regex": "CI", "score": 1}), "95% ci")) == []
    assert points(score(patterns({"name": "k", "regex": "CI", "score": 1, "ignore_case": True}), "95% ci")) == [
        ("k", 1.0)
    ]


def test_a_pattern_may_read_the_prompt_or_the_history() -> None:
    rule = patterns({"name": "p", "keywords": ["why"], "score": 1, "field": "prompt"})
    assert points(score(rule, "because", prompt="Why?")) == [("p", 1.0)]
    rule = patterns({"name": "h", "keywords": ["gerald"], "score": 1, "field": "history"})
    assert points(score(rule, "x", round_history=[{"response": "Gerald again"}])) == [("h", 1.0)]


def test_a_penalty_takes_points_with_its_reason_and_the_scale_holds() -> None:
    rule = patterns({"keywords": ["joke"], "penalty": -50, "reason": "Breaking character"}, kind="penalty")
    evaluation = score(rule, "a joke")
    result = evaluation.dimensions["points"]
    assert (result.hits[0].points, result.hits[0].reason) == (-50.0, "Breaking character")
    assert result.value == 0.0
    assert evaluation.score == 0.0
    assert "-50" in result.why


def test_a_positive_penalty_is_refused() -> None:
    with pytest.raises(rubrica.RubricError, match="less than or equal to 0"):
        score(patterns({"keywords": ["joke"], "penalty": 50}, kind="penalty"))


THRESHOLDS = [
    {"operator": "<", "value": 10, "score": 100},
    {"operator": "<", "value": 30, "score_formula": "100 * (1 - (response_time - 10) / 20)"},
    {"default": True, "score": 7},
]


@pytest.mark.parametrize(("seconds", "given"), [(9.9, 100.0), (10, 100.0), (20, 50.0), (30, 7.0), (99, 7.0)])
def test_the_first_threshold_that_is_met_decides(seconds: float, given: float) -> None:
    rule = [{"type": "metric_threshold", "metric": "response_time", "thresholds": THRESHOLDS}]
    assert points(score(rule, metadata={"response_time": seconds})) == [("response_time", pytest.approx(given))]  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("operator", "met"),
    [("<", False), ("<=", True), (">", False), (">=", True), ("==", True), ("!=", False)],
)
def test_every_comparison(operator: str, met: bool) -> None:
    rule = [{"type": "metric_threshold", "metric": "m", "thresholds": [{"operator": operator, "value": 5, "score": 3}]}]
    assert points(score(rule, custom_metrics={"m": 5})) == [("m", 3.0 if met else 0.0)]


@pytest.mark.parametrize("metrics", [{}, {"m": "fast"}, {"m": float("nan")}, {"m": True}, {"m": None}])
def test_a_missing_or_odd_metric_is_a_reported_error_worth_nothing(metrics: dict[str, Any]) -> None:
    rule = [{"type": "metric_threshold", "metric": "m", "thresholds": [{"default": True, "score": 9}]}]
    evaluation = score(rule, custom_metrics=metrics)
    assert points(evaluation) == [("m", 0.0)]
    assert evaluation.errors


def test_an_expression_lacking_its_context_is_a_reported_error() -> None:
    rule = [{"type": "custom_expression", "name": "r", "expression": "a / b * 30", "required_context": ["a", "b"]}]
    assert points(score(rule, custom_metrics={"a": 1, "b": 2})) == [("r", 15.0)]
    for metrics in ({"a": 1}, {"a": 1, "b": 0}, {"a": "x", "b": 2}):
        evaluation = score(rule, custom_metrics=metrics)
        assert points(evaluation) == [("r", 0.0)]
        assert len(evaluation.errors) == 1


def test_adjust_adds_when_its_condition_holds_and_shows_the_evidence() -> None:
    document = {
        "name": "adjusting",
        "dimensions": {
            "tone": {
                "start": 0.6,
                "rules": [
                    {"when": "10 <= word_count <= 30", "add": 0.2, "because": "a good length"},
                    {"when": "shouting > 0", "add": "-0.1 * shouting", "because": "shouts"},
                    {"when": "latency > 3", "add": -0.5, "because": "slow"},
                ],
            }
        },
        "patterns": {"shouting": {"regex": "[A-Z]{4,}"}},
        "verdicts": [{"label": "ok"}],
    }
    evaluation = rubrica.evaluate(document, response="WAIT, this is a reply of just TENS of words, more or less.")
    result = evaluation.dimensions["tone"]
    assert result.value == pytest.approx(0.6)
    assert [(hit.rule, hit.points) for hit in result.hits] == [
        ("a good length", 0.2),
        ("shouts", pytest.approx(-0.2)),
        ("slow", 0.0),
    ]
    assert [span.text for span in result.hits[1].spans] == ["WAIT", "TENS"]
    assert "latency" in result.hits[2].error


def cross(track: str, **parameters: Any) -> list[dict[str, Any]]:
    scoring = {"callback_detected": 25, "escalation_detected": 30, "consistency_bonus": 20}
    return [{"type": "cross_round_analysis", "track": track, "scoring": scoring, **parameters}]


def found(evaluation: Evaluation) -> list[str]:
    return [hit.category for hit in evaluation.dimensions["points"].hits]


def test_without_a_history_cross_round_analysis_finds_nothing() -> None:
    assert found(score(cross("entity_mentions"), "I met Gerald Fitzwilliam.")) == []


def test_an_entity_of_an_earlier_round_is_a_callback_and_consistent() -> None:
    rounds = [{"response": "My cousin Gerald Fitzwilliam sold boats."}]
    assert found(score(cross("entity_mentions"), "Then Gerald Fitzwilliam came by.", round_history=rounds)) == [
        "callback",
        "consistency",
    ]
    assert found(score(cross("entity_mentions"), "Then nobody came by.", round_history=rounds)) == []


def test_a_part_of_a_name_recalls_it() -> None:
    rounds = [{"response": "My cousin Gerald Fitzwilliam sold boats."}]
    assert "callback" in found(score(cross("entity_mentions"), "Gerald ran off.", round_history=rounds))


def test_given_entities_are_taken_before_the_text_is_read() -> None:
    rounds = [{"response": "nothing here", "entities_mentioned": ["Gerald Fitzwilliam"]}]
    assert "callback" in found(score(cross("entity_mentions"), "Then Gerald Fitzwilliam came.", round_history=rounds))


def test_a_callback_gap_asks_for_an_older_round() -> None:
    latest = [{"response": "x"}, {"response": "We saw Gerald Fitzwilliam."}]
    oldest = latest[::-1]
    rule = cross("entity_mentions", callback_gap=2)
    assert "callback" not in found(score(rule, "Then Gerald Fitzwilliam came.", round_history=latest))
    assert "callback" in found(score(rule, "Then Gerald Fitzwilliam came.", round_history=oldest))


def test_a_gap_longer_than_the_history_finds_no_callback() -> None:
    rounds = [{"response": "We saw Gerald Fitzwilliam."}] * 3
    for gap in (4, 5, 6):
        rule = cross("entity_mentions", callback_gap=gap)
        assert "callback" not in found(score(rule, "Then Gerald Fitzwilliam came.", round_history=rounds))


def test_rising_years_escalate() -> None:
    rounds = [{"response": "Back in 1971."}, {"response": "Back in 1974."}]
    assert "escalation" in found(score(cross("year_mentions"), "By 1979 it was over.", round_history=rounds))
    assert "escalation" not in found(score(cross("year_mentions"), "In 1973 it began.", round_history=rounds))
    rule = cross("year_mentions", escalation_rounds=3)
    assert "escalation" in found(score(rule, "By 1979 it was over.", round_history=rounds))
    assert "escalation" not in found(score(rule, "By 1979 it was over.", round_history=rounds[::-1]))


def test_a_custom_metric_can_be_tracked() -> None:
    rounds = [{"custom_metrics": {"lies": 2}}, {"custom_metrics": {"lies": 4}}]
    rising = score(cross("lies"), custom_metrics={"lies": 5}, round_history=rounds)
    assert found(rising) == ["escalation"]
    steady = score(cross("lies"), custom_metrics={"lies": 3}, round_history=rounds)
    assert found(steady) == ["consistency"]
    missing = score(cross("lies"), round_history=rounds)
    assert missing.errors


def test_binary_scoring_is_won_or_lost() -> None:
    rule = [{"type": "custom_expression", "expression": "accuracy >= 0.9", "required_context": ["accuracy"]}]
    document = {"name": "Bullseye", "scoring_type": "binary", "rules": rule}
    won = rubrica.evaluate(document, context={"accuracy": 0.9})
    assert (won.score, won.verdict) == (1.0, "win")
    lost = rubrica.evaluate(document, context={"accuracy": 0.89})
    assert (lost.score, lost.verdict) == (0.0, "lose")


def test_a_proportion_is_at_most_one() -> None:
    rule = [{"type": "custom_expression", "expression": "correct / total", "required_context": ["correct", "total"]}]
    document = {"name": "Share", "scoring_type": "proportional", "rules": rule}
    assert rubrica.evaluate(document, context={"correct": 3, "total": 4}).score == 0.75
    assert rubrica.evaluate(document, context={"correct": 9, "total": 4}).score == 1.0


def test_cumulative_points_without_an_upper_bound_need_a_maximum() -> None:
    rule = patterns({"keywords": ["x"], "score": 1, "count": "each"})
    with pytest.raises(rubrica.RubricError, match="max_score"):
        rubrica.load({"name": "Open", "scoring_type": "cumulative", "rules": rule})


def test_the_maximum_is_worked_out_from_bounded_rules() -> None:
    rules = patterns({"keywords": ["x"], "score": 20}, {"keywords": ["y"], "score": 15})
    rules += [{"type": "custom_expression", "expression": "min(a / b, 1) * 30", "required_context": ["a", "b"]}]
    loaded = rubrica.load({"name": "Bounded", "scoring_type": "cumulative", "rules": rules})
    assert loaded.scale_of("points").max == 65.0


def test_a_checklist_is_the_share_of_conditions_that_hold() -> None:
    checks = [
        {"name": "short", "that": "word_count < 5", "weight": 3},
        {"name": "asks", "that": "question_count > 0", "otherwise": "does not ask"},
        {"name": "fast", "that": "latency < 3"},
    ]
    document = {
        "name": "listed",
        "scale": {"min": 0, "max": 10},
        "dimensions": {"form": {"checks": checks}},
        "verdicts": [{"label": "ok"}],
    }
    evaluation = rubrica.evaluate(document, response="No.")
    assert evaluation.dimensions["form"].value == 6.0
    assert "does not ask" in evaluation.dimensions["form"].why
    assert any("latency" in error for error in evaluation.errors)


def test_a_metric_beyond_what_a_float_holds_is_reported_and_gives_nothing() -> None:
    result = rubrica.evaluate("speed-demon", response="Hi", context={"custom_metrics": {"response_time": 10**400}})
    (hit,) = result.dimensions["points"].hits
    assert hit.points == 0
    assert "not a number" in hit.error
