"""Writes the tables, summary and page of a run when it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec

from rubrica.extras import MissingExtraError, requires
from rubrica.model.rubric import Rubric

from .files.atomic import write_atomically
from .files.folder import COLUMNS, PAGE, SUMMARY
from .files.rows import RunRow
from .stored import StoredRun
from .summary.page import CARDS, draw_page
from .summary.page_data import PageDataBuilder
from .summary.summary import SummaryBuilder
from .summary.tally import RunTally

if TYPE_CHECKING:
    from .files.parquet_rows import ColumnsWriter

CHUNK = 256
"""Rows that are held at once."""


def finish(
    folder: Path,
    now: datetime,
    derived: DerivedFiles | None = None,
    wait_until_tidy: Callable[[], None] = lambda: None,
) -> tuple[RunTally, list[str]]:
    """Write columns, summary and page, and what the whole run came to; with notes on what could not be made.

    No evaluation in the folder supersedes another one any more. They are read unless `derived` has them all already;
    then they may still be on their way into the order of their cases, and the run is finished when they are.
    """
    run = StoredRun.open(folder)
    manifest = run.manifest
    if manifest is not None:
        manifest = msgspec.structs.replace(manifest, finished=now.isoformat(timespec="seconds"))
    run = replace(run, manifest=manifest, is_tidy=True)
    found = derived.write(run) if derived is not None else write_derived(run, run.rows())
    wait_until_tidy()
    if manifest is not None:
        manifest.write(folder)
    return found


def write_derived(run: StoredRun, rows: Iterator[RunRow]) -> tuple[RunTally, list[str]]:
    """Write what is made of a run's rows, which are read once for all of it."""
    bulk = run.manifest is not None and run.manifest.kind == "bulk"  # its records would have to be made to be shown
    derived = DerivedFiles(run.path, run.rubrics(), 0 if bulk else CARDS)
    try:
        derived.add_all(rows)
        return derived.write(run)
    finally:
        derived.close()


class DerivedFiles:
    """What is made of a run's rows: added up as they come, written when all were there. Close it in any case."""

    def __init__(self, folder: Path, rubrics: Mapping[str, Rubric], cards: int = CARDS) -> None:
        self._rubrics = rubrics
        self._notes: list[str] = []
        self._tally, self._summary = RunTally(), SummaryBuilder()
        self._page = PageDataBuilder(rubrics, Random(0), cards)  # noqa: S311 - a sample, not a secret
        self._columns = None if (folder / COLUMNS).exists() else self._new_columns(folder / COLUMNS)

    def add_all(self, rows: Iterator[RunRow]) -> None:
        while chunk := list(islice(rows, CHUNK)):
            for row in chunk:
                self._tally.add_row(row, self._rubrics.get(row.rubric.partition("@")[0]))
                self._summary.add(row)
            self._page.add(chunk)
            if self._columns is not None:
                self._columns.add(chunk)

    def write(self, run: StoredRun) -> tuple[RunTally, list[str]]:
        """Write all files; what the run came to, and notes on what could not be made."""
        with ThreadPoolExecutor(2) as beside:  # the page is drawn while the disk is waited for
            written = [beside.submit(self._write_summary, run.path / SUMMARY)]
            if self._columns is not None:
                written.append(beside.submit(self._columns.store))
            with write_atomically(run.path / PAGE) as place, place.open("w", encoding="utf-8") as stream:
                draw_page(run, self._page.found, stream)
            for file in written:
                file.result()
        return self._tally, self._notes

    def _write_summary(self, path: Path) -> None:
        with write_atomically(path) as place:
            summary = msgspec.json.encode(self._summary.summary().to_dict())
            place.write_bytes(msgspec.json.format(summary, indent=1) + b"\n")

    def close(self) -> None:
        if self._columns is not None:
            self._columns.close()

    def _new_columns(self, path: Path) -> ColumnsWriter | None:
        try:
            with requires("tables", f"no {COLUMNS}"):
                from .files.parquet_rows import ColumnsWriter  # here, since polars takes half a second to load
        except MissingExtraError as error:
            self._notes.append(str(error))
            return None
        return ColumnsWriter(path)
