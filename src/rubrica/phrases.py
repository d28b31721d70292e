"""Phrases of a readable page, the numbers in them, and what is wrong with a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec


class Code(msgspec.Struct, frozen=True):
    """A formula, a name or a pattern, as written in the document."""

    tag: ClassVar = "code"
    text: str


class Strong(msgspec.Struct, frozen=True):
    """A word that carries the sentence."""

    tag: ClassVar = "strong"
    text: str


Inline = str | Code | Strong
Phrase = tuple[Inline, ...]


def phrase(*parts: Inline | Phrase) -> Phrase:
    """One phrase out of several."""
    found: list[Inline] = []
    for part in parts:
        found += part if isinstance(part, tuple) else [part]
    return tuple(part for part in found if part != "")


def marked(text: str) -> Phrase:
    """A sentence in which backticks mark code, as in a document by hand.

    >>> marked("The learnt `safety_risk` of it.")
    ('The learnt ', Code(text='safety_risk'), ' of it.')
    """
    return phrase(*(Code(part) if number % 2 else part for number, part in enumerate(text.split("`"))))


def listed(items: Sequence[Inline | Phrase], joint: str = ", ") -> Phrase:
    """Several items with a joint between them."""
    return phrase(*(part for number, item in enumerate(items) for part in ((joint, item) if number else (item,))))


def figure(value: float | None) -> str:
    """A number with as many decimals as it needs, at most three.

    >>> figure(92.0), figure(0.85754), figure(12345.5), figure(-0.3), figure(None)
    ('92', '0.858', '12,345.5', '−0.3', '—')
    """
    if value is None:
        return "—"
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):,.3f}".rstrip("0").rstrip(".")
    return f"−{text}" if value < 0 and text != "0" else text


def signed(value: float) -> str:
    """A change, with its sign.

    >>> signed(0.2), signed(-15), signed(0)
    ('+0.2', '−15', '0')
    """
    text = figure(value)
    return text if text == "0" or text.startswith("−") else f"+{text}"


def percent(share: float | None) -> str:
    """A share of full marks; at most one decimal.

    >>> percent(0.35), percent(0.125), percent(None)
    ('35%', '12.5%', '—')
    """
    return "—" if share is None else f"{figure(round(share * 100, 1))}%"


def count_of(number: int, noun: str, several: str = "") -> str:
    """
    >>> count_of(1, "evaluation"), count_of(9500, "evaluation"), count_of(2, "reply", "replies")
    ('1 evaluation', '9,500 evaluations', '2 replies')
    """
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def either(items: Sequence[str]) -> str:
    """One of several.

    >>> either(["accept", "revise", "reject"]), either(["pass", "fail"]), either(["pass"])
    ('accept, revise or reject', 'pass or fail', 'pass')
    """
    return " or ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


_KINDS = {
    "string": "text",
    "bytes": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen": "a list",
    "iterable": "a list",
    "dict": "names with values",
    "mapping": "names with values",
    "model": "names with values",
    "dataclass": "names with values",
    "date": "a date such as 2030-01-31",
    "datetime": "a time such as 2030-01-31T12:00:00Z",
    "url": "an address that begins with http:// or https://",
    "uuid": "an id",
}
"""What pydantic calls a kind of value, and what people do."""

_FAULTS = {
    "missing": "is required and missing",
    "extra_forbidden": "is not a known key",
    "invalid_key": "has a key that is not text",
    "finite_number": "should be a finite number",
    "int_parsing_size": "is too large a number",
    "none_required": "should be left out",
    "string_not_ascii": "should have ASCII characters only",
    "string_pattern_mismatch": "has the wrong form",
    "timezone_aware": "should name its time zone, as 2030-01-31T12:00:00Z does",
    "union_tag_not_found": "does not say of which kind it is",
}
"""What is wrong, by pydantic's name for it, where no number tells more."""


def fault_words(fault: Mapping[str, Any]) -> str:
    """What pydantic found wrong with a value, without the names of types that only developers know.

    >>> fault_words({"type": "too_short", "msg": "Tuple should have at least 1 item", "ctx": {"min_length": 1}})
    'has too few entries (at least 1)'
    >>> fault_words({"type": "int_parsing", "msg": "Input should be a valid integer, unable to parse"})
    'should be a whole number'
    """
    kind, limits = str(fault["type"]), fault.get("ctx") or {}
    if kind in _FAULTS:
        return _FAULTS[kind]
    match kind:
        case "too_short" | "string_too_short":
            what = "entries" if kind == "too_short" else "characters"
            return f"has too few {what} (at least {limits['min_length']:,})"
        case "too_long" | "string_too_long":
            what = "entries" if kind == "too_long" else "characters"
            return f"has too many {what} (at most {limits['max_length']:,})"
        case "union_tag_invalid":
            return f"{limits['tag']!r} is no kind of it (one of {limits['expected_tags']})"
        case _:
            pass
    named, _, problem = kind.partition("_")
    if problem.endswith(("type", "parsing", "from_float", "unicode")) and named in _KINDS:
        return f"should be {_KINDS[named]}"
    return str(fault["msg"]).removeprefix("Value error, ").replace("Input should", "should")


def fault_path(fault: Mapping[str, Any], data: Any) -> tuple[str | int, ...]:
    """Where in what was given a fault is, without the names of unions and validators that pydantic puts between.

    >>> fault_path({"type": "string_type", "loc": ("replies", "list[str]", 0)}, {"replies": [None]})
    ('replies', 0)
    """
    path: list[str | int] = []
    at = data
    for step in fault["loc"]:
        if step in (at if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()):
            at = at[step]
        elif not (fault["type"] == "missing" and step == fault["loc"][-1]):
            continue
        path.append(step)
    return tuple(path)
