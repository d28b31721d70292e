"""The layers that import-linter holds, the folders there are, and the two pages that list them say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rubrica"
BESIDE = {"__init__", "__main__", "api", "pytest_plugin", "testing"}
"""Modules that no layer may import: the public interface, and what stands on it."""


def layers() -> list[set[str]]:
    """The layers of import-linter, the lowest first; those that do not know each other are one set."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [each for each in data["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    lines = [re.findall(r"rubrica\.(\w+)", line) for line in reversed(contract["layers"])]
    return [set(line) for line in lines]


def in_layers(names: list[str]) -> list[set[str]]:
    """Names in their order, cut as the layers are."""
    sizes, found = [len(layer) for layer in layers()], []
    for size in sizes:
        found.append(set(names[:size]))
        names = names[size:]
    return [*found, set(names)] if names else found


def layout_lines() -> list[tuple[str, str]]:
    """Path and meaning of each line of the layout in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Layout\n")[2]
    block = text.partition("```text\n")[2].partition("```")[0]
    return [(path, meaning.strip()) for path, _, meaning in (line.partition(" ") for line in block.splitlines())]


def test_every_package_and_module_is_in_a_layer_or_beside_them() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert packages | (modules - BESIDE) == set().union(*layers())


def test_architecture_lists_the_layers_in_their_order() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("| layer | what it holds |\n")[2].partition("\n\n")[0]
    assert in_layers(re.findall(r"^\| `(\w+)` \| .+ \|$", table, re.MULTILINE)) == layers()


def test_architecture_names_what_stands_beside_the_layers() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"^(.+) stand beside the layers", text, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", sentence)) == BESIDE - {"__main__"}


def test_contributing_lists_the_layers_in_their_order() -> None:
    paths = [path for path, _ in layout_lines() if path.startswith("src/rubrica/")]
    assert in_layers([Path(path).stem for path in paths]) == layers()


def test_every_path_of_the_layout_exists_and_is_explained() -> None:
    assert [path for path, meaning in layout_lines() if not (ROOT / path).exists() or not meaning] == []


def test_the_layout_has_every_folder_of_the_repository() -> None:
    shown = {Path(path).parts[0] for path, _ in layout_lines()}
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert {name for name in folders if not name.startswith((".", "site", "build", "dist"))} <= shown
