"""Cases: dataset rows, read one line at a time so that memory stays flat however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pydantic_core import from_json

from rubrica.errors import ContextError
from rubrica.model.context import Context

OWN_KEYS = ("id", "rubric", "expect")
FOREIGN = " (lines of HealthBench become cases by `rubrica import healthbench FILE -o cases.jsonl`)"


class Case(msgspec.Struct, frozen=True):
    """One row: a context to judge, and what is expected of it, if anything."""

    id: str
    line: int  # 1-based
    context: Context
    rubric: str | None = None
    expect: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a case, and why. The lines after it are read all the same."""

    line: int
    reason: str
    place: str = field(default="", kw_only=True)  # the file and the line in it, where there are several files


def read_cases(lines: Iterable[str | bytes]) -> Iterator[Case | BadLine]:
    """Read JSON Lines; empty lines are passed over, broken ones are told.

    >>> [type(found).__name__ for found in read_cases(['{"response": "Hi"}', '', '{oops'])]
    ['Case', 'BadLine']
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield read_case(line, number)


def read_case(line: str | bytes, number: int) -> Case | BadLine:
    """The case that one line of JSON holds; `number` is the line's, from 1."""
    try:
        data = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        return BadLine(number, f"not JSON: {error}")
    if not isinstance(data, dict):
        return BadLine(number, "a case is a JSON object with at least a response")
    return case_from(data, number)


def case_from(data: Mapping[str, Any], number: int) -> Case | BadLine:
    """A case from one row of data."""
    own = {key: data[key] for key in OWN_KEYS if key in data}
    rest = {key: value for key, value in data.items() if key not in OWN_KEYS}
    expect = own.get("expect")
    if isinstance(expect, str):
        expect = {"verdict": expect}
    if expect is not None and not isinstance(expect, dict):
        return BadLine(number, "expect is a verdict, or a mapping such as {verdict: pass}")
    try:
        context = Context.of(rest)
    except ContextError as error:
        return BadLine(number, str(error) + (FOREIGN if isinstance(data.get("rubrics"), list) else ""))
    rubric = own.get("rubric")
    return Case(id_of(own.get("id"), number), number, context, str(rubric) if rubric is not None else None, expect)


def id_of(given: object, number: int) -> str:
    """A case's name: its id as text, or else the number of its line.

    >>> id_of(7, 1), id_of("", 2), id_of(None, 3)
    ('7', '2', '3')
    """
    return str(number) if given is None or given == "" else str(given)
