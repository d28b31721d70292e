"""Config overrides: what a game changes in a definition that it attaches, as a JSON merge patch (RFC 7396)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from rubrica.errors import Problem, RubricError
from rubrica.workspace.draft import LISTING, READ_ONLY, read_draft
from rubrica.workspace.plain_data import read_plain

FIXED = {"name", "version"} | LISTING | READ_ONLY
"""Keys that say which rubric it is and where it is found: a game that wants another one attaches another one."""

PLACE = "config_overrides"


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with a patch applied: objects are merged key by key, null removes a key, anything else replaces.

    >>> merge_patch({"max_score": 100, "note": "x", "a": {"b": 1}}, {"max_score": 50, "note": None, "a": {"c": 2}})
    {'max_score': 50, 'a': {'b': 1, 'c': 2}}
    """
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def overridden(definition: Mapping[str, Any], overrides: Mapping[str, Any]) -> Mapping[str, Any]:
    """The definition a game judges by."""
    return merge_patch(definition, overrides) if overrides else definition


def overridden_hash(hash: str, overrides: Mapping[str, Any]) -> str:
    """Stands for a definition with its overrides; without any it is the definition's own hash.

    >>> overridden_hash("ab", {})
    'ab'
    >>> overridden_hash("ab", {"x": {"b": 1, "a": 2}}) == overridden_hash("ab", {"x": {"a": 2, "b": 1}})
    True
    """
    if not overrides:
        return hash
    patch = msgspec.json.encode(overrides, order="sorted")
    return hashlib.sha256(hash.encode() + b"+" + patch).hexdigest()


def check_overrides(definition: Mapping[str, Any], overrides: Mapping[str, Any], *place: str | int) -> None:
    """Refuse overrides that leave no usable definition, with every problem told under `place`, config_overrides."""
    if not overrides:
        return
    plain, problems = read_plain(overrides)
    if not problems:
        problems = [
            Problem(f"{key} cannot be overridden", (key,), fix="attach another rubric")
            for key in overrides
            if key in FIXED
        ]
        try:
            read_draft(overridden(definition, {key: value for key, value in plain.items() if key not in FIXED}))
        except RubricError as error:
            problems += error.problems
    if problems:
        raise RubricError([problem.under(*place, PLACE) for problem in problems])
