"""``rubrica import`` and ``rubrica export --to``: files in and out, losses told, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import Cli, WriteLines

import rubrica

LIST = [{"weight": 6, "requirement": "Names the author."}, {"weight": -2, "requirement": "Guesses a year."}]
ROW = {
    "prompt_id": "p1",
    "prompt": [{"role": "user", "content": "Who wrote it?"}],
    "rubrics": [{"criterion": "Names the author.", "points": 4, "tags": ["axis:accuracy"]}],
    "example_tags": [],
}


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    file = tmp_path / "Who wrote it.json"
    file.write_text(json.dumps(LIST))
    return file


def test_a_list_becomes_a_rubric_and_a_list_again(cli: Cli, tmp_path: Path, listed: Path) -> None:
    rubric, back = tmp_path / "mine.yaml", tmp_path / "back.json"
    assert cli("import", "rubric", listed, "-o", rubric).exit_code == 0
    assert rubrica.load(rubric).name == "who-wrote-it"
    assert cli("validate", rubric).exit_code == 0
    assert cli("export", rubric, "--to", "rubric", "-o", back).exit_code == 0
    assert json.loads(back.read_text()) == LIST


def test_without_a_file_the_rubric_is_printed(cli: Cli, listed: Path) -> None:
    printed = cli("import", "rubric", listed, "--name", "asked").stdout
    assert printed.startswith("name: asked\ndimensions:\n")
    assert cli("import", "rubric", "-", input=listed.read_text()).stdout.startswith("name: imported\n")


def test_a_bundled_tree_goes_out_and_comes_back(cli: Cli, tmp_path: Path) -> None:
    tree, rubric = tmp_path / "tree.json", tmp_path / "again.yaml"
    out = cli("export", "paper-replication", "--to", "paperbench", "-o", tree)
    assert "not carried over: gates: has no place in a tree of PaperBench" in out.stderr
    assert cli("import", "paperbench", tree, "-o", rubric).exit_code == 0
    known, again = rubrica.load("paper-replication"), rubrica.load(rubric)
    assert [*again.dimensions["code"].parts] == [*known.dimensions["code"].parts]
    assert again.dimensions["runs"].parts["runs_start"].tags == known.dimensions["runs"].parts["runs_start"].tags


def test_a_dataset_of_autorubric_becomes_a_rubric_and_its_cases(cli: Cli, tmp_path: Path) -> None:
    data, rubric, cases = tmp_path / "set.json", tmp_path / "set.yaml", tmp_path / "set.jsonl"
    items = [{"submission": "Orwell.", "description": "right", "ground_truth": ["MET", "UNMET"]}]
    data.write_text(json.dumps({"prompt": "Who wrote it?", "rubric": LIST, "items": items}))
    told = cli("import", "autorubric", data, "-o", rubric, "--cases", cases)
    assert (told.exit_code, "not carried over" in told.stderr) == (0, False)
    (case,) = map(json.loads, cases.read_text().splitlines())
    assert (case["rubric"], case["response"], case["expect"]) == (str(rubric), "Orwell.", {"score": 1.0})
    assert "items: 1 items are" not in told.stderr
    assert cli("import", "rubric", data, "--cases", tmp_path / "no.jsonl").exit_code == 2


def test_strict_writes_nothing_where_something_would_stay_behind(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    refused = cli("export", "paper-replication", "--to", "paperbench", "-o", file, "--strict")
    assert refused.exit_code == 1
    assert "gates: not carried over: has no place" in refused.stderr
    assert not file.exists()


def test_lines_of_healthbench_become_cases_and_lines_again(cli: Cli, tmp_path: Path, write_lines: WriteLines) -> None:
    bench, answers = write_lines([ROW, {**ROW, "prompt_id": "p2"}]), tmp_path / "answers.jsonl"
    answers.write_text('{"prompt_id": "p1", "completion": "Orwell."}\n')
    cases, back = tmp_path / "out.jsonl", tmp_path / "back.jsonl"
    told = cli("import", "healthbench", bench, "--responses", answers, "-r", "mine", "-o", cases)
    assert told.exit_code == 0
    assert "not carried over: line 2: completion: there is no response to judge" in told.stderr
    first, second = (json.loads(line) for line in cases.read_text().splitlines())
    assert (first["rubric"], first["response"]) == ("mine", "Orwell.")
    assert "response" not in second
    assert cli("export", cases, "--to", "healthbench", "-o", back).exit_code == 0
    assert json.loads(back.read_text().splitlines()[0]) == {**ROW, "completion": "Orwell."}


def test_what_many_lines_have_in_common_is_told_once(cli: Cli, write_lines: WriteLines) -> None:
    told = cli("import", "healthbench", write_lines([{**ROW, "prompt_id": f"p{at}"} for at in range(30)]))
    assert told.stderr.count("not carried over") == 1
    assert "30 lines: completion: there is no response" in told.stderr


def test_broken_lines_are_told_and_the_exit_code_says_so(cli: Cli, tmp_path: Path, write_lines: WriteLines) -> None:
    cases = tmp_path / "out.jsonl"
    told = cli("import", "healthbench", write_lines([ROW, "{oops", {"prompt": "x"}]), "-o", cases)
    assert told.exit_code == 1
    assert "line 2: not JSON" in told.stderr
    assert "line 3: rubrics: rubrics are a list of criteria, not nothing" in told.stderr
    assert len(cases.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("import", "healthbench", "LIST"), "holds no line of HealthBench"),
        (("import", "paperbench", "LIST"), "a tree is one object"),
        (("import", "rubric", "nowhere.json"), "nowhere.json"),
        (("import", "rubric", "LIST", "--responses", "x.jsonl"), "--responses"),
        (("import", "sheet", "LIST"), "healthbench"),
        (("export", "answer-quality", "--to", "rubric"), "the weights hang on the profile"),
        (("export", "clinical-answer", "--to", "rubric"), "answer: each case brings its criteria"),
        (("export", "answer-quality", "--to", "rubric", "--model", "x"), "--to openai-grader"),
        (("export", "LIST", "--to", "healthbench"), "holds no case with criteria"),
        (("export", "answer-quality"), "--output"),
    ],
)
def test_what_cannot_be_done_is_said_plainly(cli: Cli, listed: Path, args: tuple[str, ...], said: str) -> None:
    result = cli(*(str(listed) if arg == "LIST" else arg for arg in args))
    assert result.exit_code in (1, 2)
    assert said in result.stderr


def test_a_file_that_is_there_is_kept(cli: Cli, tmp_path: Path, listed: Path) -> None:
    taken = tmp_path / "mine.yaml"
    taken.write_text("mine")
    assert "exists; add --force" in cli("import", "rubric", listed, "-o", taken).stderr
    assert taken.read_text() == "mine"
    assert cli("import", "rubric", listed, "-o", taken, "--force").exit_code == 0


def test_a_file_larger_than_any_rubric_is_not_read_whole(cli: Cli, tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(20_000_000)
        file.seek(0)
        file.write(b"[\n" * 1_000_000 + b"1" * 7_000_000)
    assert "more than 8,000,000 bytes" in cli("import", "rubric", huge).stderr
