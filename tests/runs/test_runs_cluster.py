"""Runs on a Ray cluster of two nodes, or three: the result is that of one machine, whatever is lost on the way."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from cluster_nodes import ENVIRONMENT, ClusterNodes, cluster_nodes
from loopback import Loopback
from runs_judged import (
    JUDGE,
    KIND,
    by_case,
    cases,
    command,
    environment,
    provided,
    score_of,
    stored_lines,
    write_cases,
)

from object_server import BUCKET, put_objects, serving_objects
from object_server import environment as objects
from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_text
from rubrica.runs.bulk.run import BulkOptions, bulk_rows
from rubrica.runs.files.source_files import find_files
from rubrica.runs.stored import StoredRun

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]
PLAIN = """\
name: wordy
scale: {min: 0, max: 10}
dimensions:
  length: {weight: 1, formula: "min(10, word_count)"}
score: {weighted: true, out_of: 10}
verdicts:
  - {label: long, when: "score >= 5"}
  - {label: short}
"""


ALONE = """\
from rubrica.runs.cluster.connection import connected

with connected("local", 1) as ray:
    print(*(node["NodeManagerAddress"] for node in ray.nodes()))
"""


@pytest.fixture(scope="module")
def nodes() -> Iterator[ClusterNodes]:
    with cluster_nodes() as started:
        yield started


def on_cluster(server: Loopback | None, folder: Path) -> dict[str, str]:
    env = environment(server, folder) if server is not None else {"HOME": str(folder), "COLUMNS": "200"}
    return {**env, **ENVIRONMENT}


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out + err


def asked(server: Loopback) -> Counter[str]:
    """How often each case was asked about."""
    return Counter(seen.prompt.partition("This is number ")[2].partition(".")[0] for seen in server.seen)


def wait_for_lines(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None and len(stored_lines(folder)) < count:
        time.sleep(0.02)


def test_a_killed_driver_goes_on_asks_nothing_again_and_all_workers_spend_from_one_budget(
    tmp_path: Path, nodes: ClusterNodes
) -> None:
    rubric = tmp_path / "kind.yaml"
    rubric.write_text(KIND)
    file, folder = write_cases(tmp_path / "c.jsonl", cases(120)), tmp_path / "run"
    with provided(latency=0.1) as server:
        env = on_cluster(server, tmp_path)
        told = (file, "-r", rubric, "-J", JUDGE, "-j", "6", "-o", folder, "--cluster", nodes.address)
        process = command(*told, env=env, from_scratch=True)
        wait_for_lines(folder, 30, process)
        process.kill()
        process.communicate()
        kept = {json.loads(line)["case"] for line in stored_lines(folder) if line.endswith(b"\n")}
        time.sleep(0.5)  # what was under way has been answered
        before = asked(server)
        code, said = ended(command(*told, "--budget", "0.0006", "--max-failures", "0", env=env))
        assert code == 0, said
        assert f"{len(kept)} evaluations done before" in said
        after = asked(server) - before
        assert not {f"case-{case}" for case in after} & kept
        found = by_case(folder)
        scored = {case for case, one in found.items() if one["dimensions"]["tone"].get("status", "scored") == "scored"}
        assert all(found[case]["score"] == score_of(int(case.removeprefix("case-"))) for case in scored)
        refused = [found[case]["dimensions"]["tone"]["reason"] for case in found.keys() - scored]
        assert refused
        assert all("of the budget of $0.0006 is spent" in reason for reason in refused)
        assert 0 < sum(found[case]["cost"]["usd"] for case in scored - kept) <= 0.0006
        assert sum(after.values()) == len(scored - kept)


def test_a_bulk_run_on_a_cluster_of_files_here_and_in_a_bucket_is_that_of_one_machine(
    tmp_path: Path, nodes: ClusterNodes
) -> None:
    rubric = tmp_path / "wordy.yaml"
    rubric.write_text(PLAIN)
    rows = [{"id": f"c{n % 9_990}", "response": "word " * (n % 17)} for n in range(10_000)]
    here, there = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    here.write_text("".join(json.dumps(row) + "\n" for row in rows[:6_000]))
    there.write_text("".join(json.dumps(row) + "\n" for row in rows[6_000:]) + "{broken\n")
    with serving_objects(tmp_path / "objects") as port:
        put_objects(port, "cases", [there])
        told = (here, f"s3://{BUCKET}/cases/b*", "-r", rubric, "-o", tmp_path / "many", "--cluster", nodes.address)
        code, said = ended(command(*told, env={**on_cluster(None, tmp_path), **objects(port)}))
    assert (code, "1 record could not be judged" in said) == (1, True), said
    files = find_files([str(here), str(there)])
    one = bulk_rows(compile_rubric(rubric_from_text(PLAIN)), files, tmp_path / "one", BulkOptions(processes=1))
    assert (one.rows, one.errors, one.renamed) == (10_000, 1, 10)
    assert sorted_figures(tmp_path / "many").equals(sorted_figures(tmp_path / "one"))
    assert (tmp_path / "many" / "errors.jsonl").read_bytes() == (tmp_path / "one" / "errors.jsonl").read_bytes()


def test_a_cluster_of_this_machine_alone_is_another_one_than_what_runs_here_and_nobody_else_reaches_it(
    tmp_path: Path, nodes: ClusterNodes
) -> None:
    env = {**os.environ, "RAY_ADDRESS": nodes.address, "HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as place:
        told = [sys.executable, "-c", ALONE]
        done = subprocess.run(told, env={**env, "RAY_TMPDIR": place}, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["127.0.0.1"], done.stderr


def test_a_lost_node_costs_only_the_calls_that_were_under_way_on_it(tmp_path: Path, nodes: ClusterNodes) -> None:
    rubric = tmp_path / "kind.yaml"
    rubric.write_text(KIND)
    nodes.order("add")  # so that there are others when one is lost
    file, folder, straight = write_cases(tmp_path / "c.jsonl", cases(150)), tmp_path / "run", tmp_path / "straight"
    with provided(latency=0.15) as server:
        env = on_cluster(server, tmp_path)
        told = (file, "-r", rubric, "-J", JUDGE, "-j", "6", "-o")
        process = command(*told, folder, "--cluster", nodes.address, env=env)
        wait_for_lines(folder, 30, process)
        nodes.order("lose")
        code, said = ended(process)
        assert code == 0, said
        assert re.search("[123] workers? on [123] nodes? of ray://", said)  # a slow node joins while the others judge
        calls = asked(server)
        repeated = sum(calls.values()) - 150
        assert set(calls) == {str(n) for n in range(150)}
        assert 0 <= repeated <= 6
        assert (repeated > 0) <= ("under way on workers that were lost" in said)
    with provided() as server:
        assert ended(command(*told, straight, env=environment(server, tmp_path)))[0] == 0
    assert by_case(folder) == by_case(straight)
    on_many, on_one = (StoredRun.open(place).manifest for place in (folder, straight))
    assert on_many is not None
    assert on_one is not None
    assert on_many.terms == on_one.terms


def sorted_figures(folder: Path) -> pl.DataFrame:
    return pl.scan_parquet(folder / "evaluations.parquet").collect().sort("line")
