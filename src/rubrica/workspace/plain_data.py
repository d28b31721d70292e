"""Plain data: what can be kept by every database and written as JSON again, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import Any

from rubrica.errors import InputError, Problem

Path = tuple[str | int, ...]

DEEPEST = 60
"""Levels of nesting."""

LARGEST_WHOLE = 2**63 - 1
"""The largest whole number that JSON of any make gives back."""


def read_plain(value: Any, path: Path = (), *, nul: bool = False) -> tuple[Any, list[Problem]]:
    """The same data as plain JSON values, and whatever in it cannot be kept. Dates, which YAML has, become text.

    `nul` lets texts hold NUL characters: texts that are judged may, names and patterns may not.

    >>> read_plain({"a": [1, float("nan")]})[1][0].where
    'a[1]'
    """
    problems: list[Problem] = []
    return _plain(value, path, nul, problems, 0), problems


def _plain(value: Any, path: Path, nul: bool, problems: list[Problem], depth: int) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            if fault := _text_fault(value, nul):
                problems.append(Problem(fault, path, fix="remove it"))
            return value
        case int():
            if abs(value) > LARGEST_WHOLE:
                problems.append(Problem("is too large a whole number", path, fix=f"at most {LARGEST_WHOLE}"))
            return value
        case float():
            if not math.isfinite(value):
                problems.append(Problem(f"{value} is not a number that can be kept", path))
            return value
        case date():
            return value.isoformat()
        case Mapping() | list() | tuple() if depth >= DEEPEST:
            problems.append(Problem("is nested too deeply", path[:3], fix=f"at most {DEEPEST} levels"))
            return None
        case Mapping():
            for key in value:
                if fault := _text_fault(str(key), nul=False):
                    problems.append(Problem(f"has a key that {fault}", path, fix="rename it"))
            return {str(k): _plain(v, (*path, str(k)), nul, problems, depth + 1) for k, v in value.items()}
        case list() | tuple():
            return [_plain(item, (*path, index), nul, problems, depth + 1) for index, item in enumerate(value)]
        case _:
            problems.append(Problem(f"{type(value).__name__} is not plain data", path))
            return None


def _text_fault(text: str, nul: bool) -> str:
    if not nul and "\0" in text:
        return "holds a NUL character"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "holds half of a surrogate pair"
    return ""


def plain_text(text: str, what: str, longest: int) -> str:
    """A text for a column or a query, without the white space around it; an InputError says what keeps it out.

    >>> plain_text(" games ", "category", 100)
    'games'
    >>> plain_text("a\\0b", "category", 100)
    Traceback (most recent call last):
        ...
    rubrica.errors.InputError: category holds a NUL character (remove it)
    """
    if fault := _text_fault(text, nul=False):
        raise InputError(f"{what} {fault} (remove it)")
    text = text.strip()
    if len(text) > longest:
        raise InputError(f"{what} has {len(text):,} characters (at most {longest:,})")
    return text
