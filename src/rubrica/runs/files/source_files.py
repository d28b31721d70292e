"""Any number of files of cases, here or in object stores: found by patterns, and read one after the other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from rubrica.engine.cases import BadLine, Case
from rubrica.errors import InputError, RubricaError
from rubrica.runs.objects.address import ObjectAddress, fits, fixed_folder, is_address, is_pattern
from rubrica.runs.objects.object_store import ObjectInfo, ObjectStore, ObjectStoreError
from rubrica.runs.objects.ranged_file import RANGE_BYTES, RangedFile, RangedStream

from .case_source import STDIN, CaseSource, FileCases, StreamedFile, cases_of, count_cases
from .layout import AS_IT_IS, FileLayout
from .ranged_table import RangedTable
from .row_source import CSV_ENDINGS, PARQUET_ENDINGS, is_line_file

_STREAMED = (".jsonl", ".ndjson", *CSV_ENDINGS)


class SourceFile(msgspec.Struct, frozen=True):
    """A file of cases: its path, or its address in a store."""

    address: str
    size: int | None = None  # bytes; None: standard input, a pipe
    stamp: str = ""  # another one when its content is another one, as far as size and time or the store tell

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]

    @property
    def is_remote(self) -> bool:
        return is_address(self.address)

    @property
    def ending(self) -> str:
        return Path(self.name).suffix.lower()

    @contextmanager
    def local(self) -> Iterator[Path]:
        """The file on this machine. Of one in a store it is a copy, under the same name, that goes again."""
        if not self.is_remote:
            yield Path(self.address)
            return
        address = ObjectAddress.of(self.address)
        with TemporaryDirectory(prefix="rubrica-") as folder:
            path = Path(folder) / (address.name or "cases.jsonl")
            try:
                found = ObjectStore(address).copy_to(address.key, path)
            except FileNotFoundError:
                raise RubricaError(f"there is no {self.address} any more") from None
            self._check(found)
            yield path

    @contextmanager
    def cases(
        self, layout: FileLayout = AS_IT_IS, before: int = 0, range_bytes: int = RANGE_BYTES
    ) -> Iterator[FileCases]:
        """Its cases. Those of a large file in a store are fetched as they are read; other files are fetched first."""
        needs_document = layout.records or any(
            "." in name for name in layout.columns
        )  # what keys mean is told by all of them
        with TemporaryDirectory(prefix="rubrica-") as folder, ExitStack() as stack:
            path = Path(folder) / self.name
            streamed: StreamedFile | RangedTable | None = None
            if not needs_document and (head := self.stream(range_bytes)) is not None:
                path.write_bytes(head.head()[: head.head().rfind(b"\n") + 1])
                streamed = StreamedFile(stack.enter_context(BufferedReader(head)), self.size or 0)
            elif not needs_document and (streamed := self.table(path, range_bytes)) is not None:
                path = streamed.path
            else:
                path = stack.enter_context(self.local())
            yield stack.enter_context(cases_of(str(path), layout, before, streamed))

    def stream(self, range_bytes: int = RANGE_BYTES) -> RangedStream | None:
        """The bytes of a large file in a store whose first ones tell that it is lines; None of any other file."""
        ranged = self.ranged(range_bytes)
        if ranged is None or self.ending not in _STREAMED:
            return None
        stream = RangedStream(ranged)
        try:
            return stream if is_line_file(stream.head(), self.ending) else None
        except ObjectStoreError:
            return None  # a server that gives no ranges; one that cannot be reached is told when all is fetched

    def table(self, place: Path, range_bytes: int = RANGE_BYTES) -> RangedTable | None:
        """A large Parquet file in a store, some rows of which are written beside `place`; None of any other file."""
        ranged = self.ranged(range_bytes)
        if ranged is None or self.ending not in PARQUET_ENDINGS:
            return None
        return RangedTable.open(ranged, place)

    def ranged(self, range_bytes: int = RANGE_BYTES) -> RangedFile | None:
        """The stretches of a large file in a store; None of any other file. Not every web server gives ranges."""
        if not self.is_remote or (self.size or 0) <= range_bytes:
            return None
        address = ObjectAddress.of(self.address)
        if address.is_web:
            return None
        return RangedFile(ObjectStore(address), address.key, self.size or 0, self._check, range_bytes)

    def _check(self, found: ObjectInfo) -> None:
        if self.stamp not in ("", _stamp(found)):
            raise RubricaError(f"{self.address} changed while it was judged; run the same command again")

    def now(self) -> SourceFile:
        """The same file as it is at the moment."""
        return next(iter(_remote_files(self.address) if self.is_remote else [_local_file(self.address)]))


def find_files(sources: Sequence[str]) -> tuple[SourceFile, ...]:
    """The files that paths, addresses and patterns name: those of a pattern sorted, a file once only."""
    if STDIN in sources:
        if len(sources) > 1:
            raise InputError("standard input is read alone; write it to a file first")
        return (SourceFile(STDIN),)
    found: dict[str, SourceFile] = {}
    for source in sources:
        for file in _remote_files(source) if is_address(source) else _local_files(source):
            found.setdefault(file.address, file)
    return tuple(found.values())


def _local_files(pattern: str) -> Iterator[SourceFile]:
    if Path(pattern).exists() or not is_pattern(pattern):
        yield _local_file(pattern)
        return
    folder = Path(pattern[: len(fixed_folder(pattern))] or ("/" if pattern.startswith("/") else "."))
    rest = pattern.removeprefix(fixed_folder(pattern)).lstrip("/")
    matches = sorted(str(match) for match in folder.glob(rest) if match.is_file())
    if not matches:
        raise InputError(f"no file is called {pattern}; look at the pattern and the folder")
    yield from map(_local_file, matches)


def _local_file(path: str) -> SourceFile:
    place = str(Path(path).absolute())
    try:
        known = Path(place).stat()
    except OSError as error:
        raise RubricaError(f"{path} cannot be read: {error.strerror}") from None
    if Path(place).is_dir():
        raise RubricaError(f"{path} cannot be read: it is a folder (name its files, such as '{path}/*.jsonl')")
    if not Path(place).is_file():
        return SourceFile(path)
    return SourceFile(place, known.st_size, f"{known.st_size}-{known.st_mtime_ns}")


def _remote_files(source: str) -> Iterator[SourceFile]:
    address = ObjectAddress.of(source)
    if address.is_web and is_pattern(address.key):
        raise InputError(f"{source}: a web server lists no files; name each of them")
    store = ObjectStore(address)
    one = store.find(address.key) if address.key and (address.is_web or not is_pattern(address.key)) else None
    if one is not None:
        yield _remote_file(address, one)
        return
    if not is_pattern(address.key):
        raise InputError(f"there is no {source}; to take all of a folder, end it with /*.jsonl or /*.parquet")
    listed = store.listed(fixed_folder(address.key))
    matches = sorted((info for info in listed if fits(info.key, address.key)), key=lambda info: info.key)
    if not matches:
        raise InputError(f"no object is called {source}; look at the pattern and the bucket")
    yield from (_remote_file(address, info) for info in matches)


def _remote_file(address: ObjectAddress, info: ObjectInfo) -> SourceFile:
    return SourceFile(str(msgspec.structs.replace(address, key=info.key)), info.size, _stamp(info))


def _stamp(info: ObjectInfo) -> str:
    return f"{info.size}-{info.tag}"


class ManyFiles:
    """The cases of several files, numbered as if they were one. Progress is counted in bytes."""

    notes: tuple[str, ...] = ()

    def __init__(self, files: Sequence[SourceFile], layout: FileLayout = AS_IT_IS) -> None:
        self._files, self._layout = files, layout
        self._ends: list[int] = []  # the number of the last line of each file that was read
        self._current: FileCases | None = None
        sizes = [file.size for file in files]
        self.size: int | None = None if None in sizes else sum(size or 0 for size in sizes)
        self._before = 0  # bytes of the files that were read
        self._under_way: Generator[Case | BadLine, None, None] | None = None

    @property
    def read(self) -> int:
        current, number = self._current, len(self._ends)
        if current is None or number >= len(self._files) or not current.size:
            return self._before
        return self._before + (self._files[number].size or 0) * current.read // current.size

    def cases(self) -> Iterator[Case | BadLine]:
        self._under_way = self._cases()
        return self._under_way

    def close(self) -> None:
        """Let go of the file that is being read."""
        if self._under_way is not None:
            self._under_way.close()

    def _cases(self) -> Generator[Case | BadLine, None, None]:
        for file in self._files:
            before = self._ends[-1] if self._ends else 0
            with file.cases(self._layout, before) as source:
                self._current = source
                yield from source.cases()
                self._ends.append(before + source.lines)
                self._before += file.size or 0

    def place(self, line: int) -> str:
        """Which file a line is in, and its number there."""
        number = bisect_left(self._ends, line)
        before = self._ends[number - 1] if number else 0
        return f"{self._files[min(number, len(self._files) - 1)].name}, line {line - before}"


@contextmanager
def open_cases(files: Sequence[SourceFile], layout: FileLayout = AS_IT_IS) -> Iterator[CaseSource]:
    """The cases of files, to be read once."""
    if len(files) == 1 and not files[0].is_remote:
        with cases_of(files[0].address, layout) as source:
            yield source
        return
    several = ManyFiles(files, layout)
    try:
        yield several
    finally:
        several.close()


def count_all(files: Sequence[SourceFile], layout: FileLayout = AS_IT_IS) -> int | None:
    """How many rows files have; None where they would have to be fetched to tell."""
    if any(file.is_remote or file.size is None for file in files):
        return None
    counts = [count_cases(file.address, layout) for file in files]
    return None if None in counts else sum(count or 0 for count in counts)


def placed(source: CaseSource, line: BadLine) -> BadLine:
    """A broken line with the file that it is in, where there are several."""
    return replace(line, place=source.place(line.line)) if isinstance(source, ManyFiles) else line
