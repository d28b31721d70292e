"""File locks: one process at a time. The system ends a lock with the process that holds it, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import RubricaError
from .files import FILE_MODE

PATIENCE = 10.0
"""Seconds to wait for somebody else who writes a file."""
BY_UMASK = -1


class LockHeldError(RubricaError):
    """Another process holds a lock: `holder` says which, where it is known."""

    def __init__(self, lock: Path, holder: str) -> None:
        super().__init__(f"process {holder or 'unknown'} holds {lock}")
        self.holder = holder


def hold_lock(lock: Path, patience: float = 0.0, mode: int = FILE_MODE) -> AbstractContextManager[object]:
    """Take the lock of a lock file, which is made if need be and stays, until the context is left.

    A LockHeldError says who has it after so many seconds; an OSError, that the lock file cannot be written.
    """
    wanted = FileLock(
        lock, timeout=patience, mode=mode, thread_local=False, fallback_to_soft=False, on_acquired=_write_holder
    )
    try:
        return wanted.acquire()
    except Timeout:
        raise LockHeldError(lock, _holder(lock)) from None


@contextmanager
def alone_with(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a file, which stands beside it. Whoever else has it is waited for."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = hold_lock(lock, patience, BY_UMASK)
    except OSError as error:
        raise RubricaError(f"{lock} cannot be written: {error.strerror}") from None
    except LockHeldError:
        raise RubricaError(f"{path} is in use by another process; try again when it is done") from None
    with held:
        yield


def is_locked(lock: Path) -> bool:
    """Whether a process holds a lock. Those who ask share it for a moment, so they do not take each other for one."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _write_holder(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)


def _holder(lock: Path) -> str:
    try:
        said = lock.read_bytes()[:20].decode("ascii", "replace").strip()
    except OSError:
        return ""
    return said if said.isdigit() else ""
