"""A rubric that is being written: plain data, changed place by place.

Nothing here asks whether the rubric makes sense: half-written ones are the rule. Every operation gives a new document
and leaves the old one as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

Path = tuple[str | int, ...]
Data = dict[str, Any]

FIRST_KEYS = ("name", "version", "title", "description", "category", "tags", "scale", "score", "threshold")
"""Where a new key is put that usually stands at the top; others are added at the end."""


def at(document: Any, path: Path, default: Any = None) -> Any:
    """What stands at a place, or the default.

    >>> at({"gates": [{"cap": 40}]}, ("gates", 0, "cap")), at({}, ("gates", 0), "none")
    (40, 'none')
    """
    here = document
    for step in path:
        inside = step in here if isinstance(here, Mapping) else isinstance(here, list) and step in range(len(here))
        if not inside:
            return default
        here = here[step]
    return default if here is None else here


def put(document: Data, path: Path, value: Any) -> Data:
    """The document with a value at a place. Mappings on the way are made; None takes the key away.

    A mapping that loses its last key goes too, unless it is a thing in a list.

    >>> put({"name": "x"}, ("scale", "max"), 10)
    {'name': 'x', 'scale': {'max': 10}}
    >>> put({"name": "x", "scale": {"max": 10}}, ("scale", "max"), None)
    {'name': 'x'}
    """
    changed: Data = _put(document, path, value)
    return changed


def _put(here: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(here) if isinstance(here, list) else []
        if step >= len(items):
            return [*items, _put({}, rest, value)]
        items[step] = _put(items[step], rest, value)
        return items
    mapping = dict(here) if isinstance(here, Mapping) else {}
    inner = _put(mapping.get(step), rest, value)
    if inner is None or (rest and inner == {}):
        mapping.pop(step, None)
        return mapping
    if step in mapping or step not in FIRST_KEYS:
        mapping[step] = inner
        return mapping
    before = set(FIRST_KEYS[: FIRST_KEYS.index(step)])
    ahead = {key: kept for key, kept in mapping.items() if key in before}
    return {**ahead, step: inner, **{key: kept for key, kept in mapping.items() if key not in before}}


def append(document: Data, path: Path, item: Any) -> Data:
    """The document with a further item in a list, which is made if there is none."""
    return put(document, path, [*list_at(document, path), item])


def remove(document: Data, path: Path) -> Data:
    """The document without a thing. A list or a mapping that loses its last thing goes as well."""
    where, step = path[:-1], path[-1]
    if isinstance(step, int):
        items = list_at(document, where)
        left = [*items[:step], *items[step + 1 :]]
        return put(document, where, left or None)
    return put(document, path, None)


def move(document: Data, path: Path, by: int) -> Data:
    """The document with a thing of a list, or a key of a mapping, some places further down (or up).

    >>> list(move({"a": {"x": 1, "y": 2}}, ("a", "y"), -1)["a"])
    ['y', 'x']
    """
    where, step = path[:-1], path[-1]
    holder = at(document, where)
    if isinstance(holder, list) and isinstance(step, int):
        items = list(holder)
        to = min(max(step + by, 0), len(items) - 1)
        items.insert(to, items.pop(step))
        return put(document, where, items)
    keys = list(holder)
    place = keys.index(step)
    to = min(max(place + by, 0), len(keys) - 1)
    keys.insert(to, keys.pop(place))
    return put(document, where, {key: holder[key] for key in keys})


def rename(document: Data, path: Path, name: str) -> Data:
    """The document with a key called otherwise, in the same place. A name that is taken changes nothing.

    >>> rename({"settings": {"a": 1, "b": 2}}, ("settings", "a"), "c")
    {'settings': {'c': 1, 'b': 2}}
    """
    holder = at(document, path[:-1], {})
    if name in holder or not name:
        return document
    return put(document, path[:-1], {name if key == path[-1] else key: kept for key, kept in holder.items()})


def list_at(document: Any, path: Path) -> list[Any]:
    """The list at a place; an empty one where there is none."""
    found = at(document, path)
    return list(found) if isinstance(found, Sequence) and not isinstance(found, str) else []


def mapping_at(document: Any, path: Path) -> Data:
    """The mapping at a place; an empty one where there is none."""
    found = at(document, path)
    return dict(found) if isinstance(found, Mapping) else {}


def free_name(taken: Collection[str], new_name: str) -> str:
    """A name that is not taken: that itself, or with a number behind it.

    >>> free_name({"a": 1, "a_2": 1}, "a")
    'a_3'
    """
    name, number = new_name, 1
    while name in taken:
        number += 1
        name = f"{new_name}_{number}"
    return name


def is_short(document: Mapping[str, Any]) -> bool:
    """Whether it is written in the short form: one list of rules that give points."""
    return "scoring_type" in document
