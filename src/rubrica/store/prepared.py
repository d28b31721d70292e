"""A statement that is run very often: compiled once, and given to SQLite's driver as it is.

SQLAlchemy takes longer to send a small statement than SQLite takes to run it. On PostgreSQL, where the network takes
longer than either, it goes the usual way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Insert
from sqlalchemy.sql.compiler import SQLCompiler

Maker = Callable[[Any], Any]
"""Makes of a value what the driver takes."""


@dataclass(frozen=True, slots=True)
class _Ready:
    sql: str
    parameters: list[tuple[str, Maker | None]]  # in the order of the question marks


class Prepared:
    """A statement with named parameters, each of a type."""

    def __init__(self, statement: Insert) -> None:
        self._statement = statement
        self._ready: _Ready | None = None

    def run(self, conn: Connection, values: Mapping[str, Any]) -> int:
        """Run it with these values; how many rows it made."""
        if conn.dialect.name != "sqlite":
            return conn.execute(self._statement, dict(values)).rowcount
        if self._ready is None:
            self._ready = self._compiled(conn)
        given = [values[name] if make is None else make(values[name]) for name, make in self._ready.parameters]
        driver: Any = conn.connection.driver_connection
        count: int = driver.execute(self._ready.sql, given).rowcount
        return count

    def _compiled(self, conn: Connection) -> _Ready:
        compiled = self._statement.compile(dialect=conn.dialect)
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 - what Core statements compile to
        types = {name: compiled.binds[name].type for name in compiled.positiontup or ()}
        makers = {name: type_.dialect_impl(conn.dialect).bind_processor(conn.dialect) for name, type_ in types.items()}
        return _Ready(compiled.string, [(name, makers[name]) for name in compiled.positiontup or ()])
