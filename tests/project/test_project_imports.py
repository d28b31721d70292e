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


def test_no_module_is_imported_by_a_name_made_at_run_time() -> None:
    texts = {module: (SRC / module).read_text(encoding="utf-8") for module in MODULES if module not in BY_NAME}
    lines = [
        f"{module}:{line}"
        for module, text in texts.items()
        if "import_module" in text or "__import__" in text
        for line in _lookups(ast.parse(text))
    ]
    assert not lines, f"{lines}: write an import statement, inside `rubrica.extras.requires` if need be"


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


def test_a_page_takes_types_from_the_store_but_asks_it_nothing() -> None:
    asked = [
        f"{page.relative_to(SRC)}: {node.module}.{name.name}"
        for page in PAGES
        for node in ast.walk(ast.parse(page.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rubrica.store")
        for name in node.names
        if name.name[0].islower() and name.name != "address"  # which reads a URL, and no database
    ]
    assert not asked, f"{asked}: a function of workspace, games or gateway asks it, and knows who may"


def test_a_page_says_what_is_done_and_not_who_may() -> None:
    saying = [str(page.relative_to(SRC)) for page in PAGES if re.search(r"\brequire\(", page.read_text("utf-8"))]
    assert not saying, f"{saying}: `rubrica.workspace.access.check_action` knows which role that takes"
