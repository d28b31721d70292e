"""No text of a case, a rubric or a model steers the terminal, the log or the file that shows it."""

from __future__ import annotations

import json
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from cli_runs import TINY, Cli, WriteLines
from rich.panel import Panel
from rich.table import Table

from rubrica.cli import screen
from rubrica.report.printable import printable, printable_json

CODES = "\x1b[31mred\x1b]0;owned\x07 \x9b2J \u202egnp \x08\x7f"


def steering(text: str) -> list[str]:
    """The characters of a text that a terminal may follow."""
    return [
        repr(sign) for sign in text if (unicodedata.category(sign) == "Cc" and sign not in "\n\t") or sign == "\u202e"
    ]


@pytest.fixture
def run(tmp_path: Path, cli: Cli, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stored run whose rubric, ids, texts and metadata are full of escape codes."""
    monkeypatch.chdir(tmp_path)
    document = json.dumps(f"it shouts {CODES}")
    rubric = tmp_path / "loud.yaml"
    rubric.write_text(TINY.replace("because: it shouts", f"because: {document}").replace("A tiny rubric", "Tiny"))
    cases = write_lines(
        {"id": f"{n} {CODES}", "prompt": CODES, "response": f"NO {CODES.upper()}", "metadata": {"topic": CODES}}
        for n in range(3)
    )
    done = cli("run", cases, "-r", rubric, "-o", "runs/codes", "--no-bulk")
    assert done.exit_code in (0, 100), done.output
    return tmp_path / "runs" / "codes"


@pytest.mark.parametrize(
    "command",
    [
        ["summary", "RUN", "--github"],
        ["summary", "RUN", "--by", "topic"],
        ["summary", "RUN", "--json", "--github"],
        ["explain", "RUN/evaluations.jsonl"],
        ["explain", "RUN/evaluations.jsonl", "--json"],
        ["compare", "RUN", "RUN", "--github"],
        ["eval", "cases.jsonl", "-r", "loud.yaml"],
        ["eval", "cases.jsonl", "-r", "loud.yaml", "-o", "-"],
        ["show", "loud.yaml"],
        ["show", "loud.yaml", "--json"],
        ["show", "loud.yaml", "--yaml"],
        ["docs", "loud.yaml"],
        ["validate", "loud.yaml"],
    ],
    ids=" ".join,
)
def test_what_a_command_prints_cannot_steer_the_terminal(run: Path, cli: Cli, command: list[str]) -> None:
    result = cli(*(part.replace("RUN", str(run)) for part in command))
    assert result.exit_code in (0, 100), result.output
    assert result.stdout
    assert steering(result.stdout + result.stderr) == []


def test_files_for_others_cannot_steer_what_shows_them(
    run: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    assert cli("summary", run, "--github", "--junit", "j.xml").exit_code == 0
    assert cli("review", "sample", run, "--share", "1", "-o", "review.csv", "--sheet", "review.md").exit_code == 0
    for file in (page, tmp_path / "j.xml", *tmp_path.glob("review*.csv"), *tmp_path.glob("review*.md")):
        assert steering(file.read_text(encoding="utf-8-sig")) == [], file.name


def test_json_that_is_printed_still_means_the_same(run: Path, cli: Cli) -> None:
    told = cli("eval", "cases.jsonl", "-r", "loud.yaml", "-o", "-").stdout.splitlines()
    assert {json.loads(line)["case"] for line in told} == {f"{n} {CODES}" for n in range(3)}
    assert json.loads(printable_json(json.dumps(CODES, ensure_ascii=False))) == CODES


def test_whatever_is_printed_is_neutralised_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("head")
    table.add_row(CODES)
    for shown in (CODES, Panel(CODES), table):
        console = screen.out()
        console.file = StringIO()
        console.print(shown)
        assert steering(console.file.getvalue()) == []
    assert len(printable(CODES)) == len(CODES)
