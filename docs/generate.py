"""Writes the reference pages from the code: ``python -m docs.generate``; ``--check`` says whether they are fresh."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from docs.signatures import command_page, python_page
from docs.tables import feature_page, field_page, function_table, key_table, provider_table
from docs.validity_page import validity_page
from rubrica.model.json_schema import rubric_schema

DOCS = Path(__file__).parent
START, END = "<!-- generated: {name} -->", "<!-- end of generated -->"

PAGES: Mapping[str, Callable[[], str]] = {
    "reference/cli.md": command_page,
    "reference/features.md": feature_page,
    "reference/python.md": python_page,
    "reference/rubric-file.md": field_page,
    "validity.md": validity_page,
    "reference/schema.json": lambda: json.dumps(rubric_schema(), indent=2, ensure_ascii=False) + "\n",
}
"""Pages that are generated as a whole."""

TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "formulas.md": {"functions": function_table},
    "words/judge.md": {"providers": provider_table, "keys": key_table},
}
"""Tables that stand between two marks in a page written by hand."""


def generated() -> Iterator[tuple[Path, str]]:
    """Every file that holds something generated, and what it should hold."""
    for name, page in PAGES.items():
        yield DOCS / name, page()
    for name, tables in TABLES.items():
        text = (DOCS / name).read_text(encoding="utf-8")
        for mark, table in tables.items():
            text = between_marks(text, mark, table())
        yield DOCS / name, text


def between_marks(text: str, mark: str, table: str) -> str:
    """The text with what stands between a mark and the end mark replaced.

    >>> print(between_marks("<!-- generated: x -->old<!-- end of generated -->!", "x", "new"))
    <!-- generated: x -->
    new
    <!-- end of generated -->!
    """
    before, start, rest = text.partition(START.format(name=mark))
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"the mark {START.format(name=mark)} and its end are missing")
    return f"{before}{start}\n{table}\n{end}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is stale")
    check = parser.parse_args().check
    stale = 0
    for path, text in generated():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        name = path.relative_to(DOCS.parent)
        if check:
            print(f"{name} is stale: run `make docs`")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
