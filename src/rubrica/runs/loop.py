"""The loop of every run: results are drawn through to the disk and told of, until the end or until it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from threading import Event
from typing import NamedTuple

from .events import RunAdvanced, RunEnding
from .run_writer import ModelsDownError

EVERY = 0.1
"""Seconds between two reports of how far a run is."""


class LoopOutcome(NamedTuple):
    """How a loop ended, and why no model answered where that ended it."""

    ending: RunEnding
    reason: str = ""


def draw_results(
    results: Generator[object, None, None],
    meter: Callable[[], RunAdvanced],
    on_event: Callable[[RunAdvanced], None],
    stop: Event | None = None,
    every: float = EVERY,
) -> bool:
    """Draw every result, and tell at the beginning, now and then, and at the end how far it is.

    False where `stop` was set: then no further result is drawn, and none is left under way.
    """
    with closing(results):
        on_event(meter())
        last, is_told = time.monotonic(), True
        try:
            for _ in results:
                is_told = False
                if stop is not None and stop.is_set():
                    return False
                if (now := time.monotonic()) - last >= every:
                    on_event(meter())
                    last, is_told = now, True
        finally:
            if not is_told:
                on_event(meter())
    return True


def loop_outcome(loop: Callable[[], bool]) -> LoopOutcome:
    """Run a loop to its end, whichever that is: Ctrl-C stops it, and so do models that do not answer.

    >>> loop_outcome(lambda: True), loop_outcome(lambda: False)
    (LoopOutcome(ending='finished', reason=''), LoopOutcome(ending='stopped', reason=''))
    """
    try:
        return LoopOutcome("finished" if loop() else "stopped")
    except KeyboardInterrupt:
        return LoopOutcome("stopped")
    except ModelsDownError as error:
        return LoopOutcome("unanswered", str(error))
