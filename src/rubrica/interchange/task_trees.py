"""Trees of tasks, as PaperBench has them: each node weighs its sub-tasks, and its leaves are met or not.

A node's score there is the weighted mean of its sub-tasks, by weights that need not sum to 1. That is what parts in
`points` give.
"""

from __future__ import annotations

from typing import Any

from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

from .conversion import MET, SCORED, Conversion, Path, Reading, lose_rest, number, shown, text
from .criterion_lists import answer_shares, met_value
from .label_names import id_of_name, name_of_id, reserved_names

MOST_LEVELS, MOST_LEAVES = 12, 5_000
LONGEST_TITLE = 80
KEYS = ("id", "requirements", "weight", "sub_tasks", "task_category", "finegrained_task_category")
CATEGORIES = ("Code Development", "Code Execution", "Result Analysis", "Subtree")
"""What a leaf is about. A `Subtree` stands for tasks that are not written out: its score is a share, not yes or no."""
_TARGET = "a tree of PaperBench"


def read_task_tree(data: Any, name: str) -> Conversion:
    """The rubric document of a tree of tasks."""
    reader = _TreeReader()
    if not isinstance(data, dict):
        reader.reading.refuse(f"a tree is one object with requirements and sub_tasks, not {shown(data)}")
        return reader.reading.done(None)
    about = text(data.get("requirements"), ("requirements",), reader.reading, what="what is required")
    root = data.get("id")
    if isinstance(root, str | int):
        reader.places[str(root)] = ()
    nodes = reader.children(data, (), 0)
    if nodes is None and not reader.reading.faults:  # a tree of one leaf
        single = reader.node({**data, "weight": data.get("weight", 1)}, (), 0)
        nodes = {} if single is None else {reader.name_of(data, ()): single}
    if not nodes and not reader.reading.faults:
        reader.reading.refuse("no task in the tree weighs anything")
    reader.reading.lose_keys(data, KEYS, (), "a rubric of Rubrica")
    document = {
        "name": name,
        "title": _title_of(about or ""),
        "description": about,
        "dimensions": nodes,
        "score": {"points": True},
        "verdicts": SCORED,
    }
    return reader.reading.done(document)


class _TreeReader:
    """Reads a tree node by node, and knows the ids it has met."""

    def __init__(self) -> None:
        self.reading = Reading()
        self.places: dict[str, Path] = {}
        self.names = reserved_names()
        self.leaves = 0

    def children(self, node: dict[str, Any], path: Path, level: int) -> dict[str, Any] | None:
        """The sub-tasks of a node by their names; None where it is a leaf."""
        found = node.get("sub_tasks")
        if found is None or found == []:
            return None
        here: Path = (*path, "sub_tasks")
        if not isinstance(found, list):
            self.reading.refuse(f"sub_tasks are a list, not {shown(found)}", here)
            return {}
        if level >= MOST_LEVELS:
            self.reading.refuse(f"the tree has more than {MOST_LEVELS} levels", here, "put some of them into one")
            return {}
        nodes: dict[str, Any] = {}
        for at, child in enumerate(found):
            if not isinstance(child, dict):
                self.reading.refuse(f"a task is an object, not {shown(child)}", (*here, at))
                continue
            name = self.name_of(child, (*here, at))
            if (read := self.node(child, (*here, at), level + 1)) is not None:
                nodes[name] = read
        return nodes

    def name_of(self, node: dict[str, Any], path: Path) -> str:
        """The name of a node. An id that was there before makes a circle of a tree, or one task of two."""
        found = node.get("id")
        if found is None or isinstance(found, bool) or not isinstance(found, str | int) or str(found).strip() == "":
            self.reading.refuse(f"a task has an id, not {shown(found)}", (*path, "id"))
            return ""
        found = str(found)
        known = self.places.get(found)
        if known is not None and path:
            inside = path[: len(known)] == known
            what = "is its own ancestor: the tree has a cycle" if inside else "is in the tree twice"
            self.reading.refuse(f"the task {found[:60]!r} {what}", (*path, "id"), "give each task its own id")
        self.places[found] = path
        name = name_of_id(found, self.names)
        if id_of_name(name) != found:
            self.reading.lose(f"the id {found[:60]!r} becomes {name}", (*path, "id"))
        self.names.add(name)
        return name

    def node(self, node: dict[str, Any], path: Path, level: int) -> dict[str, Any] | None:
        """A task with its sub-tasks; None where it weighs nothing."""
        asks = text(node.get("requirements"), (*path, "requirements"), self.reading, what="what is required")
        weight = number(node.get("weight"), (*path, "weight"), self.reading)
        if path:
            self.reading.lose_keys(node, KEYS, path, "a rubric of Rubrica")
        if weight is not None and weight < 0:
            self.reading.refuse(f"a task weighs 0 or more, not {weight:g}", (*path, "weight"))
        parts = self.children(node, path, level)
        tags = [
            tag.strip()
            for key in ("task_category", "finegrained_task_category")
            if isinstance(tag := node.get(key), str) and tag.strip()
        ]
        if parts is None:
            self.leaves += 1
            if self.leaves == MOST_LEAVES + 1:
                self.reading.refuse(f"the tree has more than {MOST_LEAVES:,} leaves", path)
        elif tags:
            self.reading.lose("only leaves have a category", (*path, "task_category"))
        if weight == 0 or parts == {}:
            self.reading.lose("weighs nothing, and is left out", path)
            return None
        if asks is None or weight is None:
            return None
        shared = {"title": _title_of(asks), "asks": asks, "points": weight}
        if parts is not None:
            return {**shared, "parts": parts}
        answers = {} if tags[:1] == ["Subtree"] else {"answers": dict(MET)}
        return {**shared, **answers, **({"tags": tags} if tags else {})}


