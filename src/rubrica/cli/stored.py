"""Reads stored evaluations back, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pydantic_core import from_json

from rubrica.engine.cases import BadLine
from rubrica.errors import RubricaError, StoredError
from rubrica.model.evaluation import Evaluation
from rubrica.runs.files.folder import EVALUATIONS
from rubrica.runs.objects.address import is_address
from rubrica.runs.stored import StoredRun

WAY_OUT = "`rubrica run CASES -o DIR` and `rubrica eval CASES.jsonl -o FILE.jsonl` store evaluations"


def is_run(source: str) -> bool:
    """Whether a run is named, here or in an object store, and no file of evaluations."""
    return is_address(source) or Path(source).is_dir()


def evaluations_file(source: str) -> str:
    """The file of evaluations: what was named, or the one in a run's folder."""
    if not is_run(source):
        return source
    run = StoredRun.open(source)
    if run.manifest is not None and run.manifest.kind == "bulk":
        raise RubricaError(f"{source} was judged in bulk and keeps figures only; run it again with --no-bulk")
    return str(run.path / EVALUATIONS)


def stored_evaluations(lines: Iterable[bytes], on_broken: Callable[[BadLine], None]) -> Iterator[Evaluation]:
    """Each stored evaluation in turn; a line that is none is told and passed over.

    A file of cases is the wrong file, which is an error at once.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            evaluation = Evaluation.from_json(line)
        except StoredError as error:
            if _is_case(line):
                raise RubricaError(f"line {number} is a case, not an evaluation; {WAY_OUT}") from None
            on_broken(BadLine(number, str(error)))
            continue
        yield evaluation


def _is_case(line: bytes) -> bool:
    try:
        data = from_json(line)
    except ValueError:
        return False
    return isinstance(data, dict) and "response" in data and "verdict" not in data
