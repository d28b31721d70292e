"""One database, SQLite or PostgreSQL, behind `read`, `lookup` and `write`.

A query is a plain function of a Connection. PostgreSQL runs it on asyncpg, SQLite in threads: several that read and
one that writes. The writing thread takes whatever waits into one transaction, so that many small writes share the cost
of one commit; each has a savepoint of its own, and none is told it is done before the commit is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, Self, TypeVar

from sqlalchemy import Connection, delete, false, literal, select

from .address import address
from .postgres import Postgres
from .sqlite import Sqlite
from .tables import spending_days

P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[[Connection], T]


class Backend(Protocol):
    """How one kind of database runs a query."""

    async def read(self, query: Query[T]) -> T: ...

    async def lookup(self, query: Query[T]) -> T: ...

    async def write(self, query: Query[T]) -> T: ...

    async def close(self) -> None: ...


class Database:
    """An open database. Use it in ``async with``, or close it.

    >>> import asyncio, tempfile
    >>> async def names(folder: str) -> list[str]:
    ...     async with Database.open(f"sqlite:///{folder}/rubrica.db") as database:
    ...         return list(await database.read(lambda conn: conn.exec_driver_sql("select 'ann'").scalars()))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(names(folder))
    ['ann']
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @classmethod
    def open(cls, url: str, *, patience: float = 10.0) -> Self:
        """A database by its SQLAlchemy URL, or a path of a SQLite file.

        `patience` is how many seconds a query waits for a lock or for a server that is away before it fails.
        """
        place = address(url)
        if place.file is not None:
            return cls(Sqlite(place.file, patience))
        return cls(Postgres(place.url, patience))

    async def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run a query that changes nothing."""
        return await self._backend.read(lambda conn: query(conn, *args, **options))

    async def lookup(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run a query that finds a few rows by their keys: so short that sending it to a thread would take longer.

        On SQLite it runs on the event loop, which waits for it.
        """
        return await self._backend.lookup(lambda conn: query(conn, *args, **options))

    async def write(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run a query in one transaction. It returns once that is committed; on any error nothing of it is kept.

        The query may have to be run again before that, so it changes nothing but the database.
        """
        return await self._backend.write(lambda conn: query(conn, *args, **options))

    async def reach(self) -> None:
        """Ask for nothing; a StoreError says that there is no answer."""
        await self._backend.read(lambda conn: conn.execute(select(literal(1))).scalar_one())

    async def reach_to_write(self) -> None:
        """Change nothing, as one that may; a StoreError says that nothing can be changed."""
        await self._backend.write(lambda conn: conn.execute(delete(spending_days).where(false())))

    async def close(self) -> None:
        await self._backend.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
