"""What goes wrong in a database, as the error its caller can act on.

A value that no table can keep is an `InputError`; a database that cannot be used now is a `StoreError`. A broken
constraint stays SQLAlchemy's `IntegrityError`, for only the caller knows what it means. Anything else is a mistake of
ours and stays what it is.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from rubrica.errors import InputError, RubricaError, StoreError

UPGRADE = "its tables are missing or old: run rubrica db upgrade --db with this database"

SQLITE_TROUBLES = {
    "SQLITE_BUSY": "another process keeps it locked: try again, or stop that process",
    "SQLITE_LOCKED": "another process keeps it locked: try again, or stop that process",
    "SQLITE_FULL": "there is no room left: free some, then try again",
    "SQLITE_READONLY": "it cannot be written: check the permissions of the file and of its folder",
    "SQLITE_CANTOPEN": "it cannot be opened: check that it is a file you may write, in a folder that is there",
    "SQLITE_PERM": "it cannot be opened: check the permissions of the file and of its folder",
    "SQLITE_NOTADB": "it is not a SQLite database: name another file",
    "SQLITE_CORRUPT": "the file is damaged: restore it from a copy",
    "SQLITE_IOERR": "the disk failed: check it, then try again",
    "SQLITE_PROTOCOL": "another process keeps it locked: try again, or stop that process",
    "SQLITE_NOMEM": "there is not enough memory",
}

POSTGRES_TROUBLES = {
    "08": "the connection broke: try again",
    "25006": "the server takes no changes: is it a standby?",
    "28": "the server does not know this user or password: check the URL",
    "3D": "the server has no such database: create it, or check the URL",
    "42P01": UPGRADE,
    "42703": UPGRADE,
    "42501": "this user may not do that: grant it the right to create and use tables",
    "53": "the server is out of disk, memory or connections",
    "55P03": "another transaction keeps the row locked: try again",
    "57": "the server is stopping or starting: try again",
    "58": "the server's disk failed: see its log",
}
"""By SQLSTATE, or its first two characters."""


def translate_error(error: Exception, place: str) -> Exception:
    """The error that whoever asked the database at `place` is given for this one, which is its cause.

    >>> translate_error(OverflowError("Python int too large to convert to SQLite INTEGER"), "rubrica.db")
    InputError('a value cannot be kept: Python int too large to convert to SQLite INTEGER')
    """
    if isinstance(error, StatementError) and isinstance(error.orig, RubricaError):
        return error.orig
    if isinstance(error, RubricaError | IntegrityError):
        return error
    translated = _user_error(error, place)
    if translated is None:
        return error
    translated.__cause__ = error
    return translated


def _user_error(error: Exception, place: str) -> RubricaError | None:
    cause = error.orig if isinstance(error, StatementError) and error.orig is not None else error
    if _is_refusal(cause):
        return InputError(f"a value cannot be kept: {_brief(cause)}")
    trouble = _sqlite_trouble(cause) if isinstance(cause, sqlite3.Error) else _postgres_trouble(error)
    return StoreError(f"{place}: {trouble} ({_brief(cause)})") if trouble else None


def state(error: BaseException) -> str:
    """PostgreSQL's SQLSTATE, or nothing."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(getattr(cause, "sqlstate", None) or "")


def _is_refusal(cause: BaseException) -> bool:
    """Whether it is the value that is to blame: a NUL, a text too long, a number too large, half a character."""
    match cause:
        case OverflowError():
            return "SQLite INTEGER" in str(cause)
        case UnicodeEncodeError():
            return "surrogates" in cause.reason
        case sqlite3.DataError():
            return True
        case _:
            return state(cause).startswith("22")


def _sqlite_trouble(cause: sqlite3.Error) -> str:
    name = getattr(cause, "sqlite_errorname", "")
    if name == "SQLITE_ERROR" and str(cause).startswith(("no such table", "no such column")):
        return UPGRADE
    return next((translated for code, translated in SQLITE_TROUBLES.items() if name.startswith(code)), "")


def _postgres_trouble(error: Exception) -> str:
    if isinstance(error, PoolTimeout):
        return "all connections are busy: try again"
    if code := state(error):
        return POSTGRES_TROUBLES.get(code) or POSTGRES_TROUBLES.get(code[:2], "")
    if isinstance(error, OSError):  # a refused connection, a name that is not found, a time-out
        return "the server cannot be reached: check that it runs, and the URL"
    if isinstance(error, DBAPIError) and (error.connection_invalidated or "closed" in str(error.orig)):
        return "the connection broke: try again"
    return ""


def _brief(cause: BaseException) -> str:
    return str(cause).strip().partition("\n")[0] or type(cause).__name__
