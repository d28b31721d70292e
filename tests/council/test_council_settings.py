"""Settings of a council: a file, variables over it, options over both, and errors that name what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubrica.council.rubric import review_plan
from rubrica.council.settings import CouncilSettings, from_variables, load_council
from rubrica.engine.evaluate import evaluate_scores
from rubrica.errors import RubricaError, RubricError
from rubrica.model.context import Context
from rubrica.model.evaluation import Score

FILE = """\
models: ['local:', openai:gpt-4o-mini]
tier: quick
weights: {accuracy: 0.55, clarity: 0.0}
safety_gate: true
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "council.yaml"
    path.write_text(text)
    return path


def weights(settings: CouncilSettings) -> dict[str, float | None]:
    return {name: spec.weight for name, spec in review_plan(settings).rubric.dimensions.items()}


def test_options_win_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    environ = {"LLM_COUNCIL_SAFETY_GATE": "off", "LLM_COUNCIL_SAFETY_SCORE_CAP": "3", "LLM_COUNCIL_WEIGHT_CLARITY": "0"}
    settings = load_council(written(tmp_path, FILE), environ=environ, options={"tier": "high", "seed": None})
    assert (settings.tier, settings.safety_gate, settings.safety_score_cap) == ("high", False, 3.0)
    assert settings.models == ("local:", "openai:gpt-4o-mini")
    assert settings.weights == {"accuracy": 0.55, "clarity": 0.0}
    assert load_council(written(tmp_path, FILE), environ={}).safety_gate is True


def test_a_file_of_comments_changes_nothing(tmp_path: Path) -> None:
    assert load_council(written(tmp_path, "# tier: quick\n"), environ={}) == CouncilSettings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("teir: quick", r"council.yaml:1: teir: there is no such setting \(did you mean 'tier'\?\)"),
        ("tier: fast", r"council.yaml:1: tier: .*quick"),
        ("models: [a, a]", "a is named twice"),
        ("models: [a, b]\nquorum: 3", "quorum: 3 of 2 models cannot answer"),
        ("- a", "settings are keys with values"),
        ("safety_score_cap: .nan", "finite number"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RubricError, match=said):
        load_council(written(tmp_path, text), environ={})


def test_the_documented_weights_are_the_default() -> None:
    expected = {"accuracy": 0.35, "relevance": 0.10, "completeness": 0.20, "conciseness": 0.15, "clarity": 0.20}
    assert weights(load_council(environ={})) == expected


