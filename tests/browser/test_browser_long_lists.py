"""Ten thousand rubrics, offers and evaluations of a run: a page of them is there at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import Connection, insert

from browser.browsers import Site, opened, tab
from browser.contents import conducted, written
from rubrica.store.columns import new_id
from rubrica.store.market import UNMOVED
from rubrica.store.search import searched
from rubrica.store.tables import market_listings, rubrics, users

MANY = 10_000
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
def full(judging: Site) -> Site:
    """The studio with a judge, whose other test looks at no list."""
    if not judging.lacks("ten thousand of everything"):
        return judging
    rows = ({"id": f"case-{n:05}", "response": "word " * (n % 9 + 1)} for n in range(MANY))
    cases = written(judging.database.parent / "cases.jsonl", rows)
    conducted(judging.runs / "long", RUBRIC, cases)
    judging.write(_fill)
    return judging


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
        offer = {"id": new_id(at), "rubric_id": own["id"], "downloads": 0, "rating": None, "reviews": 0}
        listed.append(offer | {"listed": True, "trend": UNMOVED, "created_at": at})
    conn.execute(insert(rubrics), made)
    conn.execute(insert(market_listings), listed)


@pytest.mark.parametrize(
    ("path", "row", "search"),
    [
        ("/rubrics", ".rubric-list > li", "Search"),
        ("/market", ".ware", "Search"),
        ("/runs/long", "table[aria-label=Evaluations] tbody tr", "Case, texts or why"),
    ],
)
def test_a_page_out_of_ten_thousand_rows_is_drawn_turned_and_searched(
    chromium: Browser, full: Site, path: str, row: str, search: str
) -> None:
    with tab(chromium, full) as page:
        opened(page, path)
        rows = page.locator(row)
        expect(rows.first).to_be_visible()
        assert rows.count() <= 60
        assert len(page.content()) < 1_000_000  # all of them would be many
        first = rows.first.inner_text()
        page.get_by_role("button", name="Next").click()
        expect(rows.first).not_to_have_text(first)
        page.get_by_label(search, exact=True).fill("case-07777" if path == "/runs/long" else "Rubric 07777")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("07777")
        assert len(page.content()) < 1_000_000
