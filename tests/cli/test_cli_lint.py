"""`rubrica lint`: what it prints, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

from cli_runs import Cli

SHORT = """\
name: short
scale: {max: 10}
dimensions:
  brief:
    formula: min(word_count / 50, 1)
verdicts: [{label: done}]
"""


def test_warnings_name_file_line_path_and_rule(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(SHORT)
    result = cli("lint", file)
    assert result.exit_code == 0
    assert f"{file}:5: dimensions.brief.formula: the formula can never give more than 1" in result.stdout
    assert "scale-end" in result.stdout
    (told,) = json.loads(cli("lint", file, "--json").stdout)
    (warning,) = told["warnings"]
    assert (warning["rule"], warning["line"], warning["path"]) == ("scale-end", 5, "dimensions.brief.formula")


def test_strict_fails_on_a_warning_and_passes_without_one(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(SHORT)
    assert cli("lint", file, "--strict").exit_code == 1
    file.write_text(SHORT.replace("min(word_count / 50, 1)", "min(word_count / 5, 10)"))
    assert cli("lint", file, "--strict").exit_code == 0


def test_a_file_that_cannot_be_used_is_an_error_and_the_others_are_read(cli: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: x")
    result = cli("lint", broken, "answer-quality")
    assert result.exit_code == 1
    assert "broken.yaml" in result.stderr
    assert "ok answer-quality" in result.stdout
