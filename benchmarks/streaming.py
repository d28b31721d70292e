"""Streaming and start-up, measured on the real command."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from .floor import Ratio
from .texts import texts

SMALL, LARGE = 10_000, 1_000_000
RUBRIC = """\
name: streamed
dimensions:
  tone:
    start: 0.5
    rules:
      - {when: "thanks > 0", add: 0.3, because: thanks}
      - {when: "word_count > 80", add: -0.2, because: long}
patterns:
  thanks: {keywords: [help, support, because]}
verdicts:
  - {label: pass, when: "score >= 0.6"}
  - {label: fail}
"""


def flat_memory() -> Ratio:
    """Peak memory of `rubrica eval` over a million cases against ten thousand."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rubric.yaml").write_text(RUBRIC)
        peaks = {}
        for count in (SMALL, LARGE):
            cases = folder / f"{count}.jsonl"
            with cases.open("w") as lines:
                pool = list(texts(1000))
                for number in range(count):
                    lines.write(json.dumps({"id": number, "response": pool[number % 1000]}) + "\n")
            peaks[count] = _peak_of(
                [*_rubrica(), "eval", str(cases), "-r", str(folder / "rubric.yaml"), "-o", os.devnull, "--force"]
            )
    detail = f"{peaks[LARGE]:,.0f} MB for {LARGE:,} cases, {peaks[SMALL]:,.0f} MB for {SMALL:,}"
    return Ratio("peak memory of a streamed eval", f"{SMALL:,} cases", peaks[LARGE] / peaks[SMALL], 1.2, detail, False)


def start_up() -> list[Ratio]:
    """CPU time of the help and of the import, against 0.4 s; what the first rubric costs on top is told beside it."""
    rows = []
    first = min(_cpu_of([sys.executable, "-c", "import rubrica; rubrica.compile('answer-quality')"]) for _ in range(3))
    for what, command in (
        ("rubrica --help", [*_rubrica(), "--help"]),
        ("import rubrica", [sys.executable, "-c", "import rubrica"]),
    ):
        spent = min(_cpu_of(command) for _ in range(3))
        detail = f"{spent:.2f} s ({first:.2f} s with a rubric loaded)" if what == "import rubrica" else f"{spent:.2f} s"
        rows.append(Ratio(f"start-up: {what}", "0.4 s of CPU", spent / 0.4, 1.0, detail, False))
    return rows


def _rubrica() -> list[str]:
    return [sys.executable, "-m", "rubrica"]


def _cpu_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def _peak_of(command: list[str]) -> float:
    """Peak resident memory in MB, as the kernel counted it for that process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return usage.ru_maxrss / 1024
