"""The package in `examples/plugin`, installed beside Rubrica: what it adds is used through the command line."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "plugin"
Run = Callable[..., subprocess.CompletedProcess[str]]


def entry_points(groups: Mapping[str, Mapping[str, str]]) -> str:
    lines = []
    for group, items in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in items.items())]
    return "\n".join(lines) + "\n"


def put_package(target: Path, name: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """What an installer writes about a package, beside its modules."""
    about = target / f"{name.replace('-', '_')}-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(entry_points(groups), encoding="utf-8")


def runner(target: Path, folder: Path) -> Run:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RUBRICA_")}
    environ = {
        **kept,
        "PYTHONPATH": str(target),
        "PYTHONUTF8": "1",
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }

    def run(*arguments: str, module: str = "rubrica") -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", module, *arguments) if module else (sys.executable, *arguments)
        return subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
        )

    return run


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip installs it; without a build backend, as pip would have written it."""
    target = tmp_path_factory.mktemp("site")
    if importlib.util.find_spec("hatchling") is not None:
        source = tmp_path_factory.mktemp("source") / "plugin"
        shutil.copytree(PLUGIN, source)
        options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
        command = (sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source))
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return target
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(PLUGIN / "src" / "rubrica_example", target / "rubrica_example")
    put_package(target, project["name"], project["entry-points"])
    return target


@pytest.fixture
def rubrica(installed: Path, tmp_path: Path) -> Run:
    return runner(installed, tmp_path)


def test_its_pack_is_listed_and_judges_its_own_examples(rubrica: Run, tmp_path: Path) -> None:
    listed = rubrica("list", "--json")
    assert "short-reply" in [row["name"] for row in json.loads(listed.stdout)], listed.stderr
    shutil.copy(PLUGIN / "src/rubrica_example/short_reply/examples.jsonl", tmp_path / "cases.jsonl")
    judged = rubrica("run", "cases.jsonl", "-r", "short-reply", "-o", "out")
    assert judged.returncode == 0, judged.stderr
    lines = (tmp_path / "out" / "evaluations.jsonl").read_text("utf-8").splitlines()
    verdicts = {row["case"]: row["verdict"] for row in map(json.loads, lines)}
    assert verdicts == {"short": "pass", "vague": "fail"}


def test_its_provider_judges(rubrica: Run) -> None:
    done = rubrica(
        "eval", "-r", "short-reply", "--response", "Yes, tomorrow at nine.", "--judge", "constant:8", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["dimensions"]["help"]["value"] == 8
    assert found["dimensions"]["help"]["reason"] == "always the same"
    assert found["cost"]["usd"] == 0


def test_its_provider_is_among_the_forms_and_answers_behind_the_gateway(rubrica: Run) -> None:
    refused = rubrica("eval", "-r", "short-reply", "--response", "Yes.", "--judge", "gpt-4o-mini")
    assert refused.returncode == 1
    assert "constant:SCORE" in refused.stderr
    code = (
        "import asyncio\n"
        "from rubrica.gateway.upstreams.connect import connect_upstream\n"
        "from rubrica.llm.http import HttpSession\n"
        "from rubrica.llm.provider import ProviderLimits\n"
        "from rubrica.llm.settings import Settings\n"
        "async def ask():\n"
        "    session = HttpSession()\n"
        "    upstream = connect_upstream('constant:3', Settings(), session=session, gates=ProviderLimits())\n"
        "    print((await upstream.complete({'messages': [{'role': 'user', 'content': 'hello'}]})).text)\n"
        "    await session.close()\n"
        "asyncio.run(ask())\n"
    )
    asked = rubrica("-c", code, module="")
    assert json.loads(asked.stdout)["score"] == 3, asked.stderr


def test_its_rule_type_scores_is_put_into_words_and_is_in_the_schema(rubrica: Run, tmp_path: Path) -> None:
    done = rubrica("eval", "-r", "short-reply", "--response", "word " * 36, "--json")
    (hit,) = json.loads(done.stdout)["dimensions"]["brevity"]["hits"]
    assert (hit["type"], hit["points"], hit["reason"]) == ("word_limit", -3, "36 words, 30 are enough")
    page = rubrica("docs", "short-reply").stdout
    assert "**−0.5** for each word beyond 30 (by `word_count`)" in page
    assert "words in the response, split at white space" in page
    assert "WordLimit" in json.loads(rubrica("schema").stdout)["$defs"]


def test_its_faults_are_told_as_those_of_any_rule(rubrica: Run, tmp_path: Path) -> None:
    text = (PLUGIN / "src/rubrica_example/short_reply/rubric.yaml").read_text(encoding="utf-8")
    (tmp_path / "broken.yaml").write_text(text.replace("at_most: 30", "at_mots: 30"), encoding="utf-8")
    told = rubrica("validate", "broken.yaml")
    assert told.returncode == 1
    assert "at_mots" in told.stdout + told.stderr
    assert "did you mean 'at_most'" in told.stdout + told.stderr


def test_its_feature_is_found_and_read_by_formulas(rubrica: Run) -> None:
    assert "ellipses in the response" in rubrica("features", "ellipsis").stdout
    done = rubrica("eval", "-r", "short-reply", "--response", "Yes, of course…", "--json")
    assert json.loads(done.stdout)["dimensions"]["plainness"]["value"] == 5


def test_its_rule_type_has_a_form_in_the_builder(rubrica: Run) -> None:
    code = (
        "from rubrica.studio.builder import rules; rule = rules.new_rule('word_limit'); "
        "print(rules.type_of_draft(rule).title)"
    )
    assert rubrica("-c", code, module="").stdout.strip() == "Points taken for length"
    code = (
        "from rubrica.studio.builder.form_schema import fields_at; "
        "rule = {'type': 'word_limit', 'at_most': 9}; draft = {'dimensions': {'a': {'rules': [rule]}}}; "
        "found = fields_at(draft, ('dimensions', 'a', 'rules', 0)).values(); "
        "print([(field.title, field.kind, field.most) for field in found])"
    )
    titles = [("Name", "line", None), ("Words that cost nothing", "integer", 100_000), ("Points for each", "number", 0)]
    assert rubrica("-c", code, module="").stdout.strip() == str(titles)


def test_without_it_a_rubric_of_its_is_refused(tmp_path: Path) -> None:
    told = runner(tmp_path, tmp_path)("validate", str(PLUGIN / "src/rubrica_example/short_reply/rubric.yaml"))
    assert told.returncode == 1
    assert "is not a rule type" in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("group", "name", "value", "words"),
    [
        ("rubrica.rules", "gone", "no_such_module:RULE", "no_such_module"),
        ("rubrica.rules", "penalty", "rubrica.scorers.patterns:PENALTY", "which Rubrica has already"),
        ("rubrica.features", "letters", "rubrica.scorers.patterns:PENALTY", "not a Feature"),
        ("rubrica.features", "letters", "rubrica.text.continuity:FEATURES", "is a tuple, not a Feature"),
        ("rubrica.providers", "openai", "rubrica.llm.provider_table:PROVIDERS", "which Rubrica has already"),
        ("rubrica.packs", "arena", "rubrica.packs", "which Rubrica has already"),
    ],
)
def test_a_broken_package_is_named(tmp_path: Path, group: str, name: str, value: str, words: str) -> None:
    put_package(tmp_path, "shaky-plugin", {group: {name: value}})
    done = runner(tmp_path, tmp_path)("eval", "-r", "answer-quality", "--response", "Yes.", "--judge", "local:x")
    assert done.returncode == 1
    assert "shaky-plugin" in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
