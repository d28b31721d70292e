import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.questions.mcq import FEATURES, read_question
from rubrica.text.texts import Texts

FEATURE = {feature.name: feature for feature in FEATURES}

QUESTION: dict[str, Any] = {
    "type": "mcq",
    "difficulty": "medium",
    "question": "How many legs do six cows have?",
    "options": ["A) 12", "B) 20", "C) 24", "D) 30"],
    "answer": "C",
    "explanation": "A cow has 4 legs, so six cows have 6 × 4 = 24.",
}
PLACE_VALUE = {  # the shape of record that the education evaluator takes
    "type": "mcq",
    "difficulty": "medium",
    "question": "Four towers hold 4 thousands, 6 hundreds, 1 ten and 8 ones. Which number is it?",
    "options": ["A) 4,168", "B) 4,618", "C) 6,418", "D) 1,648"],
    "answer": "B",
    "explanation": "...",
    "detailed_explanation": {},
    "voiceover_script": {},
}


def values(question: object) -> dict[str, float]:
    texts = Texts(response=question if isinstance(question, str) else json.dumps(question))
    return {name: feature.compute(texts) for name, feature in FEATURE.items()}


def faults(question: object) -> set[str]:
    known = ("mcq_answer", "mcq_key", "mcq_duplicate", "mcq_empty", "impossible", "question_wrong")
    return {name for name, value in values(question).items() if value and name.startswith(known)}


def test_a_sound_record_reads_clean() -> None:
    assert faults(PLACE_VALUE) == faults(QUESTION) == set()
    assert values(PLACE_VALUE)["mcq_option_count"] == 4
    assert values(PLACE_VALUE)["has_explanation"] == 0
    question = read_question(json.dumps(PLACE_VALUE))
    assert question is not None
    assert question.key == "4,618"


@pytest.mark.parametrize("answer", ["C", "c)", "(C)", "Option C", "24", "C) 24", 24])
def test_an_answer_is_a_letter_or_the_text_of_an_option(answer: object) -> None:
    question = read_question(json.dumps(QUESTION | {"answer": answer}))
    assert question is not None
    assert question.answer_index == 2


@pytest.mark.parametrize(
    "wrapped",
    [
        "```json\n%s\n```",
        "Here is your question:\n\n%s\n\nEnjoy!",
        '{"data": [%s]}',
        '{"question": %s, "success": true}',
        "[%s]",
    ],
)
def test_a_question_is_found_in_its_wrapping(wrapped: str) -> None:
    question = read_question(wrapped % json.dumps(QUESTION))
    assert question is not None
    assert (question.text, question.answer_index) == (QUESTION["question"], 2)


@pytest.mark.parametrize(
    "options",
    [
        {"A": "12", "B": "20", "C": "24", "D": "30"},
        ["12", "20", "24", "30"],
        [{"label": "A", "text": "12"}, {"label": "B", "text": "20"}, {"label": "C", "text": "24"}],
    ],
)
def test_options_may_be_a_map_or_a_list(options: object) -> None:
    question = read_question(json.dumps(QUESTION | {"options": options}))
    assert question is not None
    assert question.options[2] == ("C", "24")


def test_plain_text_with_lettered_lines_is_a_question() -> None:
    text = "What is 6 × 4?\nA) 12\nB. 20\n(C) 24\nD) 30\n\n**Answer: C**\nExplanation: 6 × 4 = 24."
    question = read_question(text)
    assert question is not None
    assert question.options == (("A", "12"), ("B", "20"), ("C", "24"), ("D", "30"))
    assert (question.text, question.answer_index) == ("What is 6 × 4?", 2)
    assert question.explanation == "6 × 4 = 24."
    assert faults(text) == set()


def test_parts_that_are_named_on_one_line_are_read() -> None:
    text = "1. What is 7 × 8? A) 54 B) 56 C) 48 D) 64 Answer: B. Hint: 7 groups. Explanation: 7 groups of 8 are 56."
    question = read_question(text)
    assert question is not None
    assert (question.text, question.answer_index, question.options[3]) == ("What is 7 × 8?", 1, ("D", "64"))
    assert (question.hints, question.explanation) == ("7 groups.", "7 groups of 8 are 56.")


@pytest.mark.parametrize(
    ("text", "stem", "answer", "kind"),
    [
        ("What is 7 × 8?\nAnswer: 56", "What is 7 × 8?", "56", ""),
        ("(3 + 4) × 2 = ? Answer: 14", "(3 + 4) × 2 = ?", "14", ""),
        ("How many of 12 birds stay?\n**Correct answer:** 9", "How many of 12 birds stay?", "9", ""),
        ("## Question 3\nTrue or false: 2 is odd.\nAnswer: False", "True or false: 2 is odd.", "False", "true-false"),
        ("**Q4.** The ____ pumps blood.\nAnswer: heart", "The ____ pumps blood.", "heart", "fill-in"),
    ],
)  # fmt: skip
def test_plain_text_without_options_is_a_question_where_its_answer_is_named(
    text: str, stem: str, answer: str, kind: str
) -> None:
    question = read_question(f"{text}\nExplanation: because it is so.")
    assert question is not None
    assert (question.text, question.answer, question.kind) == (stem, answer, kind)
    assert question.explanation == "because it is so."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The sky is blue.",
        "I think the answer: yes. Anything else?",
        "Thesis\nA. Introduction\nB. Methods",
        '{"name": "x"}',
        "[1, 2]",
    ],
)
def test_what_is_no_question_gives_no_number_but_nought(text: str) -> None:
    assert read_question(text) is None
    assert set(values(text).values()) == {0.0}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"answer": "E"}, "mcq_answer_unmapped"),
        ({"options": ["A) 12", "B) 20", "D) 30"]}, "mcq_answer_unmapped"),
        ({"options": []}, "mcq_answer_unmapped"),
        ({"answer": ""}, "mcq_answer_missing"),
        ({"answer": "25"}, "mcq_key_absent"),
        ({"options": ["12", "20", "18", "30"], "explanation": "The answer is 24."}, "mcq_key_absent"),
        ({"options": ["A) 12", "B) 12.0", "C) 24", "D) 30"]}, "mcq_duplicate_options"),
        ({"options": ["A) 12", "B) ", "C) 24", "D) 30"]}, "mcq_empty_options"),
        ({"explanation": "Count the legs. So the answer is B."}, "mcq_key_mismatch"),
        ({"answer": "B"}, "mcq_key_mismatch"),
        ({"explanation": "A cow has 4 legs: 6 × 4 = 26, which is 24."}, "question_wrong_equations"),
    ],
)
def test_each_fault_is_found_alone(change: dict[str, object], fault: str) -> None:
    assert faults(QUESTION | change) == {fault}


