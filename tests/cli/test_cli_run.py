"""``rubrica run``: judging into a folder, going on, beginning anew, and choosing cases."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli_runs import GOOD, LOUD, POOR, Cli, WriteLines, rows, stored
from msgspec.structs import replace
from typer.testing import Result

import rubrica
from rubrica.engine.audience import listen
from rubrica.errors import RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.runs.bulk.run import LARGE
from rubrica.runs.bulk_choice import takes_bulk
from rubrica.runs.files.case_source import JsonCases
from rubrica.runs.files.folder import locked
from rubrica.runs.progress import ProgressMeter, progress_text
from rubrica.runs.request import CaseChoice, RunRequest
from rubrica.runs.run_writer import RunWriter
from rubrica.runs.selection import Selection
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.tally import DimensionCost, RunTally

KIND = """\
name: kind
scale: {min: 0, max: 10}
dimensions:
  tone: {asks: Is it kind?, weight: 1}
score: {weighted: true, out_of: 10}
verdicts:
  - {label: pass, when: "score >= 5"}
  - {label: fail}
on_unscored: inconclusive
"""


@pytest.fixture(autouse=True)
def _at_home_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's is read or written."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RUBRICA_CACHE", "off")
    monkeypatch.setenv("RUBRICA_ATTEMPTS", "1")
    for name in ("RUBRICA_CONFIG", "RUBRICA_JUDGE", "RUBRICA_BUDGET", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kind(tmp_path: Path) -> Path:
    file = tmp_path / "kind.yaml"
    file.write_text(KIND)
    return file


def judge(folder: Path, name: str, *lines: Mapping[str, Any]) -> str:
    """A scripted model, as it is named on the command line."""
    file = folder / f"{name}.script"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{file}"


def gives(score: float) -> dict[str, Any]:
    return {"reply": {"score": score, "reason": "so it is", "confidence": 0.9}}


def kept(folder: Path) -> list[Evaluation]:
    return stored(folder / "evaluations.jsonl")


def verdicts(folder: Path) -> dict[str, str]:
    return {str(one.case): one.verdict for one in kept(folder)}


def lines_in(folder: Path) -> list[str]:
    return [str(one.case) for one in kept(folder)]


def test_a_run_leaves_evaluations_columns_figures_and_a_page(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    result = cli("run", write_lines(rows(GOOD, POOR, LOUD)), "-r", tiny, "-o", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / "run"
    assert verdicts(folder) == {"case-1": "pass", "case-2": "fail", "case-3": "fail"}
    assert pl.read_parquet(folder / "evaluations.parquet")["dimension.politeness"].to_list() == [
        one.dimensions["politeness"].value for one in kept(folder)
    ]
    assert json.loads((folder / "summary.json").read_text())
    assert "case-3" in (folder / "report.html").read_text()
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["rubrics"][0]["name"] == "tiny"
    assert manifest["finished"]
    assert "3 evaluations in" in result.stdout
    assert "summary" in result.stdout.splitlines()[-1]  # what to type next


def test_the_same_command_goes_on_and_judges_only_what_is_missing(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    cli("run", write_lines(rows(GOOD)), "-r", tiny, "-o", folder)
    first = (folder / "evaluations.jsonl").read_bytes()
    result = cli("run", write_lines(rows(GOOD, POOR)), "-r", tiny, "-o", folder)
    assert "1 evaluation done before" in result.stderr
    assert (folder / "evaluations.jsonl").read_bytes().startswith(first)
    assert lines_in(folder) == ["case-1", "case-2"]
    result = cli("run", write_lines(rows(GOOD, POOR)), "-r", tiny, "-o", folder)
    assert "; 0 judged in" in result.stdout
    assert len(list(StoredRun.open(folder).rows())) == 2


def test_a_torn_last_line_is_judged_again(cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path) -> None:
    folder, cases = tmp_path / "run", write_lines(rows(GOOD, POOR))
    cli("run", cases, "-r", tiny, "-o", folder)
    file = folder / "evaluations.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    assert cli("run", cases, "-r", tiny, "-o", folder).exit_code == 0
    assert lines_in(folder) == ["case-1", "case-2"]


def test_a_line_the_disk_garbled_is_told_set_aside_and_judged_again(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines(rows(GOOD, POOR))
    cli("run", cases, "-r", tiny, "-o", folder)
    file = folder / "evaluations.jsonl"
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(bytes(len(first) - 1) + b"\n" + second)
    result = cli("run", cases, "-r", tiny, "-o", folder)
    assert "1 stored line cannot be read" in result.stderr
    assert sorted(lines_in(folder)) == ["case-1", "case-2"]


def test_a_changed_rubric_starts_a_new_run_says_so_and_keeps_the_old_one(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines(rows(GOOD, POOR))
    cli("run", cases, "-r", tiny, "-o", folder)
    before = verdicts(folder)
    result = cli("run", cases, "-r", tiny, "-o", folder, "--set", "longest=10")
    assert "a new run, changed since: rubric: tiny@1.0.0 #" in result.stderr
    assert verdicts(folder / "earlier" / "1") == before
    assert sorted(lines_in(folder)) == ["case-1", "case-2"]
    assert [one.score for one in kept(folder)] != [one.score for one in kept(folder / "earlier" / "1")]
    cli("run", cases, "-r", tiny, "-o", folder, "-c", "tier=2")
    assert {item.name for item in (folder / "earlier").iterdir()} == {"1", "2"}


def test_another_judge_or_more_votes_start_a_new_run(
    cli: Cli, kind: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines(rows(GOOD))
    one, other = judge(tmp_path, "one", gives(7)), judge(tmp_path, "other", gives(2))
    cli("run", cases, "-r", kind, "-J", one, "-o", folder)
    result = cli("run", cases, "-r", kind, "-J", other, "-o", folder)
    assert f"judges: {one} → {other}" in result.stderr
    result = cli("run", cases, "-r", kind, "-J", other, "-o", folder, "--repeats", "3")
    assert "repeats: none → 3" in result.stderr
    assert [kept(folder / "earlier" / n)[0].score for n in "12"] == [7, 2]


def test_no_resume_begins_anew_and_keeps_the_earlier_run(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines(rows(GOOD))
    cli("run", cases, "-r", tiny, "-o", folder)
    result = cli("run", cases, "-r", tiny, "-o", folder, "--no-resume")
    assert "; 1 judged in" in result.stdout
    assert lines_in(folder / "earlier" / "1") == lines_in(folder) == ["case-1"]


def test_a_case_that_was_edited_is_judged_anew_and_supersedes_the_old_one(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    cli("run", write_lines(rows(GOOD, GOOD)), "-r", tiny, "-o", folder)
    result = cli("run", write_lines(rows(GOOD, POOR)), "-r", tiny, "-o", folder)
    assert "1 changed case judged anew" in " ".join(result.stdout.split())
    assert verdicts(folder) == {"case-1": "pass", "case-2": "fail"}
    cli("run", write_lines(rows(GOOD, GOOD)), "-r", tiny, "-o", folder)  # and back again
    assert verdicts(folder) == {"case-1": "pass", "case-2": "pass"}
    assert len(kept(folder)) == 2


def test_equal_ids_are_cases_of_their_own_and_told_once(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    twice = [{"id": "x", "response": text} for text in (GOOD, POOR, GOOD)] + [{"id": "x#2", "response": LOUD}]
    folder, cases = tmp_path / "run", write_lines(twice)
    result = cli("run", cases, "-r", tiny, "-o", folder)
    assert result.stderr.count("occurs again") == 1
    assert verdicts(folder) == {"x": "pass", "x#2": "fail", "x#3": "pass", "x#2#2": "fail"}
    assert "; 0 judged in" in cli("run", cases, "-r", tiny, "-o", folder).stdout


def test_broken_lines_are_told_kept_and_make_the_exit_code_1(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines([*rows(GOOD), "{oops", {"id": "odd", "response": 7}])
    for _ in range(2):
        result = cli("run", cases, "-r", tiny, "-o", folder)
        assert result.exit_code == 1
        assert "line 2: not JSON" in result.stderr
        told = [json.loads(line) for line in (folder / "errors.jsonl").read_text().splitlines()]
        assert [error["line"] for error in told] == [2, 3]
    assert lines_in(folder) == ["case-1"]


def test_cases_for_which_a_model_failed_are_judged_again_when_asked(
    cli: Cli, kind: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines(rows("one", "two", "three"))
    trouble = {"match": "two", "error": "rejected", "message": "too long"}
    model = judge(tmp_path, "judge", trouble, gives(7))
    result = cli("run", cases, "-r", kind, "-J", model, "-o", folder)
    assert "1 case got no score from a model" in result.stderr
    assert "  1 × " in result.stderr
    assert verdicts(folder)["case-2"] == "inconclusive"
    judge(tmp_path, "judge", gives(8))  # it is well again
    assert "; 0 judged in" in cli("run", cases, "-r", kind, "-J", model, "-o", folder).stdout
    result = cli("run", cases, "-r", kind, "-J", model, "-o", folder, "--retry-errors")
    assert "; 1 judged in" in result.stdout
    assert "1 tried again" in result.stdout
    assert {one.case: one.score for one in kept(folder)} == {"case-1": 7, "case-3": 7, "case-2": 8}


def test_a_judge_that_never_answers_leaves_nothing_behind(
    cli: Cli, kind: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines(rows("one", "two"))
    model = judge(tmp_path, "judge", {"error": "unauthorised", "message": "no such key"})
    result = cli("run", cases, "-r", kind, "-J", model, "-o", folder)
    assert result.exit_code == 1
    assert "no such key" in result.stderr
    assert kept(folder) == []
    judge(tmp_path, "judge", gives(8))
    assert cli("run", cases, "-r", kind, "-J", model, "-o", folder).exit_code == 0
    assert len(kept(folder)) == 2


def test_repeats_of_a_run_are_asked_anew_and_kept_apart(
    cli: Cli, kind: Path, write_lines: WriteLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICA_CACHE", str(tmp_path / "replies.sqlite"))
    folder, cases = tmp_path / "run", write_lines(rows("one"))
    model = judge(tmp_path, "judge", gives(6), gives(7), gives(8))
    told = ("run", cases, "-r", kind, "-J", model, "-o", folder, "-j", "1")
    cli(*told, "--repeat", "2")
    assert [(one.repeat, one.score) for one in kept(folder)] == [(0, 6), (1, 7)]
    result = cli(*told, "--repeat", "3")
    assert "2 evaluations done before" in result.stderr
    assert [one.repeat for one in kept(folder)] == [0, 1, 2]
    assert sorted(row.key for row in StoredRun.open(folder).rows()) == [("case-1", n) for n in range(3)]


def test_csv_and_parquet_are_judged_as_json_lines_are(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    given = [
        {
            "id": "7",
            "prompt": "Why,\nthen?",
            "response": 'He said "thanks"',
            "grade": 4,
            "custom_metrics": {"pace": 0.5},
        },
        {"id": "8", "prompt": "", "response": "42", "grade": 5, "custom_metrics": {"pace": 1.5}},
    ]
    table, parquet = tmp_path / "cases.csv", tmp_path / "cases.parquet"
    with table.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(given[0]))
        writer.writeheader()
        writer.writerows({**row, "custom_metrics": json.dumps(row["custom_metrics"])} for row in given)
    pl.DataFrame(given).write_parquet(parquet)
    found = []
    for source in (write_lines(given), table, parquet):
        folder = tmp_path / f"run{source.suffix}"
        assert cli("run", source, "-r", tiny, "-o", folder).exit_code == 0
        found.append([(one.case, one.score, one.context) for one in kept(folder)])
    assert found[0] == found[1] == found[2]
    result = cli("run", table, "-r", tiny, "-o", tmp_path / "run.jsonl")  # the same cases from another file
    assert "; 0 judged in" in result.stdout


def test_filters_sample_and_limit_choose_and_the_rest_can_follow(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    given = [{**row, "grade": n % 3} for n, row in enumerate(rows(*[GOOD] * 90))]
    cases, folder = write_lines(given), tmp_path / "run"
    cli("run", cases, "-r", tiny, "-o", folder, "--filter", "grade >= 1", "--filter", "grade!=2", "--limit", "4")
    assert lines_in(folder) == ["case-2", "case-5", "case-8", "case-11"]
    cli("run", cases, "-r", tiny, "-o", tmp_path / "drawn", "--sample", "12", "--seed", "3")
    written = json.loads((tmp_path / "drawn" / "run.json").read_text())
    assert written["options"] == {"sample": 12, "seed": 3, "repeat": 1}
    drawn = set(lines_in(tmp_path / "drawn"))
    assert len(drawn) == 12
    cli("run", write_lines([*given, *rows(*[POOR] * 100)[90:]]), "-r", tiny, "-o", tmp_path / "more", "--sample", "12",
        "--seed", "3")  # fmt: skip
    assert len(drawn & set(lines_in(tmp_path / "more"))) >= 8
    cli("run", write_lines(given), "-r", tiny, "-o", folder)
    assert sorted(lines_in(folder)) == sorted(str(row["id"]) for row in given)


def test_cases_may_name_their_own_rubrics(cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path) -> None:
    own = [{**row, "rubric": str(tiny)} for row in rows(GOOD)] + [
        {"id": "q", "rubric": "answer-quality", "prompt": "Why?", "response": "Because."}
    ]
    folder, cases = tmp_path / "run", write_lines(own)
    assert cli("run", cases, "-o", folder).exit_code == 0
    assert set(StoredRun.open(folder).rubrics()) == {"tiny", "answer-quality"}
    tiny.write_text(tiny.read_text().replace("longest: 5", "longest: 50"))
    result = cli("run", cases, "-o", folder)
    assert "1 changed case judged anew" in " ".join(result.stdout.split())  # the other rubric is as it was
    assert len(kept(folder)) == 2
    by_run = {row.case: dict(row.dimensions) for row in StoredRun.open(folder).rows()}
    assert by_run["case-1"].keys() == {"politeness", "brevity"}


def test_a_watched_verdict_of_the_whole_run_makes_the_exit_code_100(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    folder, cases = tmp_path / "run", write_lines(rows(GOOD, POOR))
    for _ in range(2):  # also when it was judged before
        assert cli("run", cases, "-r", tiny, "-o", folder, "--fail-on", "fail").exit_code == 100
    assert cli("run", cases, "-r", tiny, "-o", folder, "--fail-on", "inconclusive").exit_code == 0
    assert cli("run", cases, "-r", tiny, "-o", folder, "--fail-on", "fial").exit_code == 1


def test_a_dry_run_counts_and_writes_nothing(cli: Cli, kind: Path, write_lines: WriteLines, tmp_path: Path) -> None:
    folder, cases = tmp_path / "run", write_lines(rows(GOOD, POOR))
    result = cli(
        "run", cases, "-r", kind, "-J", judge(tmp_path, "j", gives(1)), "-o", folder, "--dry-run", "--repeat", "2"
    )
    assert result.exit_code == 0
    assert "4 evaluations; nothing was asked" in result.stdout
    assert not folder.exists()


def test_a_run_in_bulk_stores_the_same_figures_and_explains_on_demand(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    cases = write_lines([*rows(GOOD, POOR, LOUD), "{oops"])
    assert cli("run", cases, "-r", tiny, "-o", tmp_path / "run").exit_code == 1
    result = cli("run", cases, "-r", tiny, "-o", tmp_path / "bulk", "--bulk")
    assert result.exit_code == 1
    assert "1 record could not be judged" in result.stderr
    one, bulk = StoredRun.open(tmp_path / "run"), StoredRun.open(tmp_path / "bulk")
    assert [(row.key, row.score, row.verdict) for row in bulk.rows()] == [
        (row.key, row.score, row.verdict) for row in one.rows()
    ]
    assert [found.reason for found in bulk.records([("case-3", 0)])] == [
        found.reason for found in one.records([("case-3", 0)])
    ]
    result = cli("run", cases, "-r", tiny, "-o", tmp_path / "bulk", "--filter", "case-1")
    assert "no longer in bulk" in result.stderr
    assert "--bulk takes" in cli("run", cases, "-r", tiny, "-o", tmp_path / "no", "--bulk", "--limit", "1").stderr


def test_a_cluster_takes_cases_one_by_one_where_they_cannot_be_judged_in_bulk(tiny: Path, tmp_path: Path) -> None:
    lines, table = tmp_path / "cases.jsonl", tmp_path / "cases.csv"
    lines.write_text('{"response": "Hi"}\n')
    table.write_text("response\nHi\n")
    plan = rubrica.compile(str(tiny))
    for source, selection, bulk in (
        (lines, Selection(), True),
        (table, Selection(), False),
        (lines, Selection(limit=1), False),
    ):
        cases = CaseChoice(str(source), selection=selection)
        assert takes_bulk(RunRequest(cases, tmp_path / "run", cluster="local"), plan) is bulk
    asked = RunRequest(CaseChoice(str(table)), tmp_path / "run", cluster="local", bulk=True)
    with pytest.raises(RubricaError, match="--bulk takes"):
        takes_bulk(asked, plan)


def test_while_someone_listens_to_evaluations_only_a_run_that_asks_for_it_is_made_in_bulk(
    tiny: Path, tmp_path: Path
) -> None:
    source = tmp_path / "large.jsonl"
    with source.open("wb") as stream:
        stream.truncate(LARGE)
    request, plan = RunRequest(CaseChoice(str(source)), tmp_path / "run"), rubrica.compile(str(tiny))
    assert takes_bulk(request, plan)
    stop = listen(lambda _: None)
    try:
        assert not takes_bulk(request, plan)
        assert takes_bulk(replace(request, bulk=True), plan)
    finally:
        stop()


def test_no_folder_is_made_for_a_file_that_cannot_be_read(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    for source in (tmp_path / "none.jsonl", tmp_path):
        result = cli("run", source, "-r", tiny, "-o", tmp_path / "run")
        assert (result.exit_code, "cannot be read" in result.stderr) == (1, True)
    assert not (tmp_path / "run").exists()


def test_progress_tells_how_many_how_fast_what_it_cost_and_how_long_it_will_take(tmp_path: Path) -> None:
    with locked(tmp_path):
        run = RunWriter(tmp_path)
    run.done.skipped = 100
    tally = RunTally(judged=300)
    tally.bills["tone"] = DimensionCost(0.5, 1_000, 100, 300)
    file = JsonCases(io.BytesIO(), size=1_000)
    file.read = 400
    now: dict[str, Any] = {"clock": lambda: 60.0, "started": 0.0}
    assert (
        progress_text(ProgressMeter(file, run, tally, 1_000, **now).read())
        == "400 of 1,000 · 5.0 a second · $0.500 · 2 min 0 s left"
    )
    assert progress_text(ProgressMeter(file, run, tally, None, **now).read()).startswith("400 of about 1,000 · ")
    file.size = None
    assert progress_text(ProgressMeter(file, run, tally, None, **now).read()) == "400 done · 5.0 a second · $0.500"
    run.close()


def test_a_folder_that_is_in_use_or_holds_something_else_is_refused(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    cases, folder = write_lines(rows(GOOD)), tmp_path / "run"
    with locked(folder):
        result = cli("run", cases, "-r", tiny, "-o", folder)
    assert result.exit_code == 1
    assert "is running in" in result.stderr
    result = cli("run", cases, "-r", tiny, "-o", tmp_path)
    assert "but no run; name an empty or a new folder" in result.stderr
    result = cli("run", cases, "-r", tiny, "-o", cases)
    assert "is a file" in result.stderr


def test_options_that_do_not_go_together_are_refused(
    cli: Cli, tiny: Path, write_lines: WriteLines, tmp_path: Path
) -> None:
    told = ("run", write_lines(rows(GOOD)), "-r", tiny, "-o", tmp_path / "run")
    assert cli(*told, "--repeat", "2").exit_code == 2
    assert cli(*told, "--no-resume", "--retry-errors").exit_code == 2
    assert "write how many cases" in cli(*told, "--sample", "many").stderr
    assert "for a text write name=value" in cli(*told, "--filter", "grade >").stderr


def test_finished_runs_become_baselines_and_a_worse_one_in_another_order_fails(
    cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    kept = tmp_path / "kept.json"
    cases = [{"id": f"c{n}", "response": f"{GOOD} {n}"} for n in range(40)]

    def run(name: str, found: list[dict[str, str]]) -> Result:
        return cli("run", write_lines(found), "-r", tiny, "-o", tmp_path / name, "--baseline", kept)

    assert f"added to {kept}" in run("monday", cases).stderr.replace("\n", "")
    assert "added to" not in run("monday", cases).stderr
    assert run("tuesday", cases[::-1]).exit_code == 0
    same = cli("baseline", "check", tmp_path / "tuesday", "--file", kept, "--json")
    assert (same.exit_code, json.loads(same.stdout)["cases"], json.loads(same.stdout)["verdict"]) == (0, 40, "same")
    run("wednesday", [{**case, "response": POOR} for case in cases[::-1]])
    worse = cli("baseline", "check", tmp_path / "wednesday", "--file", kept, "--json")
    assert (worse.exit_code, json.loads(worse.stdout)["verdict"]) == (100, "regression")
    before = len(json.loads(kept.read_text())["entries"])
    cli("run", write_lines(cases), "-r", tiny, "-o", tmp_path / "few", "--limit", "3", "--baseline", kept)
    cli("run", write_lines(cases), "-r", tiny, "-o", tmp_path / "off", "--baseline", "off")
    assert len(json.loads(kept.read_text())["entries"]) == before
