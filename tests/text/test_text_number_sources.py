"""A number of an explanation that comes from nowhere is told; numbers that come from somewhere are left alone."""

from __future__ import annotations

import json
import time

import pytest

from rubrica.text import FEATURES
from rubrica.text.maths.number_sources import unsourced_numbers
from rubrica.text.maths.ratio_shares import unlike_ratios, unlike_shares
from rubrica.text.maths.written_numbers import written_numbers
from rubrica.text.texts import Texts

TILES = "A box holds 24 tiles of 15 cm. How many tiles are in 38 boxes that lost 17 tiles on the way?"
TRAIN = "A train of 195 m passes a post in 13 seconds. How fast is it in km/h?"


@pytest.mark.parametrize(
    ("stem", "right", "wrong", "key"),
    [
        (TILES, "The 38 boxes held 24 * 38 = 912. So 895 are left.", "The 35 boxes held 24 * 38 = 912.", "895"),
        (TILES, "24 * 38 = 912. After 17 tiles are lost, 895.", "24 * 38 = 912. After 19 tiles are lost, 895.", "895"),
        (TILES, "24 * 38 = 912\n912 - 17 = 895", "24 * 38 = 912\n914 - 17 tiles = 895", "895"),
        (TRAIN, "Speed = 195/13 m/s = 15 m/s, or 54 km/h", "Speed = 193/13 m/s = 15 m/s, or 54 km/h", "54"),
        (TRAIN, "195/13 * 18/5 = 54", "194/13 * 18/5 = 54", "54"),
        (
            "The LCM of two numbers is 180, their HCF is 6. One number is 36. What is the other?",
            "36 * x = 180*6\nx = 1080/36 = 30",
            "36 * x = 180*6\nx = 1077/36 = 30",
            "30",
        ),
        (
            "A rope of 340 m is cut so that one part is 60 m longer. Find the longer part.",
            "x + x + 60 = 340\n2x = 280\nx = 140\nLonger part: 140 + 60 = 200",
            "x + x + 60 = 340\n2x = 280\nx = 143\nLonger part: 140 + 60 = 200",
            "200",
        ),
        (
            "A coat of Rs. 1,250 is sold at a loss of 12%. Find the selling price.",
            "C.P. = Rs. 1,250\nS.P. = 88/100 * 1250 = Rs. 1,100",
            "C.P. = Rs. 1,275\nS.P. = 88/100 * 1250 = Rs. 1,100",
            "Rs. 1,100",
        ),
        (
            "What remains when 5^31 is divided by 13?",
            "5^31 = (5^4)^7 * 5^3, and 5^4 = 625 leaves 1. So it is 125 - 117 = 8.",
            "5^37 = (5^4)^7 * 5^3, and 5^4 = 625 leaves 1. So it is 125 - 117 = 8.",
            "8",
        ),
    ],
)
def test_a_number_that_comes_from_nowhere_is_told(stem: str, right: str, wrong: str, key: str) -> None:
    assert list(unsourced_numbers(right, stem, key)) == []
    assert len(list(unsourced_numbers(wrong, stem, key))) == 1


@pytest.mark.parametrize(
    ("stem", "explanation", "key"),
    [
        ("A class of 36 meets 5 times. How many visits?", "36 * 5 = 180, that is 15 dozen, not 200.", "180"),
        ("What is the 15th term for a = 4 and d = 3?", "a + 14d = 4 + 42 = 46", "46"),
        ("A bus of 48 km/h drives 3 weeks, 2 h a day.", "In 21 days that is 48 * 2 * 21 = 2016.", "2016"),
        ("A field is 13 m across and 5 m wide.", "The length is 12, so the area is 5 * 12 = 60.", "60"),
        ("It grows by 4% and by 3% of 500.", "Together 7%: 500 * 0.07 = 35", "35"),
        ("$90 in year 3, then $10 more.", "year 4: 90 + 10 = 100, year 5: 110, year 6: 110 + 10 = 120", "120"),
        ("Solve x2 - 9 = 0, x > 0 and y = 12.", "x2 - 32 = 0, so x = 3", "3"),
        ("What is 40 - 4 * 6?", "4 * 6 = 24, 40 - 24 = 16. Working from the left gives 218, which is wrong.", "16"),
        ("The war began in 1939. How long did it last?", "It ended in 1945, so it lasted six years.", "6"),
        ("They leave at 9:40 and drive 50 km. When are they there at 60 km/h?", "50/60 = 5/6 h, so at 10:30.", "10:30"),
        (TILES, "24 * 38 = 912. Say 913, 914 or 916. Then 912 - 17 = 895.", "895"),
    ],
)  # fmt: skip
def test_numbers_that_come_from_somewhere_are_left_alone(stem: str, explanation: str, key: str) -> None:
    assert list(unsourced_numbers(explanation, stem, key)) == []


