"""Measuring: a thing and its floor in turn, several times, so that a busy neighbour slows both."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """How fast something is against its floor: 1 is as fast, 0.5 takes twice the time."""

    what: str
    floor: str
    ratio: float
    target: float
    detail: str
    higher_is_better: bool = True

    @property
    def met(self) -> bool:
        return self.ratio >= self.target if self.higher_is_better else self.ratio <= self.target


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def in_turn(work: Callable[[], object], floor: Callable[[], object], rounds: int = 3) -> tuple[float, float]:
    """The best CPU time of each, measured alternately."""
    times = [(cpu_seconds(work), cpu_seconds(floor)) for _ in range(rounds)]
    return min(mine for mine, _ in times), min(bare for _, bare in times)
