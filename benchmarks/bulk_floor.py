"""Programs that the bulk path is measured against, and itself as one: ``python -m benchmarks.bulk_floor``.

Each gets ready, says so, waits for a line, works, and writes a line of JSON with the seconds it took and the memory it
needed at most. Getting ready is not counted: of the bulk path it is importing and compiling, of the floors it is that
and starting their second process. What the bulk path itself starts is counted.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import re2

BATCH = 50_000


def _matcher(job: dict[str, Any]) -> Callable[[str], object]:
    options = re2.Options()
    options.log_errors = False
    together = re2.Set.SearchSet(options)
    for regex in job["regexes"]:
        together.Add(regex)
    together.Compile()
    match: Callable[[str], object] = together.Match
    return match


def set_loop(job: dict[str, Any]) -> Callable[[], None]:
    """Match the texts of some rows with one re2.Set, and nothing else."""
    match = _matcher(job)

    def work() -> None:
        for start in range(job["start"], job["end"], BATCH):
            rows = (
                pl.scan_parquet(job["file"]).slice(start, min(BATCH, job["end"] - start)).select("response").collect()
            )
            for text in rows["response"].to_list():
                match(text)

    return work


def line_loop(job: dict[str, Any]) -> Callable[[], None]:
    """Decode lines and match their texts with one re2.Set, and nothing else."""
    match, decode = _matcher(job), msgspec.json.Decoder().decode
    size = Path(job["file"]).stat().st_size
    start, end = (size * job[name] // job["rows"] for name in ("start", "end"))

    def work() -> None:
        with Path(job["file"]).open("rb") as stream:
            stream.seek(start)
            at = start + (len(stream.readline()) if start else 0)
            for line in stream:
                if at >= end:
                    break
                at += len(line)
                match(decode(line)["response"])

    return work


def table_query(job: dict[str, Any]) -> Callable[[], None]:
    """Count, with all threads of polars, in how many texts each pattern occurs, and nothing else."""
    found = [pl.col("response").str.contains(regex).sum().alias(str(i)) for i, regex in enumerate(job["regexes"])]

    def work() -> None:
        pl.scan_parquet(job["file"]).select(found).collect(engine="streaming")

    return work


def bulk(job: dict[str, Any]) -> Callable[[], None]:
    """The bulk path: scores, verdicts and fired rules in columns on the disk."""
    import rubrica  # the floors do without
    from rubrica.runs.bulk.run import bulk_rows

    plan = rubrica.compile(job["rubric"])

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = bulk_rows(plan, Path(job["file"]), Path(folder) / "run")
            assert (done.rows, done.errors) == (job["rows"], 0)

    return work


KINDS = {"set": set_loop, "lines": line_loop, "polars": table_query, "bulk": bulk}


def main() -> None:
    job = json.loads(sys.stdin.readline())
    work = KINDS[job["kind"]](job)
    print("ready", flush=True)
    sys.stdin.readline()
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "megabytes": _peak_megabytes()}), flush=True)


def _peak_megabytes() -> float:
    """The most memory of this process since it began, and of the largest that it started.

    Not ru_maxrss for this process: that counts what its parent had when it was started.
    """
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    own = int(status["VmHWM"].split()[0])
    return (own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


if __name__ == "__main__":
    main()
