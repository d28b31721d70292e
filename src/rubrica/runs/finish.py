"""Writes the tables, summary and page of a run when it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from rubrica.extras import MissingExtraError, requires
from rubrica.model.rubric import Rubric

from .files.atomic import write_atomically
from .files.folder import COLUMNS, PAGE, SUMMARY
from .files.manifest import read_manifest
from .files.rows import RunRow
from .stored import StoredRun
from .summary.page import CARDS, write_page
from .summary.summary import summarise
from .summary.tally import RunTally


def finish(folder: Path, now: datetime) -> tuple[RunTally, list[str]]:
    """Write columns, summary and page, and what the whole run came to; with notes on what could not be made."""
    notes = []
    manifest = read_manifest(folder)
    bulk = manifest is not None and manifest.kind == "bulk"  # its records would have to be made again to be shown
    if manifest is not None:
        msgspec.structs.replace(manifest, finished=now.isoformat(timespec="seconds")).write(folder)
    run = StoredRun.open(folder)
    if not (folder / COLUMNS).exists():
        try:
            with requires("tables", f"no {COLUMNS}"):
                from .files.parquet_rows import write_columns  # here, since polars takes half a second to load
        except MissingExtraError as error:
            notes.append(str(error))
        else:
            write_columns(run.rows(), folder / COLUMNS)
    tally = RunTally()
    told = summarise(_count_rows(run.rows(), tally, run.rubrics()))
    with write_atomically(folder / SUMMARY) as place:
        place.write_bytes(msgspec.json.format(msgspec.json.encode(told.to_dict()), indent=1) + b"\n")
    with write_atomically(folder / PAGE) as place, place.open("w", encoding="utf-8") as stream:
        write_page(run, stream, cards=0 if bulk else CARDS)
    return tally, notes


def _count_rows(rows: Iterator[RunRow], tally: RunTally, rubrics: Mapping[str, Rubric]) -> Iterator[RunRow]:
    for row in rows:
        tally.add_row(row, rubrics.get(row.rubric.partition("@")[0]))
        yield row
