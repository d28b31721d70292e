"""The page of a run: what it counts and draws, what it shows first, and that it stays small and harmless."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs_samples import STYLE, a_run, judged, many, plan_of

from rubrica.report.plots import Layer, PlotAxis, boxes, heat, histogram
from rubrica.report.run_figures import MOST_CELLS, Distribution, Reservoir, correlations
from rubrica.runs.files.parquet_rows import write_columns
from rubrica.runs.files.rows import RunRow, row_of
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.page import write_page
from rubrica.runs.summary.page_data import EXTREMES, MOST_RUBRICS, SAMPLED, collect_page_data

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


class Elements(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def page_of(folder: Path, **options: int) -> str:
    out = StringIO()
    write_page(StoredRun.open(folder), out, **options)  # type: ignore[arg-type]
    return out.getvalue()


def rows(number: int) -> list[RunRow]:
    return [
        RunRow(f"c{case}", "tone@1.0.0", "pass", case % 997 / 9.97, 100.0, {"warmth": case * math.pi % 10})
        for case in range(number)
    ]


# --- figures ----------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.none(), FINITE), max_size=60))
def test_a_small_distribution_is_exact(values: list[float | None]) -> None:
    found = Distribution()
    for start in range(0, len(values), 7):
        found.add(values[start : start + 7])
    known = [value for value in values if value is not None]
    assert (found.count, found.missing) == (len(known), len(values) - len(known))
    if not known:
        assert (found.mean, found.std, found.quantile(0.5), found.box()) == (None, None, None, None)
        return
    assert found.mean == pytest.approx(statistics.fmean(known), abs=1e-6)
    assert found.quantile(0.5) == pytest.approx(statistics.median(known), abs=1e-6)
    assert found.range == (min(known), max(known))
    assert sum(found.bins(-1e6, 1e6, 13)) == len(known)
    if len(known) > 1:
        assert found.std == pytest.approx(statistics.stdev(known), abs=1e-3)
        quartiles = statistics.quantiles(known, n=4, method="inclusive")
        assert found.quantiles([0.25, 0.5, 0.75]) == pytest.approx(quartiles, abs=1e-6)


def test_a_large_distribution_is_right_to_a_two_thousandth_of_its_range_and_stays_small() -> None:
    draw = random.Random(5)  # noqa: S311
    values = [draw.gauss(50, 12) for _ in range(40_000)]
    found = Distribution()
    for start in range(0, len(values), 1000):
        found.add(values[start : start + 1000])
    assert len(found.values()) <= MOST_CELLS
    span = max(values) - min(values)
    assert found.mean == pytest.approx(statistics.fmean(values), rel=1e-12)
    assert found.std == pytest.approx(statistics.stdev(values), rel=1e-3)
    for share, exact in zip((0.01, 0.25, 0.5, 0.99), _quantiles(values, (0.01, 0.25, 0.5, 0.99)), strict=True):
        assert found.quantile(share) == pytest.approx(exact, abs=span / 2000)


def _quantiles(values: list[float], shares: tuple[float, ...]) -> list[float]:
    rising = sorted(values)
    return [rising[round(share * (len(rising) - 1))] for share in shares]


def test_whiskers_end_at_the_last_values_within_the_fences() -> None:
    found = Distribution()
    found.add([1, 50, 51, 52, 53, 54, 55, 99])
    box = found.box()
    assert box is not None
    assert (box.low, box.high, box.least, box.most) == (50, 55, 1, 99)


@given(st.integers(0, 50), st.lists(st.integers(0, 40), max_size=20))
def test_a_reservoir_holds_what_came_up_to_its_size(size: int, parts: list[int]) -> None:
    reservoir: Reservoir[int] = Reservoir(size, Random(1))  # noqa: S311
    stream = iter(range(10_000))
    for part in parts:
        reservoir.offer([next(stream) for _ in range(part)])
    assert reservoir.seen == sum(parts)
    assert len(reservoir.items) == len(set(reservoir.items)) == min(size, sum(parts))
    assert all(item < sum(parts) for item in reservoir.items)


def test_a_reservoir_is_fair() -> None:
    chosen = [0] * 100
    for seed in range(2000):
        reservoir: Reservoir[int] = Reservoir(10, Random(seed))  # noqa: S311
        for start in range(0, 100, 9):
            reservoir.offer(list(range(start, min(start + 9, 100))))
        for item in reservoir.items:
            chosen[item] += 1
    # each is drawn 200 times of 2000, with a standard deviation of 13.4
    assert min(chosen) > 200 - 5 * 13.4
    assert max(chosen) < 200 + 5 * 13.4


def test_correlations_leave_out_rows_without_both_values() -> None:
    xs: list[float | None] = [1, 2, 3, 4, None, 9]
    ys: list[float | None] = [2, 1, 4, 3, 100, None]
    found = correlations([xs, ys, [7, 7, 7, 7, 7, 7]])
    assert found[0][1] == found[1][0] == pytest.approx(statistics.correlation([1, 2, 3, 4], [2, 1, 4, 3]))
    assert found[0][2] is None


# --- plots ------------------------------------------------------------------------------------------------


def test_bars_stand_on_each_other_and_reach_as_high_as_their_counts() -> None:
    drawn = str(histogram([Layer([4, 0], "good"), Layer([4, 2], "bad")], PlotAxis(0, 1), "two bars"))
    bars = re.findall(r'class="bin is-(\w+)" x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', drawn)
    assert [(role, float(high)) for role, _, high in bars] == [("good", 66.0), ("bad", 66.0), ("bad", 33.0)]
    assert float(bars[1][1]) + 66 == float(bars[0][1])


def test_a_dimension_without_scores_says_so_in_its_row() -> None:
    drawn = boxes([("Wit", None, None, PlotAxis(1, 10))])
    assert "no scores" in drawn
    assert 'aria-label="Wit has no scores"' in drawn


def test_a_correlation_that_cannot_be_told_is_an_empty_square() -> None:
    drawn = heat(["A", "B", "C"], [[1, -0.2, None], [-0.2, 1, 0.999], [None, 0.999, 1]])
    assert "B and A −.20, C and A none, C and B 1" in drawn
    assert 'class="square below"' in drawn
    assert 'class="square none"' in drawn


# --- gathering --------------------------------------------------------------------------------------------


def test_what_is_kept_of_a_run_does_not_grow_with_it() -> None:
    found = collect_page_data(iter(rows(60_000)), {}, Random(0), 10)  # noqa: S311
    [figures] = found.rubrics.values()
    assert found.total == figures.total == 60_000
    assert len(figures.sample.items) == SAMPLED
    assert len(figures.dimensions["warmth"].values()) <= MOST_CELLS
    assert len(found.worst) == len(found.sample.items) == 10
    assert len(figures.lowest) == len(figures.highest) == len(found.slowest) == EXTREMES


def test_rubrics_past_the_most_are_counted_only() -> None:
    some = [RunRow(f"c{n}", f"r{n}@1.0.0", "pass", 1.0, 1.0) for n in range(MOST_RUBRICS + 5)]
    found = collect_page_data(some, {}, Random(0), 3)  # noqa: S311
    assert (len(found.rubrics), found.not_drawn, found.total) == (MOST_RUBRICS, 5, MOST_RUBRICS + 5)


# --- the page ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    plan = plan_of(folder)
    return a_run(folder / "week12", [plan], many(plan, 120))


def test_the_page_says_what_was_run_and_what_came_of_it(run: Path) -> None:
    page = page_of(run)
    evaluations = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
    passed = sum(one["verdict"] == "pass" for one in evaluations)
    assert f"✓ pass</span> <b>{passed}</b>" in page
    assert f"✕ fail</span> <b>{120 - passed}</b>" in page
    for said in (
        "tone@1.0.0",
        "openai:gpt-5-mini",
        "cases.jsonl",
        "abababababab",
        "2026-05-04 09:00",
        "$0.12",
        "4,800 out",
    ):
        assert said in page
    for plot in ("histogram", "boxes", "heat", "scatter"):
        assert f'class="chart {plot}' in page
    assert "threshold 60" in page


def test_the_page_is_one_harmless_file_whatever_the_texts_say(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    evil = "<script>alert(1)</script>\"' onload=x \x00"
    bad = [
        judged(plan, f"{evil} {n}", {"warmth": n % 10 + 1.0, "wit": 5.0}, context={"response": evil}) for n in range(30)
    ]
    folder = a_run(tmp_path / "run", [plan], bad)
    (folder / "errors.jsonl").write_text(json.dumps({"line": 3, "case": evil, "error": evil}) + "\nnot json\n")
    found = Elements(page_of(folder))
    tags = {tag for tag, _ in found.found}
    assert not tags & {"script", "img", "iframe", "link", "object", "a", "form", "base"}
    for _, attributes in found.found:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "href"}]


def test_failures_come_before_everything_else_and_the_worst_before_the_sample(run: Path) -> None:
    told = [{"line": 7, "case": "case-x", "error": "no response"}, {"line": 8, "case": None, "error": "not JSON"}]
    (run / "errors.jsonl").write_text("".join(json.dumps(line) + "\n" for line in told))
    page = page_of(run, cards=4)
    (run / "errors.jsonl").unlink()
    assert "2 records could not be judged" in page
    assert "line 8" in page
    places = [page.index(text) for text in ("no response", ">Verdicts<", "To look at first", "A fair sample")]
    assert places == sorted(places)
    scores = {one.case: one.score or 0.0 for one in StoredRun.open(run).evaluations()}
    shown = [re.findall(r"case-\d+", heading)[0] for heading in re.findall(r"<article.*?</h2>", page, re.DOTALL)]
    assert len(set(shown)) == 8
    assert [scores[case] for case in shown[:4]] == sorted(scores.values())[:4]


def test_rubrics_mixed_in_one_run_each_have_their_part(tmp_path: Path) -> None:
    tone, style = plan_of(tmp_path), plan_of(tmp_path, STYLE)
    some = [judged(style, f"s{n}", {"order": n / 10, "layout": 1.0}) for n in range(10)]
    page = page_of(a_run(tmp_path / "run", [tone, style], [*many(tone, 10), *some]))
    assert page.count('<section class="card run" aria-label="Tone of an answer"') == 1
    assert page.count('<section class="card run" aria-label="style"') == 1
    assert "<b>10</b>" in page


def test_the_same_run_gives_the_same_page(run: Path) -> None:
    assert page_of(run, seed=3) == page_of(run, seed=3)
    assert page_of(run, seed=3) != page_of(run, seed=4)


def test_a_run_without_evaluations_has_a_page(tmp_path: Path) -> None:
    page = page_of(a_run(tmp_path / "run", [plan_of(tmp_path)], []))
    assert "Nothing was evaluated." in page


def test_figures_alone_give_a_page_without_cards(run: Path, tmp_path: Path) -> None:
    write_columns((row_of(one) for one in StoredRun.open(run).evaluations()), tmp_path / "figures.parquet")
    page = page_of(tmp_path / "figures.parquet")
    assert 'class="chart histogram' in page
    assert "<article" not in page


def test_an_unusual_score_is_told_with_what_is_usual(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    usual = [judged(plan, f"c{n}", {"warmth": 7.0 + n % 2, "wit": 8.0}) for n in range(40)]
    page = page_of(a_run(tmp_path / "run", [plan], [*usual, judged(plan, "odd", {"warmth": 1.0, "wit": 1.0})]))
    part = page[page.index("Unlike the others") :]
    assert part.index("odd") < part.index("score 10: the middle half lies between 75 and 80")
