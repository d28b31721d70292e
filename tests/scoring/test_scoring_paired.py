"""Paired tests, their correction, and what they need: against published figures, full enumeration, and simulation."""

from __future__ import annotations

import math
from itertools import product
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.scoring.holm import holm, holm_shares
from rubrica.scoring.intervals import mean_estimate
from rubrica.scoring.paired import mcnemar, sign_flips, signed_rank
from rubrica.scoring.power import cases_needed, fewest_pairs
from rubrica.scoring.resampling import GroupSums, mean_intervals
from rubrica.scoring.trends import latest_p, slope, student_tails, trend_p

steps = st.lists(st.integers(-4, 4), min_size=1, max_size=10)
ps = st.lists(st.floats(0, 1), min_size=1, max_size=12)

DEPRESSION = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010]
"""Hollander and Wolfe's scale factors: V = 5 of 45, p = 0.0391 (R, wilcox.test, paired)."""
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Darwin's maize, in eighths of an inch: p = 0.0413 (R, and scipy.stats.wilcoxon)."""


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311


def ranked(values: list[int]) -> list[float]:
    """Shared ranks of the sizes, the slow way."""
    sizes = [abs(value) for value in values]
    return [sum(other < size for other in sizes) + (sizes.count(size) + 1) / 2 for size in sizes]


def enumerated(weights: list[float], values: list[int]) -> float:
    """How many of all ways to sign the weights lean as far as the values do."""
    seen = abs(sum(weight * math.copysign(1, value) for weight, value in zip(weights, values, strict=True)))
    sums = [
        abs(sum(weight * sign for weight, sign in zip(weights, signs, strict=True)))
        for signs in product((1, -1), repeat=len(weights))
    ]
    return sum(found >= seen - 1e-9 for found in sums) / len(sums)


@pytest.mark.parametrize(("differences", "p"), [(DEPRESSION, 0.0390625), (MAIZE, 0.041259765625)])
def test_signed_ranks_match_published_figures(differences: list[float], p: float) -> None:
    assert signed_rank(differences).p == pytest.approx(p, abs=1e-12)


@given(steps)
def test_signed_ranks_with_ties_equal_full_enumeration(values: list[int]) -> None:
    known = [value for value in values if value]
    expected = enumerated(ranked(known), known) if known else 1.0
    assert signed_rank(values).p == pytest.approx(expected)


@given(steps)
def test_sign_flips_of_few_groups_equal_full_enumeration(values: list[int]) -> None:
    known = [value for value in values if value]
    expected = enumerated([abs(value) for value in known], known) if known else 1.0
    assert sign_flips(values, seeded(0)).p == pytest.approx(expected)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=80))
def test_tests_are_symmetric_and_bounded(values: list[float]) -> None:
    mirrored = [-value for value in values]
    for test in (signed_rank, lambda own: sign_flips(own, seeded(3), draws=99)):
        found, other = test(values), test(mirrored)
        assert 0 < found.p <= 1
        assert found.p == other.p
        assert found.lean == -other.lean
        assert -1 <= found.lean <= 1


def test_the_normal_approximation_continues_the_exact_test() -> None:
    chance = seeded(4)
    values = [chance.gauss(0.25, 1) for _ in range(51)]
    assert not signed_rank(values).exact
    assert signed_rank(values).p == pytest.approx(signed_rank(values[:50]).p, rel=0.4)


def test_drawn_flips_are_near_the_normal_distribution() -> None:
    chance = seeded(5)
    totals = [chance.gauss(0.15, 1) for _ in range(200)]
    z = sum(totals) / math.sqrt(sum(total * total for total in totals))
    assert sign_flips(totals, seeded(1)).p == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), abs=0.015)


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1.0), (0, 6, 0.03125), (1, 9, 0.021484375), (480, 620, 2.7131381093006878e-05), (7, 7, 1.0)],
)
def test_mcnemar_is_the_exact_binomial_test(better: int, worse: int, p: float) -> None:
    assert mcnemar(better, worse).p == pytest.approx(p, rel=1e-9)


def test_signed_ranks_of_ones_are_mcnemars_test() -> None:
    assert signed_rank([1] * 3 + [-1] * 12 + [0] * 30).p == pytest.approx(mcnemar(3, 12).p)


@given(ps)
def test_holm_is_monotone_and_between_p_and_bonferroni(found: list[float]) -> None:
    adjusted = holm(found)
    assert all(p <= own <= min(1.0, p * len(found)) + 1e-12 for p, own in zip(found, adjusted, strict=True))
    ordered = [own for _, own in sorted(zip(found, adjusted, strict=True))]
    assert ordered == sorted(ordered)
    assert min(holm_shares(found)) == pytest.approx(1 / len(found))


def test_as_many_cases_as_needed_find_the_difference_as_often_as_promised() -> None:
    chance = seeded(6)
    needed = cases_needed(1 / math.sqrt(50), 50, 0.6, level=0.05)
    found = [signed_rank([chance.gauss(0.6, 1) for _ in range(needed)]).p <= 0.05 for _ in range(400)]
    assert fmean(found) == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("level", [0.05, 0.01, 0.004])
def test_no_fewer_pairs_can_tell(level: float) -> None:
    fewest = fewest_pairs(level)
    assert signed_rank(range(1, fewest + 1)).p <= level < signed_rank(range(1, fewest)).p


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    chance = seeded(17)
    held = 0
    for _ in range(400):
        values = [chance.gauss(0, 1) for _ in range(15)]
        found = mean_intervals({"d": GroupSums(values, [1] * 15)}, chance, replicates=400)["d"]
        held += found is not None and found.low <= 0 <= found.high
    assert held / 400 == pytest.approx(0.95, abs=0.04)


def test_grouped_intervals_are_wider_than_those_of_independent_cases() -> None:
    chance = seeded(8)
    groups = [[centre + chance.gauss(0, 0.1) for _ in range(5)] for centre in (chance.gauss(0, 1) for _ in range(12))]
    alone = [value for group in groups for value in group]
    grouped = mean_intervals({"d": GroupSums([sum(group) for group in groups], [5] * 12)}, seeded(1))["d"]
    single = mean_intervals({"d": GroupSums(alone, [1] * 60)}, seeded(1))["d"]
    assert grouped is not None
    assert single is not None
    assert grouped.high - grouped.low > 1.8 * (single.high - single.low)


@pytest.mark.parametrize("count", [1, 2, 5, 1_001])
def test_few_or_many_groups_have_students_interval(count: int) -> None:
    summed = GroupSums([float(n % 7) for n in range(count)], [1] * count)
    assert mean_intervals({"d": summed}, seeded(1))["d"] == mean_estimate(summed.moments)


def test_students_tails_match_tables() -> None:
    assert [round(student_tails(t, freedom), 4) for t, freedom in ((12.706, 1), (2.228, 10), (1.98, 120))] == [0.05] * 3


def test_a_trend_is_found_and_noise_is_none() -> None:
    assert trend_p([1, 2, 3, 4, 5, 6, 7]) == pytest.approx(2 / math.factorial(7))
    assert trend_p([3, 1, 4, 1, 5, 9, 2, 6]) > 0.1
    assert trend_p([5, 5, 5]) == 1.0
    assert slope([7]) is None


def test_the_latest_stands_out_only_beyond_what_the_earlier_ones_vary() -> None:
    assert latest_p([0.80, 0.82, 0.79, 0.81, 0.80, 0.60]) < 0.001
    assert latest_p([0.80, 0.90, 0.70, 0.85, 0.75, 0.70]) > 0.2
    assert latest_p([0.8, 0.2]) == 1.0
