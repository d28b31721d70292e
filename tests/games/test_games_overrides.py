"""Config overrides: merged as RFC 7396 says, read by the engine, and refused with every problem and its path."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricError
from rubrica.games.overrides import check_overrides, merge_patch, overridden, overridden_hash
from rubrica.model.context import Context

NORM: dict[str, Any] = json.loads((files("rubrica.packs") / "arena" / "norm-macdonald-classic.json").read_text())
LEAVES = st.one_of(st.booleans(), st.integers(-9, 9), st.text("ab", max_size=2))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [  # the examples of the standard
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_is_applied_as_the_standard_says(target: Any, patch: Any, result: Any) -> None:
    assert merge_patch(target, patch) == result


@given(OBJECTS, OBJECTS)
def test_a_patch_twice_is_a_patch_once_and_touches_nothing_it_was_given(target: Any, patch: Any) -> None:
    before = json.dumps([target, patch])
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert json.dumps([target, patch]) == before
    assert target.keys() | patch.keys() == once.keys()


def test_overrides_change_what_is_judged() -> None:
    patch = {"max_score": 50, "rules": NORM["rules"][:1]}
    check_overrides(NORM, patch)
    plan = compile_rubric(rubric_from_data(overridden(NORM, patch)))
    found = evaluate(plan, Context.of({"response": "In 1974 it was funny."}))
    assert (found.score, found.dimensions["points"].value) == (0.2, 10.0)


def test_every_problem_is_told_with_its_path_under_the_overrides() -> None:
    patch = {"max_score": -1, "rules": [{"type": "custom_expression", "expression": "1 +"}], "surprise": 1}
    with pytest.raises(RubricError) as refused:
        check_overrides(NORM, patch, "evaluations", 2)
    places = {problem.where for problem in refused.value.problems}
    start = "evaluations[2].config_overrides"
    assert {f"{start}.max_score", f"{start}.rules[0].expression", f"{start}.surprise"} <= places
    assert all(place.startswith(start) for place in places)


@pytest.mark.parametrize("key", ["name", "version", "slug", "is_public", "tags"])
def test_which_rubric_it_is_cannot_be_overridden(key: str) -> None:
    with pytest.raises(RubricError, match=f"config_overrides.{key}: {key} cannot be overridden"):
        check_overrides(NORM, {key: "x"})


def test_a_hostile_pattern_is_refused_as_in_any_definition() -> None:
    rule = {"type": "pattern_detection", "patterns": [{"name": "x", "regex": "(a+)\\1", "score": 1}]}
    with pytest.raises(RubricError, match="config_overrides"):
        check_overrides(NORM, {"rules": [rule]})


def test_a_deep_nest_is_refused() -> None:
    nest: Any = 1
    for _ in range(90):
        nest = {"a": nest}
    with pytest.raises(RubricError, match="nested too deeply"):
        check_overrides(NORM, {"rules": nest})


def test_other_overrides_have_another_hash() -> None:
    hashes = {overridden_hash("h", patch) for patch in ({}, {"max_score": 50}, {"max_score": 60})}
    assert len(hashes) == 3
    assert "h" in hashes
