"""Agreement among judges, and of judges with people."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.scoring.agreement import (
    NO_PAIRS,
    NO_VARIATION,
    Level,
    errors,
    kendall,
    krippendorff_alpha,
    spearman,
    spread,
)

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): four observers, twelve units, missing values.
_OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
_UNITS = list(zip(*_OBSERVERS, strict=True))
_LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")

scores = st.integers(1, 10).map(float)
units = st.lists(st.lists(scores | st.none(), min_size=1, max_size=5), max_size=12)


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_matches_the_published_example_with_missing_values(level: Level, published: float) -> None:
    alpha = krippendorff_alpha(_UNITS, level)
    assert alpha.value == pytest.approx(published, abs=0.0005)
    assert alpha.units == 11  # the last unit has one value


@pytest.mark.parametrize("level", _LEVELS)
def test_alpha_of_the_published_binary_example_is_the_same_at_every_level(level: Level) -> None:
    ann, bo = (0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0)
    assert krippendorff_alpha(list(zip(ann, bo, strict=True)), level).value == pytest.approx(0.095, abs=0.0005)


def test_alpha_worked_out_by_hand() -> None:
    # values 1,1 / 1,2: coincidences 11→2, 12→1, 21→1; n=4, n1=3, n2=1; alpha = 1 - 3 * 2 / (2 * 3 * 1)
    assert krippendorff_alpha([(1, 1), (1, 2)], "nominal").value == pytest.approx(0.0)


@given(units, st.sampled_from(_LEVELS))
def test_alpha_is_at_most_1_and_does_not_depend_on_order(rows: list[list[float | None]], level: Level) -> None:
    alpha = krippendorff_alpha(rows, level)
    turned = krippendorff_alpha([row[::-1] for row in reversed(rows)], level)
    if alpha.value is None:
        assert alpha.why in (NO_PAIRS, NO_VARIATION)
        assert turned.value is None
    else:
        assert alpha.value <= 1 + 1e-12
        assert turned.value == pytest.approx(alpha.value)


@given(units)
def test_alpha_agrees_with_its_definition_over_all_pairs(rows: list[list[float | None]]) -> None:
    paired = [[v for v in row if v is not None] for row in rows]
    paired = [row for row in paired if len(row) >= 2]
    values = list(itertools.chain.from_iterable(paired))
    alpha = krippendorff_alpha(rows, "interval")
    if alpha.value is None:
        assert len(set(values)) < 2
        return
    n = len(values)
    observed = sum((a - b) ** 2 / (len(r) - 1) for r in paired for a, b in itertools.permutations(r, 2)) / n
    expected = sum((a - b) ** 2 for a, b in itertools.permutations(values, 2)) / (n * (n - 1))
    assert alpha.value == pytest.approx(1 - observed / expected)


@given(st.lists(scores, min_size=2, max_size=20), st.integers(2, 4), st.sampled_from(_LEVELS))
def test_perfect_agreement_is_1_unless_nothing_varies(values: list[float], judges: int, level: Level) -> None:
    alpha = krippendorff_alpha([[value] * judges for value in values], level)
    if len(set(values)) == 1:
        assert (alpha.value, alpha.why) == (None, NO_VARIATION)
    else:
        assert alpha.value == pytest.approx(1.0)


@pytest.mark.parametrize("level", _LEVELS)
def test_random_scores_have_alpha_about_0(level: Level) -> None:
    chance = random.Random(7)  # noqa: S311
    rows = [[chance.randint(1, 10) for _ in range(3)] for _ in range(3000)]
    assert krippendorff_alpha(rows, level).value == pytest.approx(0.0, abs=0.04)


def test_alpha_says_why_it_is_undefined() -> None:
    one_judge = krippendorff_alpha([(3,), (4,), (None, 5)])
    assert one_judge.value is None
    assert str(one_judge) == NO_PAIRS
    assert str(krippendorff_alpha([(3, 3), (3, None), (3, 3)])) == NO_VARIATION


def test_spread_is_range_and_population_deviation() -> None:
    found = spread([4, None, 8])
    assert found is not None
    assert (found.range, found.std) == (4, 2.0)
    assert spread([None]) is None


def test_rank_correlations_of_a_worked_example_with_ties() -> None:
    xs, ys = [1, 2, 2, 3], [1, 3, 2, 3]
    # ranks 1, 2.5, 2.5, 4 and 1, 3.5, 2, 3.5: products sum to 3.75, squares to 4.5 each
    assert spearman(xs, ys) == pytest.approx(3.75 / 4.5)
    assert kendall(xs, ys) == pytest.approx(4 / 5)  # 4 pairs in order, none against; 1 of 6 pairs tied on each side
    assert spearman([1, 1], [1, 2]) is None
    assert kendall([1, 2], [3, 3]) is None


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=25))
def test_kendall_agrees_with_its_definition_over_all_pairs(points: list[tuple[float, float]]) -> None:
    def sign(number: float) -> int:
        return (number > 0) - (number < 0)

    pairs = [(sign(a[0] - b[0]), sign(a[1] - b[1])) for a, b in itertools.combinations(points, 2)]
    across, up = sum(x * x for x, _ in pairs), sum(y * y for _, y in pairs)
    found = kendall([x for x, _ in points], [y for _, y in points])
    if not across or not up:
        assert found is None
    else:
        assert found == pytest.approx(sum(x * y for x, y in pairs) / math.sqrt(across * up))


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20, unique=True))
def test_rank_correlations_see_only_the_order(xs: list[float]) -> None:
    ranked = [float(sorted(xs).index(x)) for x in xs]
    assert spearman(xs, ranked) == pytest.approx(1.0)
    assert kendall(xs, [-rank for rank in ranked]) == pytest.approx(-1.0)


def test_errors_tell_size_and_direction() -> None:
    found = errors([5, 5, 8], [4, 6, 4])
    assert (found.mae, found.bias) == (2.0, pytest.approx(4 / 3))  # type: ignore[comparison-overlap]
    assert found.rmse == pytest.approx(math.sqrt(6))
