"""JSON that comes from outside, alone or inside prose: decoded with a bound on its nesting, and one error for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rubrica.errors import JsonError

DEEPEST = 100
"""Levels of lists and objects. Whatever walks through the data later may recurse that far."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a msgspec decoder raises for a text that it cannot read."""

_DECODER = json.JSONDecoder()
_FENCE = "```"
_KEY = re.compile(r'"([^"\\]*)"\s*:')
_OPENING, _OBJECT = re.compile(r"[{\[]"), re.compile(r"\{")
_STRING_OR_MARK = re.compile(r'"(?:[^"\\]|\\.)*(?P<closed>")?|[{}\[\],]', re.DOTALL)
_PYTHON_TOKEN = re.compile(
    r"'(?P<single>(?:[^'\\]|\\.)*)(?P<closed>')?|\"(?:[^\"\\]|\\.)*\"?|\b(?P<word>None|True|False)\b", re.DOTALL
)
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}]')


def decode_json(text: str | bytes, *, deepest: int = DEEPEST) -> Any:
    """The data of a JSON text; a JsonError says why it has none.

    >>> decode_json('{"weight": 0.5}')
    {'weight': 0.5}
    >>> decode_json("[" * 100_000)
    Traceback (most recent call last):
        ...
    rubrica.errors.JsonError: nested more than 100 levels deep
    """
    try:
        data = msgspec.json.decode(text)
    except RecursionError:
        raise _too_deep(deepest) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JsonError(str(error)) from None
    openings = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if openings > deepest and deeper_than(data, deepest):
        raise _too_deep(deepest)
    return data


def decode_json_at(text: str, start: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int]:
    """The JSON value that begins at a place in a text, and where it ends; a JsonError where there is none.

    >>> decode_json_at('see {"score": 7}, fine', 4)
    ({'score': 7}, 16)
    """
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError:
        raise _too_deep(DEEPEST) from None
    except ValueError as error:
        raise JsonError(str(error)) from None
    if end - start > DEEPEST and deeper_than(value, DEEPEST):
        raise _too_deep(DEEPEST)
    return value, end


def json_values(
    text: str, *, objects_only: bool = False, most: int | None = None, decoder: json.JSONDecoder = _DECODER
) -> Iterator[tuple[str, Any]]:
    """The JSON values in prose that lie in no other, each with its source, from the first `most` places that open one.

    Of objects only, what is inside braces that are not JSON, or inside an object that never ends, is not read.

    >>> prose = 'so {1, {"a": 1}} and {"b": {"c": 2}} {"d": {"e": 3}'
    >>> [value for _, value in json_values(prose, objects_only=True)]
    [{'b': {'c': 2}}]
    >>> [value for _, value in json_values(prose)]
    [{'a': 1}, {'b': {'c': 2}}, {'e': 3}]
    """
    opening = _OBJECT if objects_only else _OPENING
    place = tried = 0
    while tried != most and (found := opening.search(text, place)) is not None:
        tried += 1
        start = found.start()
        try:
            value, place = decode_json_at(text, start, decoder)
        except JsonError:
            place = _closing(text, start) if objects_only else found.end()
            continue
        yield text[start:place], value


def unwrap_json(text: str) -> tuple[str, Any]:
    """The text of a reply without the code block that surrounds all of it, and its data; None where it is not JSON.

    What msgspec refuses, such as NaN, may still be read slowly.

    >>> unwrap_json('```json\\n{"score": 7}\\n```')
    ('{"score": 7}', {'score': 7})
    """
    text = text.strip()
    if len(text) > 2 * len(_FENCE) and text.startswith(_FENCE) and text.endswith(_FENCE):
        inner = text[len(_FENCE) : -len(_FENCE)]
        text = (inner[4:] if inner[:4].lower() == "json" else inner).strip()
    try:
        return text, decode_json(text)
    except JsonError:
        pass
    try:
        value, end = decode_json_at(text, 0)
    except JsonError:
        return text, None
    return text, value if end == len(text) else None


def json_of_python(text: str) -> str:
    """An object in Python's notation in that of JSON; another text as it is, or as one that is not JSON.

    >>> json_of_python("{'score': 7, 'reason': None}")
    '{"score": 7, "reason": null}'
    """
    return _PYTHON_TOKEN.sub(_json_token, text) if text.startswith("{'") else text


def _json_token(match: re.Match[str]) -> str:
    word = match["word"]
    if match["closed"]:
        return json.dumps(match["single"].replace("\\'", "'"), ensure_ascii=False)
    return {"None": "null", "True": "true", "False": "false"}[word] if word else match[0]


def with_repeated_keys(source: str, parsed: dict[str, Any]) -> dict[str, Any]:
    """An object as it was parsed; where it has a key twice, with both values in words, so that neither is taken.

    >>> with_repeated_keys('{"tone": 2, "tone": 9, "depth": 3}', {"tone": 9, "depth": 3})
    {'tone': '2 and 9', 'depth': 3}
    """
    keys = _KEY.findall(source)
    if len(set(keys)) == len(keys):
        return parsed
    try:
        return dict(decode_json_at(source, 0, _REPEATED)[0])
    except JsonError:  # a number with thousands of digits, which the other decoder takes
        return parsed


def both_values(one: Any, other: Any) -> Any:
    """Two values under one name: the one that they are, else both in words."""
    return one if one == other else f"{_in_words(one)} and {_in_words(other)}"


def _in_words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = both_values(found[key], value) if key in found else value
    return found


_REPEATED = json.JSONDecoder(object_pairs_hook=_joined)


def closed_json(text: str) -> str:
    """An object that was cut off, closed behind its last complete member; empty where there is none.

    What stood at the cut is left out: of a number, nobody knows whether it went on.

    >>> closed_json('so: {"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 1')
    '{"a": {"x": 1, "y": 2}, "b": {"x": 3}}'
    >>> closed_json('{"a": "never en')
    ''
    """
    start = text.find("{")
    open_ones: list[str] = []
    end, closers = 0, ""
    for match in _STRING_OR_MARK.finditer(text, max(start, 0)):
        mark = match[0]
        if mark[0] == '"':
            if match["closed"] is None:
                break  # the cut is inside this string
        elif mark in "{[":
            open_ones.append("}" if mark == "{" else "]")
            if len(open_ones) > DEEPEST:
                return ""
        elif mark in "}]":
            if not open_ones or open_ones.pop() != mark:
                return ""
            if not open_ones:
                return text[start : match.end()]
        elif mark == ",":
            end, closers = match.start(), "".join(reversed(open_ones))
    return text[start:end] + closers if start >= 0 and end else ""


def deeper_than(data: Any, levels: int) -> bool:
    """Whether lists and objects are nested more than so many levels.

    >>> deeper_than([[1], {"a": [2]}], 3), deeper_than([[1], {"a": [2]}], 2)
    (False, True)
    """
    level = [data]
    for _ in range(levels + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return False
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return True


def _closing(text: str, at: int) -> int:
    """Where braces that are not JSON end: behind the matching one, or at the end of the text."""
    depth = 0
    for match in _STRING_OR_BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0] == "}":
            return match.end()
    return len(text)


def _too_deep(levels: int) -> JsonError:
    return JsonError(f"nested more than {levels} levels deep")
