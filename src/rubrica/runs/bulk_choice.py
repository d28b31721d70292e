"""Whether a run takes the bulk path: where it was asked for, or where the file is large and it can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rubrica.engine.audience import listeners
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.extras import MissingExtraError, requires

from .files.layout import AS_IT_IS
from .files.row_source import PARQUET_ENDINGS, is_plain
from .files.source_files import SourceFile
from .request import EVERY_CASE, CaseChoice, RunRequest

if TYPE_CHECKING:
    from .bulk.run import BulkOptions

SMALL = 1_000_000  # bytes
LINES_ENDINGS = (".jsonl", ".ndjson")


def takes_bulk(request: RunRequest, plan: Plan | None) -> bool:
    """Whether all cases can be judged in bulk, and should.

    Whoever listens to evaluations, such as telemetry, hears nothing of a bulk run, so then it has to be asked for.
    """
    cases, asked = request.cases.with_files(), request.bulk
    if asked is None and request.cluster is not None:  # a cluster is asked for where there is much to do
        return not request.judging.names and _is_possible(cases, plan)
    by_itself = asked is None and plan is not None and plan.judge is None and not listeners and cases.material is None
    if not asked and (not by_itself or _size(cases.files) < SMALL):
        return False
    try:
        with requires("tables", "--bulk"):
            from .bulk.run import LARGE  # here, since polars takes half a second to load
    except MissingExtraError:
        if asked:
            raise
        return False
    possible = _is_possible(cases, plan)
    if asked and not possible:
        raise RubricaError(
            "--bulk takes JSONL or Parquet files and --rubric, without --judge, --context, --map, --filter, --sample "
            "and --limit"
        )
    return possible and (bool(asked) or _size(cases.files) >= LARGE)


def _is_possible(cases: CaseChoice, plan: Plan | None) -> bool:
    with requires("tables", "--bulk"):
        from .bulk.run import supports
    everything = cases.material is None and cases.selection == EVERY_CASE and not cases.context and cases.repeat == 1
    everything = everything and cases.layout == AS_IT_IS and all(map(_is_plain, cases.files))
    return plan is not None and everything and supports(plan, cases.files)


def bulk_options(request: RunRequest) -> BulkOptions:
    """How the pieces of a bulk run are judged: by processes here, or by a cluster."""
    from .bulk.run import ALL_CORES, BulkOptions

    if request.cluster is None:
        return ALL_CORES
    with requires("cluster", f"--cluster {request.cluster}"):
        from .cluster.bulk import PIECE_BYTES, ClusterPieces
    return BulkOptions(piece_bytes=PIECE_BYTES, judge_pieces=ClusterPieces(request.cluster))


def _size(files: Sequence[SourceFile]) -> int:
    """How many bytes files have. Where those are few, they need not even be asked how they are judged in bulk, which
    takes half a second."""
    return sum(file.size or 0 for file in files)


def _is_plain(file: SourceFile) -> bool:
    """Whether a file is read as it lies, as far as that is known before it is fetched."""
    return file.ending in (*LINES_ENDINGS, *PARQUET_ENDINGS) if file.is_remote else is_plain(file.address)
