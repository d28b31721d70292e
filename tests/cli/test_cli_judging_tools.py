"""The commands around judging: config, cache, calibrate."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli, process
from hypothesis import given
from hypothesis import strategies as st

from rubrica.judges.calibration import apply
from rubrica.llm.cache import ReplyCache, reply_key
from rubrica.llm.model import ChatMessage, Reply, Request, Usage
from rubrica.packs.library import load
from rubrica.runs.review.calibration_fit import next_version

JUDGED = """\
# Is the reply any good?
name: reply
version: 1.4.9  # raised with every change
scale: {min: 1, max: 10}
dimensions:
  tone: {asks: "Is it kind?", weight: 0.4}   # people care about this one
  facts: {asks: "Is it true?", weight: 0.4}
  brevity: {weight: 0.2, formula: "10 if word_count < 50 else 1"}
verdicts:
  - {label: done}
# the end
"""

MakeLabels = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings and cache of these tests only, whatever the machine has."""
    for name in list(os.environ):
        if name.startswith(("RUBRICA_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    for kind in ("cache", "config"):
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", str(tmp_path / kind))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    file = tmp_path / "reply.yaml"
    file.write_text(JUDGED)
    return file


@pytest.fixture
def make_labels(tmp_path: Path) -> MakeLabels:
    """Labels by judges that rank well and are `harsh` points too strict, with noise; or that guess."""

    def make(*dimensions: str, count: int = 60, guess: bool = False, seed: int = 5, **harsh: float) -> Path:
        chance = random.Random(seed)  # noqa: S311
        rows = []
        for number in range(count):
            human = {name: chance.randint(4, 10) for name in dimensions}
            for judge, strict in (harsh or {"judge": 2.5}).items():
                scores = {
                    name: chance.randint(1, 10) if guess else min(max(given - strict + chance.gauss(0, 0.7), 1), 10)
                    for name, given in human.items()
                }
                rows.append({"id": number, "judge": judge, "scores": scores, "human": human})
        file = tmp_path / "labels.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return file

    return make


# --- config -----------------------------------------------------------------------------------------------


def shown(cli: Cli) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(cli("config", "--json").stdout)["settings"]}


def test_config_says_where_every_setting_came_from(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user, here = tmp_path / "config" / "rubrica" / "config.toml", tmp_path / "rubrica.toml"
    user.parent.mkdir(parents=True)
    user.write_text('judge = "openai:user"\ntimeout = 7\nattempts = 2\n')
    here.write_text("timeout = 8\nattempts = 3\n")
    monkeypatch.setenv("RUBRICA_ATTEMPTS", "9")
    settings = shown(cli)
    assert {name: (settings[name]["value"], settings[name]["origin"]) for name in ("judge", "timeout", "attempts")} == {
        "judge": ("openai:user", str(user)),
        "timeout": (8.0, str(here)),
        "attempts": (9, "RUBRICA_ATTEMPTS"),
    }
    assert (settings["budget"]["value"], settings["budget"]["origin"]) == (None, "default")
    table = cli("config", env={"COLUMNS": "300"}).stdout
    row = next(line for line in table.splitlines() if line.startswith("timeout "))
    assert row.split()[1:3] == ["8", str(here)]
    assert "seconds for one attempt" in row
    assert all(name in table for name in settings)


def test_config_fits_a_narrow_terminal_without_losing_a_value(cli: Cli) -> None:
    table = cli("config", env={"COLUMNS": "80", "XDG_CACHE_HOME": "/c"}).stdout
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 80
    assert "/c/rubrica/replies.sqlite" in table
    assert "https://api.anthropic.com" in table


def test_config_never_shows_a_key(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_KEY", "sk-ant-a-very-secret-9876")
    monkeypatch.setenv("OPENAI_API_KEY", "short")
    for arguments in (["config"], ["config", "--json"]):
        printed = cli(*arguments).stdout
        assert "secret" not in printed
        assert "short" not in printed
        assert "…9876" in printed
        assert "ANTHROPIC_KEY" in printed
    assert shown(cli)["anthropic_key"]["origin"] == "ANTHROPIC_KEY"
    assert shown(cli)["http_key"]["value"] is None


def test_config_tells_of_variables_that_set_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICA_TIMEUOT", "5")
    result = cli("config")
    assert result.exit_code == 0
    assert "RUBRICA_TIMEUOT is set, but names no setting (did you mean RUBRICA_TIMEOUT?)" in result.stderr
    assert json.loads(cli("config", "--json").stdout)["unused"] == ["RUBRICA_TIMEUOT"]


@pytest.mark.parametrize(
    ("text", "key"), [("timeout = 'soon'", "timeout"), ("timout = 5", "timout"), ("openai_key = 'sk-1'", "openai_key")]
)
def test_config_errors_name_the_file_and_the_key(cli: Cli, tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "rubrica.toml"
    file.write_text(text)
    result = cli("config")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {file}: {key}: ")


# --- cache ------------------------------------------------------------------------------------------------


def filled(path: Path, count: int = 3) -> Path:
    """A cache of some replies, asked for each one once more."""
    with ReplyCache(path) as cache:
        for number in range(count):
            key = reply_key("scripted:x", Request((ChatMessage("user", f"question {number}"),)))
            cache.put(key, "scripted:x", Reply(text="8", model="x", usage=Usage(), stop="end"))
            assert cache.get(key) is not None
        cache.get(b"never asked")
    return path


def test_cache_stats_tell_file_entries_size_and_hits(cli: Cli, tmp_path: Path) -> None:
    path = filled(tmp_path / "cache" / "rubrica" / "replies.sqlite")
    found = json.loads(cli("cache", "stats", "--json").stdout)
    assert found.pop("bytes") >= path.stat().st_size
    assert found == {"path": str(path), "exists": True, "entries": 3, "hits": 3, "misses": 1}
    page = cli("cache", "stats", env={"COLUMNS": "300"}).stdout
    assert str(path) in page
    assert "3 of 4 lookups (75%)" in page


def test_looking_at_a_cache_that_is_not_there_does_not_make_one(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "rubrica" / "replies.sqlite"
    assert "not there yet" in cli("cache", "stats", env={"COLUMNS": "300"}).stdout
    assert json.loads(cli("cache", "stats", "--json").stdout)["entries"] == 0
    assert "nothing to clear" in cli("cache", "clear").stderr
    assert not path.parent.exists()


def test_cache_clear_asks_first(cli: Cli, tmp_path: Path) -> None:
    path = filled(tmp_path / "other.sqlite")
    kept = cli("cache", "clear", "--cache", path, input="n\n")
    assert kept.exit_code == 1
    assert "Drop 3 kept replies" in kept.stderr
    assert json.loads(cli("cache", "stats", "--cache", path, "--json").stdout)["entries"] == 3
    assert cli("cache", "clear", "--cache", path, input="").exit_code == 1
    assert cli("cache", "clear", "--cache", path, input="y\n").exit_code == 0
    after = json.loads(cli("cache", "stats", "--cache", path, "--json").stdout)
    assert (after["entries"], after["hits"]) == (0, 0)


def test_cache_clear_with_yes_does_not_ask(cli: Cli, tmp_path: Path) -> None:
    path = filled(tmp_path / "other.sqlite", count=1)
    result = cli("cache", "clear", "--yes", "--cache", path)
    assert result.exit_code == 0
    assert result.stderr.startswith("dropped 1 kept reply ")
    filled(path, count=2)
    assert json.loads(cli("cache", "clear", "-y", "--json", "--cache", path).stdout)["cleared"] == 2


@pytest.mark.parametrize("action", ["stats", "clear"])
def test_a_database_of_another_kind_is_never_touched(cli: Cli, tmp_path: Path, action: str) -> None:
    path = tmp_path / "customers.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE replies (customer TEXT)")
        db.execute("INSERT INTO replies VALUES ('Ada')")
    db.close()
    before = path.read_bytes()
    result = cli("cache", action, "--cache", path, "--yes")
    assert result.exit_code == 1
    assert "is not a reply cache: it holds replies.customer" in result.stderr
    assert path.read_bytes() == before
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look at" * 10)
    assert "is not a reply cache" in cli("cache", action, "--cache", text, "--yes").stderr


def test_a_cache_that_is_off_says_who_turned_it_off(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICA_CACHE", "off")
    result = cli("cache", "stats")
    assert result.exit_code == 1
    assert "RUBRICA_CACHE says off" in result.stderr


# --- calibrate --------------------------------------------------------------------------------------------


def test_a_harsh_judge_is_corrected_and_the_table_says_by_how_much(
    cli: Cli, judged: Path, make_labels: MakeLabels
) -> None:
    labels = make_labels("tone", strict=3.0, mild=0.5)
    result = cli("calibrate", labels, "-r", judged)
    assert result.exit_code == 0
    row = next(line for line in result.stdout.splitlines() if line.startswith("✓  Tone"))
    assert row.split()[2] == "60"
    assert row.count("→") == 4
    assert "strict" in result.stdout
    assert "without labels here: facts" in result.stdout
    found = json.loads(cli("calibrate", labels, "-r", judged, "--json").stdout)
    tone = found["calibration"]["dimensions"]["tone"]
    assert tone["before"]["bias"] < -1.5
    assert abs(tone["after"]["bias"]) < 0.2
    assert tone["after"]["mae"] < 0.5 * tone["before"]["mae"]
    assert tone["judges"]["strict"]["offset"] > 1 > -1 > tone["judges"]["mild"]["offset"]
    assert found["unlabelled"] == ["facts"]
    assert found["written"] is None


def test_the_written_rubric_corrects_scores_it_has_never_seen(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    output = tmp_path / "calibrated.yaml"
    assert cli("calibrate", make_labels("tone", "facts"), "-r", judged, "-o", output).exit_code == 0
    calibration = load(output).calibration
    assert calibration is not None
    assert calibration.version == 1
    assert abs((datetime.now(UTC).date() - calibration.date).days) <= 1
    fresh = [json.loads(line) for line in make_labels("tone", "facts", seed=99, count=200).read_text().splitlines()]
    for name in ("tone", "facts"):
        pairs = [(row["scores"][name], row["human"][name]) for row in fresh]
        before = sum(abs(score - human) for score, human in pairs)
        after = sum(abs(apply(calibration, name, "judge", score) - human) for score, human in pairs)
        assert after < 0.5 * before


def test_the_authors_text_stays_but_for_version_and_block(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    output = tmp_path / "calibrated.yaml"
    result = cli("calibrate", make_labels("tone"), "-r", judged, "-o", output)
    assert "reply@1.4.10 with calibration 1 of" in " ".join(result.stdout.split())
    text = output.read_text()
    assert text.startswith(JUDGED.replace("version: 1.4.9 ", "version: 1.4.10 ") + "\ncalibration:  #")
    old, new = load(judged), load(output)
    assert new.model_copy(update={"version": old.version, "calibration": None}) == old
    assert judged.read_text() == JUDGED


def test_calibrating_again_replaces_the_block_where_it_stands(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    once, twice = tmp_path / "once.yaml", tmp_path / "twice.yaml"
    cli("calibrate", make_labels("tone", "facts"), "-r", judged, "-o", once)
    once.write_text(once.read_text() + "\n# how it is shown\ntitle: A reply\n")
    result = cli("calibrate", make_labels("tone", seed=6), "-r", once, "-o", twice, env={"COLUMNS": "300"})
    assert result.exit_code == 0
    assert "takes the place of calibration 1 of" in result.stdout
    assert "corrections of facts go with it" in result.stdout
    text, rubric = twice.read_text(), load(twice)
    assert text.endswith("\n\n# how it is shown\ntitle: A reply\n")
    assert text.count("calibration:") == 1
    assert rubric.version == "1.4.11"
    assert rubric.calibration is not None
    assert (rubric.calibration.version, [*rubric.calibration.dimensions]) == (2, ["tone"])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("version: 1.4.9  # raised with every change\n", ""), id="no version"),
        pytest.param(lambda text: text.replace("1.4.9", '"1.9"'), id="quoted version"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="windows line ends"),
        pytest.param(lambda text: f"---\n{text}...\n", id="document marks"),
        pytest.param(lambda text: text.removesuffix("# the end\n").rstrip(), id="no last line end"),
        pytest.param(lambda text: "".join(f"  {line}\n" for line in text.splitlines()), id="indented"),
        pytest.param(lambda text: text.replace("name: reply", "title: 日本 🙂\nname: reply"), id="beyond ASCII"),
        pytest.param(lambda text: text + "calibration: null\ntitle: Reply\n", id="empty block"),
    ],
)
def test_every_way_of_writing_a_document_can_be_calibrated(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path, change: Callable[[str], str]
) -> None:
    judged.write_bytes(change(JUDGED).encode())
    before = load(judged)
    output = tmp_path / "calibrated.yaml"
    result = cli("calibrate", make_labels("tone"), "-r", judged, "-o", output)
    assert result.exit_code == 0, result.stderr
    after = load(output)
    assert after.version == next_version(before.version)
    assert after.calibration is not None
    assert after.model_copy(update={"version": before.version, "calibration": None}) == before
    comments = [line for line in change(JUDGED).splitlines() if "#" in line and "version" not in line]
    assert all(comment in output.read_bytes().decode() for comment in comments)
    assert (b"\r\n" in output.read_bytes()) == (b"\r\n" in judged.read_bytes())


def test_a_bundled_rubric_is_copied_out_with_its_corrections(cli: Cli, make_labels: MakeLabels, tmp_path: Path) -> None:
    output = tmp_path / "mine.yaml"
    assert cli("calibrate", make_labels("accuracy"), "-r", "answer-quality", "-o", output).exit_code == 0
    assert load(output).version == next_version(load("answer-quality").version)
    assert output.read_text().startswith("# Is this answer good enough")
    assert cli("validate", output).exit_code == 0
    assert load("answer-quality").calibration is None


def test_json_documents_stay_json(cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path) -> None:
    source, output = tmp_path / "reply.json", tmp_path / "calibrated.json"
    source.write_text(cli("show", judged, "--json").stdout)
    assert cli("calibrate", make_labels("tone"), "-r", source, "-o", output).exit_code == 0
    assert json.loads(output.read_text())["version"] == "1.4.10"
    assert load(output).calibration is not None
    from_yaml = tmp_path / "from-yaml.json"
    assert cli("calibrate", make_labels("tone"), "-r", judged, "-o", from_yaml).exit_code == 0
    assert load(from_yaml) == load(output)


def test_a_version_that_cannot_be_replaced_in_place_is_refused(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    judged.write_text(JUDGED.replace("1.4.9", '&v "1.4.9"') + "title: *v\n")
    output = tmp_path / "calibrated.yaml"
    result = cli("calibrate", make_labels("tone"), "-r", judged, "-o", output)
    assert result.exit_code == 1
    assert "cannot be replaced where it stands" in result.stderr
    assert not output.exists()


def test_a_judge_that_guesses_is_refused_with_the_reason(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    output = tmp_path / "calibrated.yaml"
    result = cli("calibrate", make_labels("tone", guess=True), "-r", judged, "-o", output)
    assert result.exit_code == 1
    assert "✕  Tone" in result.stdout
    assert "say too little about what people think" in " ".join(result.stdout.split())
    assert "no dimension could be corrected" in result.stderr
    assert "how reliable each judge is was written" in result.stderr
    measured = load(output).calibration
    assert measured is not None
    assert not measured.dimensions
    printed = cli("calibrate", make_labels("tone", guess=True), "-r", judged, "--json")
    assert printed.exit_code == 1
    found = json.loads(printed.stdout)
    assert set(found["calibration"]["reliability"]) == {"tone"}
    assert found["refused"]["tone"]["labels"] == 60
    assert found["refused"]["tone"]["before"]["mae"] > 1


def test_too_few_labels_and_dimensions_without_a_judge_are_refused(
    cli: Cli, judged: Path, make_labels: MakeLabels
) -> None:
    result = cli("calibrate", make_labels("tone", "brevity", count=19), "-r", judged, "--json")
    assert result.exit_code == 1
    refused = json.loads(result.stdout)["refused"]
    assert "19 labelled items; 20 are the fewest" in refused["tone"]["reason"]
    assert "brevity is scored by a formula, not by a judge" in refused["brevity"]["reason"]


def test_of_a_dimension_made_of_parts_the_judged_parts_are_corrected(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    parts = 'parts: {warmth: {asks: "Is it warm?", weight: 0.5}, manners: {asks: "Is it polite?", weight: 0.5}}'
    judged.write_text(JUDGED.replace('asks: "Is it kind?"', parts))
    output = tmp_path / "calibrated.yaml"
    result = cli("calibrate", make_labels("tone", "warmth"), "-r", judged, "-o", output, "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert "label the parts" in found["refused"]["tone"]["reason"]
    assert found["calibration"]["dimensions"].keys() == {"warmth"}
    assert found["unlabelled"] == ["manners", "facts"]
    assert load(output).calibration is not None


def test_one_dimension_that_helps_is_enough(cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path) -> None:
    output = tmp_path / "calibrated.yaml"
    result = cli("calibrate", make_labels("tone", "brevity"), "-r", judged, "-o", output)
    assert result.exit_code == 0
    assert "brevity is scored by a formula" in result.stdout
    calibration = load(output).calibration
    assert calibration is not None
    assert [*calibration.dimensions] == ["tone"]


def test_an_existing_file_is_kept_unless_forced(cli: Cli, judged: Path, make_labels: MakeLabels) -> None:
    labels = make_labels("tone")
    refused = cli("calibrate", labels, "-r", judged, "-o", judged)
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert judged.read_text() == JUDGED
    assert cli("calibrate", labels, "-r", judged, "-o", judged, "--force").exit_code == 0
    assert load(judged).version == "1.4.10"


def test_outputs_that_no_rubric_could_have_are_refused(cli: Cli, judged: Path, make_labels: MakeLabels) -> None:
    labels = make_labels("tone")
    assert cli("calibrate", labels, "-r", judged, "-o", "calibrated.txt").exit_code == 2
    renamed = labels.rename(labels.with_suffix(".json"))
    twice = cli("calibrate", renamed, "-r", judged, "-o", renamed, "--force")
    assert twice.exit_code == 1
    assert "named twice" in twice.stderr


def test_every_broken_label_is_told_with_its_line(cli: Cli, judged: Path, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    good = '{"dimension": "tone", "score": 4, "human": 5}'
    file.write_text(f'{good}\n{{"dimension": "tonne", "score": 4, "human": 5}}\nnot JSON\n{good.replace("5", "55")}\n')
    result = cli("calibrate", file, "-r", judged)
    assert result.exit_code == 1
    assert [f"{file}:{line}: " in result.stderr for line in (1, 2, 3, 4)] == [False, True, True, True]
    assert "did you mean 'tone'" in result.stderr
    file.write_bytes(good.encode() + b"\n\xff\n")
    assert f"{file}:2: not UTF-8" in cli("calibrate", file, "-r", judged).stderr
    file.write_text("\n")
    assert "there are no labels" in cli("calibrate", file, "-r", judged).stderr


def test_the_same_labels_and_seed_give_the_same_rubric(
    cli: Cli, judged: Path, make_labels: MakeLabels, tmp_path: Path
) -> None:
    labels = make_labels("tone")
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    for output in (one, two):
        assert cli("calibrate", labels, "-r", judged, "-o", output, "--seed", "3").exit_code == 0
    assert one.read_bytes() == two.read_bytes()
    other = json.loads(cli("calibrate", labels, "-r", judged, "--json", "--seed", "4").stdout)["calibration"]
    mine = load(one).calibration
    assert mine is not None
    after = mine.dimensions["tone"].after
    assert after is not None
    assert other["dimensions"]["tone"]["after"] != after.model_dump()


def test_labels_can_be_piped_into_the_command(judged: Path, make_labels: MakeLabels) -> None:
    with make_labels("tone").open("rb") as labels:
        run = process("calibrate", "-", "-r", judged, "--json", stdin=labels)
        out, err = run.communicate()
    assert run.returncode == 0, err
    assert json.loads(out)["calibration"]["dimensions"].keys() == {"tone"}


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=3), st.sampled_from(["", "-rc.1", "+build.5"]))
def test_a_raised_version_differs_in_its_last_number_alone(numbers: list[int], suffix: str) -> None:
    expected = [*numbers[:-1], numbers[-1] + 1]
    assert next_version(".".join(map(str, numbers)) + suffix) == ".".join(map(str, expected)) + suffix


# --- panels, choices and raters -----------------------------------------------------------------------------


def fooled_rows(count: int, seed: int = 3) -> list[dict[str, Any]]:
    """One judge who is mostly right, and three who share a view that is mostly wrong."""
    chance = random.Random(seed)  # noqa: S311
    rows = []
    for number in range(count):
        true = chance.random() < 0.5
        surface = true if chance.random() < 0.3 else not true
        says = {"right": true if chance.random() < 0.95 else not true}
        says |= {name: surface if chance.random() < 0.9 else not surface for name in ("x", "y", "z")}
        rows += [
            {"id": number, "judge": f"scripted:{name}.jsonl", "said": said, "true": true} for name, said in says.items()
        ]
    return rows


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_panel_learns_whom_to_hear_and_the_next_evaluation_hears_them(cli: Cli, judged: Path, tmp_path: Path) -> None:
    rows = fooled_rows(40)
    labels = written(
        tmp_path / "labels.jsonl",
        [
            {
                "id": row["id"],
                "judge": row["judge"],
                "dimension": "facts",
                "score": 9 if row["said"] else 2,
                "human": 9 if row["true"] else 2,
            }
            for row in rows
        ],
    )
    result = cli("calibrate", labels, "-r", judged, "-o", "calibrated.yaml")
    assert result.exit_code == 0, result.stderr
    assert "learned" in result.stdout
    for name, score in (("right", 9), ("x", 2), ("y", 2), ("z", 2)):
        written(tmp_path / f"{name}.jsonl", [{"reply": {"reason": "so", "score": score, "confidence": 0.9}}])
    panel = [word for name in ("right", "x", "y", "z") for word in ("-J", f"scripted:{name}.jsonl")]
    for rubric, heard in (("reply.yaml", False), ("calibrated.yaml", True)):
        found = json.loads(cli("eval", "-r", rubric, "--response", "Yes.", *panel, "--json").stdout)
        facts = found["dimensions"]["facts"]
        assert (facts["value"] > 5.5) is heard
        assert ("learned panel" in facts["reason"]) is heard


def test_choices_are_weighed_and_the_figures_told(cli: Cli, judged: Path, tmp_path: Path) -> None:
    sides = {True: "first", False: "second"}
    rows = [
        {"id": row["id"], "judge": row["judge"], "choice": sides[row["said"]], "human": sides[row["true"]]}
        for row in fooled_rows(40)
    ]
    result = cli("calibrate", written(tmp_path / "labels.jsonl", rows), "-r", judged, "-o", "calibrated.yaml")
    assert result.exit_code == 0, result.stderr
    assert "right on left-out labels" in result.stdout
    calibration = load(tmp_path / "calibrated.yaml").calibration
    assert calibration is not None
    assert calibration.choices is not None
    assert calibration.choices.judges["scripted:right.jsonl"] > 0.5
    unlabelled = [{key: value for key, value in row.items() if key != "human"} for row in rows]
    alone = cli("calibrate", written(tmp_path / "none.jsonl", unlabelled), "-r", judged)
    assert alone.exit_code == 0
    assert "Dawid and Skene" in " ".join(alone.stdout.split())


def test_verdicts_without_labels_weigh_judges_and_it_is_said_wherever_they_count(
    cli: Cli, judged: Path, tmp_path: Path
) -> None:
    verdict = judged.read_text().replace('"Is it true?"', '"Is it true?", scale: {min: 0, max: 1}')
    judged.write_text(verdict)
    chance = random.Random(5)  # noqa: S311
    skills = {"right": 0.95, "also": 0.9, "x": 0.5, "y": 0.5, "z": 0.5}
    rows = []
    for number in range(60):
        true = chance.random() < 0.5
        for name, skill in skills.items():
            said = "pass" if true is (chance.random() < skill) else "fail"
            rows.append({"id": number, "judge": f"scripted:{name}.jsonl", "dimension": "facts", "score": said})
    lines = written(tmp_path / "verdicts.jsonl", rows)
    result = cli("calibrate", lines, "-r", judged, "-o", "calibrated.yaml", env={"COLUMNS": "300"})
    assert result.exit_code == 0, result.stderr
    assert "no label says what people think of facts: weights are from how far the judges agree" in result.stdout
    assert "without human labels" in (tmp_path / "calibrated.yaml").read_text()
    for name in skills:
        score = float(name in ("right", "also"))
        written(tmp_path / f"{name}.jsonl", [{"reply": {"reason": "so", "score": score, "confidence": 0.9}}])
    panel = [word for name in skills for word in ("-J", f"scripted:{name}.jsonl")]
    for rubric, heard in (("reply.yaml", False), ("calibrated.yaml", True)):
        found = json.loads(cli("eval", "-r", rubric, "--response", "Yes.", *panel, "--json").stdout)
        facts = found["dimensions"]["facts"]
        assert (facts["value"] > 0.5) is heard
        assert ("learned panel (without people's labels)" in facts["reason"]) is heard
    plain = json.loads(cli("calibrate", lines, "-r", judged, "--json").stdout)
    assert plain["by_agreement"] == ["facts"]
    tones = written(tmp_path / "tones.jsonl", [{**row, "dimension": "tone", "score": 7} for row in rows])
    refused = cli("calibrate", tones, "-r", judged, env={"COLUMNS": "300"})
    assert refused.exit_code == 1
    assert "tone has no label by people; its scores are not verdicts" in refused.stdout


def test_a_table_names_its_raters_and_their_harshness_is_told(cli: Cli, judged: Path, tmp_path: Path) -> None:
    chance = random.Random(2)  # noqa: S311
    lines = ["item,judge_tone,reviewer,tone"]
    for number in range(40):
        true = chance.uniform(4, 7)
        for rater, kinder in (("ann", 2), ("bob", -2)):
            lines.append(
                f"{number},{true + chance.gauss(0, 0.4):.2f},{rater},{true + kinder + chance.gauss(0, 0.4):.2f}"
            )
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    found = json.loads(cli("calibrate", "labels.csv", "-r", judged, "--json").stdout)["people"]["tone"]
    assert found["raters"]["bob"]["offset"] < -1 < 1 < found["raters"]["ann"]["offset"]
    assert found["figures"]["adjusted"] > found["figures"]["spearman"]
    printed = cli("calibrate", "labels.csv", "-r", judged).stdout
    assert "harshness" in printed


def test_people_who_share_no_response_are_told_what_their_harshness_rests_on(
    cli: Cli, judged: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "split.csv"
    rows = [f"{n},{2 + n % 7},{'ann' if n % 2 else 'bob'},{2 + n % 7 + n % 2}" for n in range(40)]
    labels.write_text("\n".join(["id,judge_tone,rater,tone", *rows]))
    said = cli("calibrate", labels, "-r", judged, env={"COLUMNS": "300"}).stdout
    assert "tone: no response was rated by two people" in said
    labels.write_text("\n".join(["id,judge_tone,rater,tone", *rows, "0,2,ann,3"]))
    assert "no response was rated" not in cli("calibrate", labels, "-r", judged, env={"COLUMNS": "300"}).stdout
