"""Bulk runs over files: shards appear whole, stopped runs go on, errors are kept, cases are explained on demand."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rubrica
from rubrica.engine.cases import BadLine, read_case
from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.runs.bulk.case_names import make_names_unique
from rubrica.runs.bulk.progress import BulkProgress
from rubrica.runs.bulk.run import BulkOptions, bulk_rows, contexts, evaluations, explain
from rubrica.runs.files.case_source import cases_of
from rubrica.runs.files.manifest import Manifest, UsedRubric
from rubrica.runs.files.parquet_rows import read_columns
from rubrica.runs.files.rows import RunRow, row_of
from rubrica.runs.selection import distinct
from rubrica.runs.stored import StoredRun

RUBRIC: dict[str, Any] = {
    "name": "bulky",
    "dimensions": {
        "points": {
            "scale": {"min": 0, "max": 10},
            "rules": [
                {
                    "type": "pattern_detection",
                    "patterns": [
                        {"name": "number", "regex": r"\d+", "score": 2, "count": "each"},
                        {"name": "kind word", "keywords": ["good", "kind"], "score": 3.5},
                    ],
                },
                {"type": "adjust", "when": "word_count > 6", "add": -0.1, "because": "wordy"},
            ],
        }
    },
    "threshold": 0.3,
    "gates": [{"name": "shouting", "when": "exclamation_count > 1", "cap": 0.2}],
    "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
}
SMALL = BulkOptions(processes=1, piece_bytes=20_000)


def text_of(number: int) -> str:
    words = [
        f"word{number % 13}",
        "good" if number % 3 else "poor",
        str(number % 5) * (number % 2),
        "Wow!" * (number % 4),
    ]
    return " ".join(words * (1 + number % 4))


def write_lines(path: Path, count: int = 3_000) -> Path:
    lines = [json.dumps({"id": f"case {i}", "response": text_of(i), "group": f"g{i % 3}"}) for i in range(count)]
    lines[7] = "{broken"
    lines[20] = json.dumps({"id": "chat", "messages": [{"role": "assistant", "content": "good 1 2 3"}]})
    lines[30] = json.dumps({"id": "odd", "response": 5})
    lines[40] = ""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows_in(folder: Path) -> list[RunRow]:
    return list(read_columns(folder / "evaluations.parquet"))


def rows_one_by_one(source: Path) -> list[RunRow]:
    plan = rubrica.compile(RUBRIC)
    rows = []
    for number, line in enumerate(source.read_bytes().split(b"\n"), 1):
        case = read_case(line, number) if line else None
        if case is not None and not isinstance(case, BadLine):
            rows.append(row_of(evaluate(plan, case.context, case.id)))
    return rows


def timeless(rows: list[RunRow]) -> list[dict[str, Any]]:
    fields = [name for name in RunRow.__struct_fields__ if name != "duration_ms"]
    return [{name: getattr(row, name) for name in fields} for row in rows]


def test_two_processes_give_what_one_evaluation_after_the_other_gives(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "cases.jsonl")
    heard: list[BulkProgress] = []
    done = bulk_rows(
        rubrica.compile(RUBRIC), source, tmp_path / "run", BulkOptions(processes=2, piece_bytes=20_000), heard.append
    )
    assert timeless(rows_in(tmp_path / "run")) == timeless(rows_one_by_one(source))
    assert (done.rows, done.errors) == (2_997, 2)
    assert len(heard) == heard[-1].all_pieces > 5
    assert heard[-1].rows == 2_997


def test_a_case_without_an_id_is_called_by_its_line_on_both_paths(tmp_path: Path) -> None:
    ids: list[Any] = ["a", None, "", 7]
    source, table = tmp_path / "cases.jsonl", tmp_path / "cases.parquet"
    source.write_text("".join(json.dumps({"id": given, "response": "good 1"}) + "\n" for given in ids))
    pl.DataFrame({"id": ["a", None, "", "7"], "response": ["good 1"] * 4}).write_parquet(table)
    for given in (source, table):
        bulk_rows(rubrica.compile(RUBRIC), given, tmp_path / given.suffix, SMALL)
        with cases_of(str(given)) as file:
            names = [case.id for case in file.cases() if not isinstance(case, BadLine)]
        assert names == [row.case for row in rows_in(tmp_path / given.suffix)] == ["a", "2", "3", "7"]


def test_torn_figures_are_told_as_such(tmp_path: Path) -> None:
    source, folder = write_lines(tmp_path / "cases.jsonl", 50), tmp_path / "run"
    plan = rubrica.compile(RUBRIC)
    done = bulk_rows(plan, source, folder, SMALL)
    next(done.figures.iterdir()).write_bytes(b"junk")
    for reading in (
        lambda: rows_in(folder),
        lambda: explain(plan, folder, "case 1"),
        lambda: bulk_rows(plan, source, folder, SMALL),
    ):
        with pytest.raises(RubricaError, match="cannot be read"):
            reading()


def test_records_that_cannot_be_judged_are_kept_with_line_and_reason(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "cases.jsonl")
    bulk_rows(rubrica.compile(RUBRIC), source, tmp_path / "run", SMALL)
    errors = [json.loads(line) for line in (tmp_path / "run" / "errors.jsonl").read_bytes().splitlines()]
    assert [error["line"] for error in errors] == [8, 31]
    assert "not JSON" in errors[0]["error"]


def test_a_parquet_file_is_judged_as_its_lines_would_be(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "cases.jsonl")
    cases = [read_case(line, 1) for line in source.read_bytes().split(b"\n")[50:] if line]
    table = pl.DataFrame(
        [
            {"id": case.id, "response": case.context.response, "group": case.context.lookup("group")}
            for case in cases
            if not isinstance(case, BadLine)
        ]
    )
    table.write_parquet(tmp_path / "cases.parquet", row_group_size=700)
    done = bulk_rows(
        rubrica.compile(RUBRIC),
        tmp_path / "cases.parquet",
        tmp_path / "run",
        BulkOptions(processes=1, piece_bytes=9_000),
    )
    expected = [row for row in rows_one_by_one(source) if row.case in set(table["id"])]
    assert timeless(rows_in(tmp_path / "run")) == timeless(expected)
    assert done.rows == table.height
    assert len(list((tmp_path / "run" / "evaluations.parquet").iterdir())) > 3


def test_a_finished_run_is_not_made_again_and_a_changed_file_is(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "cases.jsonl")
    plan, folder = rubrica.compile(RUBRIC), tmp_path / "run"
    first = bulk_rows(plan, source, folder, SMALL)
    before = {path: path.stat().st_mtime_ns for path in first.figures.iterdir()}
    again = bulk_rows(plan, source, folder, SMALL)
    assert (again.rows, again.errors, again.resumed) == (first.rows, first.errors, len(before))
    assert {path: path.stat().st_mtime_ns for path in first.figures.iterdir()} == before
    with source.open("a") as stream:
        stream.write('{"id": "last", "response": "good 7"}\n')
    changed = bulk_rows(plan, source, folder, SMALL)
    assert (changed.rows, changed.resumed) == (first.rows + 1, 0)
    assert rows_in(folder)[-1].case == "last"


def test_a_case_is_explained_in_full_on_demand(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "cases.jsonl")
    plan, folder = rubrica.compile(RUBRIC), tmp_path / "run"
    bulk_rows(plan, source, folder, SMALL)
    shown = explain(plan, folder, "case 2500")
    row = next(row for row in rows_in(folder) if row.case == "case 2500")
    assert timeless([row_of(shown)]) == timeless([row])
    assert shown.context is not None
    assert shown.context.response == text_of(2500)
    assert [(name, one.response) for name, one in contexts(plan, folder, ["case 2500"])] == [
        ("case 2500", text_of(2500))
    ]
    assert dict(contexts(plan, folder)).keys() == {row.case for row in rows_in(folder)}
    with pytest.raises(RubricaError, match="no evaluation of a case 'nobody'"):
        explain(plan, folder, "nobody")


def test_cases_that_share_an_id_get_the_names_the_ordinary_path_gives_them(tmp_path: Path) -> None:
    ids = ["x", "y", "x", "x#2", "x"]
    cases = [{"id": ids[i % 5] if i % 50 < 5 else f"case {i}", "response": text_of(i)} for i in range(1_000)]
    source, folder = tmp_path / "cases.jsonl", tmp_path / "run"
    source.write_text("".join(json.dumps(case) + "\n" for case in cases))
    plan = rubrica.compile(RUBRIC)
    done = bulk_rows(plan, source, folder, SMALL)
    with cases_of(str(source)) as file:
        names = [case.id for case in distinct(file.cases(), lambda _: None) if not isinstance(case, BadLine)]
    assert [row.case for row in rows_in(folder)] == names
    assert len(set(names)) == 1_000
    assert done.renamed == sum(name != case["id"] for name, case in zip(names, cases, strict=True))
    manifest = Manifest(id="1", kind="bulk", started="", rubrics=(UsedRubric.of(plan.rubric),))
    assert [found.case for found in evaluations(folder, manifest)] == names
    shown = explain(plan, folder, names[950])
    assert (shown.case, shown.context and shown.context.response) == (names[950], text_of(950))
    assert (
        make_names_unique(folder / "evaluations.parquet", range(len(list((folder / "evaluations.parquet").iterdir()))))
        == 0
    )


def test_every_evaluation_can_be_made_again_unless_the_file_changed(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "cases.jsonl", 200)
    plan, folder = rubrica.compile(RUBRIC), tmp_path / "run"
    bulk_rows(plan, source, folder, SMALL)
    manifest = Manifest(id="1", kind="bulk", started="", rubrics=(UsedRubric.of(plan.rubric),))
    found = list(evaluations(folder, manifest))
    assert all(isinstance(item, Evaluation) for item in found)
    assert timeless([row_of(item) for item in found]) == timeless(rows_in(folder))
    os.utime(source, ns=(1, 1))
    with pytest.raises(RubricaError, match="changed since"):
        list(evaluations(folder, manifest))


def test_a_csv_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("id,response\n1,good\n")
    with pytest.raises(RubricaError, match="takes a JSONL or Parquet file"):
        bulk_rows(rubrica.compile(RUBRIC), tmp_path / "cases.csv", tmp_path / "run")


def test_an_empty_file_gives_an_empty_run(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_bytes(b"")
    done = bulk_rows(rubrica.compile(RUBRIC), tmp_path / "cases.jsonl", tmp_path / "run")
    assert (done.rows, done.errors) == (0, 0)
    assert rows_in(tmp_path / "run") == []


PROGRAM = """
import json, sys
from pathlib import Path
import rubrica
from rubrica.runs.bulk.run import BulkOptions, bulk_rows
folder, source = map(Path, sys.argv[1:3])
bulk_rows(rubrica.compile(json.loads(sys.argv[3])), source, folder, BulkOptions(processes=2, piece_bytes=20_000))
"""


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_with_the_shards_that_are_missing(tmp_path: Path) -> None:
    source, folder = write_lines(tmp_path / "cases.jsonl", 8_000), tmp_path / "run"
    command = [sys.executable, "-c", PROGRAM, str(folder), str(source), json.dumps(RUBRIC)]
    kept: set[str] = set()
    for _ in range(2):
        program = subprocess.Popen(command)
        until = time.monotonic() + 60
        while len(_shards(folder)) < len(kept) + 4 and program.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        program.send_signal(signal.SIGKILL)
        program.wait()
        assert kept < _shards(folder)
        kept = _shards(folder)
    done = bulk_rows(rubrica.compile(RUBRIC), source, folder, SMALL)
    assert timeless(rows_in(folder)) == timeless(rows_one_by_one(source))
    assert len(kept) <= done.resumed < len(_shards(folder))


def _shards(folder: Path) -> set[str]:
    found = [*folder.glob("shards-*/part-*.parquet"), *(folder / "evaluations.parquet").glob("part-*")]
    return {path.name for path in found}


def test_a_full_disk_is_told_and_the_same_command_goes_on(tmp_path: Path) -> None:
    file, rubric = tmp_path / "cases.jsonl", tmp_path / "kind.yaml"
    texts = ({"id": f"c{n}", "response": f"thank you {n} " + "word " * (n % 7)} for n in range(20_000))
    file.write_text("".join(json.dumps(text) + "\n" for text in texts))
    dimension = "{kind: {scale: {min: 0, max: 1}, formula: 'word_count / 10'}}"
    rubric.write_text(f"name: kind\ndimensions: {dimension}\nverdicts: [{{label: judged}}]\n")
    command = [
        sys.executable,
        "-m",
        "rubrica",
        "run",
        str(file),
        "-r",
        str(rubric),
        "--bulk",
        "-o",
        str(tmp_path / "run"),
    ]

    def nearly_full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    own = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # or torn bytecode would be left to all other processes
    stopped = subprocess.run(command, capture_output=True, text=True, env=own, preexec_fn=nearly_full)
    assert stopped.returncode == 1
    assert "cannot be written" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    gone_on = subprocess.run(command, capture_output=True, text=True)
    assert gone_on.returncode == 0, gone_on.stderr
    assert len(list(StoredRun.open(tmp_path / "run").rows())) == 20_000
