"""Reads stored evaluations back, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pydantic_core import from_json

from rubrica.engine.cases import BadLine
from rubrica.errors import RubricaError, StoredError
from rubrica.model.evaluation import Evaluation

WAY_OUT = "`rubrica eval CASES.jsonl -o EVALUATIONS.jsonl` stores evaluations"


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
