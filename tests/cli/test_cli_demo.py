"""``rubrica demo``: the first thing a user sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Cli, stored

from rubrica.cli.example_table import abbreviations
from rubrica.packs.library import PACKS, examples


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "demo"


def test_demo_judges_every_example_as_expected(cli: Cli, folder: Path) -> None:
    result = cli("demo", "-o", folder)
    assert result.exit_code == 0
    count = sum(1 for pack in PACKS for _ in examples(pack))
    assert f"{count} examples judged offline" in result.stdout
    assert "all as expected" in result.stdout
    assert len(stored(folder / "evaluations.jsonl")) == count
    html = (folder / "report.html").read_text()
    assert html.rstrip().endswith("</html>")
    for pack in PACKS:
        assert pack in result.stdout


def test_demo_ends_with_a_command_that_works(cli: Cli, folder: Path) -> None:
    last = cli("demo", "-o", folder).stdout.strip().splitlines()[-1].split()
    assert last[1] == "explain"
    explained = cli(*last[1:])
    assert explained.exit_code == 0
    assert f"case {last[-1]}" in explained.stdout


@pytest.mark.parametrize("width", [80, 100])
def test_demo_shows_each_example_on_one_line(cli: Cli, folder: Path, width: int) -> None:
    lines = cli("demo", "-o", folder, env={"COLUMNS": str(width)}).stdout.splitlines()
    for evaluation in stored(folder / "evaluations.jsonl"):
        assert evaluation.case is not None
        start = evaluation.case[:10]
        assert any(line.startswith(start) and line.rstrip().endswith(evaluation.verdict) for line in lines), start


def test_demo_can_be_run_again(cli: Cli, folder: Path) -> None:
    assert cli("demo", "-o", folder).exit_code == 0
    first = (folder / "evaluations.jsonl").read_text().count("\n")
    assert cli("demo", "-o", folder).exit_code == 0
    assert (folder / "evaluations.jsonl").read_text().count("\n") == first


def test_demo_into_a_file_is_a_clean_error(cli: Cli, folder: Path) -> None:
    folder.write_text("a file")
    result = cli("demo", "-o", folder)
    assert result.exit_code == 1
    assert "cannot make the folder" in result.stderr


def test_abbreviations_fit_and_differ() -> None:
    names = ["explanation_quality", "explanation_clarity", "explanation", "di_compliance", "x"]
    short = abbreviations(names, 4)
    assert list(short) == names
    assert len(set(short.values())) == len(names)
    assert all(len(head) <= 4 for head in short.values())
