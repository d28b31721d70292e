"""Where a database is: a SQLite file, or a PostgreSQL server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from rubrica.errors import StoreError

FORMS = "use a file, sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database by its URL. `shown` is how messages name it, without the password."""

    url: URL
    file: Path | None  # None: on a server

    @property
    def shown(self) -> str:
        return str(self.file) if self.file is not None else self.url.render_as_string(hide_password=True)


def address(text: str) -> DatabaseAddress:
    """Read a SQLAlchemy URL, or the path of a SQLite file.

    >>> address("rubrica.db").shown, address("sqlite:////var/rubrica.db").shown
    ('rubrica.db', '/var/rubrica.db')
    >>> address("postgresql://ann:secret@db.example/rubrica").shown
    'postgresql+asyncpg://ann:***@db.example/rubrica'
    >>> address("mysql://db.example/rubrica")
    Traceback (most recent call last):
    rubrica.errors.StoreError: mysql is not supported (use a file, sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME)
    """
    try:
        url = make_url(text) if "://" in text else URL.create("sqlite", database=text)
        kind = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise StoreError(f"not a database URL: {error} ({FORMS})") from None
    if kind == "postgresql":
        return DatabaseAddress(url.set(drivername="postgresql+asyncpg"), None)
    if kind != "sqlite":
        raise StoreError(f"{kind} is not supported ({FORMS})")
    if url.query:
        raise StoreError("a SQLite URL takes no options after the ? (sqlite:///FILE)")
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise StoreError("a SQLite database needs a file: several connections share it (sqlite:///FILE)")
    return DatabaseAddress(url, Path(url.database))
