"""What a run says about criteria."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rubrica
from rubrica.authoring.run_rules import run_warnings
from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.runs.stored import StoredRun

ASKS = {
    "named": "Names the author of the poem.",
    "dated": "Gives the year of the first print.",
    "quoted": "Quotes the first line of the poem.",
}


def rubric(**asks: str) -> Rubric:
    dimensions = {
        name: {"asks": said, "weight": 1 / len(asks), "answers": {"yes": 1, "no": 0}} for name, said in asks.items()
    }
    return load({"name": "poem", "dimensions": dimensions, "verdicts": [{"label": "done"}]})


def stored(folder: Path, cases: int, repeats: int = 1) -> StoredRun:
    """A run in which every response is found to name the author and none the year; every other one has a quotation."""
    script = [
        {"match": "author", "reply": {"reason": "so", "answer": "yes", "confidence": 1}},
        {"match": "year", "reply": {"reason": "so", "answer": "no", "confidence": 1}},
    ]
    for _ in range(cases):
        script += [
            {"match": "Quotes", "reply": {"reason": "so", "answer": answer, "confidence": 1}}
            for answer in ("yes", "no")
        ]
    file = folder / "script.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in script))
    rows = [{"id": str(number), "response": f"Poem {number}."} for number in range(cases)]
    rubrica.run(
        rows,
        rubric=rubric(**ASKS),
        judge=f"scripted:{file}",
        out=folder / "run",
        jobs=1,
        progress=False,
        repeats=repeats,
    )
    return StoredRun.open(folder / "run")


def told(found: Rubric, run: StoredRun) -> list[tuple[str, str]]:
    return sorted((warning.rule, warning.problem.where) for warning in run_warnings(found, run))


def test_criteria_that_every_case_or_none_meets_are_told_unless_they_were_worded_differently(tmp_path: Path) -> None:
    run = stored(tmp_path, 10)
    assert told(rubric(**ASKS), run) == [("always-met", "dimensions.named"), ("never-met", "dimensions.dated")]
    reworded = {**ASKS, "named": "Names the poet."}
    assert told(rubric(**reworded), run) == [("never-met", "dimensions.dated")]


def test_a_few_cases_say_nothing(tmp_path: Path) -> None:
    assert told(rubric(**ASKS), stored(tmp_path, 4)) == []


def test_answers_that_change_when_a_judge_is_asked_again_are_told(tmp_path: Path) -> None:
    assert told(rubric(**ASKS), stored(tmp_path, 5, repeats=2)) == [("unsteady", "dimensions.quoted")]


def test_a_run_of_another_rubric_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match="was not judged by answer-quality, but by poem"):
        run_warnings(load("answer-quality"), stored(tmp_path, 1))