def test_variables_set_the_weights_and_the_score_follows() -> None:
    names = ("ACCURACY", "RELEVANCE", "COMPLETENESS", "CONCISENESS", "CLARITY")
    environ = dict(
        zip((f"LLM_COUNCIL_WEIGHT_{name}" for name in names), ("0.5", "0.1", "0.2", "0.1", "0.1"), strict=True)
    )
    plan = review_plan(load_council(environ=environ))
    scores = {name.lower(): Score(10.0 if name == "ACCURACY" else 2.0) for name in names}
    assert evaluate_scores(plan, Context(), scores).score == 6.0


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"LLM_COUNCIL_WEIGHT_ACCURACY": "0.5"}, r"sum to 1\.15, not 1: accuracy 0\.5, .*LLM_COUNCIL_WEIGHT_ACCURACY"),
        ({"LLM_COUNCIL_WEIGHT_ACCURACY": "a lot"}, r"LLM_COUNCIL_WEIGHT_ACCURACY: 'a lot' is not a number from 0 to 1"),
        ({"LLM_COUNCIL_WEIGHT_CLARITY": "-0.2"}, "LLM_COUNCIL_WEIGHT_CLARITY"),
        ({"LLM_COUNCIL_WEIGHT_CLARITY": "nan"}, "LLM_COUNCIL_WEIGHT_CLARITY"),
        ({"LLM_COUNCIL_WEIGHT_ACURACY": "0.35"}, "LLM_COUNCIL_WEIGHT_ACURACY.*did you mean 'accuracy'"),
        ({"LLM_COUNCIL_SAFETY_GATE": "maybe"}, "LLM_COUNCIL_SAFETY_GATE: 'maybe' is neither true nor false"),
        ({"LLM_COUNCIL_SAFETY_SCORE_CAP": "-1"}, "LLM_COUNCIL_SAFETY_SCORE_CAP: '-1' is not a number from 0 up"),
        ({"LLM_COUNCIL_SAFETY_SCORE_CAP": "11"}, "LLM_COUNCIL_SAFETY_SCORE_CAP.*more than full marks, 10"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(environ: dict[str, str], said: str) -> None:
    with pytest.raises(RubricaError, match=said):
        review_plan(load_council(environ=environ))


def test_four_old_weights_need_relevance_left_out() -> None:
    environ = {
        "LLM_COUNCIL_WEIGHT_ACCURACY": "0.35",
        "LLM_COUNCIL_WEIGHT_COMPLETENESS": "0.25",
        "LLM_COUNCIL_WEIGHT_CONCISENESS": "0.20",
        "LLM_COUNCIL_WEIGHT_CLARITY": "0.20",
    }
    with pytest.raises(RubricaError, match="0 leaves a dimension out"):
        review_plan(load_council(environ=environ))
    assert weights(load_council(environ={**environ, "LLM_COUNCIL_WEIGHT_RELEVANCE": "0"}))["relevance"] == 0.0
    assert weights(load_council(environ=environ, options={"rubric": "council-review-four"}))["completeness"] == 0.25


def test_empty_variables_count_as_not_set() -> None:
    assert from_variables({"LLM_COUNCIL_SAFETY_GATE": " ", "LLM_COUNCIL_WEIGHT_CLARITY": ""}) == {}


@pytest.mark.parametrize(("value", "on"), [("true", True), ("1", True), ("ON", True), ("no", False), ("0", False)])
def test_the_safety_gate_is_turned_by_a_variable(value: str, on: bool) -> None:
    settings = load_council(environ={"LLM_COUNCIL_SAFETY_GATE": value, "LLM_COUNCIL_SAFETY_SCORE_CAP": "2.5"})
    rubric = review_plan(settings).rubric
    assert (rubric.settings["safety_gate"], rubric.settings["safety_score_cap"]) == (on, 2.5)


def test_a_rubric_without_a_gate_refuses_to_have_it_turned_on() -> None:
    with pytest.raises(RubricaError, match=r"LLM_COUNCIL_SAFETY_GATE.*voice-companion has no such setting"):
        review_plan(CouncilSettings(rubric="voice-companion", safety_gate=True))


@pytest.mark.parametrize(("tier", "seconds"), [("quick", 20), ("balanced", 60), ("high", 180)])
def test_tiers_set_the_deadline_unless_one_is_given(tier: Any, seconds: float) -> None:
    assert CouncilSettings(tier=tier).seconds == seconds
    assert CouncilSettings(tier=tier, deadline=3).seconds == 3


def test_a_chair_from_outside_is_asked_too() -> None:
    assert CouncilSettings(models="a, b", chair="c").everybody == ("a", "b", "c")
    assert CouncilSettings(models="a, b", chair="b").everybody == ("a", "b")


def test_a_rubric_that_reviewers_could_not_fill_in_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lengths.yaml"
    path.write_text(
        "name: lengths\ndimensions:\n  depth: {asks: Is it deep?, weight: 0.5}\n"
        "  length: {formula: 'min(word_count / 100, 1)', weight: 0.5}\nverdicts: [{label: done}]\n"
    )
    with pytest.raises(RubricaError, match="length is none"):
        review_plan(CouncilSettings(rubric=str(path)))
    path.write_text("name: notes\ndimensions: {notes: {asks: Are there notes?}}\nverdicts: [{label: done}]\n")
    with pytest.raises(RubricaError, match="has notes of its own"):
        review_plan(CouncilSettings(rubric=str(path)))
