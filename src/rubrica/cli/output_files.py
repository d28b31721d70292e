"""Output files: JSON lines written as evaluations finish, and files that are replaced atomically."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TextIO

import typer

from rubrica.errors import RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.report.figures import count_of
from rubrica.report.printable import printable_json

STDOUT = "-"


class JsonLines:
    """Evaluations, one JSON line each. Each line is handed to the system when it is finished, so that a run that is
    killed keeps what it has done."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.written = 0

    def write(self, evaluation: Evaluation) -> None:
        try:
            line = evaluation.to_json()
            self.stream.write((printable_json(line) if self.name == STDOUT else line).encode() + b"\n")
            self.stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RubricaError(
                f"cannot write {self.name}: {error.strerror}; {count_of(self.written, 'line is', 'lines are')} in it"
            ) from None
        self.written += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.name != STDOUT:
            with suppress(OSError):  # what could not be written has been told by write
                self.stream.close()


def json_lines(path: str, *, force: bool = False) -> JsonLines:
    """A file of evaluations, or standard output for ``-``. A file that exists is kept unless `force` is set."""
    if path == STDOUT:
        sys.stdout.flush()
        return JsonLines(sys.stdout.buffer, STDOUT)
    target = Path(path)
    replace = force or (target.exists() and not target.is_file())  # a device or a pipe has nothing to lose
    try:
        return JsonLines(target.open("wb" if replace else "xb"), path)
    except FileExistsError:
        raise RubricaError(f"{path} exists; add --force to replace it, or choose another name") from None
    except OSError as error:
        raise RubricaError(f"cannot write {path}: {error.strerror}") from None


def refuse_same(written: str | None, *others: str | None) -> None:
    """Stop before a file is both read and replaced, or written twice."""
    if written is None or written == STDOUT:
        return
    target = Path(written)
    for other in others:
        if other is not None and other != STDOUT and _same(target, Path(other)):
            raise RubricaError(f"{written} is named twice; choose another name for the output")


def refuse_taken(path: str | None, *, force: bool = False) -> None:
    """Stop before work is done whose result could not be written."""
    if path is None or path == STDOUT:
        return
    target = Path(path)
    if target.is_dir():
        raise RubricaError(f"{path} is a folder; name a file")
    if target.is_file() and not force:
        raise RubricaError(f"{path} exists; add --force to replace it, or choose another name")
    if not target.parent.is_dir():
        raise RubricaError(f"cannot write {path}: there is no folder {target.parent}")


@contextmanager
def atomic_text_file(path: str, *, force: bool = False) -> Iterator[TextIO]:
    """A text file that takes its name only when it is complete; until then an earlier one stays as it was."""
    target = Path(path)
    if target.exists() and not target.is_file():
        with _reporting_os_errors(path), target.open("w", encoding="utf-8") as stream:
            yield stream
        return
    if target.exists() and not force:
        raise RubricaError(f"{path} exists; add --force to replace it, or choose another name")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with _reporting_os_errors(path):
            with unfinished.open("w", encoding="utf-8") as stream:
                yield stream
            unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextmanager
def text_output(path: str, shown: Callable[[str], str], *, force: bool = False) -> Iterator[Callable[[str], object]]:
    """Writes texts to a file that is replaced atomically, or to standard output for ``-``, as they can be shown."""
    if path == STDOUT:
        yield lambda text: typer.echo(shown(text), nl=False)
        return
    with atomic_text_file(path, force=force) as file:
        yield file.write


@contextmanager
def _reporting_os_errors(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RubricaError(f"cannot write {path}: {error.strerror}") from None


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
