"""What changed from one definition to another, by place and in words.

The order of keys never counts. Things in a list are paired by their name where they have one (gates, rules, patterns,
checks; verdicts by their label, examples by their id), else by what they have in common. Lists of plain values, such as
keywords, are compared without regard to order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from rubrica.errors import Problem

Path = tuple[str | int, ...]
Kind = Literal["added", "removed", "changed", "moved"]

NAMES = ("name", "label", "id")
"""Keys by which a thing in a list is known, the first that is there."""

ORDERED = frozenset({"rules", "gates", "verdicts", "thresholds"})
"""Lists that are read from top to bottom, so that their order says something."""

ALIKE = 0.5
"""The share of keys with equal values from which two things without a common name are taken for the same one."""

MOST_COMPARED = 40_000
"""Comparisons of things without a common name; a list that needs more is compared place by place."""

LONGEST_SHOWN = 80
"""Characters of a value in a line of text."""


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One thing that differs. `path` leads to it in the newer definition, or in the older one if it was removed."""

    kind: Kind
    path: Path
    before: Any = None
    after: Any = None

    @property
    def where(self) -> str:
        """The path as an author would write it."""
        return Problem("", self.path).where

    @property
    def text(self) -> str:
        """The change in one line.

        >>> print(DefinitionChange("changed", ("dimensions", "accuracy", "weight"), 0.35, 0.4).text)
        dimensions.accuracy.weight: 0.35 → 0.4
        """
        match self.kind:
            case "changed":
                return f"{self.where}: {_worded(self.before)} → {_worded(self.after)}"
            case "moved":
                return f"{self.where} in another order: {_worded(self.before)} → {_worded(self.after)}"
            case "added":
                return f"{self.where} added: {_worded(self.after)}"
            case "removed":
                return f"{self.where} removed: {_worded(self.before)}"

    def shown(self) -> dict[str, Any]:
        """The change as plain data; what was added has no `from`, what was removed no `to`."""
        data: dict[str, Any] = {"change": self.kind, "path": self.path, "where": self.where}
        if self.kind != "added":
            data["from"] = self.before
        if self.kind != "removed":
            data["to"] = self.after
        return data | {"text": self.text}


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[DefinitionChange]:
    """Everything that differs between two definitions, except the version they say they are.

    >>> old = {"name": "x", "rules": [{"type": "adjust", "add": 1}], "tags": ["a", "b"]}
    >>> new = {"rules": [{"add": 2, "type": "adjust"}], "tags": ["b", "c"], "name": "x"}
    >>> [change.text for change in difference(old, new)]
    ['rules[0].add: 1 → 2', 'tags[0] removed: "a"', 'tags[1] added: "c"']
    """
    old, new = ({key: value for key, value in one.items() if key != "version"} for one in (before, after))
    return list(_mappings(old, new, ()))


def _values(before: Any, after: Any, path: Path) -> Iterator[DefinitionChange]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _mappings(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path)
    elif not _equal(before, after):
        yield DefinitionChange("changed", path, before, after)


def _mappings(before: Mapping[str, Any], after: Mapping[str, Any], path: Path) -> Iterator[DefinitionChange]:
    for key in before:
        if key in after:
            yield from _values(before[key], after[key], (*path, key))
        else:
            yield DefinitionChange("removed", (*path, key), before=before[key])
    for key in after:
        if key not in before:
            yield DefinitionChange("added", (*path, key), after=after[key])


def _lists(before: Sequence[Any], after: Sequence[Any], path: Path) -> Iterator[DefinitionChange]:
    old_of = _pairs(before, after)
    kept = set(old_of.values())
    for index, item in enumerate(before):
        if index not in kept:
            yield DefinitionChange("removed", (*path, index), before=item)
    for index, item in enumerate(after):
        if index in old_of:
            yield from _values(before[old_of[index]], item, (*path, index))
        else:
            yield DefinitionChange("added", (*path, index), after=item)
    places = [old_of[index] for index in sorted(old_of)]
    if path and path[-1] in ORDERED and places != sorted(places):
        yield DefinitionChange(
            "moved", path, *([_item_name(before[i], i) for i in order] for order in (sorted(places), places))
        )


def _pairs(before: Sequence[Any], after: Sequence[Any]) -> dict[int, int]:
    """Which item of the older list each item of the newer one was, by index."""
    pairs: dict[int, int] = {}
    for keys in (_names, _contents):
        taken = set(pairs.values())
        old = {key: index for index, key in keys(before).items() if index not in taken}
        for index, key in keys(after).items():
            if index not in pairs and key in old:
                pairs[index] = old.pop(key)
    kept = set(pairs.values())
    left = [index for index in range(len(before)) if index not in kept and isinstance(before[index], Mapping)]
    right = [index for index in range(len(after)) if index not in pairs and isinstance(after[index], Mapping)]
    if len(left) * len(right) > MOST_COMPARED:
        return pairs | dict(zip(right, left, strict=False))
    alike = [(_likeness(before[i], after[j]), -abs(i - j), i, j) for i in left for j in right]
    for likeness, _, i, j in sorted(alike, reverse=True):
        if likeness >= ALIKE and i not in kept and j not in pairs:
            pairs[j] = i
            kept.add(i)
    return pairs


def _names(items: Sequence[Any]) -> dict[int, str]:
    """The names that only one item of the list has, by its index."""
    names = {index: name for index, item in enumerate(items) if (name := _name(item))}
    often = Counter(names.values())
    return {index: name for index, name in names.items() if often[name] == 1}


def _contents(items: Sequence[Any]) -> dict[int, tuple[bytes, int]]:
    """What each item says, by its index; a second one that says the same is told apart by a number."""
    seen: Counter[bytes] = Counter()
    contents = {}
    for index, item in enumerate(items):
        content = msgspec.json.encode(item, order="sorted")
        contents[index] = (content, seen[content])
        seen[content] += 1
    return contents


def _likeness(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """The share of all keys that both have with equal values; things of different types are not alike."""
    if one.get("type") != other.get("type"):
        return 0.0
    keys = {**one, **other}
    equal = sum(key in one and key in other and _equal(one[key], other[key]) for key in keys)
    return equal / len(keys) if keys else 1.0


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)  # to Python, True is 1


def _name(item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    return next((item[key] for key in NAMES if isinstance(item.get(key), str) and item[key]), "")


def _item_name(item: Any, index: int) -> str:
    kind = item.get("type") if isinstance(item, Mapping) else None
    return _name(item) or f"{kind or 'item'} {index + 1}"


def _worded(value: Any) -> str:
    """A value in a few words: the type of a rule first, the rest as JSON, cut where it gets long."""
    kind = ""
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        kind, value = f"{value['type']} ", {key: inner for key, inner in value.items() if key != "type"}
    text = kind + msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
