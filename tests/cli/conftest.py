"""The command line as tests call it in process."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cli_runs import STEADY, TINY, Cli, WriteLines
from typer.testing import CliRunner, Result

from rubrica.cli.app import app


@pytest.fixture
def cli() -> Cli:
    """Run the command in process. What it prints is in `stdout` and `stderr`."""
    runner = CliRunner(env=STEADY)

    def run(*args: str | Path, **options: Any) -> Result:
        result = runner.invoke(app, [str(arg) for arg in args], prog_name="rubrica", **options)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    return file


@pytest.fixture
def write_lines(tmp_path: Path) -> WriteLines:
    """A file of cases: objects become JSON, text stays as it is."""

    def write(rows: Iterable[object]) -> Path:
        file = tmp_path / "cases.jsonl"
        file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return file

    return write
