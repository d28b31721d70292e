"""Ten thousand rubrics, offers and evaluations of a run: a page of them is there at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from browsers import Site, opened, served
from playwright.sync_api import Page, expect
from sqlalchemy import Connection, create_engine, insert

from rubrica.store.columns import new_id
from rubrica.store.market import UNMOVED
from rubrica.store.search import searched
from rubrica.store.tables import evaluation_templates, evaluations, users

MANY = 10_000
SECONDS = 8.0
"""For several steps on a slow machine. All rows at once would take a multiple of it, and their page megabytes."""

START = datetime(2026, 1, 1, tzinfo=UTC)
RUBRIC = """\
name: length
scale: {min: 0, max: 10}
dimensions:
  words: {formula: "min(10, word_count)"}
score: {weighted: true, out_of: 10}
verdicts: [{label: pass, when: score >= 6}, {label: fail}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("studio")
    rows = ({"id": f"case-{n:05}", "response": "word " * (n % 9 + 1)} for n in range(MANY))
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "length.yaml").write_text(RUBRIC)
    command = [sys.executable, "-m", "rubrica", "run", "cases.jsonl", "-r", "length.yaml", "-o", "runs/long"]
    subprocess.run([*command, "--offline"], cwd=folder, capture_output=True, check=True)
    with served(folder) as running:
        engine = create_engine(f"sqlite:///{running.database}")
        with engine.begin() as conn:
            _fill(conn)
        engine.dispose()
        yield running


def _fill(conn: Connection) -> None:
    author = {"id": new_id(START), "name": "somebody", "created_at": START}
    conn.execute(insert(users), [author])
    made, listed = [], []
    for number in range(MANY):
        at, name = START + timedelta(minutes=number), f"Rubric {number:05}"
        own = {"id": new_id(at), "slug": f"rubric-{number:05}", "name": name, "description": "Counts."}
        own |= {"search": searched(name, "Counts.", "lists", ["long"]), "category": "lists", "tags": ["long"]}
        own |= {"is_public": True, "version": "1.0.0", "revision": 1, "created_by": author["id"]}
        made.append(own | {"created_at": at, "updated_at": at})
        offer = {"id": new_id(at), "evaluation_id": own["id"], "downloads": 0, "rating": None, "reviews": 0}
        listed.append(offer | {"listed": True, "trend": UNMOVED, "created_at": at})
    conn.execute(insert(evaluations), made)
    conn.execute(insert(evaluation_templates), listed)


@pytest.mark.parametrize(
    ("path", "row", "search"),
    [
        ("/rubrics", ".rubric-list > li", "Search"),
        ("/market", ".ware", "Search"),
        ("/runs/long", "table[aria-label=Evaluations] tbody tr", "Case"),
    ],
)
def test_a_page_out_of_ten_thousand_rows_is_drawn_turned_and_searched_at_once(
    page: Page, path: str, row: str, search: str
) -> None:
    opened(page, "/games")  # what all pages share is fetched once
    began = time.monotonic()
    opened(page, path)
    rows = page.locator(row)
    expect(rows.first).to_be_visible()
    assert rows.count() <= 60
    first = rows.first.inner_text()
    page.get_by_role("button", name="Next").click()
    expect(rows.first).not_to_have_text(first)
    page.get_by_label(search, exact=True).fill("case-07777" if path == "/runs/long" else "Rubric 07777")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("07777")
    assert time.monotonic() - began < SECONDS
    assert len(page.content()) < 1_000_000
