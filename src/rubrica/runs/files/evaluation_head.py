"""The head of a stored evaluation: which case it is of, read without the rest of the line."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from rubrica.errors import StoredError
from rubrica.jsontext import UNREADABLE

from .append_only import finished_lines
from .hash_table import HashTable


class EvaluationHead(msgspec.Struct, frozen=True):
    """What tells one stored evaluation from another."""

    rubric: str
    version: str
    hash: str
    case: str | None = None
    repeat: int = 0
    context: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def key(self) -> int:
        return key_of(self.case or "", self.repeat)

    @property
    def content(self) -> int:
        return content_of(self.hash, bytes(self.context))


_DECODER = msgspec.json.Decoder(EvaluationHead)


def head_of(line: bytes) -> EvaluationHead:
    """The head of a line; a StoredError where it is no evaluation."""
    try:
        return _DECODER.decode(line)
    except UNREADABLE as error:
        raise StoredError(f"not a stored evaluation: {error}") from None


def key_of(case: str, repeat: int = 0) -> int:
    """Eight bytes that stand for a case of a run: a million of them take little memory."""
    return _eight(case.encode(), repeat.to_bytes(4))


def content_of(rubric: str, context: bytes) -> int:
    """Eight bytes that stand for what was judged, and by which rubric."""
    return _eight(rubric.encode(), context)


def _eight(*parts: bytes) -> int:
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return int.from_bytes(digest.digest())


class NumberedLine(NamedTuple):
    """A line of a file and its number, from 1."""

    number: int
    line: bytes


def latest(path: Path) -> Iterator[NumberedLine]:
    """The lines of a file that no later line for the same case and repeat supersedes.

    A line that cannot be read is passed on for whoever reads it to tell.
    """
    last = HashTable()
    repeated = False
    for number, line in enumerate(finished_lines(path), 1):
        try:
            key = head_of(line).key
        except StoredError:
            continue
        repeated |= last.get(key) is not None
        last.put(key, number)
    for number, line in enumerate(finished_lines(path), 1):
        if not repeated or _is_last(line, number, last):
            yield NumberedLine(number, line)


def _is_last(line: bytes, number: int, last: HashTable) -> bool:
    try:
        return last.get(head_of(line).key) == number
    except StoredError:
        return True
