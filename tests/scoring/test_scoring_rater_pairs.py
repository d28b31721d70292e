"""Two raters: kappa, F1, bias and limits of agreement, by values worked out by hand, and what holds always."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.scoring.agreement import krippendorff_alpha
from rubrica.scoring.rater_pairs import (
    KappaWeights,
    cohen_kappa,
    label_agreement,
    label_scores,
    limits_of_agreement,
    macro_f1,
    score_agreement,
    weighted_kappa,
)

PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30)

TABLE = {(1, 1): 10, (1, 2): 4, (1, 3): 1, (2, 1): 2, (2, 2): 8, (2, 3): 3, (3, 1): 0, (3, 2): 2, (3, 3): 10}
"""How often the first rater gave one and the second the other: rows add to 15, 13, 12, columns to 12, 14, 14 of 40."""
RATED = [pair for pair, count in TABLE.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("weights", "worked_out"),
    [
        # by hand: 28 of 40 the same; by chance (15·12 + 13·14 + 12·14) / 40 = 530 / 40 = 13.25
        ("none", Fraction(28) - Fraction(53, 4)),
        # 11 misses by one, 1 by two: 13 steps; by chance (15·14 + 2·15·14 + 13·12 + 13·14 + 2·12·12 + 12·14) / 40
        ("linear", 1 - Fraction(13 * 40, 210 + 420 + 156 + 182 + 288 + 168)),
        # 11 + 4 squared steps; by chance (15·14 + 4·15·14 + 13·12 + 13·14 + 4·12·12 + 12·14) / 40
        ("quadratic", 1 - Fraction(15 * 40, 210 + 840 + 156 + 182 + 576 + 168)),
    ],
)
def test_kappa_of_a_table_worked_out_by_hand(weights: KappaWeights, worked_out: Fraction) -> None:
    if weights == "none":
        worked_out /= Fraction(40) - Fraction(53, 4)
    found = weighted_kappa(RATED, weights)
    assert found.value == pytest.approx(float(worked_out))
    assert found.units == 40


@given(pairs=PAIRS, weights=st.sampled_from(["linear", "quadratic"]))
def test_weighted_kappa_agrees_with_its_definition_over_all_pairs(
    pairs: list[tuple[int, int]], weights: KappaWeights
) -> None:
    power = 1 if weights == "linear" else 2
    observed = sum(abs(a - b) ** power for a, b in pairs) / len(pairs)
    chance = sum(abs(a - b) ** power for a, _ in pairs for _, b in pairs) / len(pairs) ** 2
    found = weighted_kappa(pairs, weights)
    if chance:
        assert found.value == pytest.approx(1 - observed / chance)
    else:
        assert found.value is None
        assert "by chance" in found.why


@given(pairs=PAIRS)
def test_kappas_do_not_care_which_rater_is_first_and_are_at_most_1(pairs: list[tuple[int, int]]) -> None:
    for weights in ("none", "linear", "quadratic"):
        one, other = weighted_kappa(pairs, weights), weighted_kappa([(b, a) for a, b in pairs], weights)
        assert one.value == pytest.approx(other.value)
        assert one.value is None or one.value <= 1 + 1e-12


def test_kappa_of_two_labels_is_the_same_however_misses_are_weighed() -> None:
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    kappas = [weighted_kappa(pairs, weights).value for weights in ("none", "linear", "quadratic")]
    assert kappas == pytest.approx([0.4, 0.4, 0.4])  # 35 of 50 the same, 25 by chance
    alpha = krippendorff_alpha(pairs, "nominal").value
    assert alpha == pytest.approx(1 - 99 * 30 / (2 * 55 * 45))  # 100 labels, 55 of them 1, 30 in mixed pairs


def test_kappa_says_why_it_has_no_value() -> None:
    assert cohen_kappa([]).why == weighted_kappa([]).why == "no item was rated by both"
    assert "every item the same" in cohen_kappa([("yes", "yes")] * 3).why
    assert weighted_kappa([(0.1, 0.1)] * 3).value is None


def test_f1_of_three_labels_worked_out_by_hand() -> None:
    given_and_true = [("a", "a")] * 3 + [("a", "b")] + [("b", "b")] * 2 + [("b", "c")] * 2 + [("c", "a")]
    found = label_scores(given_and_true)
    a, b, c = found["a"], found["b"], found["c"]
    assert (a.precision, a.recall, a.f1, a.count) == (0.75, 0.75, 0.75, 4)
    assert (b.precision, b.count) == (0.5, 3)
    assert b.recall == pytest.approx(2 / 3)
    assert b.f1 == pytest.approx(4 / 7)
    assert (c.precision, c.recall, c.f1, c.count) == (0.0, 0.0, 0.0, 2)
    assert macro_f1(given_and_true) == pytest.approx((0.75 + 4 / 7) / 3)


def test_a_label_that_one_side_never_used_has_no_share_there() -> None:
    found = label_scores([("never", "yes"), ("yes", "yes")])
    assert (found["never"].precision, found["never"].recall) == (0.0, None)
    assert macro_f1([]) is None


def test_limits_of_agreement_lie_1_96_deviations_around_the_bias() -> None:
    found = limits_of_agreement([(5, 4), (6, 6), (7, 4), (4, 4)])  # differences 1, 0, 3, 0: mean 1, variance 6 / 3
    assert found is not None
    reach = 1.96 * math.sqrt(2)
    assert (found.bias, found.low, found.high) == pytest.approx((1, 1 - reach, 1 + reach))
    assert limits_of_agreement([(5, 4)]) is None


def test_intervals_hold_the_figure_and_are_the_same_every_time() -> None:
    found = score_agreement(RATED)
    assert found.plain == score_agreement(RATED).plain
    assert found.bias is not None
    assert found.bias.value == pytest.approx((-4 - 2 + 2 - 3 + 2) / 40)
    assert found.bias.low < found.bias.value < found.bias.high
    assert found.quadratic_interval is not None
    assert found.quadratic_interval.low < found.quadratic_interval.value < found.quadratic_interval.high <= 1
    labels = label_agreement([(str(a), str(b)) for a, b in RATED])
    assert (labels.same, labels.count) == (28, 40)
    assert labels.kappa_interval is not None
    assert labels.kappa_interval.low < (28 - 13.25) / (40 - 13.25) < labels.kappa_interval.high


def test_of_one_pair_and_of_none_there_are_no_intervals() -> None:
    for pairs in ([], [(3.0, 4.0)]):
        found = score_agreement(pairs)
        assert (found.bias, found.limits, found.quadratic_interval) == (None, None, None)
    assert score_agreement([(2.0, 2.0)] * 5).quadratic_interval is None
