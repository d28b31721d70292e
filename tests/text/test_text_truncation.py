"""Long texts are judged by their head and tail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.truncation import GAP, excerpt


@given(st.text(max_size=60), st.integers(min_value=len(GAP) + 1, max_value=40))
def test_an_excerpt_is_the_text_or_its_two_ends(text: str, limit: int) -> None:
    part = excerpt(text, limit)
    assert len(part.text) <= limit
    if len(text) <= limit:
        assert (part.text, part.left_out) == (text, 0)
        return
    head, tail = part.text[: part.head], part.text[part.head + len(GAP) :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + part.left_out + len(tail) == len(text)
    assert 0 <= len(head) - len(tail) <= 1


@given(st.text(max_size=60), st.integers(min_value=len(GAP) + 1, max_value=40))
def test_a_position_in_an_excerpt_is_found_in_the_whole_text(text: str, limit: int) -> None:
    part = excerpt(text, limit)
    for at, character in enumerate(part.text):
        if not part.left_out or not part.head <= at < part.head + len(GAP):
            assert text[part.position(at)] == character
    assert part.position(len(part.text)) == len(text)


def test_the_note_says_what_was_read() -> None:
    assert excerpt("x" * 1_000, 103).note("prompt") == (
        "the prompt has 1,000 characters: the first 50 and the last 50 were read"
    )


def test_an_excerpt_with_no_room_for_text_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 3 characters"):
        excerpt("a long text", 3)
