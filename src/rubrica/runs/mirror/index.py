"""What a run in an object store consists of: one small index that lists the segments of every file.

Segments are written under names of their own and never changed. Writing the index is what commits them: stores have no
renaming, but whoever reads the index finds all or nothing of what was committed with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from uuid import uuid4

import msgspec

from rubrica.errors import RubricaError
from rubrica.jsontext import UNREADABLE
from rubrica.runs.objects.address import ObjectAddress
from rubrica.runs.objects.object_store import ObjectStore

INDEX, SEGMENTS = "index.json", "segments"
FORMAT = 1


class FileSegment(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of a file, or all of it."""

    name: str
    size: int
    lines: int = 0  # of a file of lines


FileSegments = tuple[FileSegment, ...]


class MirrorIndex(msgspec.Struct, frozen=True):
    """The files of a run by name, as they were committed together."""

    version: str  # another one for every commit
    files: Mapping[str, FileSegments]
    format: int = FORMAT

    @classmethod
    def read(cls, store: ObjectStore, address: ObjectAddress) -> MirrorIndex | None:
        """What is committed; None where no run is."""
        data = store.read(address.under(INDEX))
        if data is None:
            return None
        try:
            index = msgspec.json.decode(data, type=cls)
        except UNREADABLE as error:
            raise RubricaError(f"{address}/{INDEX} does not describe a run: {error} (choose another name)") from None
        if index.format > FORMAT:
            raise RubricaError(f"{address} was written by a newer Rubrica (format {index.format}); install that one")
        for name in (*index.files, *index.segments):
            if not is_inside(name):
                raise RubricaError(f"{address}/{INDEX} names a file outside of the run: {name[:200]!r}")
        return index

    def write(self, store: ObjectStore, address: ObjectAddress) -> None:
        """Commit it."""
        store.write(address.under(INDEX), msgspec.json.encode(self))

    @property
    def segments(self) -> set[str]:
        return {segment.name for several in self.files.values() for segment in several}


def new_segment_name(file: str) -> str:
    """A name that no other segment has, and that tells what it is of.

    >>> new_segment_name("evaluations.parquet/part-000001.parquet").partition("-")[2]
    'part-000001.parquet'
    """
    return f"{uuid4().hex}-{PurePosixPath(file).name}"


def is_inside(name: str) -> bool:
    """Whether a name stays in the folder it is put into.

    >>> is_inside("earlier/1/run.json"), is_inside("../run.json"), is_inside("/run.json"), is_inside("a//b")
    (True, False, False, False)
    """
    parts = name.split("/")
    return "\\" not in name and "\0" not in name and all(part not in ("", ".", "..") for part in parts)
