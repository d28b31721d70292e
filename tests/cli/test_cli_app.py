"""The table of commands, help, and how errors are told."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cli_runs import Cli, process
from typer.main import get_command

from rubrica import __version__
from rubrica.cli.app import COMMANDS, _asks_provider, command_module
from rubrica.cli.screen import safe


def test_version_is_printed(cli: Cli) -> None:
    result = cli("--version")
    assert result.exit_code == 0
    assert result.stdout.strip() == f"rubrica {__version__}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_helps_with_its_summary_and_examples(cli: Cli, name: str) -> None:
    result = cli(name, "--help")
    assert result.exit_code == 0
    assert COMMANDS[name].summary in result.stdout
    assert f"rubrica {name}" in result.stdout.split("Examples")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_says_what_it_is_for(name: str) -> None:
    command = get_command(command_module(name).app)
    assert [param.name for param in command.params if not getattr(param, "help", None)] == []


def test_help_lists_every_command_without_importing_any() -> None:
    code = (
        "import sys\n"
        "from rubrica.cli.app import app\n"
        "try:\n    app(['--help'], prog_name='rubrica')\n"
        "except SystemExit:\n    pass\n"
        "heavy = [m for m in ('jinja2', 'pydantic', 're2', 'rubrica.cli.eval') if m in sys.modules]\n"
        "print('IMPORTED', heavy)\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "IMPORTED []" in printed
    for name in COMMANDS:
        assert name in printed


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--version"], 0, f"rubrica {__version__}"),
        (["validate", "nowhere.yaml"], 1, "nowhere.yaml"),
        (["run", "--no-such-option"], 2, "--no-such-option"),
        (["eval", "-r", "answer-quality", "-p", "2 + 2?", "--response", "5", "--fail-on", "fail"], 100, "fail"),
    ],
)
def test_a_process_ends_with_its_exit_code_and_all_that_it_printed(args: list[str], code: int, said: str) -> None:
    ended = subprocess.run([sys.executable, "-m", "rubrica", *args], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert said in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_judged_run_loads_what_only_its_end_needs_after_its_first_calls() -> None:
    ours = ("rubrica.runs.finish", "rubrica.runs.compare.baseline", "rubrica.cli.run_end")
    heavy = ("genai_prices", "jinja2", "numpy", "polars", "rich", *ours)
    code = (
        "import sys\n"
        "import rubrica.cli.run, rubrica.runs.jury_session, rubrica.llm.openai\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("run cases.jsonl -J openai:gpt-4o-mini", True),
        ("run cases.jsonl --judge=http://127.0.0.1:1/v1#m", True),
        ("run cases.jsonl -J scripted:replies.jsonl", False),
        ("run cases.jsonl -r answer-quality", False),
    ],
)
def test_the_http_client_loads_early_where_a_judge_is_asked_over_http(line: str, asks: bool) -> None:
    assert _asks_provider(line.split()) is asks


def test_a_misspelt_command_is_answered_with_the_nearest(cli: Cli) -> None:
    result = cli("evaluate")
    assert result.exit_code == 2
    assert "eval" in result.stderr


def test_an_unknown_rubric_is_one_error_line_with_the_way_out(cli: Cli) -> None:
    result = cli("show", "answer-qualty")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "did you mean 'answer-quality'" in result.stderr


def test_an_unreadable_file_is_an_error_not_a_traceback(cli: Cli) -> None:
    result = cli("eval", "no-such-file.jsonl", "-r", "answer-quality")
    assert result.exit_code == 1
    assert "no-such-file.jsonl cannot be read: No such file or directory" in result.stderr


def test_text_cannot_steer_the_terminal() -> None:
    hostile = "a\x1b[2Jb\x07\u202ec\x9b"
    assert safe(hostile) == "a␛[2Jb␇�c�"
    assert safe("tabs\tand\nlines stay") == "tabs\tand\nlines stay"


def test_python_dash_m_runs_the_command() -> None:
    run = process("list", "--json")
    out, _ = run.communicate()
    assert run.returncode == 0
    assert {row["pack"] for row in json.loads(out)} >= {"answer-quality", "arena"}
