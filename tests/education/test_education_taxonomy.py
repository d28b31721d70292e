"""Issues are sorted into five classes by what they say; what nobody can place is told as such."""

from __future__ import annotations

import pytest

from rubrica.education.results import Issue
from rubrica.education.taxonomy import CATEGORIES, classify, count_errors, taxonomy
from rubrica.packs.library import load

PHRASES = {
    "mathematical": [
        "answer is incorrect",
        "calculation error in step 2",
        "wrong option selected",
        "The keyed answer is wrong: 7 × 8 is 56.",
        "Incorrect value in the second equation",
        "The computation in the explanation does not add up",
        "Arithmetic mistake: 12 - 5 is not 8",
        "There are two correct answers",
        "The result contradicts the key",
        "Factual inaccuracy: plants do not breathe in oxygen to make sugar",
        "No correct answer exists for this equation",
        "The explanation arrives at an incorrect result",
        "Rounding is wrong in the last line",
        "Wrong answer marked as correct",
    ],
    "pedagogical": [
        "explanation too brief",
        "missing scaffolding steps",
        "DI format not followed",
        "Explanation could be more detailed",
        "The explanation only states the answer",
        "Direct instruction principles are not followed",
        "Too difficult for grade 3",
        "Difficulty is lower than declared",
        "The explanation leaks the exact text of the option",
        "Distractors do not reflect common misconceptions",
        "No hints or feedback for wrong answers",
        "Little learning value beyond recall",
        "Not age-appropriate",
        "Steps are skipped",
    ],
    "linguistic": [
        "grammar error",
        "unclear wording",
        "vocabulary too advanced for grade",
        "Spelling mistake in option B",
        "There is a typo in the stem",
        "The question is ambiguous",
        "Awkward phrasing in the second sentence",
        "The sentence is confusing",
        "Language is not clear",
        "Punctuation is missing",
        "Reading level too high",
        "Incorrect grammar in the explanation",
    ],
    "format": [
        "missing option D",
        "answer letter doesn't map",
        "incorrect format",
        "The answer letter does not map to any option",
        "Answer letter doesn’t map to an option",
        "Only three options are given",
        "Two options are identical: duplicate options B and C",
        "The correct answer is not among the options",
        "Options are not labelled",
        "Malformed JSON in the options",
        "MCQ format requires four choices",
        "The answer key is missing",
        "Wrong number of options",
        "Does not follow the requested format",
    ],
    "query_mismatch": [
        "off-topic",
        "doesn't match skill",
        "query relevance low",
        "The question does not match the requested topic",
        "Irrelevant to the lesson",
        "Drifts from the topic of fractions",
        "It is about a different skill",
        "Not aligned with the request",
        "Does not assess the skill that was named",
        "Topic drift towards geometry",
        "Ignores the instructions",
        "This is not what was asked",
    ],
}


@pytest.mark.parametrize(("category", "issue"), [(name, text) for name, texts in PHRASES.items() for text in texts])
def test_an_issue_belongs_where_its_words_say(category: str, issue: str) -> None:
    assert classify(issue) == category
    assert classify(issue.upper()) == category


@pytest.mark.parametrize("issue", ["xyzzy", "", "…", "完全"])
def test_what_nobody_can_place_is_told_as_unclassified(issue: str) -> None:
    assert classify(issue) == "unclassified"


def test_the_total_counts_every_issue_unplaced_ones_too() -> None:
    texts = ["grammar error", "xyzzy", "off-topic", "grammar error again"]
    counts = count_errors(Issue(text=text, category=classify(text), section="question") for text in texts)
    assert counts == {
        **dict.fromkeys(map(str, CATEGORIES), 0),
        "linguistic": 2,
        "query_mismatch": 1,
        "unclassified": 1,
        "total_errors": 4,
    }


@pytest.mark.parametrize("text", ["None", "No issues.", "  no issues found ", "N/A", ""])
def test_a_remark_that_there_is_nothing_is_no_issue(text: str) -> None:
    assert taxonomy().says_nothing(text)
    assert not taxonomy().says_nothing("No issues with the key, but the wording is poor")


def test_every_gate_and_every_rule_of_the_rubric_has_a_class() -> None:
    rubric = load("education-question")
    known = taxonomy()
    unplaced = [
        gate.name
        for gate in rubric.gates
        if known.category(gate.because or gate.name, gate=gate.name) == "unclassified" and "reported" not in gate.name
    ]
    unplaced += [name for name in rubric.dimensions if known.category("xyzzy", dimension=name) == "unclassified"]
    assert unplaced == []


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("Clear question text", "question"),
        ("Good step-by-step breakdown", "scaffolding"),
        ("Explanation could be more detailed", "scaffolding"),
        ("The picture has no alt text", "image"),
        ("Well-formatted options", "question"),
    ],
)
def test_a_remark_belongs_to_the_section_it_speaks_of(text: str, section: str) -> None:
    assert taxonomy().section(text) == section
