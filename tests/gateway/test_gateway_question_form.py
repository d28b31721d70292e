"""When an earlier answer is given again: never to a question that one word, number or sign makes another."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.gateway.question_form import question_form

OPPOSITES = (
    "increase/decrease", "buyer/seller", "valid/invalid", "legal/illegal", "lend/borrow", "import/export",
    "before/after", "above/below", "maximum/minimum", "left/right", "enable/disable", "encrypt/decrypt",
    "accept/reject", "hot/cold", "debit/credit", "employer/employee", "landlord/tenant", "north/south", "open/close",
    "start/stop", "include/exclude", "ascending/descending", "upload/download", "safe/unsafe", "possible/impossible",
    "husband/wife", "parent/child", "doctor/patient", "win/lose",
)  # fmt: skip
FRAMES = (
    "How do I explain {} to my team?",
    "What happens to the price with the word {} in the contract?",
    "Is it {} in this case, and why?",
    "Give me three facts about {} rules.",
)
SWAPPED = [tuple(frame.format(word) for word in pair.split("/")) for frame, pair in product(FRAMES, OPPOSITES)]
OTHERS = [
    ("What is 2 + 2?", "What is 2 - 2?"),
    ("What is 12 * 3?", "What is 12 * 30?"),
    ("What is 1.5 of 10?", "What is 15 of 10?"),
    ("What is 10 % of 80?", "What is 10 of 80?"),
    ("Is -5 larger than 3?", "Is 5 larger than 3?"),
    ("Convert 5 dollars to euros", "Convert 5 euros to dollars"),
    ("Is Ann taller than Ben?", "Is Ben taller than Ann?"),
    ("Does the dog bite the man?", "Does the man bite the dog?"),
    ("Can I drink this?", "Can't I drink this?"),
    ("Should I take it with food?", "Should I not take it with food?"),
    ("Which countries joined?", "Which countries never joined?"),
    ("How many people came?", "How few people came?"),
    ("Few people know it, right?", "A few people know it, right?"),
    ("Tell me about C", "Tell me about C++"),
    ("Tell me about C++", "Tell me about C#"),
    ("What does the law say to us?", "What does the law say to US?"),
    ("How do I cook with turkey?", "How do I cook with Turkey?"),
    ("Where does it work?", "Where does IT work?"),
    ("How do I get polish stains off?", "How do I get Polish stains off?"),
    ("When do we march there?", "When do we March there?"),
    ("Shall we eat, grandma?", "Shall we eat grandma?"),
    ("Who was king in 1066?", "Who was king in 1067?"),
    ("What is the capital of Niger?", "What is the capital of Nigeria?"),
    ("What is the currency of Austria?", "What is the currency of Australia?"),
    ("Is 3 < 5?", "Is 3 > 5?"),
    ("Translate 'no' into French", "Translate 'not' into French"),
    ("Summarise the first chapter", "Summarise the last chapter"),
    ("Who may enter?", "Who must enter?"),
    ("Who can enter?", "Who may enter?"),
    ("Is all of it true?", "Is any of it true?"),
    ("Is it only for adults?", "Is it also for adults?"),
    ("Since when is it open?", "Until when is it open?"),
    ("The dose for a child of 2 years?", "The dose for a child of 12 years?"),
    ("mg or g?", "g or mg?"),
    ("What is x^2?", "What is x^3?"),
    ("Sort by name, then by age", "Sort by age, then by name"),
]
DRESSES = (
    "{}",
    "  {}  ",
    "Please tell me, {}",
    "hi, {}",
    "Hello there, {}",
    "Could you please tell me {}",
    "{} Thanks",
)
QUESTIONS = [
    "what's the capital of France?",
    "what is the capital of france",
    "how many legs does a spider have?",
    "how many legs does a spider have ?!",
    "who wrote Faust?",
    "why don't cats like water?",
    "why do not cats like water",
    "where's the nearest exit?",
]
SAME = [
    (dress.format(question), other.format(question))
    for question in QUESTIONS
    for dress, other in product(DRESSES, DRESSES)
    if dress < other
]


def test_there_are_enough_pairs() -> None:
    assert len(SWAPPED) + len(OTHERS) >= 150
    assert len(SWAPPED) + len(OTHERS) + len(SAME) >= 300


@pytest.mark.parametrize(("one", "other"), [*SWAPPED, *OTHERS])
def test_another_question_has_another_form(one: str, other: str) -> None:
    assert question_form(one) != question_form(other)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_question_in_other_dress_has_the_same_form(one: str, other: str) -> None:
    assert question_form(one) == question_form(other)


@given(st.text(max_size=60))
def test_any_text_has_a_form_that_white_space_does_not_change(text: str) -> None:
    assert question_form(text) == question_form(f" {text}  ")
