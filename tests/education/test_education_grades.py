"""The grade of a maths question, as Python asks for it."""

from __future__ import annotations

import pytest

from rubrica.education import GeneratedQuestion, MathsGrade, NoGrade, maths_grade
from rubrica.errors import InputError

STEM = "Cheese costs $4.60 per pound. How much do 2.5 pounds cost?"


def test_text_record_and_question_have_the_same_grade() -> None:
    found = maths_grade(STEM)
    assert isinstance(found, MathsGrade)
    assert found == maths_grade({"stem": STEM, "choices": ["A) 7", "B) 11.50"]})
    assert found == maths_grade(GeneratedQuestion(question=STEM))
    assert found.signals


def test_what_is_no_question_is_refused_and_what_is_no_maths_has_no_grade() -> None:
    with pytest.raises(InputError, match="no text"):
        maths_grade({"options": ["A) 7"]})
    assert isinstance(maths_grade({"question": "Who wrote this sonnet?"}), NoGrade)
