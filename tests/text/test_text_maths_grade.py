"""The grade of a maths question rises with its mathematics, and there is none where it would be a guess."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from rubrica.text import FEATURES
from rubrica.text.questions.maths_grade import MathsGrade, NoGrade, estimate_grade
from rubrica.text.texts import Texts


def value(text: str) -> float:
    found = estimate_grade(text)
    assert isinstance(found, MathsGrade), found
    return found.value


def features(response: str) -> dict[str, float]:
    return {name: feature.compute(Texts(response=response)) for name, feature in FEATURES.items() if "maths" in name}


@pytest.mark.parametrize(
    "texts",
    [
        ("What is 3 + 4?", "What is 38 + 47?", "What is 438 + 2,947?"),
        (
            "Jo has 8 figs and gets 5 more. How many figs are there?",
            "Jo has 8 bags with 5 figs in each bag. How many figs are there?",
            "Jo has 28 bags with 45 figs in each bag. He sells 300 figs. How many figs are left?",
            "The ratio of figs to dates in a bag is 8:5. There are 40 figs. How many dates are there?",
        ),
        ("Find 7 + 5.", "Find 2.7 + 0.55.", "Solve 2x + 5 = 17.", "Solve x^2 + 5x + 6 = 0.", "Differentiate x^2 + 5x."),
    ],
)
def test_harder_mathematics_has_a_higher_grade(texts: tuple[str, ...]) -> None:
    assert all(one < other for one, other in pairwise(map(value, texts)))


@pytest.mark.parametrize(
    ("plain", "typeset"),
    [
        ("Solve 3x - 7 = 20.", "Solve 3x − 7 = 20."),
        ("What is x if 3x - 7 = 20?", "What is x if $3x - 7 = 20$?"),
        ("57 - 29 = ?", "57 – 29 = ?"),
        ("Find (3/5) × (10/9).", r"Find \frac{3}{5} \times \frac{10}{9}."),
    ],
)
def test_typeset_signs_do_not_change_the_grade(plain: str, typeset: str) -> None:
    assert value(plain) == value(typeset)


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("12 pens and 18 rubbers go into identical bags. What is the largest number of bags that can be made?", 6),
        (
            "One plan costs $20 and 5 cents a text, another $12 and 9 cents. For how many do they cost the same?",
            8,
        ),
        ("Two numbers add up to 12 and differ by 4. Write two equations and find the numbers.", 8),
        ("Solve: y ÷ 4 = 12", 6),
    ],
)
def test_small_numbers_can_stand_for_hard_mathematics(text: str, grade: int) -> None:
    found = estimate_grade(text)
    assert isinstance(found, MathsGrade)
    assert found.fits(grade), found


def test_the_bounds_hold_the_estimate_and_stay_within_school() -> None:
    for text in ("What is 1 + 1?", "What is 24 × 36?", "Find the derivative of sin(x)."):
        found = estimate_grade(text)
        assert isinstance(found, MathsGrade)
        assert 0 <= found.low <= found.value <= found.high <= 13
        assert found.fits(found.grade)


def test_a_derivative_is_out_of_reach_of_the_second_grade() -> None:
    found = estimate_grade("What is the derivative of x^2?")
    assert isinstance(found, MathsGrade)
    assert not found.fits(2)
    assert "topics: calculus" in found.signals


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The sky is blue.",
        "Who painted the ceiling of the chapel?",
        "What is the main product of photosynthesis?",
        "Which insect is the vector of malaria?",
        "In which year did the war end: 1943, 1945 or 1950?",
        "Write a function in Python that adds 3 and 4.",
        "Write a poem with 3 verses of 4 lines about a triangle.",
        "Ana tiene 5 manzanas y compra 7 más. ¿Cuántas tiene ahora?",
        "Anna hat 5 Äpfel und kauft 7 dazu. Wie viele hat sie?",
        "小明有5个苹果,又买了7个。现在有几个?",
        "How many eggs are 3 and 4 eggs? " * 100,
    ],
)
def test_what_is_no_maths_question_in_english_has_no_grade_but_a_reason(text: str) -> None:
    found = estimate_grade(text)
    assert isinstance(found, NoGrade)
    assert found.reason
    assert set(features(text).values()) == {0.0}


def test_features_read_the_stem_of_a_question_not_its_explanation() -> None:
    stem = "Each box holds 6 pencils. How many pencils are in 8 boxes?"
    asked = json.dumps({"question": stem, "answer": "48", "explanation": "The derivative of a function is not needed."})
    assert features(asked) == features(stem)
    assert features(asked)["maths_grade_known"] == 1
    assert features(asked)["maths_grade_low"] < features(asked)["maths_grade"] < features(asked)["maths_grade_high"]


def test_the_evidence_shows_the_topics() -> None:
    feature = FEATURES["maths_grade"]
    assert feature.evidence is not None
    spans = feature.evidence(Texts(response="What is the probability of drawing 1 of 5 red balls?"))
    assert ("probability", "probability") in [(span.label.partition(",")[0], span.text) for span in spans]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("8.4 ÷ 6", 4, 7),
        ("4 1/3 - 1 5/6", 4, 7),
        ("6 x 9 = ___", 2, 4),
        ("Evaluate ∛27.", 6, 9),
        ("Evaluate 5n² when n = 3.", 5, 10),
        ("Circle the greater number: 38 or 83.", 0, 3),
        ("Write 905 in words.", 1, 4),
    ],
)
def test_bare_sums_and_short_tasks_have_a_grade(text: str, low: int, high: int) -> None:
    found = estimate_grade(text)
    assert isinstance(found, MathsGrade)
    assert low <= found.grade <= high


@pytest.mark.parametrize(
    "text", ["555 - 1234 is my phone.", "Meet me 10/12/2020", "Mark wrote to Anna.", "Give it to him."]
)
def test_numbers_and_verbs_alone_have_no_grade(text: str) -> None:
    assert isinstance(estimate_grade(text), NoGrade)
