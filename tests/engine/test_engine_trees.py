"""Parts within parts: bounds, weighing, what is left undescended, and how a tree is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console

import rubrica
from rubrica.cli.explanation import explanation
from rubrica.engine.load import rubric_from_text
from rubrica.errors import RubricError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored
from rubrica.report.card import card_of

TREE: dict[str, Any] = {
    "code": {
        "points": 6,
        "parts": {
            "runs": {"weight": 0.75, "asks": "Does it run?"},
            "tidy": {"weight": 0.25, "parts": {"named": {"points": 1}, "dead": {"points": -1}, "short": {"points": 1}}},
        },
    },
    "text": {"points": 4, "parts": {"clear": {"weight": 0.5}, "cited": {"weight": 0.5}}},
}


def document(parts: Mapping[str, Any] = TREE, **changes: Any) -> dict[str, Any]:
    return {
        "name": "replication",
        "dimensions": {"whole": {"parts": parts}},
        "score": {"out_of": 100},
        "verdicts": [{"label": "good", "when": "score >= 50"}, {"label": "poor"}],
        **changes,
    }


def nested(levels: int) -> dict[str, Any]:
    parts: dict[str, Any] = {f"p{levels}": {"weight": 1}}
    for level in range(levels - 1, 1, -1):
        parts = {f"p{level}": {"weight": 1, "parts": parts}}
    return parts


class Scripted:
    def __init__(self, **values: float | None) -> None:
        self.values, self.asked = values, [""]

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> dict[str, Score | Unscored]:
        self.asked += axes
        found: dict[str, Score | Unscored] = {}
        for name in axes:
            value = self.values.get(name, 1.0)
            found[name] = Unscored("no answer", "llm") if value is None else Score(value, source="llm")
        return found


def judged(judge: Scripted, **changes: Any) -> rubrica.Evaluation:
    return asyncio.run(rubrica.aevaluate(document(**changes), judge=judge))


def test_each_node_weighs_its_children() -> None:
    judge = Scripted(runs=1.0, named=1.0, dead=1.0, short=1.0, clear=0.0, cited=1.0)
    found = judged(judge)
    whole = found.dimensions["whole"]
    tidy = whole.parts["code"].parts["tidy"]
    assert (tidy.value, tidy.reason) == (0.5, "1 of 2 points")
    assert whole.parts["code"].value == 0.75 + 0.25 * 0.5
    assert found.score == pytest.approx(100 * (6 * 0.875 + 4 * 0.5) / 10)
    assert sorted(judge.asked[1:]) == ["cited", "clear", "dead", "named", "runs", "short"]


def test_formulas_read_nodes_and_leaves_at_any_depth() -> None:
    gates = [{"name": "dead code", "when": "dead >= 1 and tidy < 1", "cap": 10}]
    assert judged(Scripted(), gates=gates).score == 10


def test_a_branch_that_cannot_change_the_verdict_is_left_undescended() -> None:
    judge = Scripted()
    verdicts = [{"label": "good", "when": "score >= 45"}, {"label": "poor"}]
    found = judged(judge, judging={"stop": "decided"}, verdicts=verdicts)
    assert (found.verdict, found.stopped, found.bounds) == ("good", True, (45, 100))
    assert judge.asked[1:] == ["runs"]
    parts = found.dimensions["whole"].parts
    assert (parts["text"].status, parts["text"].parts) == ("not_needed", {})
    assert [part.status for part in parts["code"].parts.values()] == ["scored", "not_needed"]


def test_a_missing_leaf_leaves_its_node_within_bounds() -> None:
    found = judged(Scripted(named=None, dead=0.0))
    assert found.dimensions["whole"].parts["code"].parts["tidy"].between == (0.5, 1)
    assert (found.verdict, found.score) == ("good", None)
    skipped = judged(Scripted(named=None, dead=0.0), on_unscored="skip")
    assert skipped.score == 100


def test_decided_scores_are_given_as_a_tree_and_judged_again() -> None:
    scores = {"whole": {"code": {"runs": 1, "tidy": {"named": 0, "dead": 0, "short": 1}}, "text": 0.5}}
    found = rubrica.decide(rubrica.load(document()), scores)
    assert found.score == pytest.approx(100 * (6 * 0.875 + 2) / 10)
    again = rubrica.rejudge(document(), rubrica.Evaluation.from_json(found.to_json()))
    assert again.score == found.score


def test_a_tree_is_shown_indented_and_foldable() -> None:
    rubric = rubrica.load(document())
    found = judged(Scripted(dead=0.0))
    console = Console(width=120)
    with console.capture() as shown:
        console.print(explanation(found, rubric))
    lines = shown.get().splitlines()
    places = [next(line.index(word) for line in lines if f" {word}  " in line) for word in ("Code", "Tidy", "Dead")]
    assert places == sorted(set(places))
    tree = str(card_of(found, 1, rubric).rows[0].tree)
    assert tree.count("<details") == 4
    assert tree.index("Tidy") < tree.index("Dead") < tree.index("Clear")


def test_twelve_levels_and_five_thousand_leaves_are_the_most() -> None:
    assert rubrica.load(document(nested(12)))
    with pytest.raises(RubricError, match=r"the parts are nested too deeply .*at most 12 levels"):
        rubrica.load(document(nested(13)))
    many = {f"p{number}": {"points": 1} for number in range(2_501)}
    dimensions = {name: {"weight": 0.5, "parts": {f"{name}_{key}": own for key, own in many.items()}} for name in "ab"}
    with pytest.raises(RubricError, match="5,002 dimensions and parts are scored"):
        rubrica.load(document(dimensions=dimensions))


def test_a_tree_that_holds_itself_is_refused() -> None:
    text = """
    name: round
    dimensions:
      a: &a
        parts: {b: {weight: 1, parts: {c: *a}}}
    verdicts: [{label: ok}]
    """
    with pytest.raises(RubricError, match="nested too deeply"):
        rubric_from_text(text)
    parts: dict[str, Any] = {"a": {"weight": 1}}
    parts["a"]["parts"] = parts
    with pytest.raises(RubricError, match="not plain data"):
        rubrica.load(document(parts))


def test_two_nodes_may_not_have_one_name() -> None:
    parts = {"a": {"weight": 0.5, "parts": {"x": {"weight": 1}}}, "b": {"weight": 0.5, "parts": {"x": {"weight": 1}}}}
    with pytest.raises(RubricError, match="the name 'x' is already a part"):
        rubrica.load(document(parts))
