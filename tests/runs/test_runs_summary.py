"""Summing up a run: figures against numpy's, rates, outliers, and one pass."""

from __future__ import annotations

import json
import math

import msgspec
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_rows import RUBRIC, row, seeded, twins

from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.measures import SCORE, Measure
from rubrica.runs.summary.summary import summarise
from rubrica.scoring.spread import PERCENTS


@given(st.lists(st.floats(0, 100), min_size=2, max_size=60))
def test_figures_are_those_of_numpy(scores: list[float]) -> None:
    spread = summarise(row(str(n), score) for n, score in enumerate(scores)).parts[RUBRIC].spreads[SCORE]
    assert spread is not None
    assert spread.mean == pytest.approx(numpy.mean(scores))
    assert spread.std == pytest.approx(numpy.std(scores, ddof=1), abs=1e-9)
    assert spread.median == pytest.approx(numpy.median(scores))
    for percent in PERCENTS:
        assert spread.percentiles[percent] == pytest.approx(numpy.percentile(scores, percent))


def test_correlations_are_those_of_numpy_over_the_rows_that_have_both() -> None:
    run, _ = twins(seeded(1), 50, dimensions=3)
    holed = [
        msgspec.structs.replace(own, dimensions={**own.dimensions, "d0": None if n % 5 == 0 else own.dimensions["d0"]})
        for n, own in enumerate(run)
    ]
    found = {(pair.one, pair.other): pair for pair in summarise(holed).parts[RUBRIC].correlations}
    assert set(found) == {("d0", "d1"), ("d0", "d2"), ("d1", "d2")}
    assert found["d0", "d1"].pairs == 40
    both = [own.dimensions for n, own in enumerate(run) if n % 5]
    expected = numpy.corrcoef([own["d0"] for own in both], [own["d1"] for own in both])[0, 1]
    assert found["d0", "d1"].pearson == pytest.approx(expected)


def test_a_dimension_that_does_not_vary_has_no_correlation() -> None:
    found = summarise(row(str(n), dimensions={"a": 1.0, "b": float(n)}) for n in range(5)).parts[RUBRIC]
    assert (found.correlations[0].pearson, found.correlations[0].spearman) == (None, None)


def test_an_outlier_is_named_with_its_dimension() -> None:
    rows = [row(f"case-{n}", 80.0 + n % 3, dimensions={"tone": 7.0 + n % 2}) for n in range(30)]
    rows.append(row("odd", 81.0, dimensions={"tone": 0.0}))
    part = summarise(rows).parts[RUBRIC]
    assert [(found.case, found.measure) for found in part.outliers] == [("odd", Measure("dimension", "tone"))]
    assert part.outliers[0].off < -3.5
    assert part.outlying == 1


def test_outliers_where_most_values_are_equal_are_few() -> None:
    rows = [row(f"case-{n}", 100.0 if n % 10 else 80.0) for n in range(100)]
    assert summarise(rows).parts[RUBRIC].outlying == 0


def test_verdict_rates_have_intervals_that_heed_groups_and_repeats() -> None:
    alone = [row(str(n), 80.0 if n % 4 else 40.0) for n in range(80)]
    grouped = [msgspec.structs.replace(own, group=str(n % 4 + 4 * (n // 16))) for n, own in enumerate(alone)]
    repeated = [msgspec.structs.replace(own, case=str(n // 4), repeat=n % 4) for n, own in enumerate(alone)]
    widths = []
    for rows in (alone, grouped, repeated):
        rate = summarise(rows).parts[RUBRIC].verdicts["pass"].rate
        assert rate.value == 0.75
        widths.append(rate.high - rate.low)
    assert widths[1] > 1.5 * widths[0]
    assert widths[2] > 1.5 * widths[0]


def test_what_is_missing_is_counted_and_never_a_number() -> None:
    rows = [row(str(n), None, dimensions={"tone": None}, unscored=("tone",), gates=("veto",)) for n in range(3)]
    part = summarise(rows).parts[RUBRIC]
    assert part.spreads == {SCORE: None, Measure("dimension", "tone"): None}
    assert (part.unscored, part.gates) == ({"tone": 3}, {"veto": 3})
    assert "NaN" not in json.dumps(summarise(rows).to_dict())


def test_a_dimension_that_appears_late_is_lined_up_with_the_others() -> None:
    rows = [row("1", dimensions={"a": 1.0}), row("2", dimensions={"a": 2.0, "b": 5.0}), row("3", dimensions={"b": 6.0})]
    part = summarise(rows).parts[RUBRIC]
    assert part.correlations[0].pairs == 1
    assert [part.spreads[Measure("dimension", name)].count for name in "ab"] == [2, 2]  # type: ignore[union-attr]


def test_cost_and_time_are_summed_and_unknown_prices_told() -> None:
    rows = [
        row("1", usd=0.5, input_tokens=10, output_tokens=1, duration_ms=100.0),
        row("2", input_tokens=20, output_tokens=2, duration_ms=300.0),
    ]
    found = summarise(rows)
    assert (found.cost.usd, found.cost.input_tokens, found.unpriced) == (0.5, 30, 1)
    assert found.durations is not None
    assert found.durations.percentiles[50] == 200.0
    assert summarise([row("1")]).cost.usd is None


def test_rubrics_are_summed_up_each_on_its_own() -> None:
    rows = [row("1", 80.0), row("1", 0.8, rubric="letter@2.0.0", out_of=1.0)]
    parts = summarise(rows).parts
    assert {name: part.out_of for name, part in parts.items()} == {RUBRIC: 100.0, "letter@2.0.0": 1.0}


def test_no_rows_sum_up_to_nothing() -> None:
    found = summarise(iter([]))
    assert (found.evaluations, found.parts, found.durations) == (0, {}, None)


def test_many_rows_keep_a_fair_sample_for_correlations() -> None:
    def rows() -> list[RunRow]:
        chance = seeded(5)
        return [row(str(n), dimensions={"a": (x := chance.random()), "b": -x}) for n in range(12_000)]

    pair = summarise(rows()).parts[RUBRIC].correlations[0]
    assert pair.pairs == 10_000
    assert pair.spearman is not None
    assert math.isclose(pair.spearman, -1.0)


def test_profiles_that_were_found_are_told_with_how_surely() -> None:
    rows = [
        row("1", profile="FACTUAL", profile_confidence=0.9),
        row("2", profile="FACTUAL", profile_confidence=0.7),
        row("3", profile="FACTUAL"),
        row("4", profile="CREATIVE"),
        row("5"),
    ]
    part = summarise(rows).parts[RUBRIC]
    told = {name: (own.evaluations, own.classified, own.confidence) for name, own in part.profiles.items()}
    assert told == {"FACTUAL": (3, 2, pytest.approx(0.8)), "CREATIVE": (1, 0, None)}
    assert summarise(rows).to_dict()["rubrics"][RUBRIC]["profiles"]["CREATIVE"]["confidence"] is None


def test_how_often_point_verdicts_were_right_is_told_of_those_that_were_measured() -> None:
    part = summarise(
        [row("1", right=0.75, offline=True), row("2", right=0.25, offline=True), row("3", offline=True)]
    ).parts[RUBRIC]
    assert part.point_verdicts is not None
    assert (part.point_verdicts.evaluations, part.point_verdicts.right, part.point_verdicts.unmeasured) == (2, 0.5, 1)
    assert summarise([row("1")]).parts[RUBRIC].point_verdicts is None
    assert "point_verdicts" not in summarise([row("1")]).to_dict()["rubrics"][RUBRIC]
