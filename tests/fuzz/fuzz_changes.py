"""Documents bent from good ones: numbers made huge, keys lost, doubled or renamed, types swapped, values nested."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import yaml
from fuzz_texts import DEEPEST, ODD_NUMBERS, data, words
from hypothesis import strategies as st

from rubrica.packs.library import bundled_rubrics

ACTIONS = ("number", "remove", "rename", "copy", "replace", "retype", "nest", "repeat", "scalar")
MOST_REPEATS = 50

changes = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.sampled_from(ACTIONS),
        st.sampled_from(ODD_NUMBERS) | words | data(leaves=5),
    ),
    max_size=4,
)
"""Where, counted over all places of a document; what is done there; and with what."""


@cache
def good_rubrics() -> tuple[tuple[str, Any], ...]:
    """The bundled rubrics as plain data, by name."""
    texts = ((one.name, one.file.read_text(encoding="utf-8")) for one in bundled_rubrics())
    return tuple((name, yaml.load(text, yaml.CSafeLoader)) for name, text in texts)


rubric_names = st.sampled_from([one.name for one in bundled_rubrics()])
bent_rubrics = st.tuples(rubric_names, changes)


def bent_rubric(name: str, made: list[tuple[int, str, Any]]) -> Any:
    """A bundled rubric with changes made to it, one after the other."""
    return bent(dict(good_rubrics())[name], made)


def bent(document: Any, made: list[tuple[int, str, Any]]) -> Any:
    """A copy of plain data with changes made to it."""
    result = {"": deepcopy(document)}
    for where, action, value in made:
        places = list(_places(result))
        holder, key = places[where % len(places)]
        _change(holder, key, action, value)
        result.setdefault("", None)
    return result[""]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in plain data: what holds it, and its key there."""
    todo = [value]
    while todo:
        holder = todo.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                todo.append(holder[key])


def _change(holder: Any, key: Any, action: str, value: Any) -> None:
    there = holder[key]
    match action:
        case "number":
            holder[key] = value if isinstance(value, int | float) else 1e9
        case "remove":
            del holder[key]
        case "rename" if isinstance(holder, dict):
            holder[str(value)[:50]] = holder.pop(key)
        case "copy" if isinstance(holder, dict):
            holder[str(value)[:50]] = deepcopy(there)
        case "rename" | "copy":
            holder.append(deepcopy(there))
        case "retype":
            holder[key] = _retyped(there)
        case "nest":
            for level in range(1 + len(str(value)) % DEEPEST):
                there = [there] if level % 2 else {"parts": there}
            holder[key] = there
        case "repeat" if isinstance(there, list | str) and len(there) < 10_000:
            holder[key] = deepcopy(there) * (2 + len(str(value)) % MOST_REPEATS)
        case _:
            holder[key] = deepcopy(value)


def _retyped(value: Any) -> Any:
    """The same as another type, as a hasty author would write it."""
    match value:
        case dict():
            return [*value.values()] if len(value) % 2 else [*value]
        case list():
            return {str(place): item for place, item in enumerate(value)}
        case str():
            return [value]
        case bool() | None:
            return str(value)
        case _:
            return f"{value}"
