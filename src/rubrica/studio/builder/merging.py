"""Three-way merge of two people's changes to a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rubrica.workspace.definition_diff import DefinitionChange, difference

from .document import Data, Path

_NOTHING = object()


@dataclass(frozen=True, slots=True)
class EditConflict:
    """What two people made of one document since both had read it."""

    theirs: tuple[DefinitionChange, ...]
    mine: tuple[DefinitionChange, ...]
    merged: Data | None  # both together; None where they changed the same place
    same: tuple[Path, ...]  # places that both changed


def edit_conflict(base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> EditConflict:
    """Compare two people's documents with what both started from.

    >>> found = edit_conflict({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 3})
    >>> found.merged, found.same, found.theirs[0].text
    ({'a': 2, 'b': 3}, (), 'b: 1 → 3')
    """
    places: list[Path] = []
    own = [{key: value for key, value in one.items() if key != "version"} for one in (base, mine, theirs)]
    merged = _merge(own[0], own[1], own[2], (), places)
    whole = None if places else {**({"version": theirs["version"]} if "version" in theirs else {}), **merged}
    return EditConflict(tuple(difference(base, theirs)), tuple(difference(base, mine)), whole, tuple(places))


def _merge(base: Any, mine: Any, theirs: Any, path: Path, places: list[Path]) -> Any:
    if _same(mine, theirs) or _same(theirs, base):
        return mine
    if _same(mine, base):
        return theirs
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping) and isinstance(base, Mapping):
        merged = {}
        for key in {**theirs, **mine}:
            was, own, other = (one.get(key, _NOTHING) for one in (base, mine, theirs))
            value = _merge(was, own, other, (*path, key), places)
            if value is not _NOTHING:
                merged[key] = value
        return merged
    places.append(path)
    return mine


def _same(one: Any, other: Any) -> bool:
    return one is other or (one is not _NOTHING and other is not _NOTHING and bool(one == other))
