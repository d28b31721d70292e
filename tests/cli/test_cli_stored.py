"""The commands about stored evaluations: explain, rejudge, report."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import GOOD, LOUD, POOR, Cli, WriteLines, rows, stored

from rubrica.scorers.recipe import FormulaScorer, RuleScorer


@pytest.fixture
def results(cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines) -> Path:
    """Three stored evaluations: pass, fail, and a veto."""
    file = tmp_path / "results.jsonl"
    assert cli("eval", write_lines(rows(GOOD, POOR, LOUD)), "-r", tiny, "-o", file).exit_code == 0
    return file


def test_explain_accounts_for_every_point_of_the_first_case(cli: Cli, results: Path) -> None:
    page = cli("explain", results).stdout
    assert "case case-1" in page
    for expected in ("+35", "+50", "4 to start with", "+3 polite words", "“thanks”", "(polite)", "score >= threshold"):
        assert expected in page


def test_explain_finds_a_case_and_its_gates(cli: Cli, results: Path) -> None:
    page = cli("explain", results, "--case", "case-3").stdout
    assert "no-shouting" in page
    assert "it shouts" in page
    assert "uppercase_share > 0.9" in page


def test_explain_of_an_unknown_case_names_some_that_are_there(cli: Cli, results: Path) -> None:
    result = cli("explain", results, "--case", "case-9")
    assert result.exit_code == 1
    assert "case-1, case-2, case-3" in result.stderr


def test_explain_can_judge_at_once(cli: Cli, tiny: Path) -> None:
    page = cli("explain", "-r", tiny, "--response", POOR).stdout
    assert "not pass: score >= threshold" in page


def test_explain_tells_what_was_missing(cli: Cli, tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace('formula: "10 if word_count <= longest else 0"', "asks: Is it short?"))
    page = cli("explain", "-r", tiny, "--response", GOOD).stdout
    missing = page.split("Notes")[1]
    assert "Brevity: not scored; no judge is configured" in missing
    assert "between 35 and 85" in missing


def test_explain_needs_one_source(cli: Cli, tiny: Path, results: Path) -> None:
    assert cli("explain").exit_code == 2
    assert cli("explain", "-r", tiny).exit_code == 2
    assert cli("explain", results, "-r", tiny, "--response", GOOD).exit_code == 2


@pytest.mark.parametrize("command", ["explain", "rejudge", "report"])
def test_a_file_of_cases_is_told_from_a_file_of_evaluations(
    cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines, command: str
) -> None:
    cases = write_lines(rows(GOOD, POOR))
    options = {"explain": [], "rejudge": ["-r", tiny], "report": ["-o", tmp_path / "page.html"]}[command]
    result = cli(command, cases, *options)
    assert result.exit_code == 1
    assert "line 1 is a case, not an evaluation" in result.stderr
    assert "rubrica eval" in result.stderr


def test_rejudge_shows_which_verdicts_changed(cli: Cli, tiny: Path, tmp_path: Path, results: Path) -> None:
    stricter = tmp_path / "stricter.yaml"
    stricter.write_text(tiny.read_text().replace("threshold: 70", "threshold: 90"))
    out = tmp_path / "rejudged.jsonl"
    result = cli("rejudge", results, "-r", stricter, "-o", out)
    assert result.exit_code == 0
    assert "1 of 3 verdicts changed" in result.stdout
    changed = next(line for line in result.stdout.splitlines() if "→" in line)
    assert changed.split() == ["pass", "→", "fail", "1"]
    assert [(e.case, e.verdict) for e in stored(out)] == [("case-1", "fail"), ("case-2", "fail"), ("case-3", "fail")]
    assert [e.score for e in stored(out)] == [e.score for e in stored(results)]


def test_rejudge_asks_no_scorer(
    cli: Cli, tiny: Path, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a scorer was asked")

    monkeypatch.setattr(RuleScorer, "__call__", refuse)
    monkeypatch.setattr(FormulaScorer, "__call__", refuse)
    out = tmp_path / "rejudged.jsonl"
    assert cli("rejudge", results, "-r", tiny, "-o", out).exit_code == 0
    before = [(e.score, e.verdict, e.dimensions["politeness"].hits) for e in stored(results)]
    assert [(e.score, e.verdict, e.dimensions["politeness"].hits) for e in stored(out)] == before


def test_rejudge_goes_on_after_a_broken_line(cli: Cli, tiny: Path, results: Path) -> None:
    first, *rest = results.read_text().splitlines(keepends=True)
    results.write_text(first + "{broken\n" + "".join(rest))
    result = cli("rejudge", results, "-r", tiny, "--json")
    assert result.exit_code == 1
    assert result.stderr.startswith("line 2: ")
    assert len(result.stdout.splitlines()) == 3


def test_rejudge_does_not_replace_its_own_input(cli: Cli, tiny: Path, results: Path) -> None:
    before = results.read_bytes()
    assert cli("rejudge", results, "-r", tiny, "-o", results, "--force").exit_code == 1
    assert results.read_bytes() == before


def test_report_writes_a_page_of_stored_evaluations(cli: Cli, results: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = cli("report", results, "-o", page, "--title", "Week <12>")
    assert result.exit_code == 0
    assert "3 evaluations" in result.stdout
    html = page.read_text()
    assert "Week &lt;12&gt;" in html
    assert "case-3" in html
    assert cli("report", results, "-o", page).exit_code == 1
    assert cli("report", results, "-o", page, "--force").exit_code == 0


def test_a_report_that_fails_leaves_no_half_page(cli: Cli, tmp_path: Path, results: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("the page of last week")
    results.write_text('{"response": "a case"}\n')
    assert cli("report", results, "-o", page, "--force").exit_code == 1
    assert page.read_text() == "the page of last week"


@pytest.mark.parametrize("bulk", ["--bulk", "--no-bulk"])
def test_a_runs_folder_is_explained_by_case_and_reported_with_its_plots(
    cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines, bulk: str
) -> None:
    run, page = tmp_path / "run", tmp_path / "page.html"
    assert cli("run", write_lines(rows(GOOD, POOR, LOUD)), "-r", tiny, "-o", run, bulk).exit_code == 0
    assert "it shouts" in cli("explain", run, "case-3").stdout
    assert "case case-1" in cli("explain", run).stdout
    assert "no case 'case-9'; it begins with case-1, case-2, case-3" in cli("explain", run, "case-9").stderr
    assert cli("explain", run, "case-1", "--case", "case-2").exit_code == 2
    assert "3 evaluations in" in cli("report", run, "-o", page).stdout
    assert "it shouts" in page.read_text(encoding="utf-8")
    assert cli("report", run, "-o", page, "-r", tiny, "--force").exit_code == 2


def test_rejudge_takes_a_runs_folder_unless_it_holds_figures_only(
    cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    cases = write_lines(rows(GOOD, POOR, LOUD))
    cli("run", cases, "-r", tiny, "-o", tmp_path / "run")
    cli("run", cases, "-r", tiny, "-o", tmp_path / "bulk", "--bulk")
    assert "0 of 3 verdicts changed" in cli("rejudge", tmp_path / "run", "-r", tiny).stdout
    refused = cli("rejudge", tmp_path / "bulk", "-r", tiny)
    assert refused.exit_code == 1
    assert "--no-bulk" in refused.stderr
    assert "holds no run" in cli("rejudge", tmp_path, "-r", tiny).stderr
