"""The parts of an XLSX workbook: a ZIP of XML files, read with bounds on what they unfold to.

No part may declare entities, and no part is unpacked beyond its bound, whatever the ZIP says of its size.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

from rubrica.errors import InputError

MOST_UNPACKED = 500_000_000
"""Bytes of all parts that are read."""
_CHUNK = 1 << 16
_SMALL_PART = 20_000_000

_UNREADABLE = (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, OSError, NotImplementedError, RuntimeError)

Attributes = dict[str, str]


class XlsxWorkbook:
    """An open workbook."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.name = name
        self._archive = archive
        self._left = MOST_UNPACKED
        self.sheets = self._sheets()  # name → part, in their order; hidden ones are left out

    def _sheets(self) -> dict[str, str]:
        named: list[tuple[str, str]] = []
        targets: dict[str, str] = {}

        def sheet(tag: str, attributes: Attributes) -> None:
            if tag == "sheet" and attributes.get("state", "visible") == "visible":
                relation = next((value for key, value in attributes.items() if key.rpartition(":")[2] == "id"), "")
                named.append((attributes.get("name", ""), relation))

        def relation(tag: str, attributes: Attributes) -> None:
            if tag == "Relationship":
                targets[attributes.get("Id", "")] = attributes.get("Target", "")

        self.walk("xl/workbook.xml", sheet)
        self.walk("xl/_rels/workbook.xml.rels", relation)
        return {name: _part(targets[key]) for name, key in named if key in targets}

    def has(self, part: str) -> bool:
        return part in self._archive.NameToInfo

    def walk(self, part: str, start: Callable[[str, Attributes], None]) -> None:
        """Call `start` for every element of a small part."""
        with reading_xlsx(self.name):
            parser = new_parser()
            parser.StartElementHandler = lambda tag, attributes: start(tag.rpartition(":")[2], attributes)
            for chunk in self.chunks(part, _SMALL_PART):
                parser.Parse(chunk, False)
            parser.Parse(b"", True)

    def chunks(self, part: str, most: int | None = None) -> Iterator[bytes]:
        """The bytes of a part, within its bound and that of the workbook."""
        if not self.has(part):
            raise InputError(f"{self.name} cannot be read as a workbook: it has no part {part}")
        size = 0
        with reading_xlsx(self.name), self._archive.open(part) as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                self._left -= len(chunk)
                if self._left < 0 or (most is not None and size > most):
                    bound = MOST_UNPACKED if most is None else most
                    raise InputError(f"{self.name} unfolds to more than {bound:,} bytes (split it, or save it as CSV)")
                yield chunk


@contextmanager
def open_workbook(path: Path) -> Iterator[XlsxWorkbook]:
    """A workbook; an InputError where it is none."""
    if path.suffix.lower() == ".xls":
        raise InputError(f"{path.name} is a workbook of the old kind; save it as .xlsx or .csv")
    with reading_xlsx(path.name):
        archive = zipfile.ZipFile(path)
    with archive:
        if not archive.NameToInfo.keys() & {"xl/workbook.xml"}:
            raise InputError(f"{path.name} cannot be read as a workbook: it is a ZIP of something else")
        yield XlsxWorkbook(archive, path.name)


@contextmanager
def reading_xlsx(name: str) -> Iterator[None]:
    """Around whatever reads a workbook: what is wrong with it is told as an InputError."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None
    except _UNREADABLE as error:
        raise InputError(f"{name} cannot be read as a workbook: {error}") from None


def new_parser() -> Any:
    """A parser that refuses entities of the document's own."""
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise InputError("the workbook declares a document type, which no spreadsheet writes; it is not read")

    parser.StartDoctypeDeclHandler = refuse
    return parser


def _part(target: str) -> str:
    """Where a part lies, by what a relation says.

    >>> _part("worksheets/sheet1.xml"), _part("/xl/worksheets/sheet1.xml")
    ('xl/worksheets/sheet1.xml', 'xl/worksheets/sheet1.xml')
    """
    return target[1:] if target.startswith("/") else str(PurePosixPath("xl") / target)
