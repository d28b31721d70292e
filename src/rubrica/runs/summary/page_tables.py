"""Tables that a workflow adds to the page of its run: grades, classes of error, whatever its readers look for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rubrica.errors import InputError
from rubrica.jsontext import UNREADABLE
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.folder import TABLES


class PageTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table as a page shows it: the first cell of a row names it, the others are figures or words."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def write_tables(folder: Path, tables: Sequence[PageTable]) -> None:
    """Put tables into a run's folder, for its page and for whoever makes it again."""
    with write_atomically(folder / TABLES) as place:
        place.write_bytes(msgspec.json.format(msgspec.json.encode(tables), indent=1) + b"\n")


def read_tables(folder: Path) -> tuple[PageTable, ...]:
    """The tables of a run's folder; most have none."""
    path = folder / TABLES
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[PageTable, ...])
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UNREADABLE as error:
        raise InputError(f"{path} holds no tables: {error} (move it away; the run goes on without it)") from None
