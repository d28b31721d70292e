"""Judges a piece of a file and stores its figures as one shard, which appears whole or not at all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import polars as pl

from rubrica.engine.cases import BadLine, Case
from rubrica.engine.evaluate import evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.parquet_rows import DIMENSION, LATER, NAMES, PLAIN, SECTION, frame_of, store
from rubrica.runs.files.rows import row_of

from .frames import LINE, ColumnJudge
from .pieces import FilePiece, records_of
from .records import Records


class Shard(msgspec.Struct, frozen=True):
    """What became of a piece."""

    number: int
    rows: int
    errors: int


class ShardJudge:
    """Judges pieces of any files by one plan."""

    def __init__(self, plan: Plan, folder: Path, group: str) -> None:
        self.plan, self.folder, self.group = plan, folder, group
        self._quick = ColumnJudge(plan, group) if ColumnJudge.supports(plan) else None
        rubric = plan.rubric
        own = [*(DIMENSION + name for name in rubric.dimensions), *(SECTION + name for name in rubric.sections)]
        self._schema = {**PLAIN, **LATER, **dict.fromkeys(own, pl.Float64), LINE: pl.Int64}
        self._metadata = {NAMES: msgspec.json.encode({f"{rubric.name}@{rubric.version}": own}).decode()}

    @property
    def names(self) -> frozenset[str]:
        """The names that are read of each record."""
        return self._quick.names if self._quick is not None else frozenset()

    def judge(self, source: Path, piece: FilePiece) -> Shard:
        """Judge a piece of a file, and store it."""
        frames: list[pl.DataFrame] = []
        errors: list[dict[str, object]] = []
        with _no_collection():
            for records in records_of(source, piece, self.names):
                frames.append(self.figures(records, errors))
            frame = pl.concat(frames) if frames else pl.DataFrame(schema=self._schema)
            self._store(frame, errors, piece.number)
        return Shard(piece.number, frame.height, len(errors))

    def figures(self, records: Records, errors: list[dict[str, object]]) -> pl.DataFrame:
        """The figures of some records, by line. What cannot be judged is added to `errors`."""
        odd = list(records.odd)
        frames = []
        if records.chunk is not None and self._quick is None:
            odd += map(records.case, range(len(records.chunk)))
        elif records.chunk is not None and self._quick is not None:
            found, left = self._quick.frame(records.chunk)
            found = found.select(list(self._schema))
            if left:
                odd += map(records.case, sorted(left))
                found = found.filter(~pl.int_range(pl.len()).is_in(sorted(left)))
            frames.append(found)
        if not odd and frames:
            return frames[0]
        return pl.concat([*frames, self._one_by_one(odd, errors)]).sort(LINE)

    def _one_by_one(self, cases: list[Case | BadLine], errors: list[dict[str, object]]) -> pl.DataFrame:
        rows, lines = [], []
        for case in cases:
            if isinstance(case, BadLine):
                errors.append({"line": case.line, "case": None, "error": case.reason})
                continue
            try:
                evaluation = evaluate(self.plan, case.context, case.id)
            except RubricaError as error:
                errors.append({"line": case.line, "case": case.id, "error": str(error)})
                continue
            rows.append(msgspec.structs.replace(row_of(evaluation, self.group), duration_ms=0.0))
            lines.append(case.line)
        frame = frame_of(rows).with_columns(pl.Series(LINE, lines, dtype=pl.Int64))
        missing = [pl.lit(None, kind).alias(name) for name, kind in self._schema.items() if name not in frame.columns]
        return frame.with_columns(missing).select(list(self._schema))

    def _store(self, frame: pl.DataFrame, errors: list[dict[str, object]], number: int) -> None:
        path = shard_path(self.folder, number)
        if errors:
            with write_atomically(errors_path(self.folder, number)) as place:
                place.write_bytes(b"".join(msgspec.json.encode(error) + b"\n" for error in errors))
        store(frame, path, compression="zstd", compression_level=1, statistics=False, metadata=self._metadata)


def shard_path(folder: Path, number: int) -> Path:
    """Where the shard of a piece is, in a folder of shards."""
    return folder / f"part-{number:06d}.parquet"


def errors_path(folder: Path, number: int) -> Path:
    """Where the errors of a piece are. They are written before its shard, so that no shard is without them."""
    return errors_folder(folder) / f"part-{number:06d}.jsonl"


def errors_folder(folder: Path) -> Path:
    """Where errors are, beside a folder of shards: that holds nothing but tables."""
    return folder.with_name(f"{folder.name}-errors")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Nothing made here points back to itself, so looking for such garbage only costs time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
