"""The trend: kept numbers stand in the order of the decayed sums, at any later time."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.store.market import UNMOVED
from rubrica.workspace.trending import EPOCH, HALF_LIFE, IMPORT, add_to, current_trend, least, rating_weight

WEIGHTS = st.sampled_from([IMPORT, rating_weight(4), rating_weight(5), 0.25, 17.0])
EVENTS = st.lists(st.tuples(WEIGHTS, st.floats(0, 365 * 40)), min_size=1, max_size=12)
LATER = st.floats(0, 365 * 10)


def day(number: float) -> datetime:
    return EPOCH + timedelta(days=number)


def kept(events: list[tuple[float, float]]) -> float:
    trend = UNMOVED
    for weight, at in events:
        trend = add_to(trend, weight, day(at))
    return trend


def decayed(events: list[tuple[float, float]], now: float) -> float:
    """The sum as it is defined, event by event."""
    return math.fsum(weight * 2 ** ((at - now) / 7) for weight, at in events)


@given(EVENTS, EVENTS, LATER)
def test_kept_numbers_stand_in_the_order_of_the_decayed_sums_at_any_later_time(
    one: list[tuple[float, float]], other: list[tuple[float, float]], later: float
) -> None:
    now = max(at for _, at in one + other) + later
    mine, theirs = decayed(one, now), decayed(other, now)
    if min(mine, theirs) > 0 and not math.isclose(mine, theirs, rel_tol=1e-9):
        assert (kept(one) > kept(other)) == (mine > theirs)


@given(EVENTS, LATER)
def test_what_is_shown_is_the_decayed_sum(events: list[tuple[float, float]], later: float) -> None:
    now = max(at for _, at in events) + later
    assert current_trend(kept(events), day(now)) == pytest.approx(decayed(events, now), rel=1e-8, abs=1e-300)


@given(EVENTS.flatmap(lambda events: st.tuples(st.just(events), st.permutations(events))))
def test_the_order_in_which_events_are_counted_does_not_matter(
    both: tuple[list[tuple[float, float]], list[tuple[float, float]]],
) -> None:
    one, other = both
    assert kept(one) == pytest.approx(kept(other), abs=1e-9)


@given(EVENTS, WEIGHTS, st.floats(0, 365 * 40))
def test_a_further_event_never_lowers_the_trend(events: list[tuple[float, float]], weight: float, at: float) -> None:
    before = kept(events)
    assert add_to(before, weight, day(at)) >= before


def test_half_is_left_after_seven_days() -> None:
    assert timedelta(days=7) == HALF_LIFE
    assert current_trend(add_to(UNMOVED, IMPORT, day(3)), day(10)) == pytest.approx(0.5)


def test_what_nobody_took_up_is_worth_nothing_and_stands_last() -> None:
    assert current_trend(UNMOVED, EPOCH) == 0
    assert least(365 * 1000, EPOCH) > UNMOVED


def test_a_poor_rating_moves_nothing() -> None:
    assert [add_to(5.0, rating_weight(stars), day(30)) for stars in (1, 2, 3)] == [5.0] * 3
    assert add_to(5.0, rating_weight(4), day(30)) > 5.0


def test_the_least_that_counts_is_one_import_so_long_ago() -> None:
    assert least(30, day(100)) == pytest.approx(add_to(UNMOVED, IMPORT, day(70)))
