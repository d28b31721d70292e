"""Puts thresholds into the text of a gateway.yaml, and leaves everything else in it as it is, comments too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from rubrica.engine.document import check_size
from rubrica.errors import RubricError

PATH = ("grading", "thresholds")


@dataclass(frozen=True, slots=True)
class _Insertion:
    start: int
    end: int
    text: str


def with_thresholds_in(text: str, thresholds: Mapping[str, float]) -> str | None:
    """The text with these thresholds set; None where it is written so that they have to be put in by hand.

    >>> print(with_thresholds_in("tier0: 'local:'  # free\\n", {"FACTUAL": 80}), end="")
    tier0: 'local:'  # free
    grading:
      thresholds:
        FACTUAL: 80
    """
    if not thresholds:
        return text
    try:
        check_size(text)
        before = yaml.safe_load(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if not (before is None or isinstance(before, dict)):
            return None
        edits = _edits(text, root, thresholds)
        if edits is None:
            return None
        after = _apply_edits(text, edits)  # which reads as wanted, or is not used
        return after if yaml.safe_load(after) == _wanted(before or {}, thresholds) else None
    except (yaml.YAMLError, RubricError):
        return None


def fragment(thresholds: Mapping[str, float]) -> str:
    """The thresholds alone, as they stand in a gateway.yaml.

    >>> print(fragment({"FACTUAL": 80, "CREATIVE": 62.5}), end="")
    grading:
      thresholds:
        FACTUAL: 80
        CREATIVE: 62.5
    """
    return f"grading:\n  thresholds:\n{_lines(thresholds, 4)}"


def _edits(text: str, root: yaml.Node | None, thresholds: Mapping[str, float]) -> list[_Insertion] | None:
    """What to change, or None where the text is not plain enough."""
    if root is None or not (isinstance(root, yaml.MappingNode) and not root.flow_style):
        empty = root is None or (isinstance(root, yaml.ScalarNode) and not root.value)
        return [_at_end(text, fragment(thresholds))] if empty else None
    key, grading = _entry(root, PATH[0])
    if key is None:
        return [_at_end(text, fragment(thresholds))]
    if not isinstance(grading, yaml.MappingNode) or grading.flow_style:
        return None
    own_key, found = _entry(grading, PATH[1])
    if own_key is None:
        indent = grading.start_mark.column
        return [_below(text, key, f"{' ' * indent}{PATH[1]}:\n{_lines(thresholds, indent + 2)}")]
    return _merge_edits(text, own_key, found, thresholds) if isinstance(found, yaml.MappingNode) else None


def _merge_edits(
    text: str, key: yaml.Node, found: yaml.MappingNode, thresholds: Mapping[str, float]
) -> list[_Insertion] | None:
    """Other values for types that are there already, and new entries for the others."""
    values = {key.value: value for key, value in found.value}
    if any(not isinstance(values.get(name), yaml.ScalarNode | None) for name in thresholds):
        return None
    edits = [
        _Insertion(values[name].start_mark.index, values[name].end_mark.index, f"{number:g}")
        for name, number in thresholds.items()
        if name in values
    ]
    new = {name: number for name, number in thresholds.items() if name not in values}
    if not new:
        return edits
    if found.flow_style:
        listed = ", ".join(f"{_plain(name)}: {number:g}" for name, number in new.items())
        start = found.start_mark.index + 1
        return [*edits, _Insertion(start, start, f"{listed}, " if found.value else listed)]
    return [*edits, _below(text, key, _lines(new, found.start_mark.column))]


def _entry(node: yaml.MappingNode, name: str) -> tuple[yaml.Node | None, yaml.Node | None]:
    return next(((key, value) for key, value in node.value if key.value == name), (None, None))


def _below(text: str, key: yaml.Node, block: str) -> _Insertion:
    """Right under the line of a key, so that comments stay above what they are about."""
    start = text.index("\n", key.end_mark.index) + 1
    return _Insertion(start, start, block)


def _at_end(text: str, block: str) -> _Insertion:
    gap = "" if not text or text.endswith("\n") else "\n"
    return _Insertion(len(text), len(text), gap + block)


def _lines(thresholds: Mapping[str, float], indent: int) -> str:
    return "".join(f"{' ' * indent}{_plain(name)}: {number:g}\n" for name, number in thresholds.items())


def _plain(name: str) -> str:
    """A type's name as YAML reads it back: NO would be a truth value."""
    return name if name.isidentifier() and yaml.safe_load(name) == name else json.dumps(name)


def _apply_edits(text: str, edits: list[_Insertion]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text.replace("\n", newline) + text[edit.end :]
    return text


def _wanted(before: dict[str, Any], thresholds: Mapping[str, float]) -> dict[str, Any]:
    grading = before.get(PATH[0]) or {}
    return {**before, PATH[0]: {**grading, PATH[1]: {**(grading.get(PATH[1]) or {}), **thresholds}}}
