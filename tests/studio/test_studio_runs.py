"""Runs in the studio: found and never left by their names, paged through the worst first, started and gone on with."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

import msgspec
import pytest
import yaml
from studio_runs import NOW, TONE, WORDS, cases, conducted, ended, rubric, script

from rubrica.errors import ConflictError, ContextError, InputError, MissingError, RubricaError
from rubrica.runs.case_texts import PromptAndResponse
from rubrica.runs.compare.measure_comparison import ComparisonTerms
from rubrica.runs.compare.trend import TrendPoint, trends
from rubrica.runs.files.folder import locked
from rubrica.runs.stored import StoredRun
from rubrica.studio.builder.checking import DraftSample
from rubrica.studio.html_tables import table
from rubrica.studio.runs.drawings import interval, reach_of, stack, trend_drawing
from rubrica.studio.runs.explanation import explanation, votes_of
from rubrica.studio.runs.index import EvaluationFilter, Indexes, RunIndex
from rubrica.studio.runs.paths import baselines_file, case_link
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.workspace import case_files as casefiles
from rubrica.workspace import run_jobs as jobs
from rubrica.workspace.case_files import case_file, case_files, save_examples, save_upload
from rubrica.workspace.run_extent import RunExtent, read_extent
from rubrica.workspace.run_folders import new_run_path, run_path
from rubrica.workspace.run_jobs import RunJob, RunJobs, job_of
from rubrica.workspace.run_listing import RunListings, narrowed
from rubrica.workspace.run_places import RunPlaces
from warm_start import rubrica_command


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def made(runs: Path, name: str, count: int = 30, judges: tuple[str, ...] = ()) -> Path:
    """A finished run by rules, or by judges."""
    file = cases(runs / "cases", count, f"{count}.jsonl")
    course = conducted(RunJob(runs / name, rubric(TONE if judges else WORDS), file, judges))
    assert (course.state, course.error) == ("finished", "")
    return runs / name


def workplace(runs: Path) -> RunsWorkspace:
    return RunsWorkspace(RunPlaces(runs), RunJobs(lambda: NOW))


# --- names and addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../other", "a/b", "a\\b", ".hidden", "compare", "cases", "nul\0", "no"]
)
def test_a_name_never_leads_out_of_the_folder_of_runs(runs: Path, name: str) -> None:
    (runs.parent / "other").mkdir()
    (runs / ".hidden").mkdir()
    (runs / "compare").mkdir()
    with pytest.raises(MissingError):
        run_path(runs, name)


def test_a_link_to_elsewhere_is_not_followed(runs: Path) -> None:
    outside = runs.parent / "outside"
    outside.mkdir()
    (runs / "linked").symlink_to(outside)
    with pytest.raises(MissingError):
        run_path(runs, "linked")
    [line] = RunListings().of(runs)
    assert (line.state, "link" in line.why) == ("unreadable", True)


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "..", ".a", "compare", "baselines", "x" * 101, "a\nb", "50%", "monday"]
)
def test_a_new_run_gets_a_name_that_an_address_can_hold_and_that_is_free(runs: Path, name: str) -> None:
    (runs / "monday").mkdir()
    with pytest.raises(InputError):
        new_run_path(runs, name)
    assert new_run_path(runs, "tuesday 2").parent == runs


@pytest.mark.parametrize("case", ["plain", "a/b c", "ü?#&%", "..", "a/../b", "", "-", "line\nbreak", "back\\slash"])
def test_every_case_id_can_be_reached_by_an_address(case: str) -> None:
    address = urlsplit(case_link("week 12", case, 2, {"verdict": "fail"}))
    path, query = unquote(address.path), parse_qs(address.query, keep_blank_values=True)
    assert path.startswith("/runs/week 12/")
    rest = path.removeprefix("/runs/week 12/")
    assert (query.get("case", [""])[0] if rest == "-" else rest) == case
    assert (query["repeat"], query["verdict"]) == (["2"], ["fail"])
    assert not {"..", "."} & set(address.path.split("/"))


# --- the list ---------------------------------------------------------------------------------------------


def test_runs_are_listed_with_what_they_came_to_and_what_is_no_run_is_told(runs: Path) -> None:
    made(runs, "first", 30)
    (runs / "notes").mkdir()
    (runs / "torn").mkdir()
    (runs / "torn" / "run.json").write_text("{")
    listings = RunListings()
    [first, *others] = listings.of(runs)
    assert (first.name, first.state, first.evaluations, first.rubrics) == ("first", "finished", 30, ("words@1.0.0",))
    assert [(verdict, role) for verdict, role, _ in first.mix] == [("pass", "good"), ("fail", "bad")]
    assert sum(count for *_, count in first.mix) == 30
    assert first.passed == first.mix[0][2] / 30
    assert [(line.name, line.state) for line in others] == [("notes", "unreadable"), ("torn", "unreadable")]
    assert "no run.json" in others[0].why
    assert listings.of(runs)[0] is first  # nothing changed, so nothing is read again


def test_a_run_that_another_process_is_at_work_in_is_marked(runs: Path) -> None:
    folder = made(runs, "first", 5)
    manifest = folder / "run.json"
    manifest.write_text(manifest.read_text().replace('"finished"', '"was_finished"'))
    with locked(folder):
        assert RunListings().of(runs)[0].state == "running"
    assert RunListings().of(runs)[0].state == "interrupted"


def test_runs_are_narrowed_down_by_rubric_and_words(runs: Path, tmp_path: Path) -> None:
    made(runs, "by rules", 4)
    made(runs, "by a judge", 4, (script(tmp_path / "ann.jsonl", 4),))
    lines = RunListings().of(runs)
    assert [line.name for line in narrowed(lines, "", "tone")] == ["by a judge"]
    assert [line.name for line in narrowed(lines, "Scripted:ANN", None)] == ["by a judge"]
    assert narrowed(lines, "words@", "tone") == []


# --- its evaluations --------------------------------------------------------------------------------------


def test_evaluations_come_failures_first_and_by_the_page(runs: Path) -> None:
    index = RunIndex.of(StoredRun.open(made(runs, "big", 97)))
    every = [hit for start in range(0, 97, 10) for hit in index.page(EvaluationFilter(), start, 10)[0]]
    assert len({hit.case for hit in every}) == 97
    keys = [(hit.role != "bad", hit.score or 0.0) for hit in every]
    assert keys == sorted(keys)
    failed, count = index.page(EvaluationFilter("fail"), 0, 1000)
    assert count == len(failed) == sum(hit.verdict == "fail" for hit in every)
    assert index.page(EvaluationFilter("no such verdict"), 0, 10) == ([], 0)


def test_evaluations_are_narrowed_down_by_id_and_by_a_dimension(runs: Path) -> None:
    index = RunIndex.of(StoredRun.open(made(runs, "big", 40)))
    hits, count = index.page(EvaluationFilter(text="CASE-3"), 0, 100)
    assert (count, {hit.case for hit in hits}) == (11, {"case-3", *(f"case-3{n}" for n in range(10))})
    low, _ = index.page(EvaluationFilter(dimension="length", below=4.0), 0, 100)
    assert {hit.case for hit in low} == {f"case-{n}" for n in range(40) if 3 + n % 10 < 4}
    assert low[0].lowest == ("Manners", 2.0)
    assert low[0].reason == "2.5 of 10; pass needs 6. Most lost: Manners."
    assert low[0].texts == PromptAndResponse("Say 0 words.", "reply number 0. ")
    found, count = index.page(EvaluationFilter(text="NUMBER 17."), 0, 100)
    assert ([hit.case for hit in found], count) == (["case-17"], 1)
    manners, count = index.page(EvaluationFilter(text="most lost: manners"), 0, 100)
    assert (count, {hit.verdict for hit in manners}) == (4, {"fail"})
    assert index.page(EvaluationFilter(dimension="nothing", below=4.0), 0, 100)[1] == 0


def test_what_a_model_owes_a_score_can_be_found(runs: Path, tmp_path: Path) -> None:
    judge = script(tmp_path / "some.jsonl", 6)
    file = cases(runs / "cases", 8)
    course = conducted(RunJob(runs / "gaps", rubric(TONE), file, (judge,)))
    assert course.state == "finished"
    hits, count = RunIndex.of(StoredRun.open(runs / "gaps")).page(EvaluationFilter(unscored=True), 0, 10)
    assert (count, {hit.case for hit in hits}) == (2, {"case-6", "case-7"})
    assert all(hit.score is None and hit.verdict == "inconclusive" for hit in hits)


def test_the_evaluations_before_and_after_one_are_those_of_the_same_wish(runs: Path) -> None:
    index = RunIndex.of(StoredRun.open(made(runs, "big", 40)))
    wish = EvaluationFilter("fail")
    hits, _ = index.page(wish, 0, 100)
    keys = [(hit.case, hit.repeat) for hit in hits]
    assert index.neighbours(*keys[1], wish) == (keys[0], keys[2])
    assert index.neighbours(*keys[0], wish) == (None, keys[1])
    assert index.neighbours("no such case", 0, wish) == (None, None)


def test_an_index_is_kept_until_the_run_changes_and_memory_is_bounded(runs: Path) -> None:
    one, other = StoredRun.open(made(runs, "one", 20)), StoredRun.open(made(runs, "other", 15))
    indexes = Indexes(most=30)
    first = indexes.of(one)
    assert indexes.of(one) is first
    indexes.of(other)  # both together are too many
    assert indexes.of(one) is not first
    again = indexes.of(one)
    with (one.path / "evaluations.parquet").open("ab"):
        pass
    (one.path / "evaluations.parquet").unlink()
    assert indexes.of(one) is not again
    assert indexes.of(one).page(EvaluationFilter(), 0, 1)[1] == 20


# --- one evaluation, and two runs -------------------------------------------------------------------------


def test_an_evaluation_is_explained_with_its_votes_and_text_of_others_is_only_text(runs: Path, tmp_path: Path) -> None:
    judges = (script(tmp_path / "ann.jsonl", 5), script(tmp_path / "bob.jsonl", 5, plus=3))
    made(runs, "panel", 5, judges)
    work = workplace(runs)
    evaluation, known = work.evaluation("panel", "case-4", 0)
    assert known is not None
    assert known.name == "tone"
    [kind, _] = votes_of(evaluation, known)
    assert [(vote.judge, vote.value) for vote in kind.given] == [("scripted:ann", 4.0), ("scripted:bob", 7.0)]
    assert "reply number 4." in explanation(evaluation, known)
    with pytest.raises(MissingError, match="no evaluation of the case"):
        work.evaluation("panel", "case-9", 0)
    hostile = stack([("<img src=x onerror=alert(1)>", "bad", 1)])
    hostile += table([("a", ""), ("b", "")], [["<script>", "<b>"]], "<i>")
    assert not any(piece in hostile for piece in ("<img", "<script>", "<b>", "<i>"))


def test_two_runs_are_compared_with_intervals(runs: Path, tmp_path: Path) -> None:
    made(runs, "before", 40, (script(tmp_path / "ann.jsonl", 40),))
    made(runs, "after", 40, (script(tmp_path / "kinder.jsonl", 40, plus=2),))
    found = workplace(runs).compared("before", "after", ComparisonTerms())
    assert found.verdict == "improvement"
    assert "improvement" in interval(found.lines[0], reach_of(found.lines))
    with pytest.raises(MissingError):
        workplace(runs).compared("before", "../after", ComparisonTerms())


def test_baselines_are_where_the_command_keeps_them(runs: Path) -> None:
    assert baselines_file(runs) == runs.parent / ".rubrica" / "baselines.json"
    inside = runs / ".rubrica" / "baselines.json"
    inside.parent.mkdir()
    inside.write_text("{}")
    assert baselines_file(runs) == inside


def test_a_trend_is_drawn_with_its_commits() -> None:
    points = [TrendPoint(f"2026-01-{day:02}", {"score": 70.0 + day}, f"{day}abcdef0123") for day in range(1, 9)]
    [found] = trends(points)
    drawn = trend_drawing(points, found)
    assert drawn.count("<circle") == 8
    assert ">8abcdef<" in drawn
    assert "rising" in drawn


# --- starting one -----------------------------------------------------------------------------------------


def test_a_run_that_was_started_here_is_one_that_the_command_goes_on_with(runs: Path, tmp_path: Path) -> None:
    file, folder, extent = cases(runs / "cases", 60), runs / "mine", RunExtent("20", limit=15, seed=7)
    course = conducted(RunJob(folder, rubric(WORDS), file, (), extent))
    assert (course.state, course.done, course.expected) == ("finished", 15, 15)
    started = StoredRun.open(folder).manifest
    assert started is not None
    again = job_of(folder, started, runs / "cases")
    assert again is not None
    assert again.extent == extent
    (tmp_path / "words.yaml").write_text(yaml.safe_dump(WORDS))
    command = rubrica_command("run", file, "-r", tmp_path / "words.yaml", "--offline")
    wish = ["--sample", "20", "--limit", "15", "--seed", "7", "-o", str(folder)]
    done = subprocess.run([*command, *wish], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "15 done before" in done.stdout + done.stderr  # the same sample
    assert len(list(StoredRun.open(folder).rows())) == 15
    assert not (folder / "earlier").exists()
    gone_on = StoredRun.open(folder).manifest
    assert gone_on is not None
    assert started.options == gone_on.options
    again = job_of(folder, gone_on, runs / "cases")
    assert again is not None
    assert again.extent == extent
    unseeded = {name: value for name, value in gone_on.options.items() if name != "seed"}  # of an earlier version
    assert job_of(folder, msgspec.structs.replace(gone_on, options=unseeded), runs / "cases") is None


def test_a_judge_is_asked_anew_for_every_repeat(runs: Path, tmp_path: Path) -> None:
    judge = script(tmp_path / "ann.jsonl", 4)
    lines = (tmp_path / "ann.jsonl").read_text()
    (tmp_path / "ann.jsonl").write_text(lines * 3)
    course = conducted(RunJob(runs / "often", rubric(TONE), cases(runs / "cases", 4), (judge,), RunExtent("50%", 2, 3)))
    assert (course.state, course.expected) == ("finished", 6)
    rows = list(StoredRun.open(runs / "often").rows())
    assert sorted(row.repeat for row in rows) == sorted([0, 1, 2] * (len(rows) // 3))
    manifest = StoredRun.open(runs / "often").manifest
    assert manifest is not None
    assert (manifest.options["repeat"], manifest.terms["temperature"]) == (3, "of repeats")


@pytest.mark.parametrize(
    "wish",
    [("x", None, 1, 0), ("0", None, 1, 0), ("200%", None, 1, 0), ("", 0, 1, 0), ("", 2.5, 1, 0), ("", None, 101, 0)],
)
def test_an_extent_that_cannot_be_meant_is_refused(wish: tuple[str, object, object, object]) -> None:
    with pytest.raises(InputError):
        read_extent(*wish)


def test_how_much_will_be_judged_is_told_beforehand() -> None:
    assert RunExtent().description(1200) == "1,200 cases: 1,200 evaluations."
    assert RunExtent("5%").description(1000) == "About 50 of 1,000 cases: about 50 evaluations."
    assert RunExtent("50", 10, 2).description(1000) == "10 of 1,000 cases, 2 times each: 20 evaluations."
    assert RunExtent("50").description(20) == "20 cases: 20 evaluations."
    assert RunExtent("50").description(None) == ""


def test_a_run_tells_broken_lines_and_keeps_the_others(runs: Path) -> None:
    file = cases(runs / "cases", 3)
    with file.open("a") as lines:
        lines.write("not json\n")
    course = conducted(RunJob(runs / "some", rubric(WORDS), file))
    assert (course.state, course.done, course.broken) == ("finished", 3, 1)
    assert (runs / "some" / "errors.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("named", ["{file}", "file://{file}", "../{name}", "~/{name}", "{file}.missing"])
def test_a_picture_of_a_run_is_never_a_file_of_the_server(runs: Path, tmp_path: Path, named: str) -> None:
    file = tmp_path / "secret.gif"
    file.write_bytes(b"GIF89a" + bytes([64, 0, 32, 0]))
    path = named.format(file=file, name=file.name)
    picture = {**WORDS, "dimensions": {"width": {"formula": "10 if image_readable > 0 else 0"}}}
    rows = [{"id": "theirs", "response": "Look.", "images": [path]}, {"id": "none", "response": "No picture."}]
    (runs / "cases").mkdir(exist_ok=True)
    (runs / "cases" / "seen.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    course = conducted(RunJob(runs / "seen", rubric(picture), runs / "cases" / "seen.jsonl"))
    assert (course.state, course.done, course.broken) == ("finished", 1, 1)
    told = (runs / "seen" / "errors.jsonl").read_text()
    assert "not paths of files" in told
    assert file.name not in told
    with pytest.raises(InputError, match="not paths of files"):
        save_upload(runs, "only.jsonl", json.dumps(rows[0]).encode())


def test_a_sample_of_the_builder_opens_no_file_of_the_server(tmp_path: Path) -> None:
    said = set()
    (tmp_path / "there.gif").write_bytes(b"GIF89a" + bytes([64, 0, 32, 0]))
    for name in ("there.gif", "missing.gif"):
        with pytest.raises(ContextError) as refused:
            DraftSample("Why?", "So.", f"images: [{tmp_path / name}]").context()
        said.add(str(refused.value))
    assert said == {"images: give http(s) or data: URLs here, not paths of files"}


def test_a_stopped_run_goes_on_where_it_stopped(runs: Path) -> None:
    file = cases(runs / "cases", 4000)
    conductor = RunJobs(lambda: NOW)
    course = conductor.start(RunJob(runs / "long", rubric(WORDS), file))
    course.stopping.set()
    assert ended(course).state == "stopped"
    assert course.done < 4000
    stored = StoredRun.open(runs / "long")
    assert stored.manifest is not None
    assert RunListings().of(runs)[0].state == "stopped"
    orders = job_of(stored.path, stored.manifest, runs / "cases")
    assert orders is not None
    assert ended(conductor.start(orders)).state == "finished"
    assert len({row.case for row in StoredRun.open(runs / "long").rows()}) == 4000


def test_a_run_of_files_from_elsewhere_is_not_gone_on_with(runs: Path, tmp_path: Path) -> None:
    file = cases(tmp_path, 3)
    conducted(RunJob(runs / "far", rubric(WORDS), file))
    manifest = StoredRun.open(runs / "far").manifest
    assert manifest is not None
    assert job_of(runs / "far", manifest, runs / "cases") is None


def test_only_so_many_runs_are_under_way_at_once(runs: Path) -> None:
    file = cases(runs / "cases", 3000)
    conductor = RunJobs(lambda: NOW, most=1)
    first = conductor.start(RunJob(runs / "a", rubric(WORDS), file))
    with pytest.raises(ConflictError, match="wait for one"):
        conductor.start(RunJob(runs / "b", rubric(WORDS), file))
    first.stopping.set()
    ended(first)


def test_the_runs_that_a_server_remembers_are_bounded(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_KEPT", 1)
    file, conductor = cases(runs / "cases", 2), RunJobs(lambda: NOW)
    for name in ("a", "b", "c"):
        assert ended(conductor.start(RunJob(runs / name, rubric(WORDS), file))).state == "finished"
    assert [conductor.run_progress(name) is not None for name in ("a", "b", "c")] == [False, True, True]


def test_a_run_that_cannot_begin_says_why(runs: Path) -> None:
    course = conducted(RunJob(runs / "x", rubric(WORDS), runs / "cases" / "none.jsonl"))
    assert course.state == "failed"
    assert "none.jsonl cannot be read" in course.error


# --- files of cases ---------------------------------------------------------------------------------------


def test_uploads_are_kept_under_plain_names_of_their_own(runs: Path) -> None:
    line = b'{"id": "a", "response": "yes"}\n'
    first = save_upload(runs, "../../my cases.jsonl", line)
    second = save_upload(runs, "my cases.jsonl", line)
    assert (first.name, second.name) == ("my-cases.jsonl", "my-cases-2.jsonl")
    assert {own.name for own in case_files(runs)} == {first.name, second.name}
    assert case_file(runs, first.name).read_bytes() == line
    assert not list(runs.parent.glob("*.jsonl"))
    with pytest.raises(InputError):
        case_file(runs, "../cases/my-cases.jsonl")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b"nothing\n"),
        ("a.jsonl", b""),
        ("a.csv", b"id,text\n1,x\n"),
        ("a.exe", b"{}"),
        ("a.jsonl", b"\xff\xfe"),
    ],
)
def test_a_file_without_cases_is_refused_and_not_kept(runs: Path, name: str, data: bytes) -> None:
    with pytest.raises(RubricaError):
        save_upload(runs, name, data)
    assert case_files(runs) == []


def test_what_somebody_uploads_is_offered_to_them_only(runs: Path) -> None:
    ann, bob, line = UUID(int=7), UUID(int=8), b'{"response": "Hm."}\n'
    cases(runs / "cases", 3, "for everybody.jsonl")
    save_upload(runs, "secret.jsonl", line, ann)
    save_examples(runs, "private-rubric", [{"response": "Hm."}], ann)
    own = {"secret.jsonl", "private-rubric.examples.jsonl"}
    assert {file.name for file in case_files(runs, ann)} == {"for everybody.jsonl", *own}
    assert {file.name for file in case_files(runs, bob)} == {"for everybody.jsonl"}
    assert case_file(runs, "secret.jsonl", ann).read_bytes() == line
    for name in (*own, f"{ann}/secret.jsonl", f"../cases/{ann}/secret.jsonl"):
        with pytest.raises(InputError, match="there is no file of cases called"):
            case_file(runs, name, bob)


def test_a_run_of_an_upload_can_be_gone_on_with(runs: Path) -> None:
    save_upload(runs, "mine.jsonl", cases(runs.parent, 3).read_bytes(), UUID(int=7))
    orders = RunJob(runs / "mine", rubric(WORDS), case_file(runs, "mine.jsonl", UUID(int=7)))
    conducted(orders)
    manifest = StoredRun.open(runs / "mine").manifest
    assert manifest is not None
    assert manifest.id == orders.id
    again = job_of(runs / "mine", manifest, runs / "cases")
    assert again is not None
    assert (again.cases, again.id) == (orders.cases, orders.id)
    assert job_of(runs / "mine", msgspec.structs.replace(manifest, source="/etc/passwd"), runs / "cases") is None


def test_a_run_is_recognised_by_its_folder_and_its_manifest(runs: Path) -> None:
    work, path = workplace(runs), made(runs, "monday")
    key = work.key("monday")
    assert (key.name, len(key.id)) == ("monday", 12)
    assert [line.id for line in RunListings().of(runs)] == [key.id]
    shutil.copytree(path, runs / "copy")
    assert (work.key("copy").name, work.key("copy").id) == ("copy", key.id)
    (path / "run.json").write_text("{")
    assert work.key("monday").id == ""
    with pytest.raises(MissingError, match="there is no run 'nothing', or it is not yours to see"):
        work.key("nothing")


@pytest.mark.parametrize(("bound", "most"), [("MOST_FILES", 2), ("MOST_BYTES", 60)])
def test_uploads_end_where_there_are_enough(runs: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int) -> None:
    monkeypatch.setattr(casefiles, bound, most)
    data = b'{"response": "twenty-five"}\n'
    for _ in range(2):
        save_upload(runs, "cases.jsonl", data)
    with pytest.raises(InputError, match="remove some from cases"):
        save_upload(runs, "cases.jsonl", data)
    assert len(case_files(runs)) == 2


def test_a_rubrics_examples_are_one_file(runs: Path) -> None:
    examples = [{"id": "a", "response": "yes"}]
    first, second = save_examples(runs, "words", examples), save_examples(runs, "words", examples)
    assert first == second
    with pytest.raises(InputError, match="no examples"):
        save_examples(runs, "words", [])
