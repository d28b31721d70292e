"""How often each of many values occurred, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rubrica.scoring.spread import SortedCounts

MOST_VALUES = 10_000
"""Different values that are kept apart as they are; of more, each is kept to four digits."""
CHUNK = 1_024


class ValueCounts:
    """Values and how often each occurred. Which of them come first makes no difference.

    >>> found = ValueCounts(most=2)
    >>> found.extend([1.23456, 1.23457])
    >>> found.counted().values
    [1.23456, 1.23457]
    >>> found.append(8.0)
    >>> found.counted().values, len(found)
    ([1.235, 8.0], 3)
    """

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._counts: Counter[float] = Counter()
        self._waiting: list[float] = []
        self._is_rounded = False
        self._len = 0

    def __len__(self) -> int:
        return self._len

    def append(self, value: float) -> None:
        self._len += 1
        self._waiting.append(value)
        if len(self._waiting) == CHUNK:
            self._settle()

    def extend(self, values: list[float]) -> None:
        self._len += len(values)
        self._waiting += values
        if len(self._waiting) >= CHUNK:
            self._settle()

    def counted(self) -> SortedCounts:
        """The values in rising order, each once."""
        self._settle()
        return SortedCounts.of(self._counts)

    def _settle(self) -> None:
        self._counts.update(_rounded(self._waiting) if self._is_rounded else self._waiting)
        self._waiting = []
        if not self._is_rounded and len(self._counts) > self._most:
            self._is_rounded = True
            exact, self._counts = self._counts, Counter()
            for value, rounded in zip(exact, _rounded(exact), strict=True):
                self._counts[rounded] += exact[value]


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
