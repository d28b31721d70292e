"""Files of lines that only grow: what was written survives Ctrl-C, kill -9, a full disk and a power cut."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from rubrica.errors import RubricaError

SYNC_SECONDS = 1.0
"""How long a line may lie in the system's memory only: a killed process loses none, a power cut at most this much."""
_BLOCK = 1 << 16


class AppendOnlyFile:
    """Appends lines to a file, each handed to the system whole as it is written.

    Opening it mends what a crash left: a last line without an end is cut off and kept beside the file.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock
        self.mended = cut_torn_line(path)  # bytes of a torn last line that were set aside
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise RubricaError(f"{path} cannot be written: {error.strerror}") from None
        self.size = os.fstat(self._file).st_size
        self._synced = clock()

    def write(self, line: bytes) -> None:
        """Append one line, given without its end. If it does not fit, nothing of it stays."""
        data = line + b"\n"
        done = 0
        try:
            while done < len(data):
                done += os.write(self._file, data[done:])
        except OSError as error:
            os.ftruncate(self._file, self.size)
            raise RubricaError(
                f"{self.path} cannot be written: {error.strerror}; the lines before it are safe, "
                "and the same command goes on from there"
            ) from None
        self.size += len(data)
        if self._clock() - self._synced >= SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Hand everything to the disk."""
        os.fsync(self._file)
        self._synced = self._clock()

    def close(self) -> None:
        self.sync()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def finished_lines(path: Path) -> Iterator[bytes]:
    """The finished lines of a file, without their ends; none where there is no file. A torn last line is left out."""
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise RubricaError(f"{path} cannot be read: {error.strerror}") from None
    with stream:
        for line in stream:
            if line.endswith(b"\n"):
                yield line[:-1]


def cut_torn_line(path: Path) -> int:
    """Cut a torn last line off a file, into a file beside it; how many bytes that were."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return 0
    with path.open("r+b") as stream:
        end = _end_of_lines(stream.fileno(), size)
        if end == size:
            return 0
        torn = os.pread(stream.fileno(), size - end, end)
        with path.with_name(path.name + ".torn").open("ab") as aside:
            aside.write(torn + b"\n")
        stream.truncate(end)
    return size - end


def _end_of_lines(file: int, size: int) -> int:
    """Where the last finished line ends."""
    at = size
    while at > 0:
        start = max(0, at - _BLOCK)
        found = os.pread(file, at - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0
