"""Labels and orders: balanced over reviewers, drawn by seed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from string import ascii_uppercase

import pytest

from rubrica.council.order import labels_for, reviewing_orders


@pytest.mark.parametrize("count", range(2, 27))
@pytest.mark.parametrize("exclude_self", [True, False])
def test_every_answer_stands_in_every_place_exactly_once(count: int, exclude_self: bool) -> None:
    labels = ascii_uppercase[:count]
    orders = reviewing_orders(labels, exclude_self=exclude_self)
    for place in range(count - exclude_self):
        assert sorted(order[place] for order in orders.values()) == sorted(labels)
    for own, order in orders.items():
        assert (own in order) is not exclude_self
        assert len(set(order)) == count - exclude_self


@pytest.mark.parametrize("count", [4, 6, 8, 10])
def test_with_an_even_number_no_answer_follows_the_same_one_twice(count: int) -> None:
    orders = reviewing_orders(ascii_uppercase[:count], exclude_self=False)
    followed = Counter(pair for order in orders.values() for pair in pairwise(order))
    assert set(followed.values()) == {1}


def dealt(names: list[str], seed: int) -> dict[str, str]:
    return labels_for(names, Random(seed))  # noqa: S311 - a test's dice


def test_labels_are_dealt_evenly_by_chance() -> None:
    first = Counter(dealt(["ann", "bo", "cy"], seed)["A"] for seed in range(600))
    assert all(150 < count < 250 for count in first.values())
    assert dealt(["ann", "bo"], 5) == dealt(["ann", "bo"], 5)
