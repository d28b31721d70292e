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


POEM = """\
name: poem
dimensions:
  named: {asks: "Names the poet and gives the year.", answers: {yes: 1, no: 0}}
verdicts: [{label: done}]
"""


def test_a_wording_is_proposed(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "poem.yaml"
    file.write_text(POEM)
    result = cli("lint", file)
    assert f"{file}:3: dimensions.named.asks: asks two things" in result.stdout
    assert "rather: Names the poet. | Gives the year." in result.stdout


def test_a_model_reads_the_criteria_and_what_it_cannot_read_fails_the_command(cli: Cli, tmp_path: Path) -> None:
    file, script = tmp_path / "poem.yaml", tmp_path / "script.jsonl"
    file.write_text(POEM)
    fault = {"rule": "vague", "why": "Which year?", "wording": "Gives the year of the first print."}
    script.write_text(json.dumps({"reply": {"faults": [fault]}}))
    result = cli("lint", file, "-J", f"scripted:{script}")
    assert result.exit_code == 0
    assert "Which year?" in result.stdout
    script.write_text(json.dumps({"reply": "I like it."}))
    result = cli("lint", file, "-J", f"scripted:{script}")
    assert result.exit_code == 1
    assert "not read by the model: dimensions.named.asks" in result.stderr
    assert cli("lint", file, "-J", "one:a", "-J", "two:b").exit_code == 2


def test_criteria_that_cases_bring_are_read_and_the_same_is_told_once(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    criteria = ["Names the poet.", {"criterion": "Is the tone nice?", "points": 3}]
    unnamed = {"criterion": "Does not name the poet.", "points": -2}
    rows = [{"response": "a", "criteria": criteria}, {"response": "b", "criteria": [*criteria, unnamed]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (told,) = json.loads(cli("lint", "--cases", file, "--json").stdout)
    assert [(warning["rule"], warning["line"], warning["path"]) for warning in told["warnings"]] == [
        ("vague", 1, "criteria[1]"),
        ("overlap", 2, "criteria[2]"),
    ]
    assert cli("lint", "--cases", file, "--strict").exit_code == 1


def test_cases_without_criteria_and_nothing_at_all_are_refused(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"response": "a"}\n')
    refused = cli("lint", "--cases", file)
    assert refused.exit_code == 1
    assert "has criteria of its own; add --probe" in refused.stderr
    file.write_text('{"response": "a", "criteria": [3]}\n')
    assert cli("lint", "--cases", file).exit_code == 1
    assert cli("lint").exit_code == 2
