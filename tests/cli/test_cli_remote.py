"""`rubrica push`, `rubrica pull` and `rubrica eval --server`, against the real server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cli_runs import GOOD, LOUD, POOR, TINY, Cli, WriteLines, rows, stored

from servers import Running, serving


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A server, and an author's key in the environment."""
    with serving(f"sqlite:///{tmp_path / 'there.db'}") as running:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("RUBRICA_SERVER", running.url)
        monkeypatch.setenv("RUBRICA_API_KEY", running.author.key or "")
        yield running


def test_a_pushed_rubric_comes_back_as_it_was_written(there: Running, cli: Cli, tiny: Path) -> None:
    assert "stored as tiny@1.0.0" in cli("push", tiny).stdout
    pulled = cli("pull", "tiny", "-o", "back.yaml")
    assert pulled.exit_code == 0, pulled.stderr
    assert yaml.safe_load(Path("back.yaml").read_text()) == yaml.safe_load(TINY)


def test_a_draft_is_kept_beside_the_rubric_it_would_follow_and_changes_nothing(
    there: Running, cli: Cli, tiny: Path
) -> None:
    cli("push", tiny)
    drafted = {"title": "T", "criteria": [{"name": "sums", "asks": "Adds up.", "wanted": True, "importance": 5}]}
    lines = [{"match": "Draft at most", "reply": drafted}, {"reply": {"reason": "so", "answer": "yes"}}]
    Path("script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("good.jsonl").write_text('{"prompt": "2 + 2?", "response": "Four"}\n')
    draft = ["draft", "--task", "Add.", "--good", "good.jsonl", "-r", tiny, "-J", "scripted:script.jsonl"]
    told = cli(*draft, "--store", there.url)
    assert told.exit_code == 0, told.stderr
    assert "kept as tiny-draft@1.0.0" in told.stderr
    kept = there.author.get("/api/evaluations/tiny-draft").json
    assert (kept["is_public"], kept["examples"][0]["drafting"]["people"]) == (False, "good")
    assert "drafted_score" in kept["examples"][0]["drafting"]
    assert there.author.get("/api/evaluations/tiny").json["version"] == "1.0.0"
    again = cli(*draft, "--store", there.url)  # what was paid for is printed all the same
    assert (again.exit_code, "name: tiny" in again.stdout) == (1, True)
    assert "tiny-draft" in again.stderr


def test_pushing_again_makes_a_version_only_if_something_changed(there: Running, cli: Cli, tiny: Path) -> None:
    cli("push", tiny)
    assert "unchanged as tiny@1.0.0" in cli("push", tiny).stdout
    tiny.write_text(TINY.replace("threshold: 70", "threshold: 60"))
    assert "stored as tiny@1.0.1" in cli("push", tiny, "-m", "milder").stdout
    versions = there.author.get("/api/evaluations/tiny/versions").json["items"]
    assert [(version["version"], version["note"]) for version in versions] == [("1.0.1", "milder"), ("1.0.0", "")]


def test_a_file_need_not_follow_the_versions_that_the_server_counts(there: Running, cli: Cli, tiny: Path) -> None:
    told = []
    for threshold in (70, 60, 60, 50, 70):
        tiny.write_text(TINY.replace("threshold: 70", f"threshold: {threshold}"))
        result = cli("push", tiny)
        assert result.exit_code == 0, result.stderr
        told.append(result.stdout.partition(": ")[2].strip())
    assert told == [
        "stored as tiny@1.0.0",
        "stored as tiny@1.0.1",
        "unchanged as tiny@1.0.1",
        "stored as tiny@1.0.2",
        "stored as tiny@1.0.3",
    ]
    tiny.write_text(TINY.replace("version: 1.0.0", "version: 2.0.0"))
    assert "stored as tiny@2.0.0" in cli("push", tiny).stdout


def test_a_short_form_is_found_again_by_its_slug_however_long_its_name(
    there: Running, cli: Cli, tmp_path: Path
) -> None:
    short = tmp_path / "short.yaml"
    for words in (9, 9, 12):
        rule = f"{{type: custom_expression, expression: 1 if word_count < {words} else 0}}"
        short.write_text(f"name: {'Very ' * 50}Brief\nscoring_type: binary\nrules: [{rule}]\n")
        result = cli("push", short)
        assert result.exit_code == 0, result.stderr
    (found,) = there.author.get("/api/evaluations?mine=true").json["items"]
    assert (found["revision"], found["version"]) == (2, "1.1")


def test_a_name_that_several_others_have_made_public_is_free_for_oneself(there: Running, cli: Cli, tiny: Path) -> None:
    for user in ("bo", "cy"):
        others = {**yaml.safe_load(TINY), "is_public": True}
        assert there.newcomer("author", user).post("/api/evaluations", others).status == 201
    assert "stored as tiny@1.0.0" in cli("push", tiny).stdout


def test_a_rubric_of_somebody_else_is_not_overwritten(
    there: Running, cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("push", tiny, "--public")
    monkeypatch.setenv("RUBRICA_API_KEY", there.newcomer("author", "bo").key or "")
    tiny.write_text(TINY.replace("threshold: 70", "threshold: 60"))
    assert "stored as tiny@1.0.0" in cli("push", tiny).stdout
    assert there.author.get("/api/evaluations/tiny").json["threshold"] == 70


def test_a_broken_file_is_told_with_its_line_and_nothing_is_sent(there: Running, cli: Cli, tiny: Path) -> None:
    broken = tiny.with_name("broken.yaml")
    broken.write_text(TINY.replace("word_count <= longest", "word_count <= "))
    result = cli("push", tiny, broken)
    assert result.exit_code == 1
    assert "broken.yaml:13" in result.stderr
    assert "dimensions.brevity.formula" in result.stderr
    assert there.author.get("/api/evaluations?mine=true").json["items"] == []


def test_a_bundle_carries_its_examples_to_another_server(
    there: Running, cli: Cli, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"id": "good", "response": "thanks a lot", "expect": "pass"}\n')
    cli("push", tiny, "--examples", cases)
    assert cli("pull", "tiny", "--bundle", "-o", "bundle.json").exit_code == 0
    monkeypatch.delenv("RUBRICA_API_KEY")
    with serving(f"sqlite:///{tmp_path / 'other.db'}", keyless=True) as other:
        assert cli("push", "bundle.json", "--server", other.url).exit_code == 0
        assert other.anyone.get("/api/evaluations/tiny").json["examples"][0]["id"] == "good"


def test_cases_are_judged_on_the_server_as_they_are_here(
    there: Running, cli: Cli, tiny: Path, write_lines: WriteLines
) -> None:
    cli("push", tiny)
    cases = write_lines(rows(GOOD, POOR, LOUD))
    assert cli("eval", cases, "-r", tiny, "-o", "here.jsonl").exit_code == 0
    result = cli("eval", cases, "-r", "tiny", "--server", there.url, "-o", "there.jsonl", "--fail-on", "fail")
    assert result.exit_code == 100, result.stderr
    here = {found.case: found for found in stored(Path("here.jsonl"))}
    for found in stored(Path("there.jsonl")):
        mine = here.pop(found.case)
        assert (found.score, found.verdict, found.dimensions, found.gates, found.steps, found.context) == (
            mine.score,
            mine.verdict,
            mine.dimensions,
            mine.gates,
            mine.steps,
            mine.context,
        )
    assert not here
    assert there.author.get("/api/scores").json["items"] == []


def test_kept_scores_are_on_the_server(there: Running, cli: Cli, tiny: Path, write_lines: WriteLines) -> None:
    cli("push", tiny)
    result = cli("eval", write_lines(rows(GOOD, POOR)), "-r", "tiny", "--server", there.url, "--keep")
    assert result.exit_code == 0, result.stderr
    kept = there.author.get("/api/scores").json["items"]
    assert sorted(score["normalized_score"] for score in kept) == [0.2, 0.85]


def test_a_missing_key_says_which_variable_to_set(
    there: Running, cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUBRICA_API_KEY")
    result = cli("push", tiny)
    assert result.exit_code == 1
    assert "RUBRICA_API_KEY" in result.stderr


def test_a_dead_server_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubrica.cli.remote.FIRST_PAUSE", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    result = cli("pull", "tiny", "--server", f"http://127.0.0.1:{port}")
    assert result.exit_code == 1
    assert f"http://127.0.0.1:{port} cannot be reached" in result.stderr


def test_an_existing_file_is_not_replaced_unasked(there: Running, cli: Cli, tiny: Path) -> None:
    cli("push", tiny)
    before = tiny.read_text()
    result = cli("pull", "tiny")
    assert result.exit_code == 1
    assert "--force" in result.stderr
    assert tiny.read_text() == before
