"""The glossary has each word once, in order, with a meaning and a place that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import DOCS, ROOT

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


@pytest.mark.parametrize("page", sorted((DOCS / "words").glob("*.md")), ids=lambda page: page.stem)
def test_every_word_that_has_a_page_links_to_it(page: Path) -> None:
    stem = page.stem
    assert [row for row in rows() if row["word"] == stem and f"(words/{stem}.md)" in row["where"]]
