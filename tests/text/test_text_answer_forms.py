"""Each type of question has its own form of answer, and an answer agrees with what can be worked out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubrica.text import FEATURES
from rubrica.text.question import read_question
from rubrica.text.texts import Texts

PRIMES: dict[str, Any] = {"question": "Which of these numbers are prime?", "options": ["2", "4", "5", "6"]}
ORDER: dict[str, Any] = {"type": "ordering", "question": "Order from least to greatest.", "options": ["5", "2", "9"]}


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
        {**PRIMES, "answer": ["A", "C"], "explanation": "Options A and C are correct."},
        {**ORDER, "answer": ["B", "A", "C"]},
        {**ORDER, "answer": "2, 5, 9"},
        {"type": "open", "question": "Describe a leaf."},
        {"type": "matching", "question": "Match.", "answer": {"2 + 2": "4"}},
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
    ],
    ids=str,
)
def test_an_answer_without_the_form_of_its_type_is_told(fields: dict[str, Any]) -> None:
    assert found(**fields) == {"malformed"}
