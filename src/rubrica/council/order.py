"""In which order each reviewer sees the answers, so that every answer is in every position equally often.

Reviewers favour places as well as answers. No single order is fair, but orders can be chosen so that what a place gives
or takes falls on all answers alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from string import ascii_uppercase
from typing import TypeVar

Item = TypeVar("Item")


def labels_for(authors: Sequence[str], chance: Random) -> dict[str, str]:
    """A letter for each author, dealt by chance, so that a label tells nothing; by label, in alphabetical order.

    >>> labels_for(["ann", "bo", "cy"], Random(3))
    {'A': 'ann', 'B': 'cy', 'C': 'bo'}
    """
    dealt = chance.sample(list(authors), len(authors))
    return dict(zip(ascii_uppercase, dealt, strict=False))


def reviewing_orders(labels: Sequence[Item], *, exclude_self: bool = True) -> dict[Item, tuple[Item, ...]]:
    """For each author's label, the labels its author reviews, in order.

    Where all review, each label stands in each place exactly once, and hardly any label follows the same one twice.

    >>> reviewing_orders("ABCD")
    {'A': ('B', 'D', 'C'), 'B': ('C', 'A', 'D'), 'C': ('D', 'B', 'A'), 'D': ('A', 'C', 'B')}
    >>> reviewing_orders("ABCD", exclude_self=False)["B"]
    ('B', 'C', 'A', 'D')
    """
    count = len(labels)
    steps = _zigzag(count)[1 if exclude_self else 0 :]
    return {own: tuple(labels[(at + step) % count] for step in steps) for at, own in enumerate(labels)}


def _zigzag(count: int) -> list[int]:
    """0, 1, -1, 2, -2, … round a circle: the differences between neighbours are all different for an even count.

    >>> _zigzag(5)
    [0, 1, 4, 2, 3]
    """
    steps = [0]
    for step in range(1, count):
        steps.append((step + 1) // 2 if step % 2 else count - step // 2)
    return steps
