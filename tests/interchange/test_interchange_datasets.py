"""Datasets of AutoRubric: a rubric, and cases with what people said."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rubrica
from rubrica.errors import RubricError
from rubrica.interchange import import_items, import_rubric

MOON = {"name": "Moon", "weight": 10, "requirement": "Names the moon."}
WRONG = {"name": "Error", "weight": -5, "requirement": "Has an error."}
TONE = {
    "name": "Tone",
    "weight": 5,
    "requirement": "How does it sound?",
    "options": [{"label": "Very kind", "value": 1}, {"label": "Rude", "value": 0.5}, {"label": "N/A", "na": True}],
}


def dataset(*items: dict[str, Any], **fields: Any) -> str:
    return json.dumps({"prompt": "Why tides?", "rubric": [MOON, WRONG, TONE], **fields, "items": items})


def item(*truth: str, **fields: Any) -> dict[str, Any]:
    return {"submission": "The moon.", "description": "short", **({"ground_truth": truth} if truth else {}), **fields}


def test_items_become_cases_with_the_labels_and_the_score_that_they_come_to() -> None:
    text = dataset(
        item("MET", "MET", "Rude"),
        item("UNMET", "UNMET", "N/A", prompt="And ebb?", reference_submission="The pull ends."),
        item(submission=""),
        reference_submission="It pulls the sea.",
    )
    first, second, third = import_items(text, "tides").data
    assert (first["prompt"], first["response"], first["reference"]) == ("Why tides?", "The moon.", "It pulls the sea.")
    assert first["metadata"] == {"description": "short", "labels": {"Moon": "met", "Error": "met", "Tone": "rude"}}
    assert first["expect"] == {"score": 0.5}  # 10 - 5 + 2.5 of 15
    assert (second["prompt"], second["reference"]) == ("And ebb?", "The pull ends.")
    assert "expect" not in second  # what nobody could assess comes to no score
    assert (third["response"], "labels" in third["metadata"]) == ("", False)
    found = import_rubric(text, "autorubric", "tides")
    assert "items: 3 items are no part of a rubric (--cases FILE.jsonl makes cases)" in map(str, found.lost)
    rubrica.load(found.data)


def test_rubrics_of_the_items_become_the_criteria_of_the_cases() -> None:
    text = dataset(item("MET", "Very kind", rubric={"criteria": [MOON, TONE]}), rubric=None)
    (case,) = import_items(text, "tides").data
    assert [one["id"] for one in case["criteria"]] == ["Moon", "Tone"]
    assert "answers" not in case["criteria"][0]
    assert case["expect"] == {"score": 1.0}
    found = import_rubric(text, "autorubric", "tides").data
    read = rubrica.decide(found, {"answer": {"Moon": 1, "Tone": 0.5}}, context={"criteria": case["criteria"]})
    assert read.score == pytest.approx(12.5 / 15)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (dataset(item("MET")), "has verdicts for 3 criteria, not a list"),
        (dataset(item("MET", "UNMET", "Angry")), "'Angry' is no answer of Tone, which has very_kind, rude, n_a"),
        (dataset({"description": "lost"}), "items[0]: an item is an object with a submission"),
        (dataset(item(), rubric=None), "has no rubric, and neither has the dataset"),
        (dataset(), "there are no items in it"),
        (json.dumps([MOON]), "there are no items in it"),
    ],
)
def test_what_is_no_dataset_is_refused(text: str, said: str) -> None:
    with pytest.raises(RubricError) as error:
        import_items(text, "tides")
    assert said in str(error.value)


def test_an_item_with_a_rubric_beside_the_datasets_is_told() -> None:
    found = import_items(dataset(item("MET", rubric=[MOON]), item()), "tides")
    assert (len(found.data), len(found.lost)) == (1, 1)
