"""Options that say how a file is to be read: which column is what, where its records lie, how its keys count."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.runs.files.case_source import suggested_map
from rubrica.runs.files.layout import FileLayout, KeyBase, UnmappedError

from .options import WHAT
from .screen import program

MapPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Read a field from a column of another name, such as question=Stem; repeat it. COLUMN may be a path into "
        "an object (item.stem), or several columns (options=A,B,C,D).",
        rich_help_panel=WHAT,
    ),
]
RecordsName = Annotated[
    str | None,
    typer.Option(
        "--records",
        metavar="PATH|SHEET",
        help="Where the records are: a list in a JSON document (data.items), or a sheet of a workbook.",
        rich_help_panel=WHAT,
    ),
]
KeyBaseNumber = Annotated[
    int | None,
    typer.Option(
        "--key-base",
        min=0,
        max=1,
        help="What number the first option has, where keys are numbers and the file leaves that open.",
        rich_help_panel=WHAT,
    ),
]


def layout_of(pairs: Sequence[str] | None, records: str | None = None, key_base: int | None = None) -> FileLayout:
    """The layout that options give.

    >>> layout_of(["question=Stem", "answer=Correct Answer"]).columns
    {'question': 'Stem', 'answer': 'Correct Answer'}
    """
    columns: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, column = pair.partition("=")
        if not equals or not name.strip() or not column.strip():
            raise typer.BadParameter(f"write it as FIELD=COLUMN, not {pair!r}", param_hint="--map")
        if name.strip() in columns:
            raise typer.BadParameter(f"{name.strip()} is mapped twice", param_hint="--map")
        columns[name.strip()] = column.strip()
    base: KeyBase | None = None if key_base is None else 1 if key_base else 0
    return FileLayout(columns, records, base)


def map_arguments(columns: Mapping[str, str]) -> list[str]:
    """The options that map fields to columns."""
    return [argument for name, column in columns.items() for argument in ("--map", f"{name}={column}")]


@contextmanager
def offering_map(command: Sequence[str], rubric: Rubric | None) -> Iterator[None]:
    """Around whatever reads cases: where a file has no column for what is judged, the command that maps it is told."""
    try:
        yield
    except UnmappedError as error:
        asks = rubric is not None and "mcq_" in rubric.model_dump_json()  # it reads the response as a question
        columns = suggested_map(error.columns, question=asks)
        if not columns or not any(name.startswith("response") for name in columns):
            raise
        lines = [f"{error.said}.", "Say which column is which. This would be it, if the columns are what they say:"]
        typed = sys.argv[1:] if sys.argv[1:2] == [*command[:1]] else command  # with all its options, where it was typed
        lines.append(f"  {program()} {shlex.join([*typed, *map_arguments(columns)])}")
        if asks:
            file = command[1]
            lines.append("A file of questions is read by itself, with its grades and keys, by")
            lines.append(f"  {program()} {shlex.join(['curriculum', 'evaluate', file])}")
        raise RubricaError("\n".join(lines)) from None
