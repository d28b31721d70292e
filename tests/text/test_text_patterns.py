"""Author patterns: refused with a reason when they cannot be linear, found in one pass when they can."""

from __future__ import annotations

import pickle
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import PatternError
from rubrica.text import patterns
from rubrica.text.patterns import PatternSet, compile_keywords, compile_regex, keyword_regex
from rubrica.text.regexsource import KeywordMatch


def found(keywords: list[str], text: str, match: KeywordMatch = "word") -> list[str]:
    return [text[start:end] for start, end in compile_keywords(keywords, match).spans(text)]


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("(?=a)b", "no lookahead"),
        ("(?!a)b", "no negative lookahead"),
        ("(?<=a)b", "no lookbehind"),
        ("(?<!a)b", "no negative lookbehind"),
        (r"(a)\1", r"no backreference \\1"),
        ("(?P=x)", "no named backreference"),
        ("a++", r"no possessive \+\+"),
        ("a{2}+", r"no possessive \{2\}\+"),
        ("(?>a)", "no atomic groups"),
        ("(?(1)a|b)", "no conditional"),
        ("a{1001}", "too large.*1,000"),
        ("(a{1,1000}){1,1000}", "too large"),
        (r"\pL{1000}", "too large once its repetitions"),
        ("((((a*)*)*)*)*", "empty string"),
        ("^", "empty string"),
        (r"\b", "empty string"),
        ("a|$", "empty string"),
        ("(?m)^", "empty string"),
        ("", "empty"),
        ("a" * 2001, "2,001 characters"),
        ("(" * 10_000, "10,000 characters"),
        ("(?P<x>", "never closed"),
        ("a)", "closes nothing"),
        ("[a", "never closed"),
        ("*a", "nothing stands before"),
        ("a**", "repeats a repetition"),
        ("a\\", "lone"),
        (r"a\Z", r"write \\z"),
        (r"\u00e9", "write the character itself"),
        (r"a\C", "half a character"),
        ("(?x)a", "flags are"),
        ("[z-a]", "invalid character class range"),
        ("\ud800", "surrogate"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_its_reason_at_once(regex: str, reason: str) -> None:
    start = time.process_time()
    with pytest.raises(PatternError, match=reason):
        compile_regex(regex)
    assert time.process_time() - start < 1


def test_a_refusal_never_quotes_a_huge_pattern_back() -> None:
    with pytest.raises(PatternError) as caught:
        compile_regex("(" * 1_900)
    assert len(str(caught.value)) < 200


def test_ordinary_patterns_compile_and_keep_their_source() -> None:
    regex = compile_regex(r"\b\d+%\s*(confidence|CI)\b", ignore_case=True)
    assert regex.source == r"\b\d+%\s*(confidence|CI)\b"
    assert regex.spans("a 95% ci and 90% Confidence") == [(2, 8), (13, 27)]


def test_case_matters_unless_told_otherwise() -> None:
    assert compile_regex("moth").spans("MOTH") == []
    assert PatternSet([compile_regex("moth", ignore_case=True)]).matching("MOTH") == [0]


def test_a_literal_backslash_c_is_no_half_character() -> None:
    assert compile_regex(r"\\C").spans(r"a\C") == [(1, 3)]


def test_a_group_named_span_marks_the_evidence() -> None:
    assert compile_regex(r"born in (?P<span>\d{4})").spans("born in 1974") == [(8, 12)]


def test_keywords_are_whole_words_by_default() -> None:
    assert found(["sad"], "Sad ambassador, sad. SAD!") == ["Sad", "sad", "SAD"]


def test_adjacent_keywords_are_all_found() -> None:
    assert found(["sad"], "sad sad,sad") == ["sad"] * 3


def test_prefix_starts_at_a_word_start_only() -> None:
    assert found(["stress", "sad"], "stressed ambassador", "prefix") == ["stress"]


def test_substring_is_found_anywhere() -> None:
    assert found(["sad"], "ambassador", "substring") == ["sad"]


def test_keyword_boundaries_know_letters_of_other_scripts() -> None:
    assert found(["été", "Ärger"], "L’été, étés, ÄRGER, Ärgernis") == ["été", "ÄRGER"]
    assert found(["sad"], "ésad sadé sad\u0301 «sad»") == ["sad"]
    assert found(["да"], "да, дача") == ["да"]
    assert found(["東京"], "私は東京に") == ["東京"]


def test_accents_match_composed_and_decomposed() -> None:
    assert len(found(["café"], "cafe\u0301 café")) == 2


def test_keyword_edges_of_punctuation_need_no_boundary() -> None:
    assert found(["C++", "#tag"], "C++11 in C++, a#tag #tags") == ["C++", "C++", "#tag"]


def test_white_space_and_apostrophes_in_keywords_are_flexible() -> None:
    assert found(["new york", "don't", "it’s"], "New\n  York\u00a0: DON’T, it's") == [
        "New\n  York",
        "DON’T",
        "it's",
    ]


def test_the_longest_keyword_wins() -> None:
    assert found(["stress", "stress test"], "a stress test") == ["stress test"]


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [([], "empty"), ([" "], "blank"), (["x" * 201], "longer"), (["x"] * 2001, "2,001")],
)
def test_unusable_keyword_lists_are_refused(keywords: list[str], reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        keyword_regex(keywords)


def test_a_text_in_place_of_a_keyword_list_is_refused() -> None:
    with pytest.raises(PatternError, match="must be a list"):
        keyword_regex("sad")


def test_keyword_regex_can_be_compiled_as_an_author_pattern() -> None:
    assert compile_regex(keyword_regex(["sad", "C++"])).spans("so sad, C++") == [(3, 6), (8, 11)]


def test_a_set_tells_which_patterns_match_in_order() -> None:
    many = PatternSet([compile_regex("c"), compile_keywords(["b"]), compile_regex("x"), compile_regex("a")])
    assert many.matching("a b c") == [0, 1, 3]
    assert many.matching("") == []
    assert many.count(0, "ccc", 2) == 2
    assert PatternSet([]).matching("anything") == []


def test_a_set_survives_pickling() -> None:
    many = pickle.loads(pickle.dumps(PatternSet([compile_keywords(["moth"])])))  # noqa: S301
    assert many.matching("a moth") == [0]


def test_offsets_are_characters_in_text_that_is_not_ascii() -> None:
    text = "😀é moth שלום moth\0moth"
    regex = compile_keywords(["moth"])
    assert [text[start:end] for start, end in regex.spans(text)] == ["moth"] * 3


def test_half_a_surrogate_pair_does_not_crash_and_keeps_offsets() -> None:
    regex = compile_keywords(["moth"])
    assert regex.spans("\ud800 moth \udfff") == [(2, 6)]
    assert PatternSet([regex]).matching("\ud800 moth") == [0]


@given(st.text(alphabet="abé😀 \n\0'", max_size=80))
def test_a_set_agrees_with_its_patterns_one_at_a_time(text: str) -> None:
    all_patterns = [
        compile_regex("ab+"),
        compile_regex("(?s)a.b"),
        compile_keywords(["ab", "é"]),
        compile_keywords(["a"], "substring"),
        compile_regex("^b"),
    ]
    assert PatternSet(all_patterns).matching(text) == [i for i, p in enumerate(all_patterns) if p.spans(text)]


@given(st.text(max_size=60))
def test_substring_keywords_find_what_python_finds(text: str) -> None:
    assert compile_keywords(["ab"], "substring").count(text) == text.lower().count("ab")


def test_a_set_that_runs_out_of_states_still_answers() -> None:
    source = random.Random(4)  # noqa: S311
    text = "".join(source.choice("ab") for _ in range(8_000))
    nasty = [compile_regex(f"[ab]*a[ab]{{{n}}}b") for n in (12, 15, 18)]
    never = [compile_regex(f"[ab]{{5,{n}}}a[ab]{{{n}}}c") for n in (30, 40)]
    assert PatternSet([*nasty, *never]).matching(text) == [0, 1, 2]
    assert PatternSet([*nasty, *never]).matching(text * 5) == [0, 1, 2]  # long enough to go one at a time


def test_a_set_without_room_falls_back_to_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SET_MEMORY", 1_000)
    many = PatternSet([compile_regex("[a-z]{50}moth"), compile_regex("moth")])
    assert many.matching("a moth") == [1]


def test_an_answer_without_the_sentinel_is_not_taken_for_no_match() -> None:
    many = PatternSet([compile_regex("moth")])
    many._match = lambda _: []  # what re2 says when it is out of memory
    assert many.matching("a moth") == [0]


def test_a_long_text_is_searched_at_its_head_and_tail() -> None:
    text = "1 moth" + "said nothing at all. " * 500_000 + "2 moths"
    many = PatternSet([compile_keywords(["moth"], "prefix"), compile_regex("[0-9]+"), compile_regex("(a|b)*c")])
    start = time.thread_time()
    assert many.matching(text) == [0, 1]
    assert [text[at:end] for at, end in many.spans(1, text)] == ["1", "2"]
    assert time.thread_time() - start < 1


def test_finding_all_matches_of_a_rescanning_pattern_is_bounded() -> None:
    regex, text = compile_regex("(?s).*c|a"), "a" * 40_000
    start = time.thread_time()
    with pytest.raises(PatternError, match=r"or more matches.*set a limit"):
        regex.count(text)
    assert time.thread_time() - start < 0.5
    assert regex.count(text, 50) == 50
    assert regex.count(text[:1_000]) == 1_000


def test_looking_for_matches_of_many_patterns_has_one_time_for_all() -> None:
    scan = PatternSet([compile_regex(f"(?s).*{n}|a") for n in range(30)]).scan("a" * 40_000)
    start = time.thread_time()
    for index in scan.found:
        with pytest.raises(PatternError):
            scan.count(index)
    assert time.thread_time() - start < 2  # without it, 30 times what one pattern may take


def test_keywords_are_told_from_their_boundaries_without_groups() -> None:
    words = compile_keywords(["moth", "été", "été d'or"])
    text = "été moth, Moth—été d’or moths moth"
    assert [text[start:end] for start, end in words.spans(text)] == ["été", "moth", "Moth", "été d’or", "moth"]
    assert words.compiled.groups == 0
