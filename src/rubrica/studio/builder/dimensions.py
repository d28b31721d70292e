"""Dimensions and their parts in a document: add, rename, change the scorer, remove."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import ValidationError

from rubrica.model.decisions import Profiles
from rubrica.model.dimensions import Recipe, ScorerKind
from rubrica.model.scale import Scale

from .document import Data, Path, at, free_name, list_at, mapping_at, move, put, rename
from .form_schema import formula_keys
from .weights import add_weight, normalise_weights, remove_weight

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)
BLOCKS: Mapping[ScorerKind, str] = {"parts": "parts", "rules": "rules", "formula": "formula", "check": "checks"}
"""What holds each way of scoring that needs no judge."""


def weights_of(document: Data, path: Path) -> dict[str, float]:
    """The weights of the things in a mapping, such as the dimensions; 0 where one has none. What counts by points, or
    is filled by the criteria of each case, has none."""
    if in_points(document, path):
        return {}
    return {name: _number(at(thing, ("weight",), 0.0)) for name, thing in mapping_at(document, path).items()}


def in_points(document: Data, path: Path) -> bool:
    """Whether the things in a mapping count by points."""
    things = mapping_at(document, path).values()
    counted = any(at(thing, ("points",)) is not None for thing in things)
    return counted or (path == ("dimensions",) and bool(at(document, ("score", "points"))))


def with_weights(document: Data, path: Path, weights: Mapping[str, float]) -> Data:
    """The document with those weights."""
    for name, weight in weights.items():
        document = put(document, (*path, name, "weight"), weight)
    return document


def add_dimension(document: Data, path: Path, new_name: str) -> tuple[Data, str]:
    """The document with a further dimension (or part), which a judge answers, and its name."""
    name = free_name(mapping_at(document, path), new_name)
    if path == ("dimensions",) and weighed_by_profiles(document):
        document = put(document, (*path, name), {"asks": "", "scorer": "judge"})
        return with_profile_weight(document, name), name
    if in_points(document, path):
        return put(document, (*path, name), {"asks": "", "points": 1, "scorer": "judge"}), name
    weights = add_weight(weights_of(document, path), name)
    document = put(document, (*path, name), {"asks": "", "weight": weights[name], "scorer": "judge"})
    document = with_weights(document, path, weights)
    if path == ("dimensions",):
        document = with_profile_weight(document, name)
    return document, name


def remove_dimension(document: Data, path: Path) -> Data:
    """The document without a dimension (or part). The others take over its weight, in every profile too."""
    where, name = path[:-1], str(path[-1])
    weights = remove_weight(weights_of(document, where), name)
    document = put(document, path, None)
    document = with_weights(document, where, weights) if any(weights.values()) else document
    if where != ("dimensions",):
        return document
    document = _profiles(document, lambda own: remove_weight(own, name) if name in own else own)
    for section in mapping_at(document, ("sections",)):
        members = [one for one in list_at(document, ("sections", section, "dimensions")) if one != name]
        document = put(document, ("sections", section, "dimensions"), members)
    return document


def rename_dimension(document: Data, path: Path, name: str) -> Data:
    """The document with a dimension, part, setting or named pattern called otherwise, wherever it is read."""
    old = str(path[-1])
    if name == old or name in mapping_at(document, path[:-1]):
        return document
    document = rename(document, path, name)
    if path[:-1] == ("dimensions",):
        document = _profiles(document, lambda own: {name if key == old else key: own[key] for key in own})
        for section in mapping_at(document, ("sections",)):
            place: Path = ("sections", section, "dimensions")
            document = put(document, place, [name if one == old else one for one in list_at(document, place)])
    found: Data = _reworded(document, old, name)
    return found


def _reworded(value: Any, old: str, new: str, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {inner: _reworded(kept, old, new, str(inner)) for inner, kept in value.items()}
    if isinstance(value, list):
        return [_reworded(item, old, new, key) for item in value]
    if isinstance(value, str) and (key in formula_keys() or (key == "metric" and value == old)):
        text = re.sub(rf"\b{re.escape(old)}\b", new, value)
        return re.sub(rf"\b{re.escape(old)}_share\b", f"{new}_share", text)
    return value


def with_scoring(document: Data, path: Path, kind: ScorerKind) -> Data:
    """The document with a dimension (or part) scored in another way.

    A recipe that a judged dimension had offline becomes its own, and the other way round, so that nothing is lost.
    """
    axis = mapping_at(document, path)
    recipe = {key: value for key, value in axis.items() if key in (*Recipe.model_fields, "parts")}
    kept = {key: value for key, value in axis.items() if key not in (*recipe, "offline", "scorer", "looks", "judge")}
    stand_in = axis.get("offline") if isinstance(axis.get("offline"), Mapping) else None
    if kind == "judge":
        is_whole = "parts" not in recipe and any(block in recipe for block in BLOCKS.values())
        stand_in = stand_in or (recipe if is_whole else None)
        return put(document, path, {**kept, "scorer": "judge", **({"offline": stand_in} if stand_in else {})})
    if kind == "parts":
        part = {"weight": 1.0, "asks": axis.get("asks", ""), "scorer": "judge"}
        first = {free_name(every_name(document), "first_part"): part}
        return put(document, path, {**kept, "parts": recipe.get("parts") or first})
    if stand_in and BLOCKS[kind] in stand_in:
        own = {key: value for key, value in stand_in.items() if key in Recipe.model_fields}
        return put(document, path, {**kept, **own})
    return put(document, path, {**kept, **first_recipe(document, path, BLOCKS[kind])})


def first_recipe(document: Data, path: Path, block: str) -> Data:
    """A recipe to begin with. It can reach the top of the scale of the dimension at a path.

    >>> first_recipe({"scale": {"min": 1, "max": 5}}, ("dimensions", "length"), "formula")
    {'formula': '1 + 4 * min(word_count / 50, 1)'}
    """
    scale = scale_of(document, str(path[1]) if len(path) > 1 else None)
    if block == "rules":
        return {"start": scale.max, "rules": [{"when": "word_count > 100", "add": -1, "because": "too long"}]}
    if block == "checks":
        return {"checks": [{"name": "short", "that": "word_count <= 100"}]}
    span = scale.max - scale.min
    lowest, times = "" if scale.min == 0 else f"{scale.min:.12g} + ", "" if span == 1 else f"{span:.12g} * "
    return {"formula": f"{lowest}{times}min(word_count / 50, 1)"}


def kind_of(axis: Any) -> ScorerKind:
    """How a dimension of a document is scored, as far as it says so.

    >>> kind_of({"rules": []}), kind_of({"asks": "?"}), kind_of({"parts": {}})
    ('rules', 'judge', 'parts')
    """
    if not isinstance(axis, Mapping):
        return "judge"
    kinds: tuple[ScorerKind, ...] = get_args(ScorerKind)
    said = [kind for kind in kinds if kind == axis.get("scorer")]
    return [*said, *(kind for kind, block in BLOCKS.items() if block in axis), "judge"][0]


def every_name(document: Data, holder: Path = ("dimensions",)) -> set[str]:
    """The names of the dimensions and of all their parts."""
    found: set[str] = set()
    for name in mapping_at(document, holder):
        found |= {name} | every_name(document, (*holder, name, "parts"))
    return found


def scale_of(document: Data, dimension: str | None = None) -> Scale:
    """The scale a dimension is scored on; 0 to 1 while what is written is no scale."""
    own = None if dimension is None else at(document, ("dimensions", dimension, "scale"))
    try:
        return Scale.model_validate(own if own is not None else mapping_at(document, ("scale",)))
    except ValidationError:
        return Scale()


def profile_names(document: Data) -> list[str]:
    """The profiles, in their order."""
    return [name for name in mapping_at(document, ("profiles",)) if name not in Profiles.model_fields]


def profile_weights(document: Data, profile: str) -> dict[str, float]:
    """A profile's weights, the dimensions' own where it has none."""
    own = mapping_at(document, ("profiles", profile, "weights"))
    if own:
        return {name: _number(own.get(name, 0.0)) for name in mapping_at(document, ("dimensions",))}
    return normalise_weights(weights_of(document, ("dimensions",)))


def with_profile(document: Data, by: str, name: str) -> Data:
    """The document with a further profile, which weighs as the dimensions do."""
    document = put(document, ("profiles", "by"), at(document, ("profiles", "by"), by))
    threshold = at(document, ("threshold",))
    profile = {"weights": normalise_weights(weights_of(document, ("dimensions",)))}
    return put(document, ("profiles", name), {**({} if threshold is None else {"threshold": threshold}), **profile})


def with_profile_called(document: Data, name: str, new_name: str) -> Data:
    """The document with a profile for another value.

    >>> with_profile_called({"profiles": {"by": "type", "default": "A", "A": {"threshold": 5}}}, "A", "B")
    {'profiles': {'by': 'type', 'default': 'B', 'B': {'threshold': 5}}}
    """
    is_default = at(document, ("profiles", "default")) == name
    document = rename(document, ("profiles", name), new_name)
    return put(document, ("profiles", "default"), new_name) if is_default else document


def weighed_by_profiles(document: Data) -> bool:
    """Whether every profile has weights and no dimension has one of its own."""
    own = any(at(dimension, ("weight",)) is not None for dimension in mapping_at(document, ("dimensions",)).values())
    names = profile_names(document)
    return not own and bool(names) and all(mapping_at(document, ("profiles", name, "weights")) for name in names)


def move_dimension(document: Data, path: Path, by: int) -> Data:
    """The document with a dimension some places further down."""
    return move(document, path, by)


def with_profile_weight(document: Data, name: str) -> Data:
    """The document with a new dimension in every profile that has weights: it weighs nothing there yet."""
    return _profiles(document, lambda own: {**own, name: 0.0})


def _profiles(document: Data, change: Any) -> Data:
    for profile in profile_names(document):
        own = mapping_at(document, ("profiles", profile, "weights"))
        if own:
            document = put(document, ("profiles", profile, "weights"), change(own))
    return document


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
