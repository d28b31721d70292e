"""Writes the tables, summary and page of a run when it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec

from rubrica.extras import MissingExtraError, requires

from .files.atomic import write_atomically
from .files.folder import COLUMNS, PAGE, SUMMARY
from .files.manifest import read_manifest
from .files.rows import RunRow
from .stored import StoredRun
from .summary.page import CARDS, draw_page
from .summary.page_data import PageDataBuilder
from .summary.summary import SummaryBuilder
from .summary.tally import RunTally

if TYPE_CHECKING:
    from .files.parquet_rows import ColumnsWriter

CHUNK = 1_024
"""Rows that are held at once."""


def finish(folder: Path, now: datetime) -> tuple[RunTally, list[str]]:
    """Write columns, summary and page, and what the whole run came to; with notes on what could not be made.

    No evaluation in the folder supersedes another one any more.
    """
    manifest = read_manifest(folder)
    if manifest is not None:
        msgspec.structs.replace(manifest, finished=now.isoformat(timespec="seconds")).write(folder)
    run = replace(StoredRun.open(folder), is_tidy=True)
    return write_derived(run, run.rows())


def write_derived(run: StoredRun, rows: Iterator[RunRow]) -> tuple[RunTally, list[str]]:
    """Write what is made of a run's rows, which are read once for all of it."""
    notes: list[str] = []
    folder, rubrics = run.path, run.rubrics()
    bulk = run.manifest is not None and run.manifest.kind == "bulk"  # its records would have to be made to be shown
    tally, summary = RunTally(), SummaryBuilder()
    page = PageDataBuilder(rubrics, Random(0), 0 if bulk else CARDS)  # noqa: S311 - a sample, not a secret
    with ExitStack() as stack:
        columns = None if (folder / COLUMNS).exists() else _columns(folder / COLUMNS, notes, stack)
        while chunk := list(islice(rows, CHUNK)):
            for row in chunk:
                tally.add_row(row, rubrics.get(row.rubric.partition("@")[0]))
                summary.add(row)
            page.add(chunk)
            if columns is not None:
                columns.add(chunk)
    with write_atomically(folder / SUMMARY) as place:
        place.write_bytes(msgspec.json.format(msgspec.json.encode(summary.summary().to_dict()), indent=1) + b"\n")
    with write_atomically(folder / PAGE) as place, place.open("w", encoding="utf-8") as stream:
        draw_page(run, page.found, stream)
    return tally, notes


def _columns(path: Path, notes: list[str], stack: ExitStack) -> ColumnsWriter | None:
    try:
        with requires("tables", f"no {COLUMNS}"):
            from .files.parquet_rows import ColumnsWriter  # here, since polars takes half a second to load
    except MissingExtraError as error:
        notes.append(str(error))
        return None
    return stack.enter_context(ColumnsWriter(path))
