"""One server for each SQLite file: a second one says so, before it serves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rubrica.errors import StoreError
from rubrica.file_lock import LockHeldError, hold_lock

from .address import address

WAY_OUT = "stop that server, name another file with --db, or use PostgreSQL, which several servers may share"


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
        held = hold_lock(lock)
    except OSError as error:
        raise StoreError(f"{lock} cannot be written: {error.strerror}") from None
    except LockHeldError as error:
        holder = f" by the process {error.holder}" if error.holder else ""
        raise StoreError(f"{file} is served already{holder} ({WAY_OUT})") from None
    with held:
        yield
