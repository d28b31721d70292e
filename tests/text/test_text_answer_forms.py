"""Each type of question has its own form of answer, and an answer agrees with what can be worked out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubrica.text import FEATURES
from rubrica.text.questions.question import read_question
from rubrica.text.texts import Texts

PRIMES: dict[str, Any] = {"question": "Which of these numbers are prime?", "options": ["2", "4", "5", "6"]}
ORDER: dict[str, Any] = {"type": "ordering", "question": "Order from least to greatest.", "options": ["5", "2", "9"]}


MATCH: dict[str, Any] = {"type": "matching", "left": ["cow", "hen", "sheep"], "right": ["chick", "lamb", "calf"]}


def found(**fields: Any) -> set[str]:
    texts = Texts(response=json.dumps(fields))
    return {name for name in ("malformed", "mismatch") if FEATURES[f"answer_{name}"].compute(texts)}


@pytest.mark.parametrize(
    ("fields", "kind", "is_mcq"),
    [
        ({"type": "Multiple Choice", "options": ["1", "2"], "answer": "A"}, "mcq", True),
        ({"options": ["1", "2"], "answer": "A"}, "mcq", True),
        ({"type": "something new", "options": ["1", "2"], "answer": "A"}, "mcq", True),
        ({"options": ["1", "2", "3"], "answer": ["A", "B"]}, "multi-select", False),
        ({"options": ["True", "False"], "answer": "A"}, "true-false", False),
        ({"type": "true_false", "answer": True}, "true-false", False),
        ({"type": "fill_in_the_blank", "answer": "4"}, "fill-in", False),
        ({"type": "numerical answer", "answer": 4}, "numeric", False),
        ({"type": "essay"}, "open", False),
        ({"type": "matching", "answer": {"2 + 2": "4"}}, "matching", False),
        ({"type": "ordering", "options": ["1", "2"], "answer": ["B", "A"]}, "ordering", False),
        ({"question": "Put them in order.", "options": ["3", "1", "2"], "answer": ["B", "C", "A"]}, "ordering", False),
        ({"question": "Match the pairs.", "answer": {"2 + 2": "4"}}, "matching", False),
    ],
)
def test_the_type_is_what_is_declared_or_what_the_parts_show(fields: dict[str, Any], kind: str, is_mcq: bool) -> None:
    question = read_question(json.dumps({"question": "What is it?", **fields}))
    assert question is not None
    assert (question.kind, question.is_mcq) == (kind, is_mcq)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "fill-in", "question": "6 × __ = 54", "answer": "9"},
        {"type": "fill-in", "question": "The capital of France is ____.", "answer": "Paris"},
        {
            "type": "fill-in",
            "question": "Six sevens are ____.",
            "answer": "42",
            "explanation": "42, not 48 as in 6 × 8 = 48.",
        },
        {"type": "numeric", "question": "What is 6 × 7?", "answer": "42 apples", "explanation": "Six sevens."},
        {"type": "numeric", "question": "What is 10 ÷ 3, rounded?", "answer": "3.3", "explanation": "10 ÷ 3 = 3.33"},
        {"type": "numeric", "question": "Solve 3x + 4 = 19.", "answer": "x = 5", "explanation": "3x = 15, so x = 5."},
        {"type": "true-false", "question": "7 × 8 = 56", "answer": True},
        {
            "type": "true-false",
            "question": "A whale is a fish.",
            "answer": "False",
            "explanation": "So it is not true.",
        },
        {"question": "A whale is a fish.", "options": ["True", "False"], "answer": "B"},
        {"type": "true-false", "question": "Snow falls.", "options": ["True", "False", "Not given"], "answer": "A"},
        {**PRIMES, "answer": ["A", "C"], "explanation": "Options A and C are correct."},
        {**ORDER, "answer": ["B", "A", "C"]},
        {**ORDER, "answer": "2, 5, 9"},
        {"type": "open", "question": "Describe a leaf."},
        {"type": "matching", "question": "Match.", "answer": {"2 + 2": "4"}},
        {**MATCH, "question": "Match.", "answer": {"cow": "calf", "hen": "chick", "sheep": "lamb"}},
        {**MATCH, "question": "Match.", "answer": "1-C, 2-A, 3-B"},
        {**MATCH, "question": "Match.", "answer": [["cow", "calf"], ["hen", "chick"], ["sheep", "lamb"]]},
        {**MATCH, "question": "Match. A word may be used more than once.", "answer": "1-C, 2-A, 3-A"},
        {
            "type": "matching",
            "question": "Match the mothers with their young. 1. cow 2. hen",
            "options": ["A) chick", "B) calf", "C) lamb"],
            "answer": "1-B, 2-A",
        },
        {
            "type": "matching",
            "question": "Match.",
            "options": {"left": ["2 × 6", "3 × 5"], "right": ["15", "12"]},
            "answer": {"2 × 6": "12", "3 × 5": "15"},
        },
        {"type": "fill-in", "question": "3 + __ = 5 and 4 + __ = 9", "answer": ["2", "5"]},
        {"type": "numeric", "question": "How many legs has a spider?", "answer": "eight"},
        {"question": "Which is the smallest?", "options": ["0.5", "0.45", "1/4"], "answer": "C"},
        {"question": "Which are NOT even?", "options": ["3", "4", "7"], "answer": ["A", "C"]},
        {"question": "What is 6 × 7?", "options": ["36", "42", "48"], "answer": "B"},
        {"question": "Which is NOT equal to 42?", "options": ["6 × 7", "21 + 21", "48"], "answer": "C"},
    ],
    ids=str,
)
def test_a_sound_answer_is_left_alone(fields: dict[str, Any]) -> None:
    assert found(**fields) == set()


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "fill-in", "question": "6 × __ = 54", "answer": "8"},
        {"type": "fill-in", "question": "Six sevens are ____.", "answer": "48", "explanation": "6 × 7 = 42"},
        {"type": "numeric", "question": "What is 6 × 7?", "answer": 48},
        {
            "type": "numeric",
            "question": "How many are left?",
            "answer": "9",
            "explanation": "12 - 4 = 8, so 8 are left.",
        },
        {"type": "true-false", "question": "True or false: 7 × 8 = 54", "answer": "True"},
        {"type": "true-false", "question": "A star.", "answer": True, "explanation": "So the statement is false."},
        {**PRIMES, "answer": ["A", "D"], "explanation": "2 and 5 are prime: options A and C are correct."},
        {"question": "What is 6 × 7?", "options": ["36", "42", "48"], "answer": "C", "explanation": "Six sevens."},
        {"type": "short-answer", "question": "Solve 7x + 5 = 40.", "answer": "x = 6"},
        {"type": "numeric", "question": "How many grams are 0.75 kg?", "answer": "75 g"},
        {"type": "true-false", "question": "3/5 is greater than 2/3.", "answer": "True"},
        {"question": "Which is NOT a factor of 36?", "options": ["9", "8", "12"], "answer": "A"},
        {"question": "Which of these is prime?", "options": ["9", "7", "11"], "answer": "B"},
        {**PRIMES, "answer": ["A", "D"]},
        {**ORDER, "answer": ["A", "B", "C"]},
        {
            "type": "matching",
            "question": "Match.",
            "left": ["2 × 6", "3 × 5"],
            "right": ["15", "12"],
            "answer": {"2 × 6": "15", "3 × 5": "12"},
        },
    ],
    ids=str,
)
def test_an_answer_that_stem_or_explanation_contradict_is_told(fields: dict[str, Any]) -> None:
    assert found(**fields) == {"mismatch"}


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "true-false", "question": "The sun is a star.", "answer": "maybe"},
        {"type": "fill-in", "question": "Name a colour.", "answer": "red"},
        {"type": "numeric", "question": "How many are there?", "answer": "some"},
        {"type": "short-answer", "question": "Why do leaves fall?"},
        {**PRIMES, "answer": ["A", "F"]},
        {**PRIMES, "answer": ["A", "A"]},
        {**ORDER, "answer": ["B", "A"]},
        {**MATCH, "question": "Match."},
        {**MATCH, "question": "Match.", "answer": {"cow": "calf", "hen": "chick"}},
        {**MATCH, "question": "Match.", "answer": "1-C, 2-C, 3-B"},
        {**MATCH, "question": "Match.", "answer": "1-C, 2-A, 3-F"},
        {**MATCH, "question": "Match.", "answer": "1-C, 1-A, 2-B, 3-B"},
        {"type": "fill-in", "question": "3 + __ = 5 and 4 + __ = 9", "answer": "2"},
        {"type": "true-false", "question": "The sun is a star.", "options": ["True", "Maybe"], "answer": "A"},
        {"type": "short-answer", "question": "Why do leaves fall?", "answer": "because " * 80},
    ],
    ids=str,
)
def test_an_answer_without_the_form_of_its_type_is_told(fields: dict[str, Any]) -> None:
    assert found(**fields) == {"malformed"}


def test_what_was_worked_out_is_told_apart_from_what_was_not() -> None:
    def solved(**fields: Any) -> float:
        return FEATURES["question_solved"].compute(Texts(response=json.dumps(fields)))

    assert solved(question="What is 6 × 7?", options=["36", "42"], answer="B") == 1
    assert solved(question="Which of these is NOT even?", options=["3", "4"], answer="A") == 1
    assert solved(question="Who wrote Emma?", options=["Austen", "Eliot"], answer="A") == 0
    assert solved(question="What is 6 × 7?", answer="a lot") == 0
