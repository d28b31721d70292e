"""From plain data to a Rubric: every problem of shape at once, each with its line and the way out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sized
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rubrica.errors import Problem
from rubrica.hints import did_you_mean, nearest
from rubrica.model import decisions, dimensions, judge_options
from rubrica.model import rubric as rubric_models
from rubrica.model import rules as rule_models
from rubrica.model.rubric import Rubric
from rubrica.model.rules import rule_documents
from rubrica.model.scale import Scale
from rubrica.model.shortform import ShortForm
from rubrica.phrases import fault_path, fault_words

from .document import Path

_FIXES = {
    ("name",): "lower-case letters, digits and hyphens, like answer-quality",
    ("version",): 'three numbers in quotes, like "1.0.0"',
    ("label",): "letters, digits, spaces, - and _, at most 40",
}
NEGATIVE_WEIGHT = "to take points away, give every one `points` in place of a weight, with `score: {points: true}`"
AXIS_KEYS = ("answers", "examples", "points", "parts", "tags", "weight")
"""Keys of a dimension or a part that are near to keys of other things."""
MANY_DIMENSIONS = "group them as `parts` of fewer, which may be 5,000 in all"
EMPTY = "is empty"
"""What is said of a list or a mapping that needs an entry."""
_SPARED = ("extra_forbidden", "missing", "too_short")  # errors that leave nothing unread
_MOST_HINTS = 100  # likenesses looked for in one document: a bound on time, past what anybody reads


class SchemaReading(msgspec.Struct, frozen=True):
    """A rubric, or as much of it as can be read for further checks, and everything wrong with its shape."""

    rubric: Rubric | ShortForm | None
    problems: list[Problem]
    dropped: frozenset[Path]  # pieces that could not be read, by their place in the author's document

    def author_path(self, path: Path) -> Path:
        """Where a piece of what could be read stands in the author's document."""
        place: Path = ()
        for step in path:
            if isinstance(step, int):
                gone = sorted(p[-1] for p in self.dropped if p[:-1] == place and isinstance(p[-1], int))
                for index in gone:
                    step += index <= step
            place = (*place, step)
        return place


def read_rubric(data: Any) -> SchemaReading:
    """Read the shape of a rubric document.

    Pieces that cannot be read are dropped and the rest read again, so that one slip does not hide the next.
    """
    if not isinstance(data, dict):
        problem = Problem("a rubric is keys with values", fix="`rubrica init` writes a starter")
        return SchemaReading(None, [problem], frozenset())
    model: type[Rubric] | type[ShortForm] = ShortForm if "scoring_type" in data else Rubric
    reading = SchemaReading(None, [], frozenset())
    above: set[Path] = set()  # what holds something that could not be read: what it lacks now is no news
    rest = data
    for _ in range(4):
        try:
            return replace(reading, rubric=model.model_validate(rest))
        except ValidationError as error:
            found = [fault for fault in error.errors() if not _seems_short(fault)]
        lost = [reading.author_path(fault_path(e, rest)) for e in found if e["type"] not in _SPARED]
        above |= {path[:depth] for path in lost for depth in range(len(path))}
        news = [replace(p, path=reading.author_path(p.path)) for p in _problems(found, rest)]
        rest = copy.deepcopy(rest)
        gone = _drop(rest, found)
        dropped = reading.dropped | {reading.author_path(path) for path in gone}
        new = [p for p in news if p.path not in reading.dropped | above and p not in reading.problems]
        reading = SchemaReading(None, reading.problems + new, dropped)
        if not gone:
            break
        if ("name",) in gone:
            rest["name"] = "unnamed"
    return reading


def _seems_short(error: ErrorDetails) -> bool:
    """Whether a list only lacks the entries that are wrong themselves, of which each is told."""
    return error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]


def _problems(errors: Iterable[ErrorDetails], data: Any) -> list[Problem]:
    seen: dict[Path, Problem] = {}
    for error in errors:
        path = fault_path(error, data)
        if path not in seen:
            seen[path] = _problem(error, path, hint=len(seen) < _MOST_HINTS)
    return list(seen.values())


def _problem(error: ErrorDetails, path: Path, *, hint: bool) -> Problem:
    last = str(path[-1]) if path else ""
    match error["type"]:
        case "missing":
            return Problem("is required and missing", path)
        case "extra_forbidden":
            known = _known_keys()
            if last in known:
                if path[0] == "dimensions" and hint and (meant := nearest(last, AXIS_KEYS, 0.85)):
                    return Problem("is not a key of a dimension", path, fix=f"did you mean {meant!r}?")
                return Problem("does not belong here", path, fix="remove it, or move it to where it belongs")
            return Problem("is not a known key", path, fix=did_you_mean(last, known if hint else (), "remove it"))
        case "union_tag_invalid":
            return Problem("is not a rule type", (*path, "type"), fix=f"one of {', '.join(rule_documents())}")
        case "value_error":
            return Problem(fault_words(error), path)
        case "string_pattern_mismatch":
            return Problem(
                f"{_short(repr(error['input']))} has the wrong form",
                path,
                fix=_FIXES.get((last,), "a letter, then letters, digits and _"),
            )
        case "string_too_long":
            given, most = error["input"], error["ctx"]["max_length"]
            return Problem(f"{_short(repr(given))} has {len(given):,} characters", path, fix=f"at most {most:,}")
        case "too_long":
            most = f"at most {error['ctx']['max_length']:,}"
            fix = f"{most}; {MANY_DIMENSIONS}" if path == ("dimensions",) else most
            return Problem(f"has {_items(error, 'actual_length')}", path, fix=fix)
        case "too_short":
            return Problem(EMPTY, path, fix=f"at least {_items(error, 'min_length')}")
        case _:
            given = error.get("input")
            plain = isinstance(given, str | int | float | bool) or given is None
            shown = f", not {_short(repr(given))}" if plain else ""
            fix = _FIXES.get((last,), "")
            if error["type"] == "greater_than_equal" and (last == "weight" or path[-2:-1] == ("weights",)):
                fix = NEGATIVE_WEIGHT
            return Problem(fault_words(error) + shown, path, fix=fix)


def _items(error: ErrorDetails, key: str) -> str:
    count = error["ctx"][key]
    if count is None and isinstance(error["input"], Sized):
        count = len(error["input"])
    return f"{count:,} entry" if count == 1 else f"{count:,} entries" if count else "more entries"


def _drop(data: Any, errors: Iterable[ErrorDetails]) -> set[Path]:
    """Remove what could not be read; the paths that were removed."""
    dropped = set()
    faulty = ((e["type"], fault_path(e, data)) for e in errors)
    paths = {path[:-1] if kind == "missing" else path for kind, path in faulty}  # what lacks a key goes as a whole
    for path in sorted(paths, key=_later_items_first):
        parent = data
        try:
            for step in path[:-1]:
                parent = parent[step]
            if path:
                del parent[path[-1]]
                dropped.add(path)
        except (KeyError, IndexError, TypeError):
            continue
    return dropped


def _later_items_first(path: Path) -> tuple[int, ...]:
    return tuple(-step if isinstance(step, int) else 0 for step in path)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


@cache
def _known_keys() -> tuple[str, ...]:
    """Every key that some part of a rubric document has."""
    models: list[type[BaseModel]] = [Scale, ShortForm, *rule_documents().values()]
    for module in (rubric_models, dimensions, decisions, judge_options, rule_models):
        models += [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, BaseModel)]
    fields = {field.alias or key for model in models for key, field in model.model_fields.items()}
    return tuple(sorted(fields))
