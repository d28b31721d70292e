"""What changed between two definitions: told by place, in words, and nothing that did not change."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rubrica.engine.document import read_document
from rubrica.packs.library import bundled_rubrics
from rubrica.workspace.definition_diff import MOST_COMPARED, difference

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("abc", max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcdtype"), inner, max_size=4),
    max_leaves=15,
)
DEFINITIONS = st.dictionaries(st.sampled_from(["name", "rules", "verdicts", "gates", "x"]), PLAIN, max_size=5)


def texts(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [change.text for change in difference(before, after)]


def shuffled(value: Any, by: random.Random) -> Any:
    """The same data with its keys in another order."""
    if isinstance(value, dict):
        keys = by.sample(list(value), len(value))
        return {key: shuffled(value[key], by) for key in keys}
    return [shuffled(item, by) for item in value] if isinstance(value, list) else value


def applied(before: Any, changes: list[Any]) -> Any:
    """What a definition becomes by changes whose paths hold no list."""
    after = json.loads(json.dumps(before))
    for change in changes:
        at = after
        for step in change.path[:-1]:
            at = at[step]
        if change.kind == "removed":
            del at[change.path[-1]]
        else:
            at[change.path[-1]] = change.after
    return after


@given(DEFINITIONS, st.randoms(use_true_random=False))
def test_the_same_in_another_order_of_keys_is_no_change(definition: dict[str, Any], by: random.Random) -> None:
    assert difference(definition, shuffled(definition, by)) == []


@given(DEFINITIONS, DEFINITIONS)
def test_what_differs_is_told_and_back_again(one: dict[str, Any], other: dict[str, Any]) -> None:
    there, back = difference(one, other), difference(other, one)
    counts = [sum(change.kind == kind for change in there) for kind in ("added", "removed", "changed")]
    assert counts == [sum(change.kind == kind for change in back) for kind in ("removed", "added", "changed")]
    assert all(change.text and change.shown()["where"] for change in there)


FLAT = st.recursive(
    st.integers(-3, 3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)


@given(st.dictionaries(st.sampled_from("xyz"), FLAT), st.dictionaries(st.sampled_from("xyz"), FLAT))
def test_changes_of_mappings_lead_from_one_to_the_other(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert applied(one, difference(one, other)) == other


def test_the_bundled_rubrics_are_unlike_each_other_and_like_themselves() -> None:
    read = [read_document(bundled.file.read_text()).data for bundled in bundled_rubrics()]
    for definition in read:
        assert difference(definition, json.loads(json.dumps(definition))) == []
    assert difference(read[0], read[1])


def test_a_changed_weight_is_told_by_its_place() -> None:
    before = {"dimensions": {"accuracy": {"weight": 0.35}, "depth": {"weight": 0.65}}}
    after = {"dimensions": {"depth": {"weight": 0.6}, "accuracy": {"weight": 0.4}}}
    assert texts(before, after) == ["dimensions.accuracy.weight: 0.35 → 0.4", "dimensions.depth.weight: 0.65 → 0.6"]


def test_the_version_alone_is_no_change() -> None:
    assert difference({"name": "x", "version": "1.0"}, {"name": "x", "version": "1.1"}) == []


def test_a_rule_that_was_put_in_between_is_the_only_change() -> None:
    first = {"type": "custom_expression", "name": "a", "expression": "1"}
    last = {"type": "metric_threshold", "metric": "m", "thresholds": [{"default": True, "score": 1}]}
    new = {"type": "penalty", "patterns": [{"keywords": ["joke"], "penalty": -50}]}
    assert texts({"rules": [first, last]}, {"rules": [first, new, last]}) == [
        'rules[1] added: penalty {"patterns":[{"keywords":["joke"],"penalty":-50}]}'
    ]
    assert texts({"rules": [first, new, last]}, {"rules": [first, last]})[0].startswith("rules[1] removed: penalty")


def test_named_things_are_compared_with_their_namesakes() -> None:
    one = {"name": "safety", "when": "safety < 3", "verdict": "fail"}
    two = {"name": "ceiling", "when": "accuracy < 5", "cap": 40}
    changes = difference({"gates": [one, two]}, {"gates": [{**two, "cap": 50}, one]})
    assert [change.text for change in changes] == [
        "gates[0].cap: 40 → 50",
        'gates in another order: ["safety","ceiling"] → ["ceiling","safety"]',
    ]
    assert changes[0].shown() == {
        "change": "changed",
        "path": ("gates", 0, "cap"),
        "where": "gates[0].cap",
        "from": 40,
        "to": 50,
        "text": "gates[0].cap: 40 → 50",
    }


def test_a_renamed_thing_is_not_another_thing() -> None:
    gate = {"name": "old", "when": "safety < 3", "verdict": "fail"}
    assert texts({"gates": [gate]}, {"gates": [{**gate, "name": "new"}]}) == ['gates[0].name: "old" → "new"']


def test_a_threshold_among_others_is_told_by_its_row() -> None:
    rows = [{"operator": "<", "value": 10, "score": 100}, {"operator": "<", "value": 30, "score": 50}]
    rows.append({"default": True, "score": 0})
    rule = {"type": "metric_threshold", "metric": "t", "thresholds": rows}
    changed = [rows[0], {**rows[1], "value": 40}, rows[2]]
    assert texts({"rules": [rule]}, {"rules": [{**rule, "thresholds": changed}]}) == [
        "rules[0].thresholds[1].value: 30 → 40"
    ]


def test_the_order_of_keywords_does_not_count_but_the_order_of_verdicts_does() -> None:
    before = {"patterns": {"p": {"keywords": ["a", "b", "c"]}}, "verdicts": [{"label": "x"}, {"label": "y"}]}
    after = {"patterns": {"p": {"keywords": ["c", "a", "d"]}}, "verdicts": [{"label": "y"}, {"label": "x"}]}
    assert texts(before, after) == [
        'patterns.p.keywords[1] removed: "b"',
        'patterns.p.keywords[2] added: "d"',
        'verdicts in another order: ["x","y"] → ["y","x"]',
    ]


def test_true_is_not_one_but_one_is_one_point_zero() -> None:
    assert texts({"settings": {"x": 1}}, {"settings": {"x": True}}) == ["settings.x: 1 → true"]
    assert difference({"settings": {"x": 1}}, {"settings": {"x": 1.0}}) == []


def test_a_long_value_is_cut_in_the_text_only() -> None:
    change = difference({"description": "a"}, {"description": "b" * 500})[0]
    assert len(change.text) < 120
    assert change.text.endswith("…")
    assert change.shown()["to"] == "b" * 500


def test_long_lists_of_nameless_things_are_compared_all_the_same() -> None:
    side = int(MOST_COMPARED**0.5) + 50
    before = {"rules": [{"type": "adjust", "when": f"a > {n}", "add": n} for n in range(side)]}
    after = {"rules": [{"type": "adjust", "when": f"b > {n}", "add": n} for n in range(side)]}
    changes = difference(before, after)
    assert len(changes) == side
    assert {change.kind for change in changes} == {"changed"}
