"""One server for each SQLite file: a second one says so, before it serves."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rubrica.errors import StoreError
from rubrica.files import FILE_MODE

from .address import address


@contextmanager
def sole_server(place: str, command: str) -> Iterator[None]:
    """Hold a database for one server of a command, such as ``serve``, until its process ends, however it does.

    What a server keeps in memory, such as sessions and limits a minute, holds for itself alone; and a SQLite file has
    one writer. A PostgreSQL database may have several. Commands such as ``rubrica keys`` ask for nothing here.
    """
    file = address(place).file
    if file is None:
        yield
        return
    lock = file.with_name(f".{file.name}.{command}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, FILE_MODE)
    except OSError as error:
        raise StoreError(f"{lock} cannot be written: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{file} is served already{_by(descriptor)} ({WAY_OUT})") from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


WAY_OUT = "stop that server, name another file with --db, or use PostgreSQL, which several servers may share"


def _by(descriptor: int) -> str:
    with suppress(OSError):
        if (holder := os.pread(descriptor, 20, 0).decode("ascii", "replace")).isdigit():
            return f" by the process {holder}"
    return ""
