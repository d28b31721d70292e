"""The recipes in CONTRIBUTING name the true files, and no more places have to change than they say."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from rubrica.llm.provider_table import PROVIDERS
from rubrica.model.rules import RULE_DOCUMENTS
from rubrica.scorers.rule_table import RULE_TYPES, rule_types

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "rubrica"
EXAMPLES = {
    "Adding a rule type": "custom_expression",
    "Adding a rule of lint": "",
    "Adding a text feature": "",
    "Adding a pack": "answer-quality",
    "Adding a provider": "anthropic",
    "Changing or adding a prompt": "each",
    "Adding a command": "compare",
    "Adding a page": "council",
}
"""Every recipe, with something that was added by it."""
SAME_WORD = {"penalty": {"studio/builder/rule_forms.py"}}  # a key of a pattern is called so, too


def recipe(title: str) -> str:
    """The numbered steps under a heading."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def files_of(title: str) -> list[str]:
    """The files that a recipe names, where its example stands for NAME."""
    found = re.findall(r"`((?:src|tests|docs|[A-Z]+\.md)[\w./-]*)`", recipe(title))
    return [path.replace("NAME", EXAMPLES[title]) for path in found]


@cache
def mentions() -> dict[str, set[str]]:
    """Which modules have a word as a whole text, or as a name, in their code; what they say of it does not count."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        module = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            words: list[str] = []
            match node:
                case ast.Constant(value=str(text)):
                    words = [text]
                case ast.Name(id=name) | ast.alias(name=name):
                    words = [name]
                case ast.Attribute(attr=name):
                    words = [name]
            for word in words:
                found.setdefault(word, set()).add(module)
    return found


def test_every_recipe_is_held() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## ((?:Adding|Changing) .+)$", text, re.MULTILINE)) == EXAMPLES.keys()


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_files_of_a_recipe_exist(title: str) -> None:
    files = files_of(title)
    assert files
    assert [path for path in files if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("title", sorted(EXAMPLES.keys() - {"Adding a text feature", "Changing or adding a prompt"}))
def test_few_files_of_the_package_change(title: str) -> None:
    steps = re.findall(r"^\d+\. `(src/[^`]+)`", recipe(title), re.MULTILINE)
    assert 2 <= len(steps) <= 3


@pytest.mark.parametrize("name", [provider.name for provider in PROVIDERS if provider.base_url])
def test_a_provider_is_named_in_its_module_and_in_the_table_alone(name: str) -> None:
    provider = next(provider for provider in PROVIDERS if provider.name == name)
    places = {f"llm/{name}.py", "llm/provider_table.py"}
    wires = {f"gateway/upstreams/{name}.py", "gateway/upstreams/connect.py"}  # where the gateway streams its protocol
    words = [name, f"{name}_key", f"{name}_base_url", *provider.key_variables]
    assert {module for word in words for module in mentions().get(word, ())} <= places | wires


@pytest.mark.parametrize("name", [kind.name for kind in RULE_TYPES])
def test_a_rule_type_is_named_in_its_modules_and_in_the_table_alone(name: str) -> None:
    kind = rule_types()[name]
    home = kind.compile.__module__.rpartition(".")[2]
    places = {"model/rules.py", f"scorers/{home}.py", "scorers/rule_table.py", *SAME_WORD.get(name, ())}
    words = (name, kind.document.__name__, name.upper())
    assert {module for word in words for module in mentions().get(word, ())} <= places


def test_every_document_of_a_rule_has_its_type() -> None:
    assert tuple(kind.document for kind in RULE_TYPES) == RULE_DOCUMENTS
