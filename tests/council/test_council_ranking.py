"""Pooling: means, Borda and z-scores, ties, and what cannot be ranked."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.council.ranking import Pool, rank

SHEETS = {"ann": {"B": 8.0, "C": 6.0}, "bo": {"A": 9.0, "C": 5.0}, "cy": {"A": 7.0, "B": 8.0}}


def test_means_are_ranked_and_equal_ones_share_a_place() -> None:
    found = rank("ABC", SHEETS)
    assert [(one.label, one.rank, one.value, one.reviews) for one in found.standings] == [
        ("A", 1, 8.0, 2),
        ("B", 1, 8.0, 2),
        ("C", 3, 5.5, 2),
    ]
    assert found.ties == (("A", "B"),)


def test_borda_counts_the_others_beaten_however_harsh_the_reviewer() -> None:
    harsh = {"ann": {"B": 2.0, "C": 1.5}, "bo": {"A": 9.0, "C": 5.0}, "cy": {"A": 7.0, "B": 8.0}}
    found = rank("ABC", harsh, "borda")
    assert [(one.label, one.value) for one in found.standings] == [("B", 1.0), ("A", 0.5), ("C", 0.0)]
    assert [one.label for one in rank("ABC", harsh).standings] == ["A", "B", "C"]


def test_z_takes_harshness_out() -> None:
    same = {"harsh": {"A": 2.0, "B": 1.0, "C": 3.0}, "kind": {"A": 9.0, "B": 8.0, "C": 10.0}}
    found = rank("ABC", same, "z")
    assert found.order == ("C", "A", "B")
    assert found.standings[1].value == 0.0
    assert found.notes == ()
    assert "did not see the same" in rank("ABC", SHEETS, "z").notes[0]


@pytest.mark.parametrize("pool", ["borda", "z"])
def test_reviewers_of_one_answer_each_can_only_be_ranked_by_mean(pool: Pool) -> None:
    found = rank("AB", {"ann": {"B": 6.0}, "bo": {"A": 8.0}}, pool)
    assert (found.pool, found.order) == ("mean", ("A", "B"))
    assert "no reviewer scored two answers" in found.notes[0]


def test_an_answer_without_a_score_is_not_ranked() -> None:
    found = rank("ABC", {"ann": {"B": 6.0}})
    assert (found.order, found.unranked) == (("B",), ("A", "C"))
    assert found.standings[-1].rank is None


@given(
    st.dictionaries(
        st.sampled_from("rstu"), st.dictionaries(st.sampled_from("ABCDE"), st.floats(0, 10), max_size=5), max_size=4
    ),
    st.sampled_from(["mean", "borda", "z"]),
)
def test_every_answer_has_one_standing_and_better_values_never_rank_lower(
    sheets: dict[str, dict[str, float]], pool: Pool
) -> None:
    found = rank("ABCDE", sheets, pool)
    assert sorted(one.label for one in found.standings) == list("ABCDE")
    ranked = [one for one in found.standings if one.rank is not None]
    for better, worse in pairwise(ranked):
        assert (better.value or 0) >= (worse.value or 0)
        assert (better.rank == worse.rank) == (better.value == worse.value)
    tied = {label for group in found.ties for label in group}
    assert tied == {one.label for one in ranked if sum(other.rank == one.rank for other in ranked) > 1}


@given(st.permutations(sorted(SHEETS)), st.sampled_from(["mean", "borda", "z"]))
def test_the_order_of_reviewers_does_not_matter(reviewers: list[str], pool: Pool) -> None:
    assert rank("ABC", {name: SHEETS[name] for name in reviewers}, pool).order == rank("ABC", SHEETS, pool).order