def test_evidence_quotes_the_response() -> None:
    texts = Texts(response=json.dumps(QUESTION | {"answer": "Option E"}))
    (span,) = FEATURE["mcq_answer_unmapped"].evidence(texts)  # type: ignore[misc]
    assert texts.response[span.start : span.end] == span.text == "Option E"


@pytest.mark.parametrize("option", ["1/2", "0.5", ".50"])
def test_a_number_repeated_in_another_notation_is_a_duplicate(option: str) -> None:
    question = QUESTION | {"question": "What is half of one?", "options": ["1/2", "2", option], "answer": "A"}
    assert values(question)["mcq_duplicate_options"] == 1


def test_equal_numbers_in_other_forms_are_no_duplicates_where_the_form_is_asked() -> None:
    question = QUESTION | {"question": "What is 2/4 in simplest form?", "options": ["1/2", "2/4"]}
    assert values(question)["mcq_duplicate_options"] == 0


def test_a_rounded_result_still_counts_as_the_key() -> None:
    change = {"options": ["3.3", "3.5", "4", "5"], "answer": "A", "explanation": "We get 10 / 3 = 3.33"}
    assert faults(QUESTION | change) == set()


def test_leakage_needs_the_whole_option() -> None:
    assert values(QUESTION)["mcq_leakage"] == 1
    assert values(QUESTION | {"explanation": "Multiply; 240 and 1.24 are too much."})["mcq_leakage"] == 0


@pytest.mark.parametrize(
    ("stem", "key", "impossible"),
    [
        ("Solve cos(x) = -1/3 for x.", "60°", True),
        ("Solve cos x = \\frac{1}{3}.", "\\pi/6", True),
        ("Solve sin(x) = 1/2.", "30°", False),
        ("Solve sin(x) = 1/2.", "60°", False),  # wrong, but not an impossible pattern
        ("Solve cos(x) = -1/3.", "109.5°", False),
        ("Solve tan(x) = √3.", "π/3", False),
        ("What is the probability of rain?", "1.5", True),
        ("What is the probability of rain?", "3/4", False),
        ("What is the probability of rain?", "120%", True),
        ("What is the probability of rain, in percent?", "40", False),
        ("How many apples are left?", "-3", True),
        ("What is the area of the field?", "-12 cm", True),
        ("How many degrees did the temperature change?", "-3", False),
    ],
)
def test_impossible_keys_are_told_from_wrong_ones(stem: str, key: str, impossible: bool) -> None:
    question = QUESTION | {"question": stem, "options": [key, "none"], "answer": "A", "explanation": ""}
    assert values(question)["impossible_pattern"] == impossible


def test_steps_words_and_images_are_counted() -> None:
    change = {
        "explanation": "First, count the cows.",
        "detailed_explanation": {"steps": ["Count one cow's legs.", "Multiply by six."]},
        "image_url": "cows.png",
    }
    found = values(QUESTION | change)
    assert found["explanation_step_count"] == 3
    assert found["explanation_word_count"] == 11
    assert found["question_word_count"] == 7
    assert (found["question_has_image"], found["has_explanation"]) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"question": "x", "answer": ' + "9" * 10_000 + "}",
        '{"question": "x", "options": {"A": null, "B": [1]}, "answer": NaN}',
        '{"question": "\\ud800", "options": ["\\u0000", "\u202e"], "answer": {"x": 1}}',
        '{"question": ["nested"], "options": "A"}',
        "What?\nA) x\nB) y\n" + "answer " * 1_000_000,
    ],
)
def test_garbage_never_breaks(text: str) -> None:
    _in_range(text)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["A", "B) 1/2", "the answer is 3", "3 + 4 = 8"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["question", "options", "answer", "explanation", "data", "type", "text", "label", "A"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(_VALUES)
def test_any_json_gives_values_in_range(value: object) -> None:
    _in_range(json.dumps(value))


_ODD = st.sampled_from('ABCD)(.: \n?{}[]"answer\x00\ud800\u202e')


@given(st.text(alphabet=st.one_of(_ODD, st.characters())))
def test_any_text_gives_values_in_range(text: str) -> None:
    _in_range(text)


def _in_range(text: str) -> None:
    texts = Texts(response=text)
    for feature in FEATURES:
        value = feature.compute(texts)
        assert math.isfinite(value)
        assert feature.low <= value <= feature.high
        for span in feature.evidence(texts) if feature.evidence else ():
            assert text[span.start : span.end].startswith(span.text)
