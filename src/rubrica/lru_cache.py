"""A cache of what was used last, bounded by number and by weight."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """What was used last, by key: so many values, of so much weight in all. Threads may share it.

    For a function of its arguments alone, `functools.lru_cache` is enough.

    >>> cache = LruCache[str, int](2)
    >>> for key in "abc":
    ...     cache.put(key, ord(key))
    >>> cache.get("a"), cache.get("c"), len(cache)
    (None, 99, 2)
    """

    def __init__(
        self, most: int | None, *, weight: Callable[[V], int] = lambda _: 0, most_weight: int | None = None
    ) -> None:
        self._most, self._weight, self._most_weight = most, weight, most_weight
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._weighs = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """What is kept under a key, which has now been used; None is what is not kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of what was used longest ago. What was put last stays, however heavy it is."""
        with self._lock:
            self._remove(key)
            self._kept[key] = value
            self._weighs += self._weight(value)
            while self._full():
                self._remove(next(iter(self._kept)))

    def drop(self, key: K) -> None:
        """Keep nothing under a key."""
        with self._lock:
            self._remove(key)

    def latest(self) -> Iterator[V]:
        """What is kept, what was used last first. Nothing may be got or put before that is read."""
        return reversed(self._kept.values())

    def _full(self) -> bool:
        if self._most is not None and len(self._kept) > self._most:
            return True
        return self._most_weight is not None and self._weighs > self._most_weight and len(self._kept) > 1

    def _remove(self, key: K) -> None:
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._weighs -= self._weight(gone)
