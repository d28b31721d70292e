"""`rubrica games`, against the real server: an evening from the file to the table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_runs import Cli

from servers import Running, serving

GAME = """
name: Moth night
status: open
most_rounds: 3
rubrics: [{rubric: length, dimension: style}]
teams: [Moths]
seasons: [{name: Spring, starts_at: 2026-03-01T00:00:00Z, ends_at: 2026-06-01T00:00:00Z}]
"""
LENGTH = {
    "name": "Length",
    "scoring_type": "cumulative",
    "max_score": 100,
    "rules": [{"type": "custom_expression", "name": "words", "expression": "word_count"}],
    "is_public": True,
}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('games') / 'there.db'}") as running:
        assert running.author.post("/api/evaluations", LENGTH).status == 201
        yield running


@pytest.fixture(autouse=True)
def _at(there: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUBRICA_SERVER", there.url)
    monkeypatch.setenv("RUBRICA_API_KEY", there.author.key or "")


def test_an_evening_on_the_command_line(there: Running, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("moth.yaml").write_text(GAME)
    assert "Moth night is made, and is open" in cli("games", "create", "moth.yaml").stdout
    shown = cli("games", "show", "Moth night").stdout
    assert [part in shown for part in ("status: open", "rounds of a player: 3", "length@1.0")] == [True] * 3
    token = cli("games", "invite", "Moth night", "--uses", "1").stdout.strip().rsplit("/", 1)[-1]
    monkeypatch.setenv("RUBRICA_API_KEY", there.player.key or "")
    assert f"{there.player.user} has joined Moth night" in cli("games", "join", token).stdout
    assert "round 1: 2% (style 2%)" in cli("games", "play", "Moth night", "--response", "two words").stdout
    Path("rounds.jsonl").write_text('{"response": "a b c d"}\n\n{"response": "a"}\n')
    played = cli("games", "play", "Moth night", "--rounds", "rounds.jsonl")
    assert [line.split(": ")[1] for line in played.stdout.splitlines()] == ["4% (style 4%)", "1% (style 1%)"]
    over = cli("games", "play", "Moth night", "--response", "one more")
    assert (over.exit_code, "3 of 3 rounds" in over.stderr) == (1, True)
    monkeypatch.setenv("RUBRICA_API_KEY", there.author.key or "")
    board = cli("games", "board", "Moth night").stdout
    assert "1 to 1 of 1 player" in board
    assert re.search(r"% \([\d.]+\) .*\n.*\nmean points are in brackets", board)
    assert cli("games", "board", "Moth night", "--format", "csv").stdout.splitlines()[1].startswith("1,no,")
    assert json.loads(cli("games", "board", "Moth night", "--format", "json").stdout)["total"] == 1
    assert cli("games", "play", "Moth night", "--response", "a b c", "--player", "Flo").exit_code == 0
    rated = cli("games", "board", "Moth night", "--ratings").stdout
    assert (f"{there.player.user}?" in rated, "Bradley–Terry" in rated) == (True, True)
    assert json.loads(cli("games", "board", "Moth night", "--ratings", "--format", "json").stdout)["unrated"] == 0
    assert cli("games", "board", "Moth night", "--ratings", "--page", "2").exit_code == 2
    assert "counts no more" in cli("games", "void", "Moth night", "Flo", "1", "--reason", "a try").stdout
    assert "1 to 1 of 1 player" in cli("games", "board", "Moth night").stdout
    assert "counts again" in cli("games", "void", "Moth night", "Flo", "1", "--undo").stdout
    assert cli("games", "void", "Moth night", "Flo", "1").exit_code == 2
    assert "no score is open" in cli("games", "retry", "Moth night").stderr
    assert "no invitation names you" in cli("games", "join").stderr
    assert "did you mean 'Moth night'?" in cli("games", "show", "Moth nigth").stderr
    assert cli("games", "export", "Moth night", "-o", "rounds.out").exit_code == 0
    assert [json.loads(line)["round_number"] for line in Path("rounds.out").read_text().splitlines()] == [1, 2, 3, 1]
    assert "Moth night is closed" in cli("games", "close", "Moth night").stdout
    assert "Next time is a draft" in cli("games", "copy", "Moth night", "--name", "Next time").stdout
    assert "Next time is open" in cli("games", "open", "Next time").stdout
    assert [game["name"] for game in json.loads(cli("games", "list", "--json").stdout)] == ["Next time", "Moth night"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: X\nrubrix: []\n", "wrong.yaml:2: rubrix: is not a known key (did you mean 'rubrics'?)"),
        ("name: X\nrubrics: [{rubric: length, wieght: 1}]\n", "wieght: is not a known key (did you mean 'weight'?)"),
        ("name: X\nmost_rounds: many\n", "wrong.yaml:2: most_rounds: should be a whole number"),
        ("rubrics: []\n", "name: is required and missing"),
        ("- X\n", "should be names with values"),
        ("name: X\nstatus: closed\n", "should be 'draft' or 'open'"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_before_anything_is_made(
    there: Running, cli: Cli, text: str, told: str
) -> None:
    before = there.author.get("/api/games").json["items"]
    Path("wrong.yaml").write_text(text)
    result = cli("games", "create", "wrong.yaml")
    assert (result.exit_code, told in result.stderr, "wrong.yaml" in result.stderr) == (1, True, True)
    assert there.author.get("/api/games").json["items"] == before


def test_a_game_that_is_not_there_is_told_with_the_way_to_those_that_are(cli: Cli) -> None:
    result = cli("games", "show", "Chess")
    assert (result.exit_code, "rubrica games list" in result.stderr) == (1, True)
