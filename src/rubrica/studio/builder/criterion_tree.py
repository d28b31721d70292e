"""Criteria in a document as the rows of a tree: dimensions and parts of parts, moved, added and taken out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from rubrica.engine.counting_check import MOST_LEVELS
from rubrica.errors import InputError
from rubrica.interchange.label_names import name_of, reserved_names

from .dimensions import (
    every_name,
    in_points,
    kind_of,
    remove_dimension,
    scale_of,
    weighed_by_profiles,
    weights_of,
    with_profile_weight,
    with_weights,
)
from .document import Data, Path, at, free_name, mapping_at, put
from .weights import add_weight

DIMENSIONS: Path = ("dimensions",)
NEW = "criterion"
"""What a criterion is called until it says something."""
LONGEST_TITLE = 500
OF_DIMENSIONS = ("scale", "applies", "from")
"""Keys that only a dimension has."""
OF_LEAVES = ("asks", "answers", "examples", "anchors", "offline", "looks", "judge", "scorer")
"""Keys that what is weighed from parts cannot have, or has no use for."""
NAME_WORDS = 5


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A dimension or a part, as a row."""

    path: Path
    number: str  # such as 2.1
    level: int  # from 0
    is_node: bool  # weighed from parts
    share: float | None  # of the whole; None where nobody can tell


def tree_rows(document: Data, root: Path, is_open: Callable[[Path], bool]) -> list[TreeRow]:
    """The rows below a place, in their order; what is folded away is left out.

    >>> parts = {"b": {"weight": 0.5}, "c": {"weight": 0.5, "parts": {"d": {"weight": 1.0}}}}
    >>> document = {"dimensions": {"a": {"weight": 0.8, "parts": parts}}}
    >>> rows = tree_rows(document, ("dimensions", "a", "parts"), lambda path: True)
    >>> [(row.number, row.path[-1], row.level, row.share) for row in rows]
    [('1', 'b', 0, 0.4), ('2', 'c', 0, 0.4), ('2.1', 'd', 1, 0.4)]
    """
    return list(_rows(document, root, is_open, 0, "", _share_of_root(document, root)))


def _rows(
    document: Data, root: Path, is_open: Callable[[Path], bool], level: int, number: str, whole: float | None
) -> Iterator[TreeRow]:
    shares = shares_of(document, root)
    for index, (name, axis) in enumerate(mapping_at(document, root).items(), 1):
        path, share = (*root, name), shares.get(name)
        own = None if share is None or whole is None else share * whole
        is_node, told = kind_of(axis) == "parts" and at(axis, ("from",)) is None, f"{number}{index}"
        yield TreeRow(path, told, level, is_node, own)
        if is_node and is_open(path):
            yield from _rows(document, (*path, "parts"), is_open, level + 1, f"{told}.", own)


def shares_of(document: Data, holder: Path) -> dict[str, float]:
    """The share that each thing has of those it counts with: of the points to earn, or its weight."""
    if not in_points(document, holder):
        return weights_of(document, holder)
    points = {name: points_at(thing) for name, thing in mapping_at(document, holder).items()}
    whole = sum(own for own in points.values() if own is not None and own > 0)
    return {name: own / whole for name, own in points.items() if own is not None and whole}


def points_at(axis: Any) -> float | None:
    """The points of a dimension or a part; None where it has none."""
    found = at(axis, ("points",))
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def _share_of_root(document: Data, root: Path) -> float | None:
    if len(root) <= 1 or at(document, ("score", "formula")) is not None or weighed_by_profiles(document):
        return 1.0
    whole = 1.0
    for length in range(2, len(root), 2):
        share = shares_of(document, root[: length - 1]).get(str(root[length - 1]))
        if share is None:
            return None
        whole *= share
    return whole


def leaves_of(document: Data, root: Path) -> list[Path]:
    """What is scored below a place."""
    return [row.path for row in tree_rows(document, root, lambda _: True) if not row.is_node]


def axis_names(document: Data) -> set[str]:
    """Names that a new dimension or part cannot have."""
    others = (name for key in ("settings", "patterns", "context") for name in mapping_at(document, (key,)))
    return {*every_name(document), *others, *reserved_names()}


def short_name(text: str, taken: Collection[str]) -> str:
    """A name for a criterion, of its first words.

    >>> short_name("Names the usual dose, and how often it is taken.", ())
    'names_the_usual_dose_and'
    """
    return name_of(" ".join(text.split()[:NAME_WORDS]).lower()[:48], taken, "c_")


def is_unnamed(path: Path) -> bool:
    """Whether a criterion is still called as all are when they come."""
    stem, _, number = str(path[-1]).rpartition("_")
    return path[-1] == NEW or (stem == NEW and number.isdigit())


def yes_or_no(document: Data, path: Path) -> Data:
    """Answers to begin with: the ends of the scale."""
    scale = scale_of(document, str(path[1]) if len(path) > 1 else None)
    ends = ((label, end) for label, end in (("yes", scale.max), ("no", scale.min)))
    return {label: int(end) if float(end).is_integer() else end for label, end in ends}


