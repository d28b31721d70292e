"""Imports are statements: import-linter and mypy see every one, but for the few that are listed here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "rubrica"
BY_NAME = {
    "__init__.py": "public names load on first use",
    "education/__init__.py": "public names load on first use",
    "cli/app.py": "a command's module is imported when the command is called",
}
"""Where modules are looked up by name, and why; `rubrica.extras` tells the same."""
MODULES = sorted(str(path.relative_to(SRC)) for path in SRC.rglob("*.py"))


def _lookups(tree: ast.AST) -> Iterator[int]:
    """The lines that take hold of what imports by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("import_module", "__import__"):
            yield node.lineno
        if isinstance(node, ast.Attribute) and node.attr == "import_module":
            yield node.lineno


@pytest.mark.parametrize("module", [module for module in MODULES if module not in BY_NAME])
def test_no_module_is_imported_by_a_name_made_at_run_time(module: str) -> None:
    text = (SRC / module).read_text(encoding="utf-8")
    lines = [] if "import" not in text else list(_lookups(ast.parse(text)))
    assert not lines, f"{module}:{lines}: write an import statement, inside `rubrica.extras.requires` if need be"


@pytest.mark.parametrize("module", BY_NAME)
def test_the_exceptions_are_still_needed(module: str) -> None:
    assert list(_lookups(ast.parse((SRC / module).read_text(encoding="utf-8"))))


def test_only_one_module_says_what_to_install() -> None:
    telling = [
        module for module in MODULES if re.search(r"is missing \(pip install", (SRC / module).read_text("utf-8"))
    ]
    assert set(telling) == {"extras.py"}


def test_only_one_module_guesses_what_somebody_meant() -> None:
    guessing = [module for module in MODULES if re.search(r"\bdifflib\b", (SRC / module).read_text("utf-8"))]
    assert guessing == ["hints.py"], "a hint comes from `rubrica.hints`, which never repeats the wrong word"


PAGES = sorted(path for folder in ("studio", "server/routes") for path in (SRC / folder).rglob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SRC)))
def test_a_page_takes_types_from_the_store_but_asks_it_nothing(page: Path) -> None:
    asked = [
        f"{node.module}.{name.name}"
        for node in ast.walk(ast.parse(page.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rubrica.store")
        for name in node.names
        if name.name[0].islower() and name.name != "address"  # which reads a URL, and no database
    ]
    assert not asked, f"{asked}: a function of workspace, games or gateway asks it, and knows who may"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SRC)))
def test_a_page_says_what_is_done_and_not_who_may(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\brequire\(", text), "`rubrica.workspace.access.check_action` knows which role that takes"
