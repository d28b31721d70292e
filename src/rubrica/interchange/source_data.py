"""The data of a JSON or YAML text that somebody else's tool wrote: bounded, every key once, every number finite."""

from __future__ import annotations

import json
from typing import Any

from rubrica.engine.document import DEEPEST, LONGEST_DOCUMENT, read_document
from rubrica.errors import Problem, RubricError
from rubrica.jsontext import deeper_than


def read_source(text: str, file: str | None = None) -> Any:
    """The data of a text; a RubricError says why it has none.

    >>> read_source('[{"weight": 2}]'), read_source("- weight: 2")
    ([{'weight': 2}], [{'weight': 2}])
    >>> read_source('{"id": 1, "id": 2}')
    Traceback (most recent call last):
        ...
    rubrica.errors.RubricError: the key 'id' is given twice
    """
    text = text.removeprefix("\ufeff")
    if len(text) > LONGEST_DOCUMENT:
        fix = f"at most {LONGEST_DOCUMENT:,}"
        raise RubricError([Problem(f"the file has {len(text):,} characters", file=file, fix=fix)])
    if not text.lstrip().startswith(("{", "[")):
        return read_document(text, file).data
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except _FaultError as error:
        raise RubricError([Problem(str(error), file=file)]) from None
    except json.JSONDecodeError:
        return read_document(text, file).data  # YAML in braces; else its error has the line
    except (ValueError, RecursionError):
        raise RubricError([Problem("the document is nested too deeply", file=file)]) from None
    if deeper_than(data, DEEPEST):
        raise RubricError([Problem("the document is nested too deeply", file=file, fix=f"at most {DEEPEST} levels")])
    return data


class _FaultError(Exception):
    """What Python's reader of JSON would accept, and no document may hold."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _FaultError(f"the key {twice[:60]!r} is given twice")
    return found


def _constant(name: str) -> float:
    raise _FaultError(f"{name} is not a number that a document can hold")
