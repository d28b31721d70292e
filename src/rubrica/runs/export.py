"""A stored run as a table: a row for each record with its verdict, total, dimensions and reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import RubricaError
from rubrica.jsontext import UNREADABLE
from rubrica.model.evaluation import Evaluation

from .files.append_only import finished_lines
from .files.folder import ERRORS
from .files.rows import RunRow, row_of
from .files.table_writer import check_ending, write_table
from .stored import StoredRun

LONGEST_TEXT = 30_000
"""Characters of a prompt or a response in a cell."""
_FIRST = ("id", "verdict", "score", "score_low", "score_high", "out_of")
_LAST = (
    "reason", "gates", "unscored", "rubric", "profile", "profile_confidence", "repeat", "offline", "errors", "usd",
    "duration_ms",
)  # fmt: skip
_TEXTS = ("prompt", "response")
_WHY = "{} reason"


@dataclass(frozen=True, slots=True)
class _Columns:
    """The names of what differs from rubric to rubric."""

    dimensions: tuple[str, ...]
    sections: tuple[str, ...]


def export_run(run: StoredRun, path: Path, *, texts: bool = False) -> int:
    """Write a table of a run's records; how many they were. With `texts`, what was asked and answered, too."""
    check_ending(path)
    found = _columns(run)
    explained = run.path.suffix != ".parquet" and (run.manifest is None or run.manifest.kind != "bulk")
    if texts and not explained:
        raise RubricaError(f"{run.path} keeps figures only, no texts (run it again with --no-bulk)")
    taken = {*_FIRST, *_LAST, *_TEXTS}
    named = {name: name if name not in taken else f"{name} (dimension)" for name in found.dimensions}
    sections = {name: f"{name} (section)" for name in found.sections}
    reasons = {name: _WHY.format(named[name]) for name in found.dimensions} if explained else {}
    names = [*_FIRST, *named.values(), *sections.values(), *_LAST, *reasons.values(), *(_TEXTS if texts else ())]

    def cells(row: RunRow, evaluation: Evaluation | None = None) -> dict[str, Any]:
        told: dict[str, Any] = {name: getattr(row, name) for name in (*_FIRST[1:], *_LAST)}
        told |= {"id": row.case, "gates": list(row.gates), "unscored": list(row.unscored)}
        told |= {named[name]: value for name, value in row.dimensions.items()}
        told |= {sections[name]: value for name, value in row.sections.items()}
        if evaluation is not None:
            told |= {reasons[name]: result.why for name, result in evaluation.dimensions.items()}
            if texts and (context := evaluation.context) is not None:
                told |= {"prompt": context.prompt[:LONGEST_TEXT], "response": context.response[:LONGEST_TEXT]}
        return told

    def rows() -> Iterator[dict[str, Any]]:
        if explained:
            yield from (cells(row_of(evaluation), evaluation) for evaluation in run.evaluations())
        else:
            yield from (cells(row) for row in run.rows())
        yield from _refused(run)

    return write_table(path, names, rows())


def _refused(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Records that could not be judged: they have a reason, and neither verdict nor score."""
    if run.manifest is None:
        return
    for line in finished_lines(run.path / ERRORS):
        try:
            found = msgspec.json.decode(line, type=dict[str, Any])
        except UNREADABLE:
            continue
        name = found.get("case") or f"line {found.get('line')}"
        yield {"id": str(name), "reason": f"not judged: {found.get('error', '')}"}


def _columns(run: StoredRun) -> _Columns:
    dimensions: dict[str, None] = {}
    sections: dict[str, None] = {}
    for row in run.rows():
        dimensions.update(dict.fromkeys(row.dimensions))
        sections.update(dict.fromkeys(row.sections))
    return _Columns(tuple(dimensions), tuple(sections))
