"""The commands about rubrics: list, show, validate, init, docs, schema, features."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import Cli

from rubrica.cli.features import feature_markdown
from rubrica.model.json_schema import rubric_schema
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.packs.validity import figures_of
from rubrica.text import FEATURES

BROKEN = """\
name: Bad Name
dimensions:
  one: {weight: 0.5, formula: "word_count ** 9999"}
  two: {weight: 0.4, formula: "open('x')"}
verdicts:
  - {label: pass, when: "scroe > 1"}
  - {label: fail}
"""


def test_list_names_every_bundled_rubric(cli: Cli) -> None:
    rows = json.loads(cli("list", "--json").stdout)
    by_name = {row["name"]: row for row in rows}
    assert by_name["answer-quality"]["dimensions"] == 5
    assert by_name["answer-quality"]["verdicts"] == ["pass", "fail"]
    assert by_name["speed-demon"]["pack"] == "arena"
    table = cli("list").stdout
    assert all(row["name"] in table for row in rows)


def test_show_tells_dimensions_profiles_gates_and_verdicts(cli: Cli) -> None:
    page = cli("show", "answer-quality").stdout
    rubric = load("answer-quality")
    assert rubric.profiles is not None
    for expected in [*rubric.dimensions, *rubric.profiles.named, *(gate.name for gate in rubric.gates)]:
        assert expected in page
    assert "score >= threshold" in page
    assert "9–10" in page


def test_show_json_is_a_document_that_loads_again(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_text(cli("show", tiny, "--json").stdout)
    assert load(copy).hash == load(tiny).hash


def test_show_yaml_is_the_document_as_its_author_wrote_it(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    assert cli("show", tiny, "--yaml").stdout == tiny.read_text()
    copy = tmp_path / "mine.yaml"
    copy.write_text(cli("show", "answer-quality", "--yaml").stdout)
    assert load(copy).hash == load("answer-quality").hash
    assert "# Five dimensions are judged from 1 to 10" in copy.read_text()
    assert cli("show", tiny, "--yaml", "--json").exit_code == 2


def test_show_says_what_each_score_is_worth_and_where_more_is_said(cli: Cli, tiny: Path) -> None:
    page = " ".join(cli("show", "answer-quality").stdout.split())
    accuracy, score = figures_of("answer-quality", "accuracy")[0], figures_of("answer-quality", "score")[0]
    assert str(accuracy) in page
    assert f"Score {score}" in page
    assert "docs/validity.md#answer-quality" in page
    arena = " ".join(cli("show", "arena").stdout.split())
    assert "Speed not measured not for: Players on different machines." in arena
    assert "docs/validity.md" not in cli("show", tiny).stdout


def test_show_makes_control_characters_visible(cli: Cli, tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace("title: A tiny rubric", r'title: "a \e[2J title"'))
    page = cli("show", tiny).stdout
    assert "\x1b" not in page
    assert "␛[2J" in page


def test_validate_accepts_good_files(cli: Cli, tiny: Path) -> None:
    result = cli("validate", tiny, "answer-quality")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["ok", "ok"]


def test_validate_tells_of_formulas_that_cannot_reach_their_scale(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    dimensions = {"brief": {"formula": "1 if word_count < patience else 0"}}
    rubric = {"name": "short", "scale": {"max": 10}, "settings": {"patience": 9}, "dimensions": dimensions}
    file.write_text(json.dumps({**rubric, "verdicts": [{"label": "done"}]}))
    result = cli("validate", file)
    assert result.exit_code == 0
    assert "dimensions.brief.formula: the formula can never give more than 1, and its scale goes to 10" in result.stdout
    assert json.loads(cli("validate", file, "--json").stdout)[0]["warnings"][0]["path"] == "dimensions.brief.formula"


def test_validate_tells_every_problem_of_every_file(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(BROKEN)
    missing = tmp_path / "missing.yaml"
    result = cli("validate", broken, tiny, missing)
    assert result.exit_code == 1
    for expected in (f"{broken}:1: name:", f"{broken}:3:", f"{broken}:4:", f"ok {tiny}", f"{missing}: cannot be read"):
        assert expected in result.stdout


def test_validate_json_is_made_for_ci(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(BROKEN)
    result = cli("validate", broken, tiny, "--json")
    assert result.exit_code == 1
    first, second = json.loads(result.stdout)
    assert (first["file"], first["ok"], second["ok"]) == (str(broken), False, True)
    assert second["rubric"] == "tiny@1.0.0"
    assert {"line", "path", "message", "fix", "text"} <= first["problems"][0].keys()
    assert first["problems"][0]["line"] == 1


def test_init_writes_a_rubric_that_validates_and_judges(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "reply-check.yaml"
    result = cli("init", file)
    assert result.exit_code == 0
    assert f"rubrica validate {file}" in result.stdout
    assert load(file).name == "reply-check"
    assert cli("validate", file).exit_code == 0
    kind = "Thank you for writing. Your parcel is late because the van broke; it arrives tomorrow. Happy to help."
    verdicts = {
        json.loads(cli("eval", "-r", file, "-p", "My parcel is late.", "--response", text, "--json").stdout)["verdict"]
        for text in (kind, "Obviously. Calm down.", "A refund is guaranteed.")
    }
    assert {"send", "reject"} <= verdicts


def test_init_keeps_an_existing_file_unless_forced(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")
    refused = cli("init", file)
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert file.read_text() == "mine"
    assert cli("init", file, "--force", "--name", "Brand New!").exit_code == 0
    assert load(file).name == "brand-new"


@pytest.mark.parametrize("name", ["starter.json", "starter"])
def test_init_writes_yaml_only(cli: Cli, tmp_path: Path, name: str) -> None:
    result = cli("init", tmp_path / name)
    assert result.exit_code == 1
    assert ".yaml" in result.stderr


def test_docs_prints_markdown_and_writes_by_suffix(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    assert cli("docs", tiny).stdout.startswith("# A tiny rubric")
    page, text = tmp_path / "page.html", tmp_path / "page.md"
    assert cli("docs", tiny, "-o", page).exit_code == 0
    assert cli("docs", tiny, "-o", text).exit_code == 0
    assert "<html" in page.read_text()
    assert text.read_text().startswith("# A tiny rubric")
    assert cli("docs", tiny, "-o", page).exit_code == 1
    assert cli("docs", tiny, "-o", tmp_path / "page.pdf").exit_code == 2


def test_schema_covers_the_document_and_the_short_form(cli: Cli, tmp_path: Path) -> None:
    printed = json.loads(cli("schema").stdout)
    assert printed == rubric_schema()
    assert [option["$ref"] for option in printed["anyOf"]] == ["#/$defs/Rubric", "#/$defs/ShortForm"]
    assert printed["$defs"]["Rubric"]["properties"].keys() == Rubric.model_fields.keys()
    file = tmp_path / "rubric.schema.json"
    assert cli("schema", "-o", file).exit_code == 0
    assert json.loads(file.read_text()) == printed


def test_schema_allows_the_short_ways_of_writing() -> None:
    definitions = rubric_schema()["$defs"]
    assert {"type": "string", "maxLength": 20_000} in definitions["ContextName"]["anyOf"]
    assert {"enum": ["neutral", "skip", "inconclusive"]} in definitions["OnUnscored"]["anyOf"]
    assert {"type": "string", "minLength": 1, "maxLength": 4_000} in definitions["Note"]["anyOf"]


def test_features_lists_every_text_feature(cli: Cli) -> None:
    printed = cli("features").stdout
    assert all(name in printed for name in FEATURES)
    table = feature_markdown(list(FEATURES.values())).splitlines()
    assert len(table) == len(FEATURES) + 2
    assert cli("features", "--markdown").stdout.splitlines() == table


def test_features_can_be_searched(cli: Cli) -> None:
    printed = cli("features", "exclamation").stdout
    assert "exclamation_count" in printed
    assert "word_count" not in printed
    assert "no feature" in cli("features", "zebra").stdout
