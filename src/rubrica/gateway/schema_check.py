"""Whether a JSON value follows a JSON Schema, as far as tools use it.

Types, values to choose from, properties, items, bounds, alternatives and references within the schema are checked.
Patterns and formats are not: they are the client's, and matching them costs what the client likes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

MOST_STEPS = 20_000
"""Schemas looked at for one value, for alternatives within alternatives multiply."""

DEEPEST = 250
"""Levels of values and of references to other schemas. Beyond either bound, a value is taken as right."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int, float),
}
_BOUNDS = (
    ("minimum", operator.ge, "at least"),
    ("maximum", operator.le, "at most"),
    ("exclusiveMinimum", operator.gt, "more than"),
    ("exclusiveMaximum", operator.lt, "less than"),
)
_SIZES = (
    (str, "minLength", "maxLength", "characters"),
    (list, "minItems", "maxItems", "items"),
    (dict, "minProperties", "maxProperties", "properties"),
)


class SchemaCheck:
    """Holds values against one schema.

    >>> weather = SchemaCheck({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
    >>> weather.fault({"city": "Oslo"}), weather.fault({}), weather.fault({"city": 5})
    ('', '`city` is missing', '`city` is no string')
    """

    def __init__(self, schema: Any) -> None:
        self._schema, self._steps = schema, 0

    def fault(self, value: Any) -> str:
        """What is wrong with a value; nothing where nothing is."""
        self._steps = 0
        return next(self._faults(value, self._schema, "", 0), "")

    def _faults(self, value: Any, schema: Any, where: str, depth: int) -> Iterator[str]:
        self._steps += 1
        if schema is False:
            yield f"{_called(where)} is not allowed"
            return
        if not isinstance(schema, dict) or self._steps > MOST_STEPS or depth > DEEPEST:
            return
        if isinstance(reference := schema.get("$ref"), str):
            yield from self._faults(value, self._referred(reference), where, depth + 1)
        if not _is_of(value, schema):
            yield f"{_called(where)} is no {_kinds(schema['type'])}"
            return
        yield from _wrong_value(value, schema, where)
        yield from self._wrong_parts(value, schema, where, depth + 1)
        yield from self._no_alternative(value, schema, where, depth + 1)

    def _wrong_parts(self, value: Any, schema: Mapping[str, Any], where: str, depth: int) -> Iterator[str]:
        """What is wrong within an object or a list."""
        if isinstance(value, dict):
            properties = schema.get("properties")
            known = properties if isinstance(properties, dict) else {}
            for name in _list(schema.get("required")):
                if isinstance(name, str) and name not in value:
                    yield f"{_called(_inside(where, name))} is missing"
            others = schema.get("additionalProperties", True)
            for name, inner in value.items():
                if name not in known and others is False:
                    yield f"{_called(_inside(where, name))} is not known"
                yield from self._faults(inner, known.get(name, others), _inside(where, name), depth)
        elif isinstance(value, list):
            for place, inner in enumerate(value):
                yield from self._faults(inner, schema.get("items", True), f"{where}[{place}]", depth)

    def _no_alternative(self, value: Any, schema: Mapping[str, Any], where: str, depth: int) -> Iterator[str]:
        for every in _list(schema.get("allOf")):
            yield from self._faults(value, every, where, depth)
        for name in ("anyOf", "oneOf"):
            alternatives = _list(schema.get(name))
            if alternatives and all(next(self._faults(value, one, where, depth), "") for one in alternatives):
                yield f"{_called(where)} is none of what it may be"

    def _referred(self, reference: str) -> Any:
        """The part of the schema that a reference names; anything goes where there is none."""
        found = self._schema
        for step in reference.removeprefix("#/").split("/") if reference.startswith("#/") else ():
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return True if found is None or not reference.startswith("#") else found


def _is_of(value: Any, schema: Mapping[str, Any]) -> bool:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else _list(wanted)
    if not names or (value is None and schema.get("nullable") is True):
        return True
    return any(_is_type(value, name) for name in names)


def _is_type(value: Any, name: object) -> bool:
    kinds = _TYPES.get(name) if isinstance(name, str) else None
    if kinds is None:
        return True
    if isinstance(value, bool):
        return name == "boolean"
    whole = not isinstance(value, float) or value.is_integer()
    return isinstance(value, kinds) and (name != "integer" or whole)


def _wrong_value(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if "enum" in schema and not any(_same(value, one) for one in _list(schema["enum"])):
        yield f"{_called(where)} is none of {', '.join(str(one)[:40] for one in _list(schema['enum'])[:10])}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{_called(where)} is not {str(schema['const'])[:40]}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        for name, holds, words in _BOUNDS:
            bound: Any = schema.get(name)
            if _is_number(bound) and not holds(value, bound):
                yield f"{_called(where)} is not {words} {bound}"
    for kind, least, most, words in _SIZES:
        if isinstance(value, kind):
            if _is_number(schema.get(least)) and len(value) < schema[least]:
                yield f"{_called(where)} has fewer than {schema[least]} {words}"
            if _is_number(schema.get(most)) and len(value) > schema[most]:
                yield f"{_called(where)} has more than {schema[most]} {words}"


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _kinds(wanted: object) -> str:
    return wanted if isinstance(wanted, str) else " or ".join(map(str, _list(wanted)))


def _inside(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)


def _called(where: str) -> str:
    return f"`{where[:100]}`" if where else "the value"
