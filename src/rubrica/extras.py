"""Optional extras: the one place that knows what to say when an import needs one that is not installed.

Imports are statements, so that import-linter and mypy see them. One that loads what an extra brings stands inside
`requires`, in the function that needs it. A module is looked up by a name made at run time in three places only: the
table of commands (`rubrica.cli.app`) and the public names that load on first use (`rubrica`, `rubrica.education`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import RubricaError


class MissingExtraError(RubricaError):
    """Something was asked for that needs an extra; the message says what to install."""


@contextmanager
def requires(extra: str, wanted: str) -> Iterator[None]:
    """Around imports: a package that is not there becomes an error that names what wanted it, and the extra.

    >>> with requires("tables", "cases.parquet"):
    ...     raise ModuleNotFoundError(name="polars")
    Traceback (most recent call last):
    rubrica.extras.MissingExtraError: cases.parquet: polars is missing (pip install 'rubrica[tables]')
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "rubrica":  # a mistake here, nothing to install
            raise
        raise MissingExtraError(f"{wanted}: {error.name} is missing (pip install 'rubrica[{extra}]')") from error
