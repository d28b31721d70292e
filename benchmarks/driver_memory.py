"""What the driver of a run holds, whatever number of cases it has: ``python -m benchmarks.driver_memory 10000``.

Judging is left out, since it is the same for every case: names are given, evaluations are noted as done, and rows made
here go through everything that a run does with them at its end. It prints the peak of its memory in MB.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import rubrica.cli.run
import rubrica.runs.jury_session  # noqa: F401 - both are there in the driver of a judged run
from rubrica.packs.library import load
from rubrica.runs.files.evaluation_head import key_of
from rubrica.runs.files.hash_table import HashTable
from rubrica.runs.files.manifest import Manifest, UsedRubric
from rubrica.runs.files.rows import RunRow
from rubrica.runs.finish import write_derived
from rubrica.runs.selection import UniqueNames
from rubrica.runs.stored import StoredRun

from .floor import Ratio

FEW, MANY = 10_000, 1_000_000
RUBRIC = load("answer-quality")


def driver_memory() -> Ratio:
    """Peak memory of a driver with a million cases against ten thousand."""
    peaks = {count: _peak(count) for count in (FEW, MANY)}
    detail = f"{peaks[MANY]:,.0f} MB for {MANY:,} cases, {peaks[FEW]:,.0f} MB for {FEW:,}"
    return Ratio("peak memory of a run's driver", f"{FEW:,} cases", peaks[MANY] / peaks[FEW], 1.2, detail, False)


def _peak(count: int) -> float:
    command = [sys.executable, "-m", "benchmarks.driver_memory", str(count)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _rows(count: int) -> Iterator[RunRow]:
    names, done, chance = UniqueNames(), HashTable(), Random(1)  # noqa: S311 - figures to count, no secret
    reference = f"{RUBRIC.name}@{RUBRIC.version}"
    for number in range(count):
        case, score = names.own(f"case-{number}"), round(100 * chance.random(), 2)
        done.put(key_of(case), number)
        values = {name: round(10 * chance.random(), 1) for name in RUBRIC.dimensions}
        verdict = "pass" if score >= 85 else "fail"
        spent = chance.lognormvariate(3, 1)
        yield RunRow(
            case, reference, verdict, score, 100.0, values, duration_ms=spent, usd=1e-4, reason="Fewer points."
        )


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        folder.mkdir()
        Manifest(id="bench", started="", rubrics=(UsedRubric.of(RUBRIC),)).write(folder)
        (folder / "evaluations.jsonl").touch()
        tally, _ = write_derived(StoredRun.open(folder), _rows(count))
        assert tally.judged == count
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main(int(sys.argv[1]))
