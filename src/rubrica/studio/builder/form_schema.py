"""What the rubric's JSON Schema says of each field of a draft: its title, kind, bounds, choices and default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rubrica.model.bounds import LARGEST_NUMBER, LONGEST_FORMULA
from rubrica.model.json_schema import rubric_schema
from rubrica.model.rules import rule_type

from .document import Path, is_short, mapping_at

Schema = Mapping[str, Any]
SchemaKind = Literal[
    "line",  # of text
    "prose",  # several lines
    "number",
    "integer",
    "switch",
    "choice",
    "words",  # a list of short texts
    "formula",
    "amount",  # a number or a formula
    "group",  # a mapping with fields of its own
    "groups",  # a list of such mappings
    "mapping",  # from names to values
    "other",  # what only a form made for it can edit
]


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """One field of a document."""

    model: str  # whose field it is, by the name of its definition
    key: str
    kind: SchemaKind
    title: str
    description: str = ""
    default: Any = None  # what counts where the key is left out; None where nothing does
    least: float | None = None
    most: float | None = None
    choices: Mapping[Any, str] | None = None
    is_optional: bool = False  # to say nothing differs from every value


def field_at(document: Mapping[str, Any], path: Path) -> FieldSchema:
    """What the schema says of a place in a document.

    >>> found = field_at({}, ("judging", "panel"))
    >>> found.title, found.kind, found.default, found.least, found.most
    ('Judges at least', 'integer', 1, 1, 50)
    """
    *_, holder, (node, _) = _steps(document, path)
    shape = _holding(*holder)
    default = node.get("default") if _counts(document, path[:-1]) else None
    return _field(str(path[-1]), node, _name(shape), default)


def fields_at(document: Mapping[str, Any], path: Path) -> dict[str, FieldSchema]:
    """The fields that the mapping at a place may have, by their keys, but for what can have one value only."""
    *_, last = _steps(document, path)
    known = _holding(*last).get("properties", {})
    return {key: field_at(document, (*path, key)) for key, node in known.items() if "const" not in node}


def may_leave_out(document: Mapping[str, Any], path: Path, value: Any) -> bool:
    """Whether a value is what counts anyway, so that the document need not say it.

    A mapping that is there only because of this key says something by being there.
    """
    if value is None or value != field_at(document, path).default:
        return value is None
    others = mapping_at(document, path[:-1]).keys() - {path[-1]}
    return bool(others) or len(path) == 1 or _stands_for_itself(document, path[:-1])


def choices_of(model: str, key: str) -> Mapping[Any, str]:
    """The choices of a field, each with what it means.

    >>> choices_of("Judging", "stop")["decided"]
    'stop once the verdict is decided'
    """
    return _field(key, _definition(model)["properties"][key], model, None).choices or {}


@cache
def formula_keys() -> frozenset[str]:
    """The keys under which a document has formulas."""
    return frozenset(
        key
        for definition in _definitions().values()
        for shape in _shapes(definition)
        for key, node in shape.get("properties", {}).items()
        if any(inner.get("format") == "formula" for inner in _shapes(node))
    )


@cache
def _definitions() -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = rubric_schema()["$defs"]
    return found


def _definition(name: str) -> Schema:
    """A model of the document, where it is not written in a shorter way."""
    return next(shape for shape in _shapes(_definitions()[name]) if "properties" in shape)


def _shapes(node: Schema) -> Iterator[Schema]:
    """The shapes that a value may have, null aside."""
    if "$ref" in node:
        yield from _shapes(_definitions()[node["$ref"].rpartition("/")[2]])
    elif "anyOf" in node or "oneOf" in node:
        for option in node.get("anyOf", node.get("oneOf", ())):
            yield from _shapes(option)
    elif node.get("type") != "null":
        yield node


def _holding(node: Schema, value: Any) -> Schema:
    """The shape that holds other things; of several types of rules, the one that the value says."""
    found = [shape for shape in _shapes(node) if shape.get("type") in ("object", "array")]
    if len(found) > 1:
        kind = rule_type(value)
        found = [one for one in found if one.get("properties", {}).get("type", {}).get("const") == kind]
    return found[0] if found else {}


def _steps(document: Mapping[str, Any], path: Path) -> Iterator[tuple[Schema, Any]]:
    """The schema and the value at each step of the way to a place, the document first."""
    node: Schema = _definition("ShortForm" if is_short(document) else "Rubric")
    value: Any = document
    yield node, value
    for step in path:
        shape = _holding(node, value)
        if isinstance(step, int):
            node = shape.get("items", {})
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            named = [*shape.get("patternProperties", {}).values(), shape.get("additionalProperties")][0]
            node = shape.get("properties", {}).get(step) or (named if isinstance(named, Mapping) else {})
            value = value.get(step) if isinstance(value, Mapping) else None
        yield node, value


def _counts(document: Mapping[str, Any], path: Path) -> bool:
    """Whether what a mapping's fields default to counts: it is there, or counts where it is left out."""
    *_, (node, value) = _steps(document, path)
    return value is not None or node.get("default") is not None


def _stands_for_itself(document: Mapping[str, Any], path: Path) -> bool:
    """Whether a mapping may lose its last key: one of a list stays, and one with a default counts all the same."""
    *_, (node, _) = _steps(document, path)
    return isinstance(path[-1], int) or node.get("default") is not None


def _name(shape: Schema) -> str:
    return str(shape.get("title", ""))


def _field(key: str, node: Schema, model: str, default: Any) -> FieldSchema:
    shapes = list(_shapes(node))
    shape = shapes[0] if shapes else {}
    numbers = next((one for one in shapes if one.get("type") in ("number", "integer")), {})
    values = [shape["const"]] if "const" in shape else shape.get("enum", ())
    words = node.get("enumDescriptions", values)
    title = str(node.get("title", ""))
    return FieldSchema(
        model,
        key,
        _kind(shapes),
        title if title and title != key.replace("_", " ").title() else key.replace("_", " ").capitalize(),
        str(node.get("description", "")),
        default,
        _bound(numbers, "minimum", "exclusiveMinimum"),
        _bound(numbers, "maximum", "exclusiveMaximum"),
        dict(zip(values, map(str, words), strict=True)) if values else None,
        "anyOf" in node and node.get("default") is None,
    )


def _bound(shape: Schema, *keys: str) -> float | None:
    """An end of a range; none where it is only the largest number that there may be."""
    found = next((shape[key] for key in keys if key in shape), None)
    return found if found is not None and abs(found) < LARGEST_NUMBER else None


def _kind(shapes: list[Schema]) -> SchemaKind:
    if len(shapes) == 2 and shapes[0].get("type") == "number" and shapes[1].get("format") == "formula":
        return "amount"
    if len(shapes) != 1:
        return "other"
    match shapes[0]:
        case {"enum": _} | {"const": _}:
            return "choice"
        case {"format": "formula"}:
            return "formula"
        case {"type": "boolean"}:
            return "switch"
        case {"type": "integer"}:
            return "integer"
        case {"type": "number"}:
            return "number"
        case {"type": "string", "maxLength": int(length)}:
            return "prose" if length > LONGEST_FORMULA else "line"
        case {"type": "array", "items": {"type": "string"}}:
            return "words"
        case {"type": "array", "items": items} if _kind(list(_shapes(items))) == "group":
            return "groups"
        case {"type": "object", "properties": _}:
            return "group"
        case {"type": "object"}:
            return "mapping"
    return "other"
