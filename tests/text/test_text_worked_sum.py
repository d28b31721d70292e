"""The risk that a worked sum is wrong: higher where signs speak against it, and silent about everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.maths.worked_sum import is_worked_sum, signs_of, sum_weights, wrong_sum_risk
from rubrica.text.texts import Texts

PROMPT = "A baker sells 14 loaves at 3 euros each and 9 cakes at 12 euros each. How much does she take in altogether?"
RIGHT = (
    "The loaves bring in 14 * 3 = 42 euros. The cakes bring in 9 * 12 = 108 euros. "
    "Altogether she takes in 42 + 108 = 150 euros."
)


def risk(response: str, prompt: str = PROMPT) -> float:
    return wrong_sum_risk(Texts(prompt, response))


@pytest.mark.parametrize(
    "worse",
    [
        RIGHT.replace("= 42", "= 45").replace("42 +", "45 +").replace("150", "153"),  # a step does not work out
        "The loaves bring in 14 * 3 = 42 euros, so she takes in 42 euros.",  # half of the numbers are left out
        RIGHT.replace("= 150 euros.", "= 150 euros. However, since it rained, note that she sells half: 75 euros."),
        "She takes in 150.37 euros.",  # no step shows how
    ],
)
def test_signs_of_trouble_raise_the_risk(worse: str) -> None:
    assert risk(worse) > risk(RIGHT)


@pytest.mark.parametrize(
    ("prompt", "response"),
    [
        ("Why is the sky blue?", RIGHT),
        ("How long is the Nile?", "It is 6,650 km long."),  # a number, and no sum
        (PROMPT, ""),
        ("", ""),
    ],
)
def test_where_no_sum_is_asked_for_there_is_nothing_to_tell(prompt: str, response: str) -> None:
    assert not is_worked_sum(Texts(prompt, response))
    assert risk(response, prompt) == 0


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_risk_is_a_chance_for_every_text(prompt: str, response: str) -> None:
    assert 0 <= wrong_sum_risk(Texts(f"{PROMPT} {prompt}", response)) <= 1


def test_the_weights_know_the_signs_that_are_read() -> None:
    assert sum_weights().signs == tuple(signs_of(Texts(PROMPT, RIGHT)))
