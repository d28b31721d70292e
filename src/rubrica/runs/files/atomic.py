"""Atomic writes: a file has all its new content, or is as it was before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rubrica.errors import RubricaError


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Where to write a file: it takes its name when all of it is on the disk."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise RubricaError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