def test_the_number_is_a_fault_of_the_question_with_its_place() -> None:
    question = {
        "question": TILES,
        "options": ["A) 895", "B) 912", "C) 905", "D) 800", "E) 929"],
        "answer": "A",
        "explanation": "24 * 38 = 912 tiles. After the 19 tiles are lost, 895 are left. Answer: A",
    }
    texts = Texts(response=json.dumps(question))
    found = FEATURES["question_wrong_equations"]
    assert found.compute(texts) == 1
    assert found.evidence is not None
    (span,) = found.evidence(texts)
    assert "19 tiles" in span.text
    assert span.label == "a number that comes from nowhere"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("Let them be 3x, 4x and 6x.", ["3x, 4x and 6x"]),
        ("Let them be 3x, 4x and 8x.", []),
        ("Let them be 8x, 3x and 4x.", []),
        ("Let them be 3x, 4x and 7x.", []),  # a sum of shares
        ("Let them be 3x and 5x.", []),
        ("It is 3x + 4x + 6x.", []),
    ],
)
def test_shares_that_are_not_those_of_the_ratio_are_told(written: str, told: list[str]) -> None:
    assert list(unlike_shares(written, "Three heirs share $450 in the ratio 3 : 4 : 8.")) == told


def test_numbers_are_read_without_labels_places_and_times() -> None:
    text = "(1) Step 2: Rs.1,50,000 at 9:40 is the 3rd of 4x, not a4.\n5. It is .25 of 12.5%"
    assert [str(number.value) for number in written_numbers(text)] == ["150000", "4", "1/4", "25/2"]


@pytest.mark.parametrize("piece", ["1.37 + 2.9 * 4.1 = ", "7,", "12 cows ", "3/4x = 5y, ", "1 " * 40 + "= 2.5 "])
def test_no_explanation_makes_the_search_for_sources_long(piece: str) -> None:
    distinct = " ".join(f"{number}.{number + 7} = {number}" for number in range(11, 60))
    begun = time.thread_time()
    for text in (piece * (8_000 // len(piece)), piece * 10_000, distinct):
        list(unsourced_numbers(text, "How much is 3.25 of 17 and 29 more?", "4"))
        list(unsourced_numbers("2 + 2 = 4, and 19 of 77", text, "4"))
        list(unlike_shares(text, text))
    assert time.thread_time() - begun < 5.0


def test_the_parts_of_a_reduced_fraction_come_from_the_question() -> None:
    stem = "15 oxen or 20 cows eat a field in 80 days. How long do 6 oxen and 2 cows take?"
    explanation = "15 oxen = 20 cows, so 1 ox = 4/3 cows. 6 oxen + 2 cows = 8 + 2 = 10 cows. That is 20*80/10 = 160."
    assert list(unsourced_numbers(explanation, stem, "160 days")) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Ratio = 6x/5 : 3x/2 = 12x : 15x = 4:5", 0),
        ("Ratio = 6x/5 : 3x/2 = 2x : 15x", 1),
        ("144 : 192 : 180\n= 12 : 16 : 15", 0),
        ("144 : 191 : 180\n= 12 : 16 : 15", 1),
        ("1/2 : 1/3 = 3 : 2 and 1.5 : 2 = 3:4", 0),
        ("2:30 = 14:30, 3 + 2:4 = 5:4, 2a:3b = 4:9, 1:0 = 2:3", 0),
    ],
)
def test_ratios_that_are_put_down_as_equal_have_the_same_proportions(text: str, wrong: int) -> None:
    assert len(list(unlike_ratios(text))) == wrong
