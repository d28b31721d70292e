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


def test_demo_judges_every_example_as_expected_and_can_be_run_again(cli: Cli, folder: Path) -> None:
    count = sum(1 for pack in PACKS for _ in examples(pack))
    for width in (80, 100):
        result = cli("demo", "-o", folder, env={"COLUMNS": str(width)})
        assert result.exit_code == 0
        assert f"{count} examples judged offline" in result.stdout
        assert "all as expected" in result.stdout
        for pack in PACKS:
            assert pack in result.stdout
        kept = stored(folder / "evaluations.jsonl")
        assert len(kept) == count
        lines = result.stdout.splitlines()
        for evaluation in kept:
            assert evaluation.case is not None
            start = evaluation.case[:10]
            assert any(line.startswith(start) and line.rstrip().endswith(evaluation.verdict) for line in lines), start
    html = (folder / "report.html").read_text()
    assert html.rstrip().endswith("</html>")
    last = result.stdout.strip().splitlines()[-1].split()  # a command that works
    assert last[1] == "explain"
    explained = cli(*last[1:])
    assert explained.exit_code == 0
    assert f"case {last[-1]}" in explained.stdout


def test_demo_into_a_file_is_a_clean_error(cli: Cli, folder: Path) -> None:
    folder.write_text("a file")
    result = cli("demo", "-o", folder)
    assert result.exit_code == 1
    assert "cannot make the folder" in result.stderr


def test_abbreviations_fit_and_differ() -> None:
    titles = ["Explanation quality", "Explanation clarity", "Explanation", "Direct instruction", "X"]
    short = abbreviations(titles, 4)
    assert len(set(short)) == len(titles)
    assert all(len(head) <= 4 for head in short)
