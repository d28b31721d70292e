"""The gateway's page: figures that move as requests come, the way of each request, and whose eyes texts are for."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Browser, Page, expect

from browser.browsers import Site, expect_to_fit, opened, sign_in, tab
from gateway_samples import record, traffic
from rubrica.store.gateway import GradedDimension, add_requests
from rubrica.workspace.keys import KeyRequest, issue

HOSTILE = "<img src=x onerror=alert(1)>"


def test_an_empty_page_tells_how_to_start_and_fills_by_itself(page: Page, site: Site) -> None:
    opened(page, "/gateway")
    expect(page.locator(".empty")).to_contain_text(f"--db {site.database}")
    now = datetime.now(UTC)
    site.write(add_requests, list(traffic(120, start=now - timedelta(hours=20), over=timedelta(hours=19))))
    gauges = page.locator(".gauges")
    expect(gauges).to_contain_text("120")
    expect(page.locator(".empty")).to_be_hidden()
    expect(page.locator("svg.course")).to_have_count(6)
    types = page.get_by_role("table", name="By question type")
    expect(types.locator("tbody tr")).to_have_count(5)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("21–40")).to_be_visible()
    page.get_by_role("button", name="Hour", exact=True).click()
    expect(page.locator(".empty")).to_contain_text("No request in the last hour")


def test_a_request_is_followed_step_by_step_and_its_texts_stay_texts(keyed: Site, chromium: Browser) -> None:
    now = datetime.now(UTC)
    scores = {
        "accuracy": GradedDimension(4, 0.7, "anthropic:claude-haiku-4-5"),
        "depth": GradedDimension(5, stands_in=True),
    }
    failed = record(
        now - timedelta(seconds=5),
        passed=False,
        score=61.5,
        tier="tier-1",
        model=f"openai:{HOSTILE}",
        tier1_ms=1200.0,
        tier1_usd=0.01,
        total_usd=0.013,
        question_type="ODD",
        dimension_scores=scores,
        prompt=f"Is {HOSTILE} safe?",
        answer="Not <b>quite</b>.",
    )
    keyed.write(add_requests, [failed])
    with tab(chromium, keyed) as page:
        sign_in(page, keyed.key("gwen", "admin"))
        opened(page, "/gateway")
        expect(page.locator(".gauges")).to_be_visible()
        page.get_by_role("combobox", name="Question type").click()
        page.get_by_role("option", name="ODD").click()
        rows = page.get_by_role("table", name="Requests").locator("tbody tr")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("failed 61.5")
        rows.get_by_role("link").click()
        page.wait_for_url(f"**/gateway/{failed.trace}")
        expect(page.locator(".flow b")).to_have_text(["Classification", "Tier-0", "Grading", "Decision", "Tier-1"])
        expect(page.locator(".flow")).to_contain_text("61.5 of 100 (needs 85)")
        expect(page.get_by_role("table", name="Grade by dimension")).to_contain_text("a neutral value stands in")
        expect(page.get_by_role("table", name="Cost")).to_contain_text("−$0.00300")
        expect(page.get_by_text(f"Is {HOSTILE} safe?")).to_be_visible()
        expect(page.locator("main img")).to_have_count(0)
        opened(page, "/gateway/none-such")
        expect(page.get_by_role("alert")).to_contain_text("no request")


def test_a_viewer_reads_figures_but_no_texts(keyed: Site, chromium: Browser) -> None:
    moment, texts = datetime.now(UTC) - timedelta(seconds=9), ("Is it secret?", "It is <b>quite</b>.")
    gus = keyed.write(issue, KeyRequest("viewer", "gus"), moment)
    secret, own = (record(moment, prompt=texts[0], answer=texts[1], key_id=key) for key in (None, gus.key.id))
    keyed.write(add_requests, [secret, own])
    with tab(chromium, keyed, width=390) as page:
        sign_in(page, gus.secret)
        opened(page, f"/gateway/{own.trace}")
        expect(page.get_by_text("shown to admins only")).to_be_visible()
        assert "secret?" not in page.content()
        opened(page, f"/gateway/{secret.trace}")
        expect(page.get_by_role("alert")).to_contain_text("no request")
        opened(page, "/gateway")
        expect(page.locator(".gauges")).to_be_visible()
        expect_to_fit(page, 390)


def test_ten_thousand_requests_are_leafed_through(keyed: Site, chromium: Browser) -> None:
    now = datetime.now(UTC)
    keyed.write(add_requests, list(traffic(10_000, seed=5, start=now - timedelta(days=6), over=timedelta(days=5))))
    with tab(chromium, keyed) as page:
        sign_in(page, keyed.key("gil", "admin"))
        opened(page, "/gateway")
        page.get_by_role("button", name="Week").click()
        expect(page.locator(".gauges")).to_contain_text(re.compile("10,[01]"))
        for shown in ("21–40", "41–60", "61–80"):
            page.get_by_role("button", name="Next").click()
            expect(page.get_by_text(shown)).to_be_visible()
        expect(page.get_by_role("table", name="Requests").locator("tbody tr")).to_have_count(20)
        assert len(page.content()) < 1_000_000
