"""Criteria in files of cases, and what a run earned by tag and by position."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import rubrica
from rubrica.cli.comparison_tables import comparison_page
from rubrica.cli.summary_tables import criteria_tables
from rubrica.engine.cases import BadLine
from rubrica.model.context import Context
from rubrica.runs.compare.comparison import compare
from rubrica.runs.files.case_source import cases_of
from rubrica.runs.files.parquet_rows import ColumnsWriter, read_columns
from rubrica.runs.files.rows import RunRow, row_of
from rubrica.runs.summary.measures import Measure
from rubrica.runs.summary.summary import summarise

RUBRIC: dict[str, Any] = {
    "name": "clinical",
    "dimensions": {"answer": {"from": "criteria"}},
    "score": {"points": True, "out_of": 100},
    "verdicts": [{"label": "good", "when": "score >= 60"}, {"label": "poor"}],
}
CRITERIA: list[dict[str, Any]] = [
    {"criterion": "Names a dose.", "points": 5.0, "tags": ["accuracy"]},
    {"criterion": "Says when.", "points": 3.0, "tags": ["accuracy", "care"]},
    {"criterion": "Invents a dose.", "points": -4.0, "tags": ["accuracy"]},
]


def row(case: str, *met: float | None) -> RunRow:
    scores = {f"c{number}": value for number, value in enumerate(met, 1)}
    context = Context.of({"response": "x", "criteria": CRITERIA})
    found = rubrica.decide(rubrica.load(RUBRIC), {"answer": scores}, context)
    return row_of(rubrica.Evaluation.from_json(found.to_json().replace('"context"', f'"case":"{case}","context"')))


def criteria_in(path: Path) -> list[list[tuple[str, float, tuple[str, ...]]]]:
    with cases_of(str(path)) as source:
        found = list(source.cases())
    assert not any(isinstance(case, BadLine) for case in found), found
    return [
        [(one.criterion, one.points, one.tags) for one in case.context.criteria]
        for case in found
        if not isinstance(case, BadLine)
    ]


def test_criteria_are_read_alike_from_lines_cells_and_lists_of_structs(tmp_path: Path) -> None:
    lines, table, columns = tmp_path / "c.jsonl", tmp_path / "c.csv", tmp_path / "c.parquet"
    lines.write_text(json.dumps({"response": "x", "criteria": CRITERIA}) + "\n")
    with table.open("w", newline="") as stream:
        csv.writer(stream).writerows([["response", "criteria"], ["x", json.dumps(CRITERIA)]])
    pl.DataFrame({"response": ["x"], "criteria": [CRITERIA]}).write_parquet(columns)
    expected = [[(one["criterion"], one["points"], tuple(one["tags"])) for one in CRITERIA]]
    assert [criteria_in(path) for path in (lines, table, columns)] == [expected] * 3


def test_a_parquet_struct_without_some_keys_and_plain_texts_are_criteria_too(tmp_path: Path) -> None:
    columns = tmp_path / "c.parquet"
    loose = [{"criterion": "A", "id": None, "answers": None, "points": None, "tags": None}]
    pl.DataFrame({"response": ["x"], "criteria": [loose]}).write_parquet(columns)
    assert criteria_in(columns) == [[("A", 1.0, ())]]
    lines = tmp_path / "c.jsonl"
    lines.write_text('{"response": "x", "criteria": ["A", "B"]}\n')
    assert criteria_in(lines) == [[("A", 1.0, ()), ("B", 1.0, ())]]


def test_a_case_whose_criteria_nobody_reads_is_told_with_its_line_and_the_way_out(tmp_path: Path) -> None:
    plain = {"name": "wordy", "dimensions": {"length": {"formula": "1"}}, "verdicts": [{"label": "ok"}]}
    cases = [{"id": "a", "response": "x", "criteria": ["A"]}, {"id": "b", "response": "y"}]
    found = rubrica.run(cases, rubric=plain, out=tmp_path / "run")
    assert found.evaluation("b").verdict == "ok"
    errors = (tmp_path / "run" / "errors.jsonl").read_text()
    assert "give it a dimension with `from: criteria`, or leave the criteria out" in errors


def test_an_empty_answer_is_kept_as_one_and_not_judged_again(tmp_path: Path) -> None:
    cases = [{"id": "a", "response": "", "criteria": CRITERIA}]
    _, again = (rubrica.run(cases, rubric=RUBRIC, out=tmp_path / "run") for _ in range(2))
    context = again.evaluation("a").context
    assert context is not None
    assert context.has_response
    assert len((tmp_path / "run" / "evaluations.jsonl").read_text().splitlines()) == 1


def test_a_run_without_a_judge_leaves_criteria_unscored() -> None:
    found = rubrica.run([{"id": "a", "response": "x", "criteria": CRITERIA}], rubric=RUBRIC).evaluation("a")
    assert found.verdict == "inconclusive"
    assert {part.status for part in found.dimensions["answer"].parts.values()} == {"unscored"}


def test_a_summary_tells_what_was_earned_by_tag_and_by_position() -> None:
    rows = [row("1", 1, 1, 0), row("2", 1, 0, 1), row("3", 0, 1, 0)]
    part = summarise(rows).parts["clinical@1.0.0"]
    accuracy = part.tags["accuracy"]
    assert (accuracy.earned, accuracy.possible, accuracy.criteria, accuracy.cases) == (12, 24, 9, 3)
    assert accuracy.share == 0.5
    assert [place.criteria for place in part.positions] == [3, 3, 3]
    assert [place.mean for place in part.positions] == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    plain = part.to_dict()
    assert plain["tags"]["care"]["share"] == pytest.approx(2 / 3)
    assert plain["tags"]["accuracy"]["by_case"]["count"] == 3
    assert len(plain["positions"]) == 3
    console = Console(width=100, record=True, file=None, quiet=False)
    with console.capture() as shown:
        console.print(*criteria_tables(part))
    assert "0.5 over 9 criteria" in shown.get()


def test_what_has_no_criteria_is_summed_up_without_them() -> None:
    plain = summarise([RunRow("1", "r@1.0.0", "pass", 80.0, 100.0)]).parts["r@1.0.0"].to_dict()
    assert "tags" not in plain


def test_two_runs_are_compared_by_tag() -> None:
    before = [row(str(number), 1, number % 2, 0) for number in range(8)]
    after = [row(str(number), 1, 1, 0) for number in range(8)]
    lines = {line.measure: line for line in compare(before, after).lines}
    assert lines[Measure("tag", "care")].mean == pytest.approx(0.5)


def test_two_runs_are_compared_by_position_which_decides_nothing() -> None:
    before = [row(str(number), 1, 0, 0) for number in range(12)]
    after = [row(str(number), 1, 1, None if number else 1) for number in range(12)]
    found = compare(before, after)
    assert [(one.position, one.before, one.after, one.cases) for one in found.positions] == [
        (1, 1, 1, 12),
        (2, 0, 1, 12),
        (3, 0, 1, 1),
    ]
    assert found.positions[1].p < 0.01 < found.positions[2].p
    assert not any(str(line.measure).startswith("position") for line in found.lines)
    assert found.to_dict()["positions"][1]["position"] == 2
    assert "answers by position" in found._repr_html_()
    console = Console(width=100)
    with console.capture() as shown:
        console.print(comparison_page(found, ("a", "b")))
    assert "criterion" in shown.get()
    plain = [RunRow("1", "r@1.0.0", "pass", 80.0, 100.0)]
    assert "positions" not in compare(plain, plain).to_dict()


def test_tags_and_positions_stand_in_the_columns_of_a_run(tmp_path: Path) -> None:
    rows = [row("1", 1, None, 0), RunRow("2", "other@1.0.0", "pass", 1.0, 1.0)]
    path = tmp_path / "evaluations.parquet"
    with ColumnsWriter(path) as writer:
        writer.add(rows)
    assert list(read_columns(path)) == rows
    assert {"earned.accuracy", "possible.care", "criteria.care", "positions"} <= set(pl.read_parquet(path).columns)
