"""The reference is what the code says, links lead somewhere, and every word has its page."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from types import ModuleType

import pytest
from docs_pages import DOCS, PAGES, page_id

import rubrica
from docs import generate, tables
from rubrica.text import FEATURES

WORDS = (
    "anchor", "case", "context", "dimension", "evaluation", "gate", "judge", "profile",
    "rubric", "score", "scorer", "section", "verdict",
)  # fmt: skip
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def test_generated_pages_are_fresh() -> None:
    stale = [page_id(path) for path, text in generate.generated() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"run `make docs`: {', '.join(stale)}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    for target in (match["target"] for match in _LINK.finditer(text)):
        if re.match(r"[a-z]+:", target):
            pytest.fail(f"{page_id(page)} links to {target}: the documentation stands on its own")
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        assert goal.exists(), f"{page_id(page)} links to {target}"
        if anchor:
            assert anchor in anchors(goal), f"{page_id(page)} links to {target}"


@pytest.mark.parametrize("word", WORDS)
def test_every_word_has_a_page_that_the_index_links_to(word: str) -> None:
    page = DOCS / "words" / f"{word}.md"
    assert page.is_file()
    assert f"(words/{word}.md)" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_no_page_is_left_out_of_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page != DOCS / "index.md"]
    assert [page for page in pages if not is_decision(page) and f"({page})" not in index] == []


def test_every_picture_is_shown() -> None:
    page = (DOCS / "pictures.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[[^\]]+\]\((pictures/\S+)\)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(f"pictures/{file.name}" for file in (DOCS / "pictures").glob("*.png"))


def test_no_decision_is_left_out_of_its_index() -> None:
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    pages = [page.name for page in (DOCS / "decisions").glob("*.md") if page.name not in {"index.md", "template.md"}]
    assert len(pages) >= 13
    assert [page for page in pages if f"({page})" not in index] == []


def test_a_decision_has_the_parts_of_the_template() -> None:
    parts = ["Context", "Decision", "Consequences", "Alternatives"]
    for page in (DOCS / "decisions").glob("*.md"):
        if page.name != "index.md":
            assert re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE) == parts, page.name


def is_decision(page: str) -> bool:
    return page.startswith("decisions/") and page != "decisions/index.md"


def test_every_public_name_is_in_the_python_reference() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in rubrica.__all__ if not re.search(rf"\b{re.escape(name)}\b", text)] == []


def test_every_text_feature_is_in_the_reference_once() -> None:
    text = (DOCS / "reference" / "features.md").read_text(encoding="utf-8")
    assert [name for name in FEATURES if text.count(f"| `{name}` |") != 1] == []


@pytest.mark.parametrize("module", [generate, tables], ids=lambda module: module.__name__)
def test_examples_in_the_generators_docstrings_run(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def anchors(page: Path) -> set[str]:
    """The headings of a page as link targets."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in _HEADING.findall(text)}
