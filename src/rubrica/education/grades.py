"""The school grade of a maths question, for Python: an estimate with bounds, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubrica.text.questions.maths_grade import MathsGrade, NoGrade, estimate_grade

from .questions import GeneratedQuestion

__all__ = ["MathsGrade", "NoGrade", "maths_grade"]


def maths_grade(question: str | Mapping[str, Any] | GeneratedQuestion) -> MathsGrade | NoGrade:
    """The grade of a maths question in English; where there is none, the reason.

    >>> found = maths_grade("A bag holds 4 red and 3 blue marbles. What is the probability of drawing a blue one?")
    >>> found.grade, found.fits(7), found.fits(2), found.signals[-1]
    (7, True, False, 'topics: probability')
    >>> maths_grade({"question": "¿Cuántas manzanas quedan si de 12 se comen 5?"}).reason
    'it is not in English, and the signals are English'
    """
    if isinstance(question, str):
        return estimate_grade(question)
    read = question if isinstance(question, GeneratedQuestion) else GeneratedQuestion.of(question)
    return estimate_grade(read.question)
