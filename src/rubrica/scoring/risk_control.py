"""Choosing among policies so that a mean loss stays within a limit, with a stated probability, whatever the losses.

A policy is tested by betting against it: a gambler stakes on the mean loss being above the limit losing money, and a
fortune of 1/δ is reached with probability δ at most if the mean really is above (Waudby-Smith and Ramdas, arXiv
2010.09686). Several policies are tested from the safest on, and the first that fails ends it, so that all that passed
hold together with probability 1 − δ (learn then test, arXiv 2110.01052). Losses must be independent draws, in an order
that has nothing to do with their size, and the policies must have been chosen without looking at them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

P = TypeVar("P")
STAKE = 0.9
"""The most that is staked of what could be lost at once."""

PRIOR_VARIANCE = 0.25


def is_below(losses: Sequence[float], limit: float, delta: float, *, lowest: float = 0.0, highest: float = 1.0) -> bool:
    """Whether the mean of draws between `lowest` and `highest` is surely below a limit.

    Of means that are not, it says so of a share δ at most.

    >>> is_below([0.0] * 400, 0.02, 0.05), is_below([0.0] * 100, 0.02, 0.05), is_below([0.01, 0.05] * 200, 0.02, 0.05)
    (True, False, False)
    """
    if limit >= highest:
        return True
    if limit < lowest or not losses:
        return False
    span = highest - lowest
    mark = (limit - lowest) / span
    wanted, reached = math.log(1 / delta), 0.0
    most = STAKE / (1 - mark)
    total, squares = 0.5, PRIOR_VARIANCE
    for count, loss in enumerate(losses, 1):
        stake = min(most, math.sqrt(2 * wanted / (len(losses) * squares / count)))
        value = min(max((loss - lowest) / span, 0.0), 1.0)
        reached += math.log1p(-stake * (value - mark))
        if reached >= wanted:
            return True
        total += value
        squares += (value - total / (count + 1)) ** 2
    return False


def draws_needed(limit: float, delta: float, *, lowest: float = 0.0, highest: float = 1.0, loss: float = 0.0) -> int:
    """How many draws it takes at the least, were every one of them `loss`.

    >>> draws_needed(0.01, 0.05, lowest=-1.0)
    332
    """
    span = highest - lowest
    mark, value = (limit - lowest) / span, (loss - lowest) / span
    gain = math.log1p(-STAKE / (1 - mark) * (value - mark)) if value < mark < 1 else 0.0
    return math.ceil(math.log(1 / delta) / gain) if gain > 0 else 0


def fixed_sequence_test(policies: Iterable[P], passes: Callable[[P], bool]) -> list[P]:
    """The policies that hold, of those in order from the safest on: up to the first that does not.

    >>> fixed_sequence_test([1, 2, 9, 3], lambda policy: policy < 5)
    [1, 2]
    """
    held = []
    for policy in policies:
        if not passes(policy):
            break
        held.append(policy)
    return held
