"""One name for one thing, and ordinary names: what the house rules say of classes and modules is so."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "rubrica"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "versions" not in path.parts)  # migrations are numbered

DEFINED_TWICE: dict[str, str] = {}
"""Public classes that may share a name, and why."""

TWINS = {
    ".: scorers, scoring": "what gives a score, and the arithmetic from scores to a verdict; both are in the glossary",
    "gateway: upstream, upstreams": "what the gateway asks of a provider, and the package of those who do it",
}
"""Modules of one package that may differ by an ending alone, and why."""

ORDINARY_WORDS = {
    "bench": "sample",
    "chamber": "session",
    "course": "progress",
    "crew": "pool",
    "desk": "editor",
    "ending": "finish",
    "flight": "concurrency",
    "gathered": "collected",
    "heads": "headers",
    "leafing": "pagination",
    "lesson": "fit",
    "orders": "request",
    "portrait": "report",
    "ruling": "verdict rule",
    "shelf": "cache",
    "sitting": "session",
    "situation": "namespace",
    "sought": "query",
    "standing": "rank",
    "told": "message",
    "turnstile": "limit",
    "whole": "complete",
    "wish": "request",
}
"""Figures of speech that were names once, and the word that a reader would search for."""

ENDINGS = ("ings", "ing", "ions", "ion", "ies", "ers", "ed", "er", "es", "s", "e", "y")


@cache
def names_of(path: Path) -> tuple[tuple[str, ...], frozenset[str]]:
    """The classes of a module, and its variables, parameters, attributes and functions."""
    classes, others = [], set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef(name=name):
                classes.append(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                others.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                others.add(name)
    return tuple(classes), frozenset(others)


def words_of(name: str) -> list[str]:
    """The words of a class or a module: ``HTTPModel`` and ``http_model`` are both http and model."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def stem(word: str) -> str:
    """A word without its ending, so that ``line`` and ``lines``, ``execute`` and ``executions`` are the same."""
    ending = next((end for end in ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), "")
    return word.removesuffix(ending)


def test_no_public_class_name_is_defined_twice() -> None:
    places = defaultdict(list)
    for path in MODULES:
        for name in names_of(path)[0]:
            places[name].append(path.relative_to(PACKAGE).as_posix())
    twice = {name: found for name, found in places.items() if len(found) > 1 and not name.startswith("_")}
    assert {name: found for name, found in twice.items() if name not in DEFINED_TWICE} == {}
    assert [name for name in DEFINED_TWICE if name not in twice] == [], "an exception that nothing needs any more"


def test_no_modules_of_a_package_differ_by_an_ending_alone() -> None:
    alike: dict[tuple[Path, str], set[str]] = defaultdict(set)
    for path in MODULES:
        place = path.parent if path.name == "__init__.py" else path.with_suffix("")
        alike[place.parent, "_".join(map(stem, place.name.split("_")))].add(place.name)
    twins = [
        f"{folder.relative_to(PACKAGE).as_posix()}: {', '.join(sorted(names))}"
        for (folder, _), names in alike.items()
        if len(names) > 1
    ]
    assert [pair for pair in twins if pair not in TWINS] == []
    assert [pair for pair in TWINS if pair not in twins] == [], "an exception that nothing needs any more"


def test_modules_and_classes_have_ordinary_names() -> None:
    coined = [
        f"{path.relative_to(PACKAGE)}: {name}: rather {ORDINARY_WORDS[word]} than {word}"
        for path in MODULES
        for name in (path.stem, *names_of(path)[0])
        for word in words_of(name)
        if word in ORDINARY_WORDS
    ]
    assert coined == []


@pytest.mark.parametrize("room", sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()))
def test_variables_and_functions_have_ordinary_names(room: str) -> None:
    plain = {"told", "whole", "ending", "orders"}  # ordinary English, where they are not a figure of speech
    if room == "text":
        plain.add("heads")  # of a classifier
    coined = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] == room
        for name in names_of(path)[1]
        if name.strip("_") in ORDINARY_WORDS.keys() - plain
    ]
    assert coined == []


@pytest.mark.parametrize(
    ("one", "other"), [("line", "lines"), ("table", "tables"), ("executing", "executions"), ("entry", "entries")]
)
def test_twins_are_recognised(one: str, other: str) -> None:
    assert stem(one) == stem(other)
