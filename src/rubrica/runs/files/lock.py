"""A file for one process at a time; whoever else wants it is waited for."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rubrica.errors import RubricaError

PATIENCE = 10.0
"""Seconds."""


@contextmanager
def alone_with(
    path: Path,
    patience: float = PATIENCE,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold the lock of a file, which stands beside it. The system lets it go when the process ends."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = lock.open("a")
    except OSError as error:
        raise RubricaError(f"{lock} cannot be written: {error.strerror}") from None
    until = clock() + patience
    with stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if clock() >= until:
                    raise RubricaError(f"{path} is in use by another process; try again when it is done") from None
                wait(0.05)
        yield
