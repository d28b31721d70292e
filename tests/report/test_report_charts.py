from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import Page

from rubrica.model.evaluation import Status, Step
from rubrica.report.charts import bar, points_bar, radar, share_bar, waterfall

NUMBER = re.compile(r'\b(?:x|y|cx|cy|x1|y1|x2|y2|width|height)="([^"]*)"')


def drawn_radar(shares: Sequence[float | None], states: Sequence[Status] | None = None) -> str:
    labels = [f"part {number}" for number in range(len(shares))]
    return str(radar(labels, shares, states or ["scored" if share is not None else "unscored" for share in shares]))


@pytest.mark.parametrize("count", range(3, 13))
def test_a_radar_has_a_point_and_a_label_for_each_dimension(count: int) -> None:
    svg = drawn_radar([0.5] * count)
    page = Page(svg)
    assert page.elements[0][1]["class"] == "chart radar"
    assert page.count("circle") == count
    assert len(page.texts("label")) == count


def test_a_label_that_leaves_no_room_has_its_share_below() -> None:
    """On one line they would reach beyond the drawing, where a phone shows nothing."""
    page = Page(str(radar(["Completeness", "Clarity", "Depth"], [0.1, 0.9, 0.5], ["scored"] * 3)))
    assert page.texts("label") == ["Completeness", "10%", "Clarity 90%", "Depth 50%"]


@pytest.mark.parametrize("count", [1, 2, 13])
def test_what_a_radar_cannot_show_is_drawn_as_bars(count: int) -> None:
    page = Page(drawn_radar([0.5] * count))
    assert page.elements[0][1]["class"] == "chart bars"
    assert page.texts("amount") == ["50%"] * count


def test_a_missing_share_is_hollow_and_says_why_and_no_line_runs_through_it() -> None:
    svg = drawn_radar([0.5, None, 0.7, 0.9], ["scored", "not_applicable", "scored", "scored"])
    page = Page(svg)
    assert "does not apply" in page.texts("missing")
    assert [a["class"] for tag, a in page.elements if tag == "circle"].count("point hollow") == 1
    edge = next(a["d"] for tag, a in page.elements if a.get("class") == "edge")
    assert edge.count("M") == 2  # of four neighbouring pairs, two touch the missing one


def test_a_neutral_value_is_drawn_hollow() -> None:
    page = Page(drawn_radar([0.5, 0.5, 0.5], ["scored", "neutral", "scored"]))
    assert [a["class"] for tag, a in page.elements if tag == "circle"] == ["point", "point hollow", "point"]


def test_too_few_scored_dimensions_are_drawn_as_bars_with_the_words() -> None:
    page = Page(drawn_radar([None, 0.4, None, None], ["not_needed", "scored", "unscored", "not_applicable"]))
    assert page.texts("missing") == ["not needed", "not scored", "does not apply"]
    assert page.texts("amount") == ["40%"]


def test_every_chart_is_named_for_screen_readers() -> None:
    charts = [
        drawn_radar([0.1, 0.2, 0.3]),
        drawn_radar([0.1]),
        waterfall([Step("base", "start", 1.0, 1.0)]),
        bar(5, (5, 5), 7, 10),
    ]
    for chart in charts:
        attributes = Page(str(chart)).elements[0][1]
        assert attributes["role"] == "img"
        assert attributes["aria-label"]
    assert 'aria-label="Score 5 of 10, threshold 7"' in charts[3]


def test_labels_are_escaped_in_text_and_attributes() -> None:
    label = '"><script>alert(1)</script>\x00'
    for chart in (radar([label] * 3, [0.5] * 3, ["scored"] * 3), waterfall([Step("gate", label, -1.0, 2.0)])):
        page = Page(str(chart))
        assert page.count("script") == 0
        assert "<script>alert(1)</script>␀" in page.elements[0][1]["aria-label"]


def test_a_waterfall_shows_where_each_step_starts_and_ends() -> None:
    steps = [Step("base", "lowest", 0.0, 0.0), Step("dimension", "a", 60.0, 60.0), Step("gate", "g", -20.0, 40.0)]
    page = Page(str(waterfall(steps, top=100)))
    bars = [(a["class"], float(a["x"]), float(a["width"])) for tag, a in page.elements if tag == "rect"]
    (_, start, _), (rise, rise_at, rise_width), (fall, fall_at, fall_width), (total, total_at, total_width) = bars
    assert (rise, fall, total) == ("plus", "minus", "total final")
    assert rise_at == total_at == start
    assert fall_at + fall_width == pytest.approx(rise_at + rise_width, abs=0.2)
    assert total_width == pytest.approx(fall_at - start, abs=0.2)
    assert page.texts("amount") == ["0", "+60", "−20", "40"]


def test_a_waterfall_without_steps_is_nothing() -> None:
    assert waterfall([]) == ""


def test_a_score_of_zero_out_of_nothing_still_draws() -> None:
    for chart in (
        bar(0, (0, 0), 0, 0),
        waterfall([Step("base", "start", 0.0, 0.0)], top=0),
        points_bar(0, 0),
        share_bar(0),
    ):
        Page(str(chart))


def test_an_open_score_is_drawn_as_its_range() -> None:
    page = Page(str(bar(None, (20, 60), 50, 100)))
    shape = next(a for _, a in page.elements if a.get("class") == "open")
    assert float(shape["x"]) == pytest.approx(80)
    assert float(shape["width"]) == pytest.approx(160)
    assert page.elements[0][1]["aria-label"] == "No score; it lies between 20 and 60 of 100, threshold 50"


@given(
    st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=14),
    st.floats(allow_nan=False, allow_infinity=True),
)
def test_any_numbers_give_a_drawing_with_finite_coordinates(shares: list[float | None], threshold: float) -> None:
    steps = [Step("dimension", "x", share, share) for share in shares if share is not None and abs(share) < 1e12]
    for svg in (drawn_radar(shares), str(waterfall(steps)), str(bar(None, (-threshold, threshold), threshold, 10))):
        Page(svg)
        assert all("nan" not in number and "inf" not in number for number in NUMBER.findall(svg))


def test_the_same_numbers_give_the_same_drawing() -> None:
    shares = [1 / 3, 2 / 7, None, 0.9]
    assert drawn_radar(shares) == drawn_radar(list(shares))
    assert all(len(number.partition(".")[2]) <= 1 for number in NUMBER.findall(drawn_radar(shares)))
