"""``rubrica eval``: one response, a file of cases, exit codes."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from cli_runs import GOOD, LOUD, POOR, Cli, WriteLines, process, rows, stored

from rubrica.model.evaluation import Evaluation

# --- one response ---


def test_one_response_shows_score_verdict_and_dimensions(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-r", tiny, "--prompt", "How?", "--response", GOOD)
    assert result.exit_code == 0
    for expected in ("85 of 100", "pass", "Politeness", "7 / 10", "Brevity", "score >= threshold"):
        assert expected in result.stdout


def test_an_open_verdict_names_its_way_out_and_every_range_once(cli: Cli) -> None:
    result = cli("eval", "-r", "answer-quality", "-p", "What is the capital of France?", "--response", "Paris.")
    assert "--judge MODEL asks a model." in result.stdout
    assert "(1–10) / 10" in result.stdout
    assert "known within 1 to" not in result.stdout


def test_a_narrower_range_keeps_its_reason_and_a_gate_is_explained_once(cli: Cli) -> None:
    pair = ("-c", "question_type=FACTUAL")
    result = cli("eval", "-r", "answer-quality", "-p", "What is 2 + 2?", "--response", "2 + 2 = 5", *pair)
    told = " ".join(result.stdout.replace("│", " ").split())
    assert "--judge" not in told  # the verdict is certain
    assert "2.5 (1–2.5) / 10" in told
    assert "range: another result" in told
    assert told.count("an answer with serious errors stays just under the pass mark") == 1


def test_json_prints_the_evaluation_alone(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-r", tiny, "--response", GOOD, "--json")
    evaluation = Evaluation.from_json(result.stdout)
    assert (evaluation.score, evaluation.verdict) == (85.0, "pass")


def test_texts_come_from_files_and_standard_input(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_bytes(b"\xef\xbb\xbfWhat now?")
    result = cli("eval", "-r", tiny, "--prompt", f"@{prompt}", "--response", "-", "--json", input="thanks a lot")
    context = Evaluation.from_json(result.stdout).context
    assert context is not None
    assert (context.prompt, context.response) == ("What now?", "thanks a lot")


def test_a_doubled_at_sign_is_text(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-r", tiny, "--response", "@@ann thanks", "--json")
    context = Evaluation.from_json(result.stdout).context
    assert context is not None
    assert context.response == "@ann thanks"


def test_a_missing_text_file_is_told_with_the_way_out(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-r", tiny, "--response", "@nobody")
    assert result.exit_code == 1
    assert "--response: the file 'nobody' cannot be read" in result.stderr
    assert "@@" in result.stderr


def test_prompt_and_response_cannot_share_standard_input(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-r", tiny, "--prompt", "-", "--response", "-", input="x")
    assert result.exit_code == 1
    assert "standard input" in result.stderr


def test_context_values_are_numbers_where_they_are_numbers(cli: Cli, tiny: Path) -> None:
    pairs = ["-c", "response_time=12", "-c", "question_type=FACTUAL", "-c", "session_id=7", "-c", "fresh=true"]
    result = cli("eval", "-r", tiny, "--response", GOOD, *pairs, "--json")
    context = Evaluation.from_json(result.stdout).context
    assert context is not None
    assert context.lookup("response_time") == 12
    assert context.lookup("question_type") == "FACTUAL"
    assert context.lookup("fresh") is True
    assert context.session_id == "7"


@pytest.mark.parametrize("pair", ["response_time", "=3"])
def test_a_context_pair_without_name_or_value_is_a_usage_error(cli: Cli, tiny: Path, pair: str) -> None:
    result = cli("eval", "-r", tiny, "--response", GOOD, "-c", pair)
    assert result.exit_code == 2
    assert "name=value" in result.stderr


def test_settings_change_the_rubric(cli: Cli, tiny: Path) -> None:
    args = ("eval", "-r", tiny, "--response", POOR, "--json")
    strict, lenient = cli(*args), cli(*args, "--set", "longest=10")
    assert Evaluation.from_json(strict.stdout).score == 20.0
    assert Evaluation.from_json(lenient.stdout).score == 70.0


def test_an_unknown_setting_lists_the_known_ones(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-r", tiny, "--response", GOOD, "--set", "shortest=1")
    assert result.exit_code == 1
    assert "shortest" in result.stderr
    assert "longest" in result.stderr


def test_nothing_to_judge_is_a_usage_error(cli: Cli, tiny: Path) -> None:
    assert cli("eval", "-r", tiny).exit_code == 2
    assert cli("eval", "--response", GOOD).exit_code == 2


def test_a_response_and_a_file_of_cases_exclude_each_other(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    result = cli("eval", write_lines(rows(GOOD)), "-r", tiny, "--response", GOOD)
    assert result.exit_code == 2
    assert "not both" in result.stderr


# --- verdicts and exit codes ---


@pytest.mark.parametrize(
    ("response", "watched", "code"),
    [(POOR, "fail", 100), (GOOD, "fail", 0), (GOOD, "fail,pass", 100), (GOOD, "inconclusive", 0), (LOUD, "fail", 100)],
)
def test_fail_on_turns_a_verdict_into_exit_code_100(
    cli: Cli, tiny: Path, response: str, watched: str, code: int
) -> None:
    assert cli("eval", "-r", tiny, "--response", response, "--fail-on", watched).exit_code == code


def test_fail_on_may_be_repeated(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-r", tiny, "--response", GOOD, "--fail-on", "fail", "--fail-on", "pass")
    assert result.exit_code == 100


def test_a_misspelt_verdict_is_refused_before_anything_is_judged(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = cli("eval", "-r", tiny, "--response", GOOD, "--fail-on", "fial", "-o", out)
    assert result.exit_code == 1
    assert "pass, fail, inconclusive" in result.stderr
    assert "did you mean 'fail'" in result.stderr
    assert not out.exists()


def test_a_misspelt_verdict_is_refused_when_cases_name_their_rubrics(
    cli: Cli, tiny: Path, write_lines: WriteLines
) -> None:
    cases = write_lines([{"response": GOOD, "rubric": str(tiny)}])
    assert cli("eval", cases, "--fail-on", "fail").exit_code == 0
    assert cli("eval", cases, "--fail-on", "fial").exit_code == 1


# --- files of cases ---


def test_broken_lines_are_told_with_their_number_and_the_rest_goes_on(
    cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    good = {"id": "last", "response": GOOD}
    cases = write_lines([*rows(GOOD), "{oops", "", "[1, 2]", {"response": 7}, {"expect": 3, "response": "x"}, good])
    out = tmp_path / "out.jsonl"
    result = cli("eval", cases, "-r", tiny, "-o", out, "--fail-on", "pass")
    assert result.exit_code == 1  # an error outranks a failed verdict
    told = [line.split(":")[0] for line in result.stderr.splitlines()]
    assert told == ["line 2", "line 4", "line 5", "line 6"]
    assert [evaluation.case for evaluation in stored(out)] == ["case-1", "last"]
    assert "4 broken lines" in result.stdout


def test_a_case_that_the_rubric_cannot_judge_is_a_broken_line(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    text = tiny.read_text() + "profiles: {by: kind, A: {threshold: 1}}\n"
    tiny.write_text(text)
    cases = write_lines([{"response": GOOD, "kind": "A"}, {"response": GOOD, "kind": "Z"}])
    result = cli("eval", cases, "-r", tiny, "--json")
    assert result.exit_code == 1
    assert result.stderr.startswith("line 2: ")
    assert "kind" in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_the_summary_counts_verdicts_and_names_the_weakest_cases(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    result = cli("eval", write_lines(rows(*[GOOD] * 7, POOR, POOR)), "-r", tiny)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert any("pass" in line and " 7 " in line for line in lines)
    assert any("fail" in line and " 2 " in line for line in lines)
    assert "70.56 of 100" in result.stdout  # (7 × 85 + 2 × 20) / 9
    weakest = result.stdout.split("lowest scores")[1]
    assert weakest.index("case-8") < weakest.index("case-9") < weakest.index("case-1")
    assert "case-7" not in weakest
    assert "9 judged" in result.stdout


def test_cases_are_read_from_standard_input(cli: Cli, tiny: Path) -> None:
    result = cli("eval", "-", "-r", tiny, "--json", input=json.dumps({"response": GOOD}) + "\n")
    assert Evaluation.from_json(result.stdout).verdict == "pass"


def test_a_byte_order_mark_does_not_break_the_first_line(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    cases = tmp_path / "bom.jsonl"
    cases.write_bytes(b"\xef\xbb\xbf" + json.dumps({"response": GOOD}).encode())
    assert cli("eval", cases, "-r", tiny).exit_code == 0


def test_limit_judges_only_the_first_cases(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    result = cli("eval", write_lines(rows(GOOD, POOR, POOR)), "-r", tiny, "--limit", "1", "--json")
    assert [json.loads(line)["case"] for line in result.stdout.splitlines()] == ["case-1"]


def test_each_case_may_name_its_own_rubric(cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(tiny.read_text().replace("name: tiny", "name: other").replace("longest: 5", "longest: 50"))
    cases = write_lines([{"response": POOR, "rubric": str(tiny)}, {"response": POOR, "rubric": str(other)}])
    result = cli("eval", cases, "--json")
    found = [Evaluation.from_json(line) for line in result.stdout.splitlines()]
    assert [(evaluation.rubric, evaluation.verdict) for evaluation in found] == [("tiny", "fail"), ("other", "pass")]
    given = cli("eval", cases, "-r", other, "--json")
    assert {json.loads(line)["rubric"] for line in given.stdout.splitlines()} == {"other"}


def test_a_case_without_any_rubric_is_an_error_at_once(cli: Cli, write_lines: WriteLines) -> None:
    result = cli("eval", write_lines(rows(GOOD, GOOD)))
    assert result.exit_code == 1
    assert result.stderr.count("--rubric") == 1


def test_context_options_fill_in_what_cases_do_not_say(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    cases = write_lines(
        [{"response": GOOD}, {"response": GOOD, "team": "b"}, {"response": GOOD, "metadata": {"team": "c"}}]
    )
    result = cli("eval", cases, "-r", tiny, "-c", "team=a", "--json")
    contexts = [Evaluation.from_json(line).context for line in result.stdout.splitlines()]
    assert [context.lookup("team") for context in contexts if context is not None] == ["a", "b", "c"]


def test_expectations_are_compared_and_check_makes_them_count(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    expectations = ["pass", {"verdict": "fail", "score": 20}, {"gates": ["no-shouting"]}]
    cases = write_lines({**row, "expect": e} for row, e in zip(rows(GOOD, POOR, LOUD), expectations, strict=True))
    fine = cli("eval", cases, "-r", tiny, "--check")
    assert fine.exit_code == 0
    assert "3 of 3 as expected" in fine.stdout

    cases = write_lines({**row, "expect": e} for row, e in zip(rows(POOR, GOOD), ["pass", {"score": 80}], strict=True))
    result = cli("eval", cases, "-r", tiny)
    assert result.exit_code == 0
    assert "case-1: verdict pass was expected, fail came out" in result.stdout
    assert "case-2: score 80 was expected, 85 came out" in result.stdout
    assert "0 of 2 as expected" in result.stdout
    assert cli("eval", cases, "-r", tiny, "--check").exit_code == 100


# --- where results go ---


def test_output_is_kept_unless_forced(cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious\n")
    cases = write_lines(rows(GOOD))
    refused = cli("eval", cases, "-r", tiny, "-o", out)
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert out.read_text() == "precious\n"
    assert cli("eval", cases, "-r", tiny, "-o", out, "--force").exit_code == 0
    assert [evaluation.verdict for evaluation in stored(out)] == ["pass"]


def test_a_file_is_never_both_read_and_replaced(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    cases = write_lines(rows(GOOD))
    before = cases.read_bytes()
    result = cli("eval", cases, "-r", tiny, "-o", cases, "--force")
    assert result.exit_code == 1
    assert cases.read_bytes() == before
    assert cli("eval", cases, "-r", tiny, "-o", tiny, "--force").exit_code == 1


def test_a_report_is_written_beside_the_evaluations(
    cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    out, page = tmp_path / "out.jsonl", tmp_path / "page.html"
    result = cli("eval", write_lines(rows(GOOD, POOR)), "-r", tiny, "-o", out, "--report", page)
    assert result.exit_code == 0
    assert len(stored(out)) == 2
    html = page.read_text()
    assert html.lower().startswith("<!doctype html>")
    assert "case-2" in html
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_an_unwritable_output_is_a_clean_error(cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines) -> None:
    result = cli("eval", write_lines(rows(GOOD)), "-r", tiny, "-o", tmp_path / "nowhere" / "out.jsonl")
    assert result.exit_code == 1
    assert "No such file or directory" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_clean_error(cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    result = cli("eval", write_lines(rows(GOOD, GOOD)), "-r", tiny, "-o", "/dev/full")
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_closed_pipe_ends_the_run_quietly(tiny: Path, write_lines: WriteLines) -> None:
    cases = write_lines(rows(*[GOOD] * 3000))
    run = process("eval", cases, "-r", tiny, "--json")
    assert run.stdout is not None
    assert run.stderr is not None
    assert json.loads(run.stdout.readline())["case"] == "case-1"
    run.stdout.close()
    told = run.stderr.read().decode()
    run.stderr.close()
    assert run.wait() == 1
    assert "no longer read" in told
    assert "Traceback" not in told
    assert "Exception ignored" not in told


def test_an_interrupted_run_keeps_what_it_finished(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run = process("eval", "-", "-r", tiny, "-o", out, "--json", stdin=-1, from_scratch=True)
    assert run.stdin is not None
    assert run.stdout is not None
    for row in rows(GOOD, POOR):
        run.stdin.write(json.dumps(row).encode() + b"\n")
    run.stdin.flush()
    run.stdout.readline()
    run.stdout.readline()
    run.send_signal(signal.SIGINT)
    _, told = run.communicate()
    assert run.returncode == 130
    assert "interrupted: 2 judged" in told.decode()
    assert "Traceback" not in told.decode()
    assert len(stored(out)) == 2


def test_a_killed_run_keeps_what_it_finished(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run = process("eval", "-", "-r", tiny, "-o", out, "--json", stdin=-1, from_scratch=True)
    assert run.stdin is not None
    assert run.stdout is not None
    run.stdin.write(json.dumps(rows(GOOD)[0]).encode() + b"\n")
    run.stdin.flush()
    run.stdout.readline()
    run.kill()
    run.communicate()
    assert [evaluation.case for evaluation in stored(out)] == ["case-1"]
