"""Which answer people would rather have: signs speak for it or against it, and no text breaks the reading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.answer_preference import answer_preference, preference_weights, signs_of
from rubrica.text.texts import Texts

ASKED = "How can I keep herbs fresh for longer?"
TIPS = (
    "Trim the stems and stand them in a glass of water, with a bag over the leaves, in the fridge.\n"
    "Basil is the exception: it turns black in the cold, so leave it on the counter.\n"
    "Woody herbs such as rosemary keep best wrapped in a damp cloth."
)


def preference(response: str, prompt: str = ASKED) -> float:
    return answer_preference(Texts(prompt, response))


@pytest.mark.parametrize(
    "worse",
    [
        "Trim the stems.",  # hardly anything
        f"{ASKED} Herbs can be kept fresh for longer if you keep herbs fresh for longer.",  # nothing of its own
        "Trim the stems and stand them in a glass of water. " * 4,  # as long, and one thing to say
        TIPS.replace(" such as rosemary keep best wrapped in a damp cloth.", " such as rosemary keep best in a"),
    ],
)
def test_an_answer_with_more_of_its_own_to_say_is_preferred(worse: str) -> None:
    assert preference(worse) < preference(TIPS)


def test_length_alone_does_not_win() -> None:
    padded = "Herbs are herbs, and fresh herbs are herbs that are fresh, as herbs are when they are fresh. " * 5
    assert len(padded.split()) > len(TIPS.split())
    assert preference(padded) < preference(TIPS)


def test_nobody_prefers_what_is_not_there() -> None:
    assert preference("") == preference(" \n ") == 0


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_preference_is_a_chance_for_every_text(prompt: str, response: str) -> None:
    assert 0 <= preference(response, prompt) <= 1


def test_the_weights_know_the_signs_that_are_read() -> None:
    assert preference_weights().signs == tuple(signs_of(Texts(ASKED, TIPS)))
