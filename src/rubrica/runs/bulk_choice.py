"""Whether a run takes the bulk path: where it was asked for, or where the file is large and it can."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rubrica.engine.audience import listeners
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.extras import MissingExtraError, requires

from .files.layout import AS_IT_IS
from .files.row_source import is_plain
from .request import EVERY_CASE, RunRequest

if TYPE_CHECKING:
    from .bulk.run import BulkOptions

SMALL = 1_000_000  # bytes


def takes_bulk(request: RunRequest, plan: Plan | None) -> bool:
    """Whether all cases can be judged in bulk, and should.

    Whoever listens to evaluations, such as telemetry, hears nothing of a bulk run, so then it has to be asked for.
    """
    cases, asked = request.cases, request.bulk
    source = Path(cases.source)
    asked = True if asked is None and request.cluster is not None and not request.judging.names else asked
    by_itself = asked is None and plan is not None and plan.judge is None and not listeners and cases.material is None
    if not asked and (not by_itself or _is_small(source)):
        return False
    try:
        with requires("tables", "--bulk"):
            from .bulk.run import LARGE, serves  # here, since polars takes half a second to load
    except MissingExtraError:
        if asked:
            raise
        return False
    everything = cases.material is None and cases.selection == EVERY_CASE and not cases.context and cases.repeat == 1
    everything = everything and cases.layout == AS_IT_IS and is_plain(cases.source)
    possible = plan is not None and everything and serves(plan, source)
    if asked and not possible:
        raise RubricaError(
            "--bulk takes a JSONL or Parquet file and --rubric, without --judge, --context, --map, --filter, --sample "
            "and --limit"
        )
    return possible and (bool(asked) or source.stat().st_size >= LARGE)


def bulk_options(request: RunRequest) -> BulkOptions:
    """How the pieces of a bulk run are judged: by processes here, or by a cluster."""
    from .bulk.run import ALL_CORES, BulkOptions

    if request.cluster is None:
        return ALL_CORES
    with requires("cluster", f"--cluster {request.cluster}"):
        from .cluster.bulk import PIECE_BYTES, ClusterPieces
    return BulkOptions(piece_bytes=PIECE_BYTES, judge_pieces=ClusterPieces(request.cluster))


def _is_small(source: Path) -> bool:
    """Whether a file is so small that it need not even be asked how it is judged in bulk: that takes half a second."""
    return not source.is_file() or source.stat().st_size < SMALL
