"""Files as people have them on the screen, runs as tables, and tables of a narrow terminal that lose no figure."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli_runs import Cli, WriteLines
from rich.console import Console

from rubrica.cli.figures_table import FiguresTable
from rubrica.runs.files.row_source import open_rows

STEERING = '=HYPERLINK("http://localhost")'
FIGURE = re.compile(r"\d[\d.,]*")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "bank.csv"
    rows = [
        ["Item", "Choices", "Correct Answer", "Grade Level"],
        ["What is 6 × 7?", "A) 36; B) 42; C) 48; D) 54", "B", "Grade 3"],
        ["What is 8 × 4?", "A) 24; B) 28; C) 32; D) 36", "C", "banana"],
    ]
    with file.open("w", newline="", encoding="utf-16") as stream:
        csv.writer(stream, delimiter="\t").writerows(rows)
    return file


def test_questions_are_judged_with_their_columns_told_and_a_bad_record_listed(
    cli: Cli, questions: Path, tmp_path: Path
) -> None:
    refused = cli("curriculum", "evaluate", questions, "--offline")
    assert refused.exit_code == 1
    assert "bank.csv has no column that looks like a question; it has Item, Choices" in refused.stderr
    result = cli("curriculum", "evaluate", questions, "--offline", "--map", "question=Item", "-o", tmp_path / "run")
    assert result.exit_code == 1
    assert "the file is UTF-16" in result.stderr
    assert "options ← Choices, answer ← Correct Answer, grade ← Grade Level; change with --map" in result.stderr
    assert "line 3: grade 'banana' is no grade" in result.stderr
    assert f"1 record came to nothing; {tmp_path / 'run'}/errors.jsonl lists them" in result.stderr
    (listed,) = map(json.loads, (tmp_path / "run" / "errors.jsonl").read_text().splitlines())
    assert (listed["line"], "banana" in listed["error"]) == (3, True)
    assert "Grade 3" in result.stdout


def test_a_run_over_questions_says_how_to_map_them_and_the_command_works(
    cli: Cli, questions: Path, tmp_path: Path
) -> None:
    text = questions.read_text("utf-16").replace("Item", "Question")
    questions.write_text(text, "utf-16")
    result = cli("run", questions, "-r", "education-question", "-o", tmp_path / "run", "--offline")
    assert result.exit_code == 1
    assert "it has Question, Choices, Correct Answer, Grade Level" in result.stderr
    assert f"rubrica curriculum evaluate {questions}" in result.stderr
    offered = next(line for line in result.stderr.splitlines() if " rubrica run " in line)
    words = shlex.split(offered)
    again = cli(*words[words.index("run") :], "--offline")
    assert again.exit_code == 0, again.stderr
    stored = [json.loads(line) for line in (tmp_path / "run" / "evaluations.jsonl").read_text().splitlines()]
    first = json.loads(stored[0]["context"]["response"])
    assert (first["answer"], first["options"]["B"]) == ("B", "42")
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert manifest["options"]["map"]["response.question"] == "Question"


def test_eval_maps_columns_too(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"items": [{"Input": "Say hello", "Output": "Hello, please."}]}))
    refused = cli("eval", file, "-r", tiny)
    assert f"rubrica eval {file} -r {tiny} --map prompt=Input --map response=Output" in refused.stderr
    result = cli("eval", file, "-r", tiny, "--map", "prompt=Input", "--map", "response=Output")
    assert result.exit_code == 0
    assert "1 records are in items" in result.stderr or "1 record" in result.stderr
    assert cli("eval", file, "-r", tiny, "--map", "prompt").exit_code == 2
    assert (
        "no column 'Outpt'; there are Input, Output" in cli("eval", file, "-r", tiny, "--map", "response=Outpt").stderr
    )


@pytest.fixture
def run(cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path) -> Path:
    rows: list[Any] = [
        {"id": STEERING, "response": "Thanks, please come in."},
        {"id": "-7", "response": "HELP"},
        {"id": "c", "response": "x"},
        "{oops",
    ]
    cli("run", write_lines(rows), "-r", tiny, "-o", tmp_path / "run")
    return tmp_path / "run"


def exported(path: Path) -> list[dict[str, Any]]:
    with open_rows(str(path)) as source:
        return [dict(row.data) for row in source.rows()]


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "jsonl", "parquet"])
def test_a_run_is_a_table_with_a_row_for_each_record(cli: Cli, run: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    result = cli("export", run, "-o", path, "--texts")
    assert result.stdout == f"4 records in {path}\n"
    first, second, _, refused = exported(path)
    assert first["id"] == (f"'{STEERING}" if ending in ("csv", "tsv") else STEERING)
    assert second["id"] == "-7"
    assert first["response"] == "Thanks, please come in."
    assert (first["verdict"], second["verdict"]) == ("pass", "fail")
    assert float(first["politeness"]) == 7
    assert "polite" in first["politeness reason"]
    assert (refused["id"], refused.get("verdict")) == ("line 4", None)
    assert refused["reason"].startswith("not judged: not JSON")
    if ending == "xlsx":
        assert isinstance(first["score"], int | float)
    if ending == "parquet":
        assert pl.read_parquet(path).schema["score"] == pl.Float64


def test_a_table_has_what_estimates_lie_between_and_how_surely_a_type_was_found(
    cli: Cli, write_lines: WriteLines, tmp_path: Path
) -> None:
    cases = write_lines([{"id": "open", "prompt": "What is the capital of Canada?", "response": "Ottawa."}])
    for bulk in ("--bulk", "--no-bulk"):
        cli("run", cases, "-r", "answer-quality", "--offline", bulk, "-o", tmp_path / bulk, "--baseline", "off")
        cli("export", tmp_path / bulk, "-o", tmp_path / f"{bulk}.csv")
        (row,) = exported(tmp_path / f"{bulk}.csv")
        assert (float(row["score_low"]), float(row["score_high"])) == (10, 100)
        assert row["profile"] == "FACTUAL"
        assert 0.5 < float(row["profile_confidence"]) < 1
    cli("run", cases, "-r", "speed-demon", "-c", "response_time=5", "-o", tmp_path / "exact", "--baseline", "off")
    cli("export", tmp_path / "exact", "-o", tmp_path / "exact.csv")
    (row,) = exported(tmp_path / "exact.csv")
    assert (row.get("score"), row.get("score_low") or None) == ("1.0", None)


def test_a_table_is_not_written_over_another_or_in_an_unknown_form(cli: Cli, run: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("mine")
    assert "t.csv exists; add --force" in cli("export", run, "-o", tmp_path / "t.csv").stderr
    assert (tmp_path / "t.csv").read_text() == "mine"
    assert "tables are written as .csv, .tsv, .xlsx" in cli("export", run, "-o", tmp_path / "t.doc").stderr


def wide_table() -> FiguresTable:
    table = FiguresTable()
    for name in ("rubric of a long name", "verdict"):
        table.add_column(name, no_wrap=True)
    table.add_column("")
    for number in range(7):
        table.add_column(f"figure number {number}", justify="right", no_wrap=True)
    table.add_row("education-question@1.2.0", "inconclusive", "█████░░░░░", *(f"1{n}.{n}345" for n in range(7)))
    table.add_row("answer-quality@2.1.0", "pass", "███████░░░", *(f"1,{n}00 – 2,{n}11" for n in range(7)))
    return table


@pytest.mark.parametrize("width", [200, 120, 80, 60, 40, 25])
def test_a_table_loses_no_figure_however_narrow(width: int) -> None:
    console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(wide_table())
    console.file.close()
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= width
    joined = re.sub(r"\s+", "", shown)
    for column in wide_table().columns:
        if column.justify == "right":
            for cell in column.cells:
                for part in FIGURE.findall(str(cell)):
                    assert part in joined, (part, shown)
    if width >= 60:
        assert "…" not in shown


@pytest.mark.parametrize("width", [12, 30, 80])
def test_brackets_in_a_text_are_no_styles(width: int) -> None:
    table = FiguresTable()
    table.add_column("text")
    table.add_column("n", justify="right")
    table.add_row("see [red]this[/red] [/]", "1")
    console = Console(width=width, force_terminal=True)
    with console.capture() as captured:
        console.print(table)
    shown = "".join(re.sub(r"\x1b\[[0-9;]*m", "", captured.get()).split())
    assert "see[red]this[/red][/]" in shown.replace("1", "")


@pytest.mark.parametrize(("command", "columns"), [(["summary", "run"], 80), (["compare", "run", "run"], 60)])
def test_on_a_real_terminal_the_tables_of_a_run_keep_their_figures(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], columns: int
) -> None:
    monkeypatch.chdir(run.parent)
    wide = cli(*command, env={"COLUMNS": "99"}).stdout  # at 100, a summary has more percentiles
    narrow = on_terminal(command, columns)
    assert set(FIGURE.findall(wide)) <= set(FIGURE.findall(narrow))
    assert max(map(len, narrow.splitlines())) <= columns
    assert "…" not in narrow


def on_terminal(command: list[str], columns: int) -> str:
    """What a command prints on a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    arguments = [sys.executable, "-m", "rubrica", *command]
    with subprocess.Popen(
        arguments, stdout=theirs, stderr=theirs, stdin=theirs, env={**environment, "TERM": "xterm", "NO_COLOR": "1"}
    ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other end is closed
            while read := os.read(ours, 65536):
                shown += read
        process.wait(60)
    os.close(ours)
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")


def test_a_run_and_its_summary_tell_what_was_found_by_classifying_and_how_sure_point_verdicts_are(
    cli: Cli, write_lines: WriteLines, tmp_path: Path
) -> None:
    rubric = tmp_path / "sums.yaml"
    rubric.write_text(
        """name: sums
version: 1.0.0
scale: {min: 0, max: 10}
judging: {offline: point}
dimensions:
  right:
    offline:
      formula: 10 if word_count > 0 else 0
      reliability:
        - {kind: short, when: "word_count < 9", low: 5, texts: 50, data: fifty of our own, right: {good: 0.8}}
score: {weighted: true, out_of: 10}
profiles:
  by: question_type
  classify: question_type
  FACTUAL: {threshold: 1}
  CREATIVE: {threshold: 2}
  ANALYTICAL: {threshold: 2}
  TECHNICAL: {threshold: 2}
  ETHICAL: {threshold: 2}
verdicts:
  - {label: good, when: score >= threshold}
  - {label: bad}
"""
    )
    lines: list[Any] = [
        {"id": "a", "prompt": "What is the capital of France?", "response": "Paris."},
        {"id": "b", "prompt": "Write a poem about Paris", "response": "Rain.", "question_type": "CREATIVE"},
    ]
    cases = write_lines(lines)
    done = cli("run", str(cases), "-r", str(rubric), "-o", str(tmp_path / "run"), "--baseline", "off")
    printed = " ".join((done.stdout + done.stderr).split())
    found = "uestion types found from the prompts, with mean confidence: FACTUAL 1 ("
    assert f"q{found}" in printed
    assert f"Q{found}" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    told = cli("summary", str(tmp_path / "run")).stdout
    rests = "2 verdicts rest on offline scores as points of measured kinds of text: people agreed with 80% of such when"
    assert rests in " ".join(told.split())
    own = json.loads(cli("summary", str(tmp_path / "run"), "--json").stdout)["rubrics"]["sums@1.0.0"]
    assert {name: each["classified"] for name, each in own["profiles"].items()} == {"FACTUAL": 1, "CREATIVE": 0}
    assert own["point_verdicts"] == {"evaluations": 2, "right": 0.8, "unmeasured": 0}


def test_verdicts_that_offline_scores_leave_open_are_counted_with_what_settles_them(
    cli: Cli, write_lines: WriteLines, tmp_path: Path
) -> None:
    cases = write_lines(
        [
            {"id": "open", "prompt": "What is the capital of Canada?", "response": "Ottawa."},
            {"id": "wrong", "prompt": "What is 17 + 25?", "response": "17 + 25 = 43."},
        ]
    )
    folder = tmp_path / "run"
    run = cli("run", cases, "-r", "answer-quality", "--offline", "-o", folder, "--baseline", "off")
    summary = cli("summary", folder)
    told = "1 of 2 verdicts is inconclusive: without a judge, offline scores leave it open"
    told += ". --judge MODEL asks a model."
    assert all(told in " ".join(done.stdout.split()) for done in (run, summary))
    (own,) = json.loads(cli("summary", folder, "--json").stdout)["rubrics"].values()
    assert own["undecided_offline"] == 1
    assert told.partition(". ")[0] in (folder / "report.html").read_text()
    by_points = tmp_path / "points.json"
    document = json.loads(cli("show", "answer-quality", "--json").stdout)
    by_points.write_text(json.dumps({**document, "judging": {**document["judging"], "offline": "point"}}))
    assert "inconclusive" not in cli("run", cases, "-r", by_points, "--offline", "-o", folder).stdout


def test_a_curriculum_says_how_many_questions_need_a_judge(cli: Cli, questions: Path, tmp_path: Path) -> None:
    result = cli("curriculum", "evaluate", questions, "--offline", "--map", "question=Item", "-o", tmp_path / "run")
    told = " ".join(result.stdout.split())
    assert "mean –, median – verdicts" in told
    assert "1 of 1 verdict is inconclusive: without a judge" in told
    assert "--judge MODEL asks a model" in told


def test_a_curriculum_calls_the_quality_that_no_judge_scored_an_estimate(cli: Cli, write_lines: WriteLines) -> None:
    question = {
        "question": "What is 6 × 7?", "options": ["A) 36", "B) 42", "C) 48", "D) 54"], "answer": "B", "grade": 3,
        "skill": "multiply within 100", "explanation": "Six groups of seven: 6 × 7 = 42, because 6 × 6 = 36.",
        "type": "mcq", "difficulty": "easy",
    }  # fmt: skip
    told = cli("curriculum", "evaluate", write_lines([question]), "--offline").stdout
    assert re.search(r"quality +mean [\d.]+ %, median [\d.]+ %, estimated offline", told)