def write_task_tree(rubric: Rubric) -> Conversion:
    """The tree of a rubric: its dimensions under one root, and their parts under them."""
    reading = Reading()
    lose_rest(rubric, ("description", "title"), _TARGET, reading)
    if rubric.score.formula is not None:
        reading.refuse("the score is a formula", ("score", "formula"), "a tree only weighs its branches")
    about = rubric.description or rubric.display_title
    if rubric.title not in ("", _title_of(about)):
        reading.lose(f"has no place in {_TARGET}", ("title",))
    found = [
        _task(name, axis, rubric.scale_of(name), ("dimensions", name), reading)
        for name, axis in rubric.dimensions.items()
    ]
    tasks = [task for task in found if task is not None]
    if not tasks:
        reading.refuse_rest("no dimension can be a task of a tree", ("dimensions",))
    return reading.done(
        {
            "id": rubric.name,
            "requirements": about,
            "weight": 1,
            "sub_tasks": tasks,
            "task_category": None,
            "finegrained_task_category": None,
        }
    )


def _task(name: str, axis: Axis, scale: Scale, path: Path, reading: Reading) -> dict[str, Any] | None:
    parts = getattr(axis, "parts", {})
    weight = axis.points if axis.points is not None else axis.weight
    if weight is not None and weight < 0:
        reading.lose("takes points away, which no task does: it is left out", (*path, "points"))
        return None
    if axis.answers_for_parts:
        reading.lose("each case brings its criteria: export the cases --to healthbench", path)
        return None
    if not parts and axis.kind != "judge":
        reading.lose(f"is scored by {axis.kind}, not by a judge: it is left out", path)
        return None
    asked = axis.asks or axis.title or name.replace("_", " ")
    told = axis.model_dump(mode="json", exclude_defaults=True)
    if axis.title == _title_of(asked):
        told.pop("title", None)
    reading.lose_keys(told, ("asks", "answers", "points", "weight", "parts", "tags", "scale"), path, _TARGET)
    coarse, fine = _categories(axis, path, reading)
    met = met_value(answer_shares(axis, scale))[0]
    if not parts and met == 0:
        reading.lose("gives points where it is not met, which no task does: it is left out", (*path, "answers"))
        return None
    if not parts and axis.answers and not (met == 1 and set(axis.answers) == set(MET)):
        reading.lose(f"{', '.join(axis.answers)} become met and not met", (*path, "answers"))
    if not parts and not axis.answers and coarse != "Subtree":
        reading.lose("a number on a scale becomes a share of a subtree", path)
        coarse = "Subtree"
    children = [_task(key, part, scale, (*path, "parts", key), reading) for key, part in parts.items()]
    sub_tasks = [child for child in children if child is not None]
    if parts and not sub_tasks:
        return None
    return {
        "id": id_of_name(name),
        "requirements": asked,
        "weight": 1 if weight is None else int(weight) if float(weight).is_integer() else weight,
        "sub_tasks": sub_tasks,
        "task_category": coarse,
        "finegrained_task_category": fine,
    }


def _categories(axis: Axis, path: Path, reading: Reading) -> tuple[str | None, str | None]:
    """The two categories of a leaf among its tags: the coarse one is known by its name, or comes first."""
    tags = list(axis.tags)
    coarse = next((tag for tag in tags if tag in CATEGORIES), tags[0] if len(tags) > 1 else None)
    others = [tag for tag in tags if tag != coarse]
    if len(others) > 1:
        reading.lose(f"{', '.join(others[1:])} have no place in {_TARGET}", (*path, "tags"))
    return coarse, others[0] if others else None


def _title_of(asks: str) -> str:
    """The beginning of a requirement, cut at a word.

    >>> _title_of("The data set is loaded."), len(_title_of("word " * 50)) <= LONGEST_TITLE
    ('The data set is loaded.', True)
    """
    plain = " ".join(asks.split())
    if len(plain) <= LONGEST_TITLE:
        return plain
    return (
        plain[: LONGEST_TITLE - 1].rpartition(" ")[0].rstrip(",;:. ") + "…" if " " in plain[:70] else plain[:79] + "…"
    )
