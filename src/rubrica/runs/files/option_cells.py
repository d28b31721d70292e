"""The options of a question as one cell holds them: "A) x; B) y", "x | y", a list as JSON or as Python writes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from rubrica.errors import InputError

MOST_OPTIONS = 100
LONGEST_CELL = 100_000
"""Characters of one cell that are read as several options."""
_MARK = re.compile(r"(?:^|(?<=[\s;|,/]))[(\[]?([A-Za-z]|\d{1,2})[).:\]](?=\s|\S)\s*")
_EDGES = " \t\r\n;|,/"
_SEPARATORS = ("\n", "|", ";", "\t", " / ")
_SHORT = re.compile(r"\s*[^\s,]{1,30}(?: [^\s,]{1,20})?\s*")
_WAYS = "write them as A) …; B) …, with | between them, or as a JSON list"

Options = list[Any] | dict[str, Any]


def read_options_cell(value: object) -> Options | None:
    """The options of a cell, in their order; None where there are none, an InputError where they cannot be told apart.

    >>> read_options_cell("A) 36; B) 42; C) 48")
    {'A': '36', 'B': '42', 'C': '48'}
    >>> read_options_cell("(a) red (b) dark blue"), read_options_cell("red | blue | green")
    ({'A': 'red', 'B': 'dark blue'}, ['red', 'blue', 'green'])
    >>> read_options_cell("['3 cm', '4 cm']"), read_options_cell({"label": ["A", "B"], "text": ["x", "y"]})
    (['3 cm', '4 cm'], {'A': 'x', 'B': 'y'})
    """
    if isinstance(value, str):
        value = _listed(value.strip())
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value) or None
    if not isinstance(value, str):
        return None if value is None else _refuse(str(value))
    return _split(value) if value else None


def _listed(text: str) -> object:
    """What a text stands for that begins as a list or an object does; the text itself otherwise."""
    if text[:1] not in ("[", "{") or len(text) > LONGEST_CELL:
        return text
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        pass
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return found if isinstance(found, list | dict) else text


def _from_mapping(given: Mapping[str, Any]) -> Options | None:
    texts, labels = given.get("text"), given.get("label", given.get("labels"))
    if isinstance(texts, list):  # as data sets on the web have them
        named = isinstance(labels, list) and len(labels) == len(texts)
        return {str(label): text for label, text in zip(labels, texts, strict=True)} if named else list(texts)
    return {str(name): option for name, option in given.items() if option not in (None, "")} or None


def _split(text: str) -> Options:
    marked = _marked(text[:LONGEST_CELL])
    if marked is not None:
        return marked
    for separator in _SEPARATORS:
        parts = [part.strip() for part in text[:LONGEST_CELL].split(separator)]
        filled = [part for part in parts if part]
        if 2 <= len(filled) <= MOST_OPTIONS:
            return filled
    parts = text.split(",")
    if 2 <= len(parts) <= MOST_OPTIONS and all(_SHORT.fullmatch(part) for part in parts) and ", " in text:
        return [part.strip() for part in parts]
    return _refuse(text)


def _marked(text: str) -> dict[str, str] | None:
    """Options by their marks, where these run A, B, C … or 1, 2, 3 … from the very beginning."""
    marks: list[re.Match[str]] = []
    for match in _MARK.finditer(text):
        if match[1].upper() == _label(len(marks), match[1].isdigit()):
            marks.append(match)
    if len(marks) < 2 or text[: marks[0].start()].strip(_EDGES):
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    texts = [text[mark.end() : end].strip(_EDGES) for mark, end in zip(marks, ends, strict=True)]
    return {mark[1].upper(): option for mark, option in zip(marks, texts, strict=True)}


def _label(place: int, number: bool) -> str:
    return str(place + 1) if number else chr(ord("A") + place)


def _refuse(text: str) -> Options:
    shown = " ".join(text.split())
    raise InputError(f"its options cannot be told apart: {shown[:60]!r}{'…' if len(shown) > 60 else ''} ({_WAYS})")
