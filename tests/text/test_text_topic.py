"""What a question is about and how hard it reads, whatever its JSON's fields are called."""

from __future__ import annotations

import json

import pytest

from rubrica.text import FEATURES
from rubrica.text.questions.mcq import read_question
from rubrica.text.texts import Texts

STEM, EXPLANATION = "How many legs do six cows have?", "A cow has 4 legs, so we multiply by six."


def value(name: str, prompt: str, **fields: object) -> float:
    response = {"question": STEM, "options": ["12", "24"], "answer": "B", "explanation": EXPLANATION, **fields}
    return FEATURES[name].compute(Texts(prompt, json.dumps(response)))


@pytest.mark.parametrize(
    ("prompt", "words", "overlap"),
    [
        ("Write a medium multiple-choice question.", 0, 0.0),
        ("Write an easy question on legs of cows.", 2, 1.0),
        ("Multiplication of cows, grade 3", 2, 1.0),
        ("Volcanoes and cows", 2, 0.5),
        ("Volcanoes: an explanation with options and an answer", 1, 0.0),
        ("", 0, 0.0),
    ],
)
def test_only_topic_words_of_the_request_count(prompt: str, words: int, overlap: float) -> None:
    assert (value("topic_word_count", prompt), value("topic_overlap", prompt)) == (words, overlap)


def test_reading_grade_is_that_of_the_words() -> None:
    plain = value("question_reading_grade", "")
    assert plain == value("question_reading_grade", "", identification_of_instructional_responsibility="unquestionably")
    hard = (
        "Constitutional interpretation necessitates jurisdictional considerations throughout administrative procedures?"
    )
    assert plain < 4 < 12 < value("question_reading_grade", "", question=hard)
    assert FEATURES["question_reading_grade"].compute(Texts(response="no question")) == 0


@pytest.mark.parametrize(
    ("fields", "options", "key"),
    [
        ({"options": "A) 12\nB) 24"}, 2, "24"),
        ({"options": "A) 12 B) 24"}, 2, "24"),
        ({"options": {"a": 12, "b": 24}, "answer": "b"}, 2, "24"),
        (
            {"options": [{"id": "A", "text": "12"}, {"id": "B", "text": "24", "is_correct": True}], "answer": None},
            2,
            "24",
        ),
        ({"options": ["12", "24"], "answer": None, "correct_index": 1}, 2, "24"),
        ({"options": ["12", "24"], "answer": None, "correctAnswer": "B"}, 2, "24"),
        ({"options": ["1) 12", "2) 24"], "answer": "2"}, 2, "24"),
        ({"options": ["i) 12", "ii) 24"], "answer": "ii"}, 2, "24"),
        ({"options": ["А) 12", "Б) 24"], "answer": "Б"}, 2, "24"),
        ({"options": ["A、12", "B、24"], "answer": "B"}, 2, "24"),
        ({"options": ["$12$", "$24$"], "answer": "$24$"}, 2, "$24$"),
        ({"options": ["\\frac{1}{2}", "\\frac{1}{3}"], "answer": "1/3"}, 2, "\\frac{1}{3}"),
        ({"options": ["12", "24"], "answer": "Antwort B"}, 2, "24"),
        ({"options": [["12"], ["24"]], "answer": "B"}, 2, "24"),
        ({"question": {"text": STEM}}, 2, "24"),
        ({"options": [], "answer": "B"}, 0, None),
        ({"options": ["1.5", "2.5"], "answer": "2.5"}, 2, "2.5"),
    ],
)
def test_options_and_answers_come_in_many_shapes(fields: dict[str, object], options: int, key: str | None) -> None:
    written = {"question": STEM, "options": ["12", "24"], "answer": "B", **fields}
    question = read_question(json.dumps({name: item for name, item in written.items() if item is not None}))
    assert question is not None
    assert (len(question.options), question.key, question.is_mcq) == (options, key, True)


def test_pictures_and_hints_of_a_question_are_read() -> None:
    pictures = ["a.png", {"src": "b.png", "alt": "B"}]
    question = read_question(
        json.dumps({"question": "?", "images": pictures, "alt_text": "All", "hints": ["Count.", "C"]})
    )
    assert question is not None
    assert question.images == (("a.png", "All"), ("b.png", "B"))
    assert question.hints == "- Count.\n- C"


@pytest.mark.parametrize(("hint", "leaks"), [("Count to 24.", 1), ("The answer is B.", 1), ("Count the cows.", 0)])
def test_a_hint_that_gives_the_key_away_is_flagged(hint: str, leaks: int) -> None:
    assert value("hint_leakage", "", hints=[hint]) == leaks
