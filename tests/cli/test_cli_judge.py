"""``rubrica eval --judge``: scripted, recorded and counted, one response or a file of cases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli, WriteLines, stored

from rubrica.model.evaluation import Evaluation

RUBRIC = """\
name: short
scale: {min: 1, max: 10}
dimensions:
  accuracy: {asks: Is it right?, weight: 0.8}
  tone: {asks: Is it kind?, weight: 0.2}
score: {weighted: true, out_of: 100}
verdicts:
  - {label: pass, when: "score >= 70"}
  - {label: fail}
on_unscored: inconclusive
"""
FRIENDLY = {"match": "for tone alone", "reply": {"score": 8, "reason": "kind", "confidence": 0.9}}
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_KEY", "OPENAI_API_KEY", "RUBRICA_HTTP_KEY")


@pytest.fixture(autouse=True)
def _at_home_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's is read or written: no settings, no keys, no cache."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RUBRICA_CACHE", str(tmp_path / "replies.sqlite"))
    for name in (*KEYS, "RUBRICA_CONFIG", "RUBRICA_JUDGE", "RUBRICA_BUDGET", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    file = tmp_path / "short.yaml"
    file.write_text(RUBRIC)
    return file


def script(folder: Path, name: str, *lines: Mapping[str, Any]) -> str:
    """A scripted model, as it is named on the command line."""
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{file}"


def says(folder: Path, name: str, *accuracy: float) -> str:
    """A model that gives these scores for accuracy, one after the other, and always 8 for tone."""
    lines = [
        {"match": "for accuracy alone", "reply": {"score": value, "reason": f"{name} says", "confidence": 0.9}}
        for value in accuracy
    ]
    return script(folder, name, *lines, FRIENDLY)


def by_case(folder: Path, count: int) -> tuple[str, list[dict[str, str]]]:
    """A model that tells the cases apart, and the cases; case 3 gets a 3, case 7 a 7."""
    lines = [
        {"pattern": f"(?s)number {n}\\..*for accuracy alone", "reply": {"score": n, "reason": f"case {n}"}}
        for n in range(1, count + 1)
    ]
    cases = [{"id": f"case-{n}", "response": f"This is number {n}."} for n in range(1, count + 1)]
    return script(folder, "by-case", *lines, FRIENDLY), cases


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


# --- one response ---


def test_a_scripted_judge_judges_one_response(cli: Cli, short: Path, tmp_path: Path) -> None:
    result = cli("eval", "-r", short, "--response", "Paris.", "--judge", says(tmp_path, "a", 9), "--json")
    assert result.exit_code == 0
    evaluation = Evaluation.from_json(result.stdout)
    assert (evaluation.score, evaluation.verdict, evaluation.offline) == (88, "pass", False)
    accuracy = evaluation.dimensions["accuracy"]
    assert (accuracy.value, accuracy.reason, accuracy.source) == (9, "a says", "llm")


def test_the_card_shows_what_the_judge_said_and_cost(cli: Cli, short: Path, tmp_path: Path) -> None:
    result = cli("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9))
    assert result.exit_code == 0
    for expected in ("88 of 100", "pass", "a says", "cost", "$0"):
        assert expected in result.stdout
    assert "offline" not in result.stdout


def test_a_judge_that_fails_is_told_and_nothing_is_made_up(cli: Cli, short: Path, tmp_path: Path) -> None:
    judge = script(tmp_path, "ill", {"error": "overloaded", "message": "out for lunch"})
    result = cli("eval", "-r", short, "--response", "Paris.", "-J", judge, "--fail-on", "inconclusive")
    assert result.exit_code == 100
    assert "inconclusive" in result.stdout
    assert "out for lunch" in result.stdout


def test_fail_on_heeds_a_judged_verdict(cli: Cli, short: Path, tmp_path: Path) -> None:
    judge = says(tmp_path, "a", 2)
    assert cli("eval", "-r", short, "--response", "Rome.", "-J", judge, "--fail-on", "fail").exit_code == 100


# --- panels and repeats ---


def test_a_panel_is_named_by_repeating_the_option_or_by_commas(cli: Cli, short: Path, tmp_path: Path) -> None:
    names = [says(tmp_path, name, value) for name, value in (("a", 9), ("b", 3), ("c", 7))]
    for options in (["-J", names[0], "-J", names[1], "--judge", names[2]], ["-J", ",".join(names)]):
        result = cli("eval", "-r", short, "--response", "Paris.", *options, "--json")
        accuracy = Evaluation.from_json(result.stdout).dimensions["accuracy"]
        assert accuracy.value == 7
        assert {vote.judge: vote.value for vote in accuracy.votes} == dict(zip(names, (9, 3, 7), strict=True))


def test_a_label_that_the_judge_invents_is_told_at_the_end(cli: Cli, tmp_path: Path, write_lines: WriteLines) -> None:
    rubric, judge = tmp_path / "asked.yaml", tmp_path / "invents.jsonl"
    rubric.write_text(
        "{name: asked, dimensions: {answer: {from: criteria}}, score: {points: true}, "
        "verdicts: [{label: good, when: score >= 1}, {label: poor}]}"
    )
    judge.write_text('{"reply": {"reason": "so", "answer": "perhaps"}}\n')
    cases = write_lines([{"response": "Paris.", "criteria": ["Names the town."]}])
    told = cli("eval", cases, "-r", rubric, "-J", f"scripted:{judge}")
    said = 'without a score for something: the judge answered "perhaps", which is none of met, not_met'
    assert said in told.stderr


def test_repeats_that_straddle_the_threshold_are_inconclusive(cli: Cli, short: Path, tmp_path: Path) -> None:
    args = ("eval", "-r", short, "--response", "Paris.", "--repeats", "3")
    split = cli(*args, "-J", says(tmp_path, "a", 9, 4, 9), "--json")
    evaluation = Evaluation.from_json(split.stdout)
    assert evaluation.verdict == "inconclusive"
    assert "repeat 1 pass, repeat 2 fail, repeat 3 pass" in evaluation.reason
    assert [vote.value for vote in evaluation.dimensions["accuracy"].votes] == [9, 4, 9]
    steady = cli(*args, "-J", says(tmp_path, "b", 9, 8, 10), "--json")
    assert Evaluation.from_json(steady.stdout).verdict == "pass"
    assert "do not agree with themselves" in cli(*args, "-J", says(tmp_path, "c", 9, 4, 9)).stdout


# --- files of cases ---


@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_cases_come_out_the_same_however_many_are_under_way(
    cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines, jobs: int
) -> None:
    judge, cases = by_case(tmp_path, 10)
    out = tmp_path / "out.jsonl"
    result = cli("eval", write_lines(cases), "-r", short, "-J", judge, "--jobs", str(jobs), "-o", out)
    assert result.exit_code == 0
    found = {evaluation.case: evaluation.dimensions["accuracy"].value for evaluation in stored(out)}
    assert found == {f"case-{n}": n for n in range(1, 11)}
    assert "10 judged" in result.stdout
    assert "judged dimension" in result.stdout


def test_expectations_hold_for_the_case_they_belong_to(
    cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    judge, cases = by_case(tmp_path, 10)
    expected = [{**case, "expect": {"score": n * 8 + 16}} for n, case in enumerate(cases, 1)]
    result = cli("eval", write_lines(expected), "-r", short, "-J", judge, "--check", "-j", "8")
    assert result.exit_code == 0
    assert "10 of 10 as expected" in result.stdout


def test_broken_lines_are_told_and_the_rest_is_judged(
    cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    judge, cases = by_case(tmp_path, 6)
    lines = [cases[0], "{oops", *cases[1:4], {"response": 7}, "", *cases[4:]]
    out = tmp_path / "out.jsonl"
    result = cli("eval", write_lines(lines), "-r", short, "-J", judge, "-j", "3", "-o", out)
    assert result.exit_code == 1
    assert sorted(line.split(":")[0] for line in result.stderr.splitlines()) == ["line 2", "line 6"]
    assert {evaluation.case for evaluation in stored(out)} == {case["id"] for case in cases}
    assert "2 broken lines" in result.stdout


def test_a_case_that_the_judge_cannot_answer_does_not_stop_the_others(
    cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    judge, cases = by_case(tmp_path, 4)
    cases.insert(2, {"id": "unknown", "response": "Hello."})
    out = tmp_path / "out.jsonl"
    result = cli("eval", write_lines(cases), "-r", short, "-J", judge, "-o", out)
    assert result.exit_code == 0
    found = {evaluation.case: evaluation for evaluation in stored(out)}
    assert len(found) == 5
    assert found["unknown"].verdict == "inconclusive"
    assert "no line fits" in found["unknown"].dimensions["accuracy"].reason
    assert {case for case, evaluation in found.items() if evaluation.verdict != "inconclusive"} == {
        f"case-{n}" for n in range(1, 5)
    }


def test_limit_asks_about_the_first_cases_only(cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines) -> None:
    judge, cases = by_case(tmp_path, 6)
    record = tmp_path / "record.jsonl"
    result = cli("eval", write_lines(cases), "-r", short, "-J", judge, "--limit", "2", "--record", record, "--json")
    assert {json.loads(line)["case"] for line in result.stdout.splitlines()} == {"case-1", "case-2"}
    assert len(record.read_text().splitlines()) == 4


# --- dry runs ---


def test_a_dry_run_tells_calls_tokens_and_price_and_asks_nothing(
    cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    _, cases = by_case(tmp_path, 3)
    out, before = tmp_path / "out.jsonl", files(tmp_path)
    models = "anthropic:claude-haiku-4-5,openai:no-such-model"
    lines = write_lines(cases)
    result = cli("eval", lines, "-r", short, "-J", models, "--repeats", "2", "--dry-run", "-o", out)
    assert result.exit_code == 0  # no key was needed: nothing was sent
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if ":" in line.split(" ")[0]}
    haiku, other = rows["anthropic:claude-haiku-4-5"], rows["openai:no-such-model"]
    calls, tokens_in, tokens_out = haiku.split()[1:4]
    assert (calls, tokens_out) == ("12", "1,440")  # 3 cases × 2 dimensions × 2 repeats
    assert int(tokens_in.replace(",", "")) > 12 * 200
    assert re.search(r"\$0\.0\d", haiku)
    assert "unknown" in other
    assert "3 cases; nothing was asked" in result.stdout
    assert files(tmp_path) - before == {lines.name}


def test_a_dry_run_of_one_response_leaves_its_script_untouched(cli: Cli, short: Path, tmp_path: Path) -> None:
    judge, record = says(tmp_path, "a", 9), tmp_path / "record.jsonl"
    args = ("eval", "-r", short, "--response", "Paris.", "-J", judge, "--dry-run", "--record", record)
    result = cli(*args, "--fail-on", "inconclusive")
    assert result.exit_code == 0  # there is no verdict to fail on
    assert "1 case" in result.stdout
    assert "nothing was asked" in result.stdout
    assert not record.exists()
    assert not (tmp_path / "replies.sqlite").exists()


# --- money ---


def test_a_budget_is_kept_for_models_without_a_bill(cli: Cli, short: Path, tmp_path: Path) -> None:
    args = ("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9), "--json")
    assert Evaluation.from_json(cli(*args, "--budget", "2.00").stdout).verdict == "pass"


def test_a_budget_for_an_unknown_price_is_refused_with_the_way_out(cli: Cli, short: Path) -> None:
    judge = "http://127.0.0.1:9/v1#my-model"
    result = cli("eval", "-r", short, "--response", "Paris.", "-J", judge, "--budget", "1")
    assert result.exit_code == 1
    assert "price unknown" in result.stderr
    assert "leave the budget out" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_negative_budget_is_a_usage_error(cli: Cli, short: Path, tmp_path: Path) -> None:
    judge = says(tmp_path, "a", 9)
    assert cli("eval", "-r", short, "--response", "x", "-J", judge, "--budget", "-1").exit_code == 2


# --- recordings and the cache ---


def test_a_recording_is_replayed_without_the_model(
    cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    judge, cases = by_case(tmp_path, 5)
    record, lines = tmp_path / "record.jsonl", write_lines(cases)
    first = cli("eval", lines, "-r", short, "-J", judge, "--record", record, "--json")
    assert len(record.read_text().splitlines()) == 10
    (tmp_path / "by-case.jsonl").unlink()
    again = cli("eval", lines, "-r", short, "-J", f"replay:{record}", "--json")
    assert again.exit_code == 0
    assert _scores(first.stdout) == _scores(again.stdout) == {f"case-{n}": n * 8 + 16.0 for n in range(1, 6)}


def test_what_is_not_in_the_recording_is_told(cli: Cli, short: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    cli("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9), "--record", record)
    result = cli("eval", "-r", short, "--response", "Rome.", "-J", f"replay:{record}", "--json")
    evaluation = Evaluation.from_json(result.stdout)
    assert evaluation.verdict == "inconclusive"
    assert "not in the recording" in evaluation.dimensions["accuracy"].reason


def test_a_recording_that_cannot_be_written_is_a_clean_error(cli: Cli, short: Path, tmp_path: Path) -> None:
    record = tmp_path / "nowhere" / "record.jsonl"
    result = cli("eval", "-r", short, "--response", "x", "-J", says(tmp_path, "a", 9), "--record", record)
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


def test_no_cache_leaves_the_cache_alone(cli: Cli, short: Path, tmp_path: Path) -> None:
    args = ("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9))
    assert cli(*args, "--no-cache").exit_code == 0
    assert not (tmp_path / "replies.sqlite").exists()
    assert cli(*args).exit_code == 0
    assert (tmp_path / "replies.sqlite").exists()


def test_scripted_replies_are_never_cached(cli: Cli, short: Path, tmp_path: Path) -> None:
    args = ("eval", "-r", short, "--response", "Paris.", "--json", "-J")
    assert Evaluation.from_json(cli(*args, says(tmp_path, "a", 9)).stdout).dimensions["accuracy"].value == 9
    assert Evaluation.from_json(cli(*args, says(tmp_path, "a", 3)).stdout).dimensions["accuracy"].value == 3


def test_a_cache_that_cannot_be_opened_says_how_to_go_on(
    cli: Cli, short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_text("this is no database, however long one looks at it" * 20)
    monkeypatch.setenv("RUBRICA_CACHE", str(broken))
    result = cli("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9))
    assert result.exit_code == 1
    assert "RUBRICA_CACHE=off" in result.stderr
    assert cli("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9), "--no-cache").exit_code == 0


def test_nothing_is_written_at_home(cli: Cli, short: Path, tmp_path: Path) -> None:
    assert cli("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9)).exit_code == 0
    assert files(tmp_path / "home") == set()


# --- what is refused ---


@pytest.mark.parametrize("spec", ["gpt-4", "cohere:command", "openai:", "scripted:"])
def test_a_name_of_no_model_lists_the_forms(cli: Cli, short: Path, spec: str) -> None:
    result = cli("eval", "-r", short, "--response", "x", "-J", spec)
    assert result.exit_code == 1
    assert "names no model" in result.stderr
    for form in ("anthropic:MODEL", "openai:MODEL", "#MODEL", "local:", "scripted:FILE.jsonl", "replay:FILE.jsonl"):
        assert form in result.stderr


@pytest.mark.parametrize(
    ("spec", "variable"),
    [("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY"), ("openai:gpt-4o-mini", "OPENAI_API_KEY")],
)
def test_a_missing_key_names_its_variable(cli: Cli, short: Path, spec: str, variable: str) -> None:
    result = cli("eval", "-r", short, "--response", "x", "-J", spec)
    assert result.exit_code == 1
    assert f"set {variable}" in result.stderr


@pytest.mark.parametrize("option", [["--repeats", "2"], ["--budget", "1"], ["--dry-run"], ["--record", "r.jsonl"]])
def test_options_of_a_judge_are_refused_without_one(cli: Cli, short: Path, option: list[str], tmp_path: Path) -> None:
    before = files(tmp_path)
    result = cli("eval", "-r", short, "--response", "x", *option)
    assert result.exit_code == 2
    assert "--judge" in result.stderr
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "lines", ["", "{oops\n", '{"reply": "a", "error": "timeout"}\n', '{"answer": "a"}\n'], ids=["empty", "1", "2", "3"]
)
def test_a_script_that_cannot_be_used_is_told_with_its_place(cli: Cli, short: Path, tmp_path: Path, lines: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(lines)
    result = cli("eval", "-r", short, "--response", "x", "-J", f"scripted:{file}")
    assert result.exit_code == 1
    assert "bad.jsonl" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_script_is_told(cli: Cli, short: Path, tmp_path: Path) -> None:
    result = cli("eval", "-r", short, "--response", "x", "-J", f"scripted:{tmp_path / 'nobody.jsonl'}")
    assert result.exit_code == 1
    assert "nobody.jsonl" in result.stderr


def test_a_misspelt_setting_is_noted(cli: Cli, short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICA_BUGDET", "2")
    result = cli("eval", "-r", short, "--response", "Paris.", "-J", says(tmp_path, "a", 9))
    assert result.exit_code == 0
    assert "RUBRICA_BUGDET" in result.stderr


def _scores(stdout: str) -> dict[str | None, float | None]:
    found = [Evaluation.from_json(line) for line in stdout.splitlines()]
    return {evaluation.case: evaluation.score for evaluation in found}


def test_the_judge_of_the_settings_is_asked_unless_offline(
    cli: Cli, short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICA_JUDGE", says(tmp_path, "a", 9))
    asked = json.loads(cli("eval", "-r", short, "--response", "Paris.", "--json").stdout)
    assert asked["verdict"] == "pass"
    offline = json.loads(cli("eval", "-r", short, "--response", "Paris.", "--json", "--offline").stdout)
    assert offline["verdict"] == "inconclusive"


def test_a_recording_never_replaces_what_is_judged_or_what_exists(
    cli: Cli, short: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    judge, cases = by_case(tmp_path, 2)
    source = write_lines(cases)
    before = source.read_text()
    script_file = judge.removeprefix("scripted:")
    for record in (source, script_file):
        assert cli("eval", source, "-r", short, "-J", judge, "--record", record, "--force").exit_code != 0
    assert source.read_text() == before
    kept = tmp_path / "kept.jsonl"
    kept.write_text("precious\n")
    result = cli("eval", source, "-r", short, "-J", judge, "--record", kept)
    assert result.exit_code == 1
    assert kept.read_text() == "precious\n"


def test_a_dry_run_checks_the_names_of_models(cli: Cli, short: Path) -> None:
    result = cli("eval", "-r", short, "--response", "x", "-J", "nonsense", "--dry-run")
    assert result.exit_code == 1
    assert "anthropic:MODEL" in result.stderr
