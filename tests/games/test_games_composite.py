"""Composites: weighted means that stay within bounds, do not depend on order, and never invent a missing score."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.games.composite import CompositePart, compose, weighted_mean

SHARES = st.one_of(st.none(), st.floats(0, 1))


@st.composite
def parts(draw: st.DrawFn) -> list[CompositePart]:
    """What may be attached to a game: weights that sum to 1 within the tolerance, some scores missing."""
    raw = draw(st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(lambda weights: sum(weights) > 0.01))
    found = []
    for i, weight in enumerate(raw):
        low, high = sorted([draw(st.floats(0, 1)), draw(st.floats(0, 1))])
        share, dimension = draw(SHARES), draw(st.sampled_from("abc"))
        found.append(CompositePart(UUID(int=i), f"e{i}", dimension, weight / sum(raw), share, (low, high), "no judge"))
    return found


def part(share: float | None, weight: float, dimension: str = "style", **more: object) -> CompositePart:
    return CompositePart(UUID(int=int(weight * 1000)), f"of {weight}", dimension, weight, share, **more)  # type: ignore[arg-type]


def test_a_composite_is_weight_times_share() -> None:
    whole = compose([part(0.35, 0.6), part(1.0, 0.3, "speed"), part(0.5, 0.1)])
    assert whole.score == pytest.approx(0.6 * 0.35 + 0.3 + 0.1 * 0.5)
    assert whole.by_dimension == {"style": pytest.approx((0.6 * 0.35 + 0.1 * 0.5) / 0.7), "speed": 1.0}
    assert (whole.missing, whole.bounds) == ([], (whole.score, whole.score))


def test_a_missing_score_leaves_the_composite_open_and_is_told() -> None:
    whole = compose([part(0.5, 0.75), part(None, 0.25, "speed", bounds=(0.2, 0.4), reason="the judge is away")])
    assert (whole.score, whole.by_dimension) == (None, {"style": 0.5, "speed": None})
    assert whole.bounds == (pytest.approx(0.425), pytest.approx(0.475))  # type: ignore[comparison-overlap]
    assert [(missing.dimension, missing.reason) for missing in whole.missing] == [("speed", "the judge is away")]


def test_what_has_no_weight_cannot_leave_the_composite_open() -> None:
    whole = compose([part(0.5, 1.0), part(None, 0.0, "fun")])
    assert (whole.score, whole.by_dimension["fun"], len(whole.missing)) == (0.5, None, 1)


def test_nothing_attached_says_nothing() -> None:
    whole = compose([])
    assert (whole.score, whole.by_dimension, whole.bounds) == (None, {}, (0.0, 1.0))


def test_full_marks_everywhere_are_full_marks_though_the_weights_are_rounded() -> None:
    assert compose([part(1.0, 0.333)] * 3).score == 1.0


@given(parts())
def test_a_composite_lies_within_its_bounds(given_parts: list[CompositePart]) -> None:
    whole = compose(given_parts)
    low, high = whole.bounds
    assert 0 <= low <= high <= 1
    counted = [p.share for p in given_parts if p.weight > 0]
    assert (whole.score is None) == (None in counted)
    if whole.score is not None:
        assert low - 1e-9 <= whole.score <= high + 1e-9


@given(parts(), st.data())
def test_the_order_of_attaching_does_not_matter(given_parts: list[CompositePart], data: st.DataObject) -> None:
    one, other = compose(given_parts), compose(data.draw(st.permutations(given_parts)))
    assert (one.score, one.bounds, one.by_dimension) == (other.score, other.bounds, other.by_dimension)


@given(parts(), st.data())
def test_whatever_the_missing_scores_turn_out_to_be_the_bounds_held(
    given_parts: list[CompositePart], data: st.DataObject
) -> None:
    filled = [
        p
        if p.share is not None
        else CompositePart(p.attachment_id, p.rubric, p.dimension, p.weight, data.draw(st.floats(*p.bounds)))
        for p in given_parts
    ]
    (low, high), score = compose(given_parts).bounds, compose(filled).score
    assert score is not None
    assert low - 1e-8 <= score <= high + 1e-8


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_a_mean_lies_between_the_least_and_the_greatest(pairs: list[tuple[float, float]]) -> None:
    values = [value for _, value in pairs]
    assert min(values) - 1e-9 <= weighted_mean(pairs) <= max(values) + 1e-9