def new_criterion(document: Data, path: Path, asks: str = "") -> Data:
    """A criterion that is answered by yes or no."""
    return {"asks": asks, "answers": yes_or_no(document, path)}


def counts_in_points(document: Data, holder: Path) -> bool:
    """Whether what comes into a place counts by points; the first one counts as those do that it is a part of."""
    if mapping_at(document, holder) or len(holder) < 3:
        return in_points(document, holder)
    return counts_in_points(document, holder[:-2])


def insert(document: Data, path: Path, axis: Data, index: int | None = None) -> Data:
    """The document with a dimension or part at a place among its siblings, which make room where they have weights."""
    holder, name = path[:-1], str(path[-1])
    counted = {key: value for key, value in axis.items() if key not in ("weight", "points")}
    weights: dict[str, float] = {}
    if counts_in_points(document, holder):
        counted["points"] = points_at(axis) or 1
    elif holder != DIMENSIONS or not weighed_by_profiles(document):
        weights = add_weight(weights_of(document, holder), name)
    things = list(mapping_at(document, holder).items())
    things.insert(len(things) if index is None else index, (name, counted))
    document = with_weights(put(document, holder, dict(things)), holder, weights)
    return with_profile_weight(document, name) if holder == DIMENSIONS else document


def add_below(document: Data, path: Path) -> tuple[Data, Path]:
    """The document with a new criterion after a row, on its level, and where it is."""
    return _added(document, path[:-1], list(mapping_at(document, path[:-1])).index(str(path[-1])) + 1)


def add_inside(document: Data, path: Path) -> tuple[Data, Path]:
    """The document with a new criterion as the last part of a row, which becomes a heading if it was none."""
    _check_level((*path, "parts", NEW), 1)
    return _added(as_node(document, path), (*path, "parts"), None)


def add_last(document: Data, root: Path) -> tuple[Data, Path]:
    """The document with a new criterion at the end."""
    return _added(document, root, None)


def _added(document: Data, holder: Path, index: int | None) -> tuple[Data, Path]:
    path: Path = (*holder, free_name(axis_names(document), NEW))
    return insert(document, path, new_criterion(document, path), index), path


def as_node(document: Data, path: Path) -> Data:
    """The document with a row that is weighed from parts: what it asked becomes its title."""
    axis = mapping_at(document, path)
    if "from" in axis:
        raise InputError("each case brings the criteria of this one, so it has no other parts")
    if kind_of(axis) == "parts":
        return document
    if kind_of(axis) != "judge":
        raise InputError("this is scored without a judge, so it has no parts; add the criterion beside it")
    title = axis.get("title") or str(axis.get("asks", ""))[:LONGEST_TITLE]
    kept = {key: value for key, value in axis.items() if key not in (*OF_LEAVES, "title", "tags")}
    return put(document, path, {**({"title": title} if title else {}), **kept})


def remove_row(document: Data, path: Path) -> Data:
    """The document without a row and all that is below it; a heading that loses its last part is a criterion again."""
    document = remove_dimension(document, path)
    above = path[:-2]
    if len(path) < 4 or mapping_at(document, (*above, "parts")):
        return document
    axis = {key: value for key, value in mapping_at(document, above).items() if key not in ("title", "scorer", "parts")}
    asks = axis.pop("asks", "") or at(document, (*above, "title"), "")
    return put(document, above, {**new_criterion(document, above, asks), **axis})


def indent(document: Data, path: Path) -> tuple[Data, Path]:
    """The document with a row as the last part of the one before it, and where it is now."""
    names = list(mapping_at(document, path[:-1]))
    before = names.index(str(path[-1])) - 1
    if before < 0:
        raise InputError("there is nothing before it that it could be a part of")
    above: Path = (*path[:-1], names[before])
    return _moved(as_node(document, above), path, (*above, "parts"), None)


def outdent(document: Data, path: Path) -> tuple[Data, Path]:
    """The document with a row after the one that it was a part of, and where it is now."""
    if len(path) < 4:
        raise InputError("it is on the first level already")
    above = path[:-2]
    return _moved(document, path, above[:-1], list(mapping_at(document, above[:-1])).index(str(above[-1])) + 1)


def _moved(document: Data, path: Path, holder: Path, index: int | None) -> tuple[Data, Path]:
    axis, to = mapping_at(document, path), (*holder, path[-1])
    if "from" in axis:
        raise InputError("the criteria of each case stand on the first level")
    _check_level(to, 1 + _levels(document, (*path, "parts")))
    left = OF_DIMENSIONS if len(to) > 2 else ()
    kept = {key: value for key, value in axis.items() if key not in left}
    return insert(remove_row(document, path), to, kept, index), to


def _levels(document: Data, root: Path) -> int:
    return max((row.level + 1 for row in tree_rows(document, root, lambda _: True)), default=0)


def _check_level(path: Path, levels: int) -> None:
    """Refuse what would be nested too deeply: `levels` from a place on."""
    if len(path) // 2 + levels - 1 > MOST_LEVELS:
        raise InputError(f"a tree has up to {MOST_LEVELS} levels")
