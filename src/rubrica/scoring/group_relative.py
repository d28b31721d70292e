"""Rewards relative to their group, as GRPO compares the answers to one prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean, stdev

SMALLEST_SPREAD = 1e-4
"""Added to the standard deviation, as TRL does, so that a group of almost equal rewards is not blown up."""


def group_relative(
    rewards: Sequence[float | None], groups: Sequence[Hashable], *, scaled: bool = True
) -> list[float | None]:
    """Each reward less the mean of its group and, where `scaled`, over its sample standard deviation.

    What has no reward keeps none and counts for nothing. A group of one, and one whose rewards are all equal, says
    nothing of its members: they get 0.

    >>> group_relative([1.0, 3.0, None, 5.0], ["a", "a", "a", "b"], scaled=False)
    [-1.0, 1.0, None, 0.0]
    """
    members: dict[Hashable, list[float]] = defaultdict(list)
    for reward, group in zip(rewards, groups, strict=True):
        if reward is not None:
            members[group].append(reward)
    means = {group: fmean(own) for group, own in members.items()}
    spreads = {group: stdev(own) if len(own) > 1 else 0.0 for group, own in members.items()} if scaled else {}
    found: list[float | None] = []
    for reward, group in zip(rewards, groups, strict=True):
        apart = None if reward is None else reward - means[group]
        found.append(apart / (spreads[group] + SMALLEST_SPREAD) if apart is not None and scaled else apart)
    return found
