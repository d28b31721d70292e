"""Prepares the end of a run while its models are waited for: what is loaded then need not be loaded before or after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rubrica.extras import MissingExtraError, requires

from .files.folder import COLUMNS

BEFORE_PREPARING = 0.5
"""Seconds that a run has to take before it is worth preparing for its end."""


@contextmanager
def prepared_finish(after: float = BEFORE_PREPARING) -> Iterator[None]:
    """Load what `finish` needs beside what is done meanwhile: that takes as long as all `finish` does with it."""
    is_over = Event()
    thread = Thread(target=_prepare, args=(is_over, after))
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _prepare(is_over: Event, after: float) -> None:
    if is_over.wait(after):
        return
    from .summary.page import load_templates  # here, since it is slow, which is the point

    load_templates()
    try:
        with requires("tables", COLUMNS):
            from .files import parquet_rows  # noqa: F401 - for finish
    except MissingExtraError:
        return  # told at the end
