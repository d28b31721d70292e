"""The arithmetic of a soak: whether something grew over time, percentiles, and how replies are counted."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FEWEST = 9
"""Samples below which growth cannot be told: three in each third."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """By how much the last third may lie above the second third: a share of it, and an amount on top."""

    share: float
    amount: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process takes at one moment."""

    seconds: float  # since the start
    memory: float  # resident, in MB
    descriptors: int
    threads: int


ALLOWED: Mapping[str, Allowance] = {
    "memory": Allowance(0.10, 30.0, " MB"),
    "descriptors": Allowance(0.10, 20.0),
    "threads": Allowance(0.10, 4.0),
}
"""A process that warms up is in its first third; a cache that fills up stays within the amount."""


def growth(values: Sequence[float], allowed: Allowance) -> str | None:
    """How much a series grew beyond what is allowed, in words; None where it did not.

    The median of the last third is compared with that of the second third: peaks and warming up do not count.

    >>> growth([5, 90, 100, 100, 101, 99, 100, 100, 130], Allowance(0.1, 5))
    >>> growth([5, 90, 100, 100, 110, 120, 130, 140, 150], Allowance(0.1, 5))
    'grew from 110 to 140, where 126 is allowed'
    """
    if len(values) < FEWEST:
        return None
    third = len(values) // 3
    before, after = statistics.median(values[third : 2 * third]), statistics.median(values[2 * third :])
    limit = before * (1 + allowed.share) + allowed.amount
    if after <= limit:
        return None
    return f"grew from {before:g}{allowed.unit} to {after:g}{allowed.unit}, where {limit:g}{allowed.unit} is allowed"


def grown(samples: Sequence[Sample]) -> list[str]:
    """Everything of a process that grew."""
    found = []
    for name, allowed in ALLOWED.items():
        told = growth([getattr(sample, name) for sample in samples], allowed)
        if told is not None:
            found.append(f"{name} {told}")
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies; 0 for none.

    >>> percentile([3, 1, 2, 4], 0.5), percentile([3, 1, 2, 4], 0.99), percentile([], 0.5)
    (2, 4, 0.0)
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered) + 0.999999), len(ordered)) - 1]


@dataclass
class Outcomes:
    """What came of the requests to one process."""

    statuses: Counter[int] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)  # connections that broke, by kind of error
    left: int = 0  # how often a client went away on purpose
    unexpected: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # since the last look

    def add(self, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        self.seconds.append(seconds)

    def blame(self, what: str) -> None:
        """Keep a fault; the first few are enough to see what is wrong."""
        if len(self.unexpected) < 20:
            self.unexpected.append(what)

    def window(self) -> tuple[int, float, float]:
        """How many were answered since the last look, and their p50 and p99 in seconds."""
        seen, self.seconds = self.seconds, []
        return len(seen), percentile(seen, 0.5), percentile(seen, 0.99)

    @property
    def answered(self) -> int:
        return sum(self.statuses.values())

    @property
    def refused(self) -> int:
        """How many were answered with an error of any kind."""
        return sum(number for status, number in self.statuses.items() if status >= 400)
