"""Lists of weighted criteria, of the libraries `rubric` and AutoRubric: read, scored as there, written back."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rubrica
from rubrica.errors import RubricError
from rubrica.interchange import Conversion, RubricFormat, export_rubric, import_rubric
from rubrica.interchange.criterion_lists import Flavour

FLAVOURS = get_args(Flavour)
MENU = [
    {"weight": 10, "requirement": "Names a main course."},
    {"weight": 4.5, "requirement": "Names a price."},
    {"weight": -6, "requirement": "Praises the house."},
]
TASTE: dict[str, Any] = {
    "name": "How salty",
    "weight": 3,
    "requirement": "How salty is it said to be?",
    "options": [
        {"label": "Not at all", "value": 0.0},
        {"label": "50 %", "value": 0.5},
        {"label": "Fully (a lot)", "value": 1.0},
        {"label": "N/A", "value": 0.0, "na": True},
    ],
}


def read(data: Any, flavour: Flavour = "rubric") -> Conversion:
    return import_rubric(json.dumps(data), flavour, "menu")


def told(found: Conversion) -> list[str]:
    return [str(problem) for problem in found.lost]


def score_of(document: dict[str, Any], *answers: float) -> float | None:
    return rubrica.decide(document, dict(zip(document["dimensions"], answers, strict=True))).score


def library_score(weights: list[float], met: list[bool]) -> float:
    """What both libraries document: earned over positive weight, on 0 to 1; what is avoided, where all are negative."""
    earned = sum(weight for weight, yes in zip(weights, met, strict=True) if yes)
    positive = sum(weight for weight in weights if weight > 0)
    share = earned / positive if positive else 1 + earned / sum(map(abs, weights))
    return max(0.0, min(1.0, share))


@given(
    st.lists(
        st.tuples(st.integers(-20, 20).filter(bool), st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_scores_are_those_of_the_library(criteria: list[tuple[int, bool]]) -> None:
    weights, met = [weight for weight, _ in criteria], [yes for _, yes in criteria]
    found = read([{"weight": weight, "requirement": f"Says {at}."} for at, weight in enumerate(weights)]).data
    answered = [
        one["answers"]["met" if yes else "not_met"] for one, yes in zip(found["dimensions"].values(), met, strict=True)
    ]
    assert score_of(found, *answered) == pytest.approx(library_score([*map(float, weights)], met))


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("weights", [(3, -1), (-3, -1), (2.5, 7)])
def test_import_export_import_is_the_same(flavour: Flavour, weights: tuple[float, float]) -> None:
    data: list[dict[str, Any]] = [{"weight": weight, "requirement": f"Says {weight}."} for weight in weights]
    if flavour == "autorubric":
        data = [{"name": "opening", **data[0]}, {**TASTE, "weight": weights[1]}, data[1]]
    first = read(data, flavour)
    back = export_rubric(rubrica.load(first.data), flavour)
    assert back.lost == ()
    assert read(back.data, flavour).data == first.data


def test_a_flat_list_comes_back_as_it_was() -> None:
    assert export_rubric(rubrica.load(read(MENU).data), "rubric").data == MENU


def test_options_keep_their_labels_and_values() -> None:
    found = read([TASTE], "autorubric").data["dimensions"]["How_salty"]
    assert found["answers"] == {"not_at_all": 0.0, "answer_50": 0.5, "fully_a_lot": 1.0, "n_a": None}
    assert "- fully_a_lot: Fully (a lot)" in found["asks"]
    back = export_rubric(rubrica.load(read([TASTE], "autorubric").data), "autorubric").data
    assert [one["label"] for one in back[0]["options"]] == [one["label"] for one in TASTE["options"]]


def test_sections_become_tags_and_guidelines_the_description() -> None:
    sections = {
        "rubric": {"sections": [{"name": "Food", "criteria": MENU[:1]}, {"name": "Money", "criteria": MENU[1:2]}]}
    }
    found = read(sections)
    assert [one["tags"] for one in found.data["dimensions"].values()] == [["Food"], ["Money"]]
    back = export_rubric(rubrica.load(found.data), "rubric")
    assert (back.data, back.lost) == (sections["rubric"]["sections"], ())
    guided = read({"guidelines": "Be strict.", "criteria": MENU}, "autorubric")
    assert guided.data["description"] == "Be strict."
    assert export_rubric(rubrica.load(guided.data), "autorubric").data["guidelines"] == "Be strict."


def test_what_has_no_place_is_told_one_by_one() -> None:
    odd = [
        {**MENU[0], "severity": "high"},
        {"weight": 0, "requirement": "Counts nothing."},
        {**TASTE, "scale_type": "ordinal"},
    ]
    assert told(read(odd, "autorubric")) == [
        "[0].severity: has no place in a rubric of Rubrica",
        "[1].weight: weighs nothing, and is left out",
        "[2].scale_type: has no place in a rubric of Rubrica",
    ]


def test_what_a_list_cannot_say_is_told_on_the_way_out() -> None:
    document = {
        "name": "mixed",
        "dimensions": {
            "polite": {"points": 2, "asks": "Is it polite?", "answers": {"rude": 0, "plain": 0.5, "warm": 1}},
            "named": {"points": 1, "asks": "Names it.", "answers": {"yes": 1, "no": 0}},
            "long": {"points": 1, "formula": "min(1, word_count / 100)"},
        },
        "score": {"points": True, "out_of": 100, "clip": False},
        "gates": [{"name": "short", "when": "word_count < 3", "verdict": "poor"}],
        "verdicts": [{"label": "good", "when": "score > 0.5"}, {"label": "poor"}],
    }
    found = export_rubric(rubrica.load(document), "rubric")
    assert found.data == [{"weight": 1, "requirement": "Names it."}]
    assert told(found) == [
        "dimensions.long: is scored by formula; a criterion is answered with a label, so it is left out",
        "dimensions.named.answers: yes, no become met and not met",
        "dimensions.polite.answers: has other answers than met and not met, and is left out",
        "gates: has no place in a file of `rubric`",
        "score.clip: has no place in a file of `rubric`",
        "score.out_of: a score there is out of 1",
        "verdicts: has no place in a file of `rubric`",
    ]


def test_a_tree_without_penalties_is_written_flat_with_the_same_score() -> None:
    document = {
        "name": "tree",
        "dimensions": {
            "code": {
                "points": 3,
                "parts": {
                    key: {"points": at, "asks": f"{key}?", "answers": {"met": 1, "not_met": 0}}
                    for at, key in ((1, "a"), (2, "b"))
                },
            },
            "text": {"points": 1, "asks": "text?", "answers": {"met": 1, "not_met": 0}},
        },
        "score": {"points": True},
        "verdicts": [{"label": "scored"}],
    }
    found = export_rubric(rubrica.load(document), "rubric")
    assert [one["weight"] for one in found.data] == [1, 2, 1]
    assert told(found) == ["dimensions.code.parts: its parts stand in a flat list, each with its share of the weight"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"criteria": "none"}, "is not a list of criteria"),
        ([], "no criterion with a weight"),
        (["text"], "[0]: a criterion is an object"),
        ([{"weight": True, "requirement": "x"}], "[0].weight: a weight is a finite number, not True"),
        ([{"weight": 1e300, "requirement": "x"}], "a weight is a finite number"),
        ([{"weight": 1, "requirement": "  "}], "[0].requirement: the requirement is a text"),
        ([{"requirement": "x"}], "[0].weight: a weight is a finite number, not nothing"),
        ([{"weight": 1, "requirement": "x" * 30_000}], "20,000"),
    ],
)
def test_bad_lists_get_an_error_with_its_place(data: Any, said: str) -> None:
    with pytest.raises(RubricError) as error:
        read(data)
    assert said in str(error.value)


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(RubricError) as error:
        read([{"weight": "3", "requirement": ""}, 5])
    assert len(error.value.problems) == 3


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_long_list_is_one_dimension_with_the_same_score(flavour: Flavour) -> None:
    weights = [1 + at % 7 if at % 5 else -2 for at in range(300)]
    data = [{"weight": weight, "requirement": f"Says {at}."} for at, weight in enumerate(weights)]
    first = read(data, flavour)
    assert [len(one["parts"]) for one in first.data["dimensions"].values()] == [300]
    met = [at % 3 == 0 for at in range(300)]
    scores = {f"c{at + 1}": float(yes) for at, yes in enumerate(met)}
    assert rubrica.decide(first.data, scores).score == pytest.approx(library_score([*map(float, weights)], met))
    back = export_rubric(rubrica.load(first.data), flavour)
    assert (back.data, back.lost) == (data, ())


def test_a_rubric_whose_cases_bring_their_criteria_says_where_they_go() -> None:
    for form in get_args(RubricFormat):
        with pytest.raises(RubricError, match="each case brings its criteria: export the cases"):
            export_rubric(rubrica.load("clinical-answer"), form)


def test_answers_on_another_scale_keep_their_share() -> None:
    answers = {"none": 0, "half": 5, "full": 10}
    document = {
        "name": "tens",
        "scale": {"min": 0, "max": 10},
        "dimensions": {
            "a": {"points": 1, "asks": "A?", "answers": answers},
            "b": {"points": 1, "asks": "B?", "answers": {"yes": 10, "no": 0}},
        },
        "score": {"points": True, "out_of": 10},
        "verdicts": [{"label": "scored"}],
    }
    found = export_rubric(rubrica.load(document), "autorubric").data
    assert [one["value"] for one in found[0]["options"]] == [0, 0.5, 1]
    assert found[1] == {"name": "b", "weight": 1, "requirement": "B?"}


@pytest.mark.parametrize("form", get_args(RubricFormat))
def test_weights_that_hang_on_a_profile_are_refused(form: RubricFormat) -> None:
    with pytest.raises(RubricError, match="the weights hang on the profile"):
        export_rubric(rubrica.load("answer-quality"), form)


@pytest.mark.parametrize("form", ["rubric", "openai-grader"])
def test_a_branch_that_takes_points_away_cannot_be_flat(form: RubricFormat) -> None:
    parts = {
        key: {"points": worth, "asks": f"{key}?", "answers": {"yes": 1, "no": 0}}
        for key, worth in (("a", 2), ("b", -1))
    }
    document = {
        "name": "branch",
        "dimensions": {
            "x": {"points": 1, "parts": parts},
            "y": {"points": 1, "asks": "y?", "answers": {"yes": 1, "no": 0}},
        },
        "score": {"points": True},
        "verdicts": [{"label": "scored"}],
    }
    with pytest.raises(RubricError, match="cannot stand in a flat list"):
        export_rubric(rubrica.load(document), form)
