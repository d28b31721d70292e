"""An offline recipe may say where it cannot tell: then there is no number, but the reason that the rubric gives."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import rubrica
from rubrica.engine.load import rubric_from_text
from rubrica.errors import RubricError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score

RUBRIC = """
name: plainness
scale: {min: 0, max: 10}
dimensions:
  plain:
    asks: Is it plain?
    offline:
      start: 8
      confidence: 0.3
      unscored:
        - {when: word_count < 3, because: it is too short to tell}
        - {when: sums / word_count > 0.5, because: it is a sum}
      rules: [{when: hedge_count > 0, add: -4, because: it hedges}]
patterns: {sums: {keywords: ["="]}}
verdicts: [{label: fine, when: plain >= 6}, {label: poor}]
on_unscored: inconclusive
"""


def judged(response: str) -> rubrica.Evaluation:
    return rubrica.evaluate(rubric_from_text(RUBRIC), response=response)


def test_the_first_condition_that_holds_gives_the_reason_in_place_of_a_number() -> None:
    found = judged("Two words")
    assert (found.verdict, found.score) == ("inconclusive", None)
    assert (found.dimensions["plain"].value, found.dimensions["plain"].reason) == (None, "it is too short to tell")


def test_where_none_holds_the_recipe_scores_and_the_note_says_what_that_rests_on() -> None:
    found = judged("Perhaps it may be so.")
    assert (found.verdict, found.dimensions["plain"].value) == ("poor", 4)
    (note,) = found.notes
    assert note.startswith("no judge read this: plain is for a reader to judge")


def test_a_judge_is_asked_all_the_same() -> None:
    async def answer(axes: Mapping[str, Axis], context: Context) -> dict[str, Score]:
        return {"plain": Score(9, "it is", source="llm")}

    found = rubrica.evaluate(rubric_from_text(RUBRIC), response="Two words", judge=answer)
    assert (found.verdict, found.notes) == ("fine", ())


def test_a_condition_that_cannot_be_read_is_told_with_its_place() -> None:
    with pytest.raises(RubricError, match=r"offline\.unscored\[0\]\.when"):
        rubric_from_text(RUBRIC.replace("word_count < 3", "word_count <"))
