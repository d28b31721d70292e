"""Hints: what somebody may have meant is never the word that was wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.engine.load import rubric_from_data
from rubrica.engine.schema import _known_keys
from rubrica.errors import Problem, RubricError
from rubrica.hints import did_you_mean, nearest

WORDS = st.text("partsPARTS _\u200b", max_size=8)
PLACES: dict[str, dict[str, Any]] = {
    "rubric": {"name": "x", "dimensions": {"a": {"asks": "Is it?"}}, "verdicts": [{"label": "done"}]},
    "dimension": {"asks": "Is it?"},
    "part": {"asks": "Is it?", "weight": 1},
    "verdict": {"label": "done"},
    "gate": {"name": "g", "when": "a < 1", "verdict": "done"},
    "judging": {"mode": "each"},
    "score": {"out_of": 10},
    "check": {"name": "c", "that": "word_count > 1"},
}
"""Something that can be used as it is, for every place that keys are put into."""


def document(place: str, content: dict[str, Any]) -> dict[str, Any]:
    """A rubric with some content in one place."""
    if place == "rubric":
        return content
    whole: dict[str, Any] = {**PLACES["rubric"]}
    match place:
        case "dimension":
            whole["dimensions"] = {"a": content}
        case "part":
            whole["dimensions"] = {"a": {"parts": {"p": content}}}
        case "check":
            whole["dimensions"] = {"a": {"checks": [content]}}
        case "verdict" | "gate":
            whole[f"{place}s"] = [content]
        case _:
            whole[place] = content
    return whole


def problems(place: str, keys: list[str]) -> Iterator[Problem]:
    """What is told of keys that are put into a place, each with a value that fits none."""
    own = PLACES[place]
    try:
        rubric_from_data(document(place, {**own, **{key: [[]] for key in keys if key not in own}}))
    except RubricError as error:
        yield from error.problems


@given(WORDS, st.lists(WORDS, max_size=6))
@settings(max_examples=60)
def test_a_hint_is_another_word_and_says_so_where_it_looks_the_same(word: str, known: list[str]) -> None:
    near = nearest(word, known)
    assert near != word
    assert near is None or near in known
    hint = did_you_mean(word, known, "remove it")
    assert (hint == "remove it") == (near is None)
    if near is not None and word.strip() == near:
        assert "without blanks" in hint


def test_no_key_of_a_document_is_proposed_for_itself_wherever_it_stands() -> None:
    keys = list(_known_keys())
    assert {"parts", "weight", "asks", "when"} <= set(keys)
    for place in PLACES:
        told = list(problems(place, keys))
        assert len(told) > 10, place
        for problem in told:
            assert f"'{problem.path[-1]}'" not in problem.fix, problem


def test_a_key_that_belongs_elsewhere_is_told_so() -> None:
    found = {problem.where: problem for problem in problems("verdict", ["parts", "lable"])}
    assert found["verdicts[0].parts"].message == "does not belong here"
    assert found["verdicts[0].lable"].fix == "did you mean 'label'?"
