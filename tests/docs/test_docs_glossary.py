"""The glossary has each word once, in order, with a meaning and a place that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from docs_pages import DOCS, ROOT

import rubrica

EVENTS = {"Concluded", "Ranked"}  # of a council, named by what has happened
ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| (?P<where>[^|]+) \|$")


def rows() -> list[re.Match[str]]:
    lines = (DOCS / "glossary.md").read_text(encoding="utf-8").splitlines()
    return [row for row in map(ROW.match, lines) if row is not None and row["word"] != "word"]


def test_words_stand_in_order_and_once() -> None:
    words = [row["word"].strip().lower() for row in rows()]
    assert len(words) > 80
    assert words == sorted(set(words))


def test_every_place_exists() -> None:
    for row in rows():
        assert "](" in row["where"] or "`" in row["where"], row["word"]
        for place in re.findall(r"`([a-z_/]+)`", row["where"]):
            places = [ROOT / "src" / "rubrica" / place, ROOT / "src" / "rubrica" / f"{place}.py", ROOT / place]
            assert any(path.exists() for path in places), f"{row['word']}: {place}"


def test_every_page_and_heading_that_is_named_exists() -> None:
    for row in rows():
        for page, _, heading in (link.partition("#") for link in re.findall(r"\]\(([^)]+)\)", row["where"])):
            assert (DOCS / page).exists(), f"{row['word']}: {page}"
            assert not heading or heading in headings(DOCS / page), f"{row['word']}: {page}#{heading}"


def headings(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_every_class_of_the_public_interface_is_a_word() -> None:
    words = {row["word"].strip().lower() for row in rows()}
    classes = [name for name in rubrica.__all__ if name[0].isupper() and not name.endswith("Error")]
    assert len(classes) > 5
    assert [name for name in classes if name.lower() not in words] == []


@pytest.mark.parametrize(
    "package", ["companion", "council", "education", "engine", "games", "judges", "model", "runs", "workspace"]
)
def test_every_class_named_by_one_word_is_in_the_glossary(package: str) -> None:
    """A reader who meets `Namespace` or `Batch` finds what it is. Names of several words are made of such words."""
    words = {row["word"].strip().lower() for row in rows()}
    for path in (ROOT / "src" / "rubrica" / package).rglob("*.py"):
        classes = [node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
        for name in (name.lower() for name in classes if re.fullmatch("[A-Z][a-z]+", name) and name not in EVENTS):
            assert {name, name.removesuffix("s"), name.removesuffix("ies") + "y"} & words, f"{path.name}: {name}"


@pytest.mark.parametrize("page", sorted((DOCS / "words").glob("*.md")), ids=lambda page: page.stem)
def test_every_word_that_has_a_page_links_to_it(page: Path) -> None:
    stem = page.stem
    assert [row for row in rows() if row["word"] == stem and f"(words/{stem}.md)" in row["where"]]
