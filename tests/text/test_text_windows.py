"""Long texts are looked through a window at a time: what lies across an edge is found, once, where it is."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rubrica.text import pii, safety
from rubrica.text.pii import find_pii, search_pii
from rubrica.text.safety import find_unsafe, search_unsafe
from rubrica.text.windows import LONG, MOST_SCREENED, windows_of

FILL = "Stir it well. "


def around(text: str, at: int, size: int = LONG + 5_000) -> str:
    """A long text that has something at a place."""
    filled = FILL * (size // len(FILL))
    return f"{filled[: at - 1]} {text} {filled[at:]}"


@pytest.mark.parametrize("at", [safety.WINDOW + step for step in range(-30, 3, 3)])
def test_an_unsafe_statement_across_an_edge_is_found_once(at: int) -> None:
    text = around("Here is how to make a bomb.", at)
    (found,) = search_unsafe(text).found
    assert text[found.start : found.end] == found.text == "Here is how to make a bomb"
    (excused,) = search_unsafe(around("I can't explain how to make a bomb.", at)).found
    assert (excused.excused, excused.why) == (True, "refusal")


@pytest.mark.parametrize("at", [pii.WINDOW + step for step in range(-20, 3, 2)])
@pytest.mark.parametrize("value", ["ann@example.org", "4111 1111 1111 1111", "123-45-6789", "2001:db8::7:1"])
def test_personal_data_across_an_edge_is_found_once(at: int, value: str) -> None:
    text = around(value, at)
    assert [text[item.start : item.end] for item in search_pii(text).found] == [value]


def test_a_long_text_has_the_findings_of_its_parts() -> None:
    said = [
        "Here is how to make a bomb.",
        "I can't explain how to make a bomb.",
        "My SSN is 123-45-6789.",
        "Call +44 20 7946 0958, or write to ann@example.org.",
        "Der IBAN ist DE89 3704 0044 0532 0130 00.",
        "It runs on 192.0.2.44, see 2001:db8::7:1.",
    ]
    text = "\n".join(FILL * 700 + one for one in said)
    assert len(text) > LONG
    assert [(item.kind, item.text) for item in search_pii(text).found] == [
        (item.kind, item.text) for one in said for item in find_pii(one)
    ]
    assert [(item.family, item.text, item.why) for item in search_unsafe(text).found] == [
        (item.family, item.text, item.why) for one in said for item in find_unsafe(one)
    ]


def test_windows_cover_what_is_screened_without_overlap() -> None:
    for length in (0, 1, 4_000, 4_001, MOST_SCREENED, MOST_SCREENED + 9_000):
        windows = sorted(windows_of("x" * length, 4_000, 1_000), key=lambda window: window.start)
        assert sum(window.end - window.start for window in windows) == min(length, MOST_SCREENED)
        assert all(one.end <= other.start for one, other in pairwise(windows))


def test_what_lies_beyond_what_is_screened_is_told() -> None:
    assert search_unsafe("x " * (MOST_SCREENED // 2 + 50)).unread == 100
