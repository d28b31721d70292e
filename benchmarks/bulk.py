"""The bulk path over a million texts, against programs that only match the same patterns, both cores used."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

import rubrica
from rubrica import Context
from rubrica.engine.evaluate import evaluate

from .floor import Ratio
from .rules import rubric
from .texts import texts

TEXTS = 1_000_000
FEW = 20_000
RICH = "arena"
MOST_MEGABYTES = 1_500
ROUNDS = 3


def bulk_path() -> list[Ratio]:
    """A million texts in a Parquet file and as JSON lines; and a rubric of features, against one after another."""
    with tempfile.TemporaryDirectory() as folder:
        table, lines = Path(folder) / "texts.parquet", Path(folder) / "texts.jsonl"
        _write(table, TEXTS)
        found = _million(table)
        pl.read_parquet(table).write_ndjson(lines)
        return [*found, _million_lines(lines), _rich(Path(folder) / "few.parquet")]


def _jobs(file: Path, kind: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The bulk path over a file, and a floor in two processes, each with half of it."""
    regexes = [regex.set_source for regex in rubrica.compile(rubric()).sources.lexicon.regexes["response"]]
    floor = {"kind": kind, "file": str(file), "regexes": regexes, "rows": TEXTS}
    halves = [{**floor, "start": 0, "end": TEXTS // 2}, {**floor, "start": TEXTS // 2, "end": TEXTS}]
    return {"kind": "bulk", "file": str(file), "rubric": rubric(), "rows": TEXTS}, halves


def _million_lines(file: Path) -> Ratio:
    mine, halves = _jobs(file, "lines")
    rounds = [(_run(mine), _run(*halves)) for _ in range(ROUNDS)]
    spent, megabytes = min(mine for mine, _ in rounds)
    loop = min(loop for _, loop in rounds)[0]
    detail = f"{TEXTS / spent:,.0f} judged texts/s, {TEXTS / loop:,.0f} matched; {megabytes:,.0f} MB in both processes"
    best = "a bare re2.Set loop in two processes that also decodes the lines"
    return Ratio(f"the bulk path on {TEXTS:,} JSON lines", best, loop / spent, 0.5, detail)


def _million(file: Path) -> list[Ratio]:
    mine, halves = _jobs(file, "set")
    rounds = [(_run(mine), _run(*halves), _run({**halves[0], "kind": "polars"})) for _ in range(ROUNDS)]
    spent, megabytes = min(mine for mine, _, _ in rounds)
    loop, query = min(loop for _, loop, _ in rounds)[0], min(query for _, _, query in rounds)[0]
    best = "a bare re2.Set loop in two processes" if loop <= query else "a bare polars query with all threads"
    detail = (
        f"{TEXTS / spent:,.0f} judged texts/s; matched texts/s: {TEXTS / loop:,.0f} by the loop, "
        f"{TEXTS / query:,.0f} by polars"
    )
    memory = f"{megabytes:,.0f} MB in both processes together"
    return [
        Ratio(f"the bulk path on {TEXTS:,} texts", best, min(loop, query) / spent, 0.5, detail),
        Ratio(
            "the bulk path's peak memory",
            f"{MOST_MEGABYTES:,} MB",
            megabytes / MOST_MEGABYTES,
            1.0,
            memory,
            higher_is_better=False,
        ),
    ]


def _rich(file: Path) -> Ratio:
    _write(file, FEW)
    loaded = rubrica.load(RICH)
    document = loaded.model_dump(mode="json", exclude_defaults=True)
    spent, _ = min(_run({"kind": "bulk", "file": str(file), "rubric": document, "rows": FEW}) for _ in range(ROUNDS))
    plan = rubrica.compile(loaded)
    sample = list(texts(FEW))
    started = time.perf_counter()
    for number, text in enumerate(sample):
        evaluate(plan, Context(prompt="How?", response=text, custom_metrics=_metrics(number)))
    alone = time.perf_counter() - started
    detail = f"{FEW / spent:,.0f} texts/s against {FEW / alone:,.0f}"
    return Ratio(f"{FEW:,} texts by {RICH}, in bulk", "one evaluation after another", alone / spent, 0.0, detail)


def _metrics(number: int) -> dict[str, float]:
    return {"stated": number % 7, "expected": 1 + number % 5}


def _write(file: Path, count: int) -> None:
    """A Parquet file of texts, written a part at a time."""
    numbers = range(count)
    pl.DataFrame(
        {
            "id": [f"text {number}" for number in numbers],
            "prompt": ["How?"] * count,
            "response": list(texts(count)),
            "stated": [number % 7 for number in numbers],
            "expected": [1 + number % 5 for number in numbers],
        }
    ).write_parquet(file)


def _run(*jobs: dict[str, Any]) -> tuple[float, float]:
    """Run programs at the same time; the seconds of the slowest, and the megabytes of all."""
    command = [sys.executable, "-m", "benchmarks.bulk_floor"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    programs: list[Any] = [subprocess.Popen(command, **pipes) for _ in jobs]  # type: ignore[call-overload]
    for program, job in zip(programs, jobs, strict=True):
        program.stdin.write(json.dumps(job) + "\n")
        program.stdin.flush()
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    told = _both(programs)
    return max(one["seconds"] for one in told), sum(one["megabytes"] for one in told)


def _both(programs: list[Any]) -> list[dict[str, float]]:
    for program in programs:
        program.stdin.write("go\n")
        program.stdin.flush()
    return [json.loads(program.communicate()[0]) for program in programs]
