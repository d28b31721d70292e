"""What a pattern costs is told before it meets a text, and no text makes one that is accepted cost more."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import PatternError
from rubrica.text.pattern_cost import steps_per_character
from rubrica.text.patterns import MAX_LIST, MAX_STEPS, PatternSet, compile_keywords, compile_regex
from rubrica.text.truncation import JUDGED_BYTES

FAR_TOO_LONG = 1.0  # seconds of processor time: 20 times what a pattern may take, on a machine that is busy


@pytest.mark.parametrize(
    "regex",
    [
        ".{1000}.{1000}.{1000}",
        "a.{0,500}b",
        "((?:a{10}){10}){10}",
        "(?:a?){200}c",
        "[ab]*a[ab]{200}c",
        r"\pL{50}",
        r"[\x{1100}-\x{11ff}]{300}",
        r"\Q.\E{95}",
        "(?P<span>[^a]{150})",
        "." * 95,
        "(?:" + "|".join(f".{letter}" for letter in "abcdefghij") + "){10}",
        "é{95}",
        "(?i)K{95}",
        r"\x61{95}",
    ],
)
def test_a_dear_pattern_is_refused_with_its_price(regex: str) -> None:
    with pytest.raises(PatternError, match=r"costs [\d,]+ steps a character, the most is 90 \(shorten"):
        compile_regex(regex)


@pytest.mark.parametrize(
    "regex",
    [
        r"\b(?:TODO|TBD|lorem ipsum)\b|\[(?:insert|your|placeholder)[^\]]{0,40}\]|\{\{[^}]{0,40}\}\}",
        r"(?i)\b(refund|compensation) (is|will be) (guaranteed|certain)",
        r"\b[\w.+-]+@[\w-]+\.[\w.]{2,20}\b",
        r"^\s*(?:[-*•]|\d{1,3}[.)])\s+\S",
        r"(?s)```.*?```",
        r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\b",
        r"\pL[\pL\pM'’-]*",
        r"\b(?:" + "|".join(f"{first}{second}tion" for first in "abcdefghij" for second in "klmnopqrst") + r")\b",
    ],
)
def test_what_authors_write_is_accepted(regex: str) -> None:
    assert compile_regex(regex).steps <= MAX_STEPS


def test_a_literal_costs_only_where_the_ones_before_it_were_read() -> None:
    assert steps_per_character("|".join(["other", "mother", "smother", "brother"])) <= 8
    assert steps_per_character("e" * 50) == 50


@given(st.text(max_size=40))
def test_the_price_of_anything_is_told(regex: str) -> None:
    assert steps_per_character(regex) >= 1


def _nasty_text(source: random.Random, alphabet: str) -> str:
    """Its first half leads to as many states as there can be, its second keeps as many positions alive."""
    half = JUDGED_BYTES // 2 // len(alphabet[0].encode())
    return "".join(source.choice(alphabet) for _ in range(half)) + alphabet[0] * half


@pytest.mark.parametrize(
    ("regex", "alphabet"),
    [
        ("[ab]*a[ab]{85}c", "ab"),
        ("a.{0,80}c", "ab"),
        ("(?:🐀|a).{80}c", "😀🐀"),
        ("(?:a?){85}c", "ab"),
        ("(?:[ab]{0,20}){4}c", "ab"),
        (r"(?:\pL|a){10}c", "éß"),
        ("(?:.*a){40}c", "ab"),
        ("[ab]*a[ab]{3}c", "ab"),
        ("a.{0,4}c", "éa"),
    ],
)
def test_no_text_makes_an_accepted_pattern_run_long(regex: str, alphabet: str) -> None:
    pattern = compile_regex(regex)
    text = _nasty_text(random.Random(5), alphabet) * 50  # noqa: S311
    start = time.thread_time()
    assert PatternSet([pattern]).matching(text) == []
    assert pattern.count(text) == 0
    assert time.thread_time() - start < FAR_TOO_LONG


def test_a_list_of_keywords_is_bounded_in_all() -> None:
    with pytest.raises(PatternError, match=r"characters together, the most is 40,000.*split the list"):
        compile_keywords([f"{number} " * 10 for number in range(2_000)])
    assert MAX_LIST // 2_000 >= 20  # letters for each of as many keywords as there may be


def test_a_large_list_finds_every_match_in_a_long_text() -> None:
    source = random.Random(2)  # noqa: S311
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(2_000)]
    said = source.choices(words, k=4_000)
    assert compile_keywords(words).count(" ".join(said)) == 4_000
