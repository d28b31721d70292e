"""Lint of whole rubrics: what is told where, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.authoring.asks_two import two_questions
from rubrica.authoring.cannot_fail import unfailing
from rubrica.authoring.criterion_text import CriterionText, criteria_of
from rubrica.authoring.gist import Gist
from rubrica.authoring.lint import lint_cases, lint_rubric
from rubrica.authoring.vague_wording import vague_word
from rubrica.authoring.wording import wording_warnings
from rubrica.packs.library import PACKS, bundled_rubrics, examples, load

YES_NO = {"yes": 1, "no": 0}
JOINTS = (
    "and",
    "is",
    "the",
    "a",
    "good",
    ",",
    ".",
    "?",
    "or",
    "not",
    "while",
    "may",
    "it",
    "both",
    "says",
    "but",
    "warm",
    "that",
    ";",
    "has",
    "while",
    "keeping",
)


def linted(**dimensions: Any) -> list[tuple[str, str]]:
    """The rule and the path of each warning about a rubric with some dimensions."""
    if all("parts" not in spec and "checks" not in spec for spec in dimensions.values()):
        dimensions = {name: {"answers": YES_NO, **spec} for name, spec in dimensions.items()}
    weight = 1 / len(dimensions)
    rubric = load(
        {
            "name": "sample",
            "dimensions": {name: {"weight": weight, **spec} for name, spec in dimensions.items()},
            "verdicts": [{"label": "done"}],
        }
    )
    return [(warning.rule, warning.problem.where) for warning in lint_rubric(rubric).warnings]


@pytest.mark.parametrize("name", [bundled.name for bundled in bundled_rubrics()])
def test_bundled_rubrics_are_clean(name: str) -> None:
    assert lint_rubric(load(name)).warnings == ()


@pytest.mark.parametrize("pack", PACKS)
def test_criteria_of_bundled_examples_are_clean(pack: str) -> None:
    assert lint_cases(examples(pack), pack).warnings == ()


def test_anchors_settle_what_a_vague_word_means_and_what_half_is_worth() -> None:
    asks = "Is it good, and is it short?"
    anchors = {"0-0.5": "rambles", "0.5-1": "a line that names the cause"}
    rubric = {"name": "x", "verdicts": [{"label": "done"}], "dimensions": {"tone": {"asks": asks, "anchors": anchors}}}
    assert lint_rubric(load(rubric)).warnings == ()
    del rubric["dimensions"]["tone"]["anchors"]  # type: ignore[index]
    assert {warning.rule for warning in lint_rubric(load(rubric)).warnings} == {"two-questions", "vague"}


def test_parts_are_read_as_dimensions_are_and_may_ask_about_the_same_as_their_dimension() -> None:
    parts = {
        "dose": {"weight": 0.5, "asks": "States the dose of the drug.", "answers": YES_NO},
        "tone": {"weight": 0.5, "asks": "Is the tone nice?", "answers": YES_NO},
    }
    found = linted(medicine={"asks": "States the dose of the drug.", "parts": parts})
    assert found == [("vague", "dimensions.medicine.parts.tone.asks")]


def test_checks_that_always_or_never_hold_are_told_and_so_are_the_same_ones() -> None:
    checks = [
        {"name": "some words", "that": "word_count >= 0"},
        {"name": "too few", "that": "word_count < 0"},
        {"name": "short", "that": "word_count < 90"},
        {"name": "brief", "that": "word_count  < 90"},
    ]
    assert linted(length={"checks": checks}) == [
        ("cannot-fail", "dimensions.length.checks[0].that"),
        ("cannot-fail", "dimensions.length.checks[1].that"),
        ("overlap", "dimensions.length.checks[3].that"),
    ]


def test_what_costs_and_denies_is_the_same_as_what_earns() -> None:
    named, unnamed = "Names the author of the poem.", "Does not name the author of the poem."
    costs = {"yes": 0, "no": 1}
    assert linted(a={"asks": named}, b={"asks": unnamed}) == [("contradiction", "dimensions.b.asks")]
    assert linted(a={"asks": named}, b={"asks": unnamed, "answers": costs}) == [("overlap", "dimensions.b.asks")]
    assert linted(a={"asks": named}, b={"asks": named, "answers": costs}) == [("contradiction", "dimensions.b.asks")]


def test_an_open_question_is_told_only_where_yes_or_no_is_the_answer() -> None:
    assert linted(speed={"asks": "How quickly does the reply come to the point?"}) == [
        ("cannot-fail", "dimensions.speed.asks")
    ]
    free = {"name": "x", "dimensions": {"speed": {"asks": "How quickly does it come to the point?"}}}
    assert lint_rubric(load({**free, "verdicts": [{"label": "done"}]})).warnings == ()


def test_two_wordings_are_proposed_in_place_of_one() -> None:
    found = two_questions("The code compiles and has a test for the empty list.")
    assert found is not None
    assert found.wording == "The code compiles. | The code has a test for the empty list."
    found = two_questions("Is the answer accurate and polite?")
    assert found is not None
    assert found.wording == "Is the answer accurate? | Is the answer polite?"


@pytest.mark.parametrize(
    "text",
    [
        "Nennt die übliche Dosis.",
        "La respuesta indica la dosis y la frecuencia.",
        "答案是否说明了剂量？",
        "Är svaret på svenska?",
        "",
        "?",
    ],
)
def test_other_languages_and_nothing_at_all_are_left_alone(text: str) -> None:
    assert list(wording_warnings(CriterionText(("x",), text))) == []


@given(st.text(max_size=60) | st.lists(st.sampled_from(JOINTS), max_size=20).map(" ".join))
@settings(max_examples=60)
def test_whatever_is_written_is_read(text: str) -> None:
    for criterion in (CriterionText(("x",), text, binary=True), CriterionText(("x",), text, anchors=("0-1: any",))):
        for warning in wording_warnings(criterion):
            assert warning.problem.message
            assert warning.plain["rule"] == warning.rule
    assert Gist.of(text).shared(Gist.of(text)) in (0.0, 1.0)


def test_a_very_long_criterion_is_read_in_time() -> None:
    rubric = load(
        {"name": "x", "verdicts": [{"label": "done"}], "dimensions": {"long": {"asks": "and is the (a) good " * 900}}}
    )
    (criterion,) = criteria_of(rubric)
    assert len(criterion.text) <= 2_000
    two_questions(criterion.text)
    vague_word(criterion.text)
    unfailing(criterion.text, binary=True)


def test_leaves_of_a_tree_are_read_and_negative_points_turn_what_is_wanted() -> None:
    leaf = {"points": 2, "asks": "Is the plot good?", "answers": YES_NO}
    deep = {"points": 1, "parts": {"chart": {"points": 1, "parts": {"plot": leaf}}}}
    costs = {"points": -1, "asks": "Does not name the author.", "answers": YES_NO}
    earns = {"points": 1, "asks": "Names the author.", "answers": YES_NO}
    rubric = {"name": "tree", "dimensions": {"results": deep, "named": earns, "unnamed": costs}}
    found = lint_rubric(load({**rubric, "score": {"points": True}, "verdicts": [{"label": "done"}]})).warnings
    assert [(warning.rule, warning.problem.where) for warning in found] == [
        ("vague", "dimensions.results.parts.chart.parts.plot.asks"),
        ("overlap", "dimensions.unnamed.asks"),
    ]
