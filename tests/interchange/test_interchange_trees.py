"""PaperBench's trees: weights at every node, categories at the leaves, and no node twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rubrica
from rubrica.errors import RubricError
from rubrica.interchange import Conversion, export_rubric, import_rubric

ID = "0f5a7e10-3c41-4b6e-9b57-2f0c1d2e3f40"


def leaf(name: str, weight: float = 1, category: str | None = "Code Development", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "requirements": f"{name} is done.",
        "weight": weight,
        "sub_tasks": [],
        "task_category": category,
        **more,
    }


def node(name: str, *tasks: dict[str, Any], weight: float = 1) -> dict[str, Any]:
    return {
        "id": name,
        "requirements": f"{name} is complete.",
        "weight": weight,
        "sub_tasks": list(tasks),
        "task_category": None,
    }


BREAD = node(
    "root",
    node(
        ID,
        leaf("flour", 1, finegrained_task_category="Dataset and Model Acquisition"),
        node("dough", leaf("knead", 3), leaf("rest", 1, "Code Execution"), weight=2),
        weight=3,
    ),
    leaf("taste", 1, "Result Analysis"),
)


def read(data: Any) -> Conversion:
    return import_rubric(json.dumps(data), "paperbench", "bread")


def tree_score(task: dict[str, Any], met: set[str]) -> float:
    """What PaperBench documents: the mean of the sub-tasks by their weights."""
    if not task["sub_tasks"]:
        return float(task["id"] in met)
    total = sum(one["weight"] for one in task["sub_tasks"])
    return float(sum(one["weight"] * tree_score(one, met) for one in task["sub_tasks"]) / total)


@pytest.mark.parametrize("met", [set(), {"flour"}, {"knead", "taste"}, {"rest"}, {"flour", "knead", "rest", "taste"}])
def test_scores_are_those_of_the_tree(met: set[str]) -> None:
    scores = {name: float(name in met) for name in ("flour", "knead", "rest", "taste")}
    found = rubrica.decide(read(BREAD).data, scores)
    assert found.score == pytest.approx(tree_score(BREAD, met))


def test_import_export_import_is_the_same_and_so_is_the_tree() -> None:
    first = read(BREAD)
    back = export_rubric(rubrica.load(first.data), "paperbench")
    assert (first.lost, back.lost) == ((), ())
    assert read(back.data).data == first.data
    assert [one["id"] for one in back.data["sub_tasks"]] == [ID, "taste"]
    assert back.data["sub_tasks"][0]["sub_tasks"][0]["finegrained_task_category"] == "Dataset and Model Acquisition"


def test_categories_are_tags() -> None:
    parts = read(BREAD).data["dimensions"]["n_" + ID.replace("-", "_")]["parts"]
    assert parts["flour"]["tags"] == ["Code Development", "Dataset and Model Acquisition"]
    assert "tags" not in parts["dough"]


def test_a_subtree_that_is_not_written_out_is_judged_as_a_share() -> None:
    found = read(node("root", leaf("rest", 1, "Subtree"), leaf("knead")))
    assert "answers" not in found.data["dimensions"]["rest"]
    assert read(export_rubric(rubrica.load(found.data), "paperbench").data).data == found.data


def test_a_tree_of_one_leaf_is_a_rubric_of_one_dimension() -> None:
    assert list(read(leaf("bake")).data["dimensions"]) == ["bake"]


def test_names_of_formulas_are_not_taken() -> None:
    assert list(read(node("root", leaf("score"), leaf("min"), leaf("class"))).data["dimensions"]) == [
        "score_2",
        "min_2",
        "class_2",
    ]


def test_what_is_left_out_is_told() -> None:
    odd = node(
        "root",
        leaf("a b", 1),
        leaf("free", 0),
        {**leaf("c"), "judge": "x"},
        {**node("d", leaf("e")), "task_category": "Subtree"},
    )
    assert [str(problem) for problem in read(odd).lost] == [
        "sub_tasks[0].id: the id 'a b' becomes a_b",
        "sub_tasks[1]: weighs nothing, and is left out",
        "sub_tasks[2].judge: has no place in a rubric of Rubrica",
        "sub_tasks[3].task_category: only leaves have a category",
    ]


def chain(levels: int) -> dict[str, Any]:
    tree = leaf("end")
    for level in range(levels):
        tree = node(f"level{level}", tree)
    return tree


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (node("root", node("a", node("b", leaf("a")))), "the task 'a' is its own ancestor: the tree has a cycle"),
        (node("root", leaf("root")), "the tree has a cycle"),
        (
            node("root", leaf("a"), node("b", leaf("a"))),
            "sub_tasks[1].sub_tasks[0].id: the task 'a' is in the tree twice",
        ),
        (node("root", leaf("a", -1)), "a task weighs 0 or more, not -1"),
        (node("root", leaf("a", True)), "a weight is a finite number, not True"),
        (node("root", leaf("a", 0)), "no task in the tree weighs anything"),
        (node("root", {**leaf("a"), "sub_tasks": "b"}), "sub_tasks are a list"),
        (node("root", {**leaf("a"), "id": None}), "a task has an id"),
        (node("root", {**leaf("a"), "requirements": ""}), "what is required is a text"),
        (chain(14), "more than 12 levels"),
        (node("root", *(leaf(f"n{at}") for at in range(5_001))), "more than 5,000 leaves"),
        ([leaf("a")], "a tree is one object"),
    ],
)
def test_what_is_no_tree_gets_an_error(data: Any, said: str) -> None:
    with pytest.raises(RubricError) as error:
        read(data)
    assert said in str(error.value)


def test_a_rubric_that_takes_points_away_says_so_on_the_way_out() -> None:
    document = {
        "name": "fine",
        "dimensions": {
            "good": {"points": 2, "asks": "Good?", "answers": {"yes": 1, "no": 0}},
            "bad": {"points": -1, "asks": "Bad?", "answers": {"yes": 1, "no": 0}},
        },
        "score": {"points": True},
        "verdicts": [{"label": "scored"}],
    }
    found = export_rubric(rubrica.load(document), "paperbench")
    assert [task["id"] for task in found.data["sub_tasks"]] == ["good"]
    assert [str(problem) for problem in found.lost] == [
        "dimensions.bad.points: takes points away, which no task does: it is left out",
        "dimensions.good.answers: yes, no become met and not met",
    ]
