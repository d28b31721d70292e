"""Unique names for the cases of a bulk run, the same that the ordinary path gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl

from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.parquet_rows import NAMES, readable, store
from rubrica.runs.selection import UniqueNames

from .frames import LINE
from .shards import errors_path, shard_path

CASE = "case"


def make_names_unique(shards: Path, numbers: Sequence[int]) -> int:
    """Rename cases that share an id, the second ``x`` to ``x#2``; how many they were.

    Stopped half-way and begun again, it comes to the same names: those given already are met as they are.
    """
    if not numbers or not _has_duplicates(shards):
        return 0
    names, renamed = UniqueNames(), 0
    for number in numbers:
        path = shard_path(shards, number)
        frame = pl.read_parquet(path)
        refused = dict(_refused(shards, number))
        given = dict(zip(frame[LINE].to_list(), frame[CASE].to_list(), strict=True))
        own = {line: names.own(case) for line, case in sorted({**refused, **given}.items())}
        cases = pl.Series(CASE, [own[line] for line in given], dtype=pl.String)
        different = int((cases != frame[CASE]).sum())
        if different:
            renamed += different
            told = pl.read_parquet_metadata(path)[NAMES]
            store(frame.with_columns(cases), path, compression="zstd", metadata={NAMES: told})
    return renamed


def names_of(figures: Path, number: int) -> dict[int, str]:
    """What the cases of a piece are called, by line."""
    path = shard_path(figures, number)
    with readable(path):
        frame = pl.read_parquet(path, columns=[LINE, CASE])
    return dict(zip(frame[LINE].to_list(), frame[CASE].to_list(), strict=True))


def _has_duplicates(shards: Path) -> bool:
    """Whether two cases have one id. By hashes: the ids of millions of cases would fill the memory."""
    found = pl.scan_parquet(shards).select(pl.col(CASE).hash()).collect().to_series()
    return found.n_unique() < len(found)


def _refused(shards: Path, number: int) -> Iterator[tuple[int, str]]:
    """Cases of a piece that could be read and not be judged: they have their names too."""
    for line in finished_lines(errors_path(shards, number)):
        told = msgspec.json.decode(line)
        if told.get(CASE) is not None:
            yield told["line"], told[CASE]
