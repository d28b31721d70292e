"""How the text of a file is encoded: UTF-8, UTF-16, UTF-32 or Windows-1252, told from its bytes; and its lines."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec

BOM = codecs.BOM_UTF8
LOOKED_AT = 64_000_000
"""Bytes of a file that its encoding is told from."""
_CHUNK = 1 << 16
_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class TextEncoding(msgspec.Struct, frozen=True):
    """An encoding, and what is worth telling about it."""

    name: str = "utf-8"
    note: str = ""

    @property
    def is_utf8(self) -> bool:
        return self.name == "utf-8"


UTF8 = TextEncoding()


def encoding_of(path: Path) -> TextEncoding:
    """The encoding of a file. Where single bytes of a UTF-8 file are broken, it is UTF-8 all the same."""
    with path.open("rb") as stream:
        head = stream.read(_CHUNK)
        if (marked := _marked(head)) is not None:
            return marked
        return _by_bytes(chain((head,), iter(lambda: stream.read(_CHUNK), b"")))


def decode_text(data: bytes) -> tuple[str, TextEncoding]:
    """The text of a whole file, and how it was encoded."""
    found = _marked(data[:_CHUNK]) or _by_bytes([data])
    name = "utf-8-sig" if found.is_utf8 else found.name
    return data.decode(name, "strict" if found.is_utf8 else "replace"), found


def utf8_lines(stream: BinaryIO, encoding: TextEncoding) -> Iterator[tuple[bytes, int]]:
    """The lines of a file as UTF-8 without a byte order mark, each with the number of bytes it has in the file."""
    if encoding.is_utf8:
        for number, line in enumerate(stream):
            yield line.removeprefix(BOM) if number == 0 else line, len(line)
        return
    width = {"utf-16": 2, "utf-32": 4}.get(encoding.name[:6], 1)
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    open_line: list[str] = []  # pieces of a line that has not ended
    while chunk := stream.read(_CHUNK):
        *ended, rest = decoder.decode(chunk).split("\n")
        for text in ended:
            whole = "".join([*open_line, text, "\n"])
            open_line.clear()
            yield whole.encode("utf-8", "replace"), width * len(whole)
        open_line.append(rest)
    whole = "".join([*open_line, decoder.decode(b"", final=True)])
    if whole:
        yield whole.encode("utf-8", "replace"), width * len(whole)


def _marked(head: bytes) -> TextEncoding | None:
    """UTF-16 and UTF-32 by their mark; without one, UTF-16 by the zeros that every ordinary letter has there."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return TextEncoding(name, f"the file is {name.upper()}, and is read as such")
    start = head[: min(len(head), 400) // 2 * 2]
    if len(start) >= 4 and start.count(0) >= len(start) // 4:
        for name, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
            if zeros.count(0) >= len(zeros) * 0.6 and start.count(0) - zeros.count(0) <= len(zeros) // 10:
                return TextEncoding(name, f"the file is {name.upper()} without a mark, and is read as such")
    return None


def _by_bytes(chunks: Iterable[bytes]) -> TextEncoding:
    """Windows-1252 where bytes beyond ASCII are never UTF-8; where some are, the file is UTF-8 with broken places.

    >>> _by_bytes(["Größe".encode("cp1252")]).name, _by_bytes(["Größe".encode()]).name
    ('cp1252', 'utf-8')
    """
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    read, odd = 0, False
    for chunk in chunks:
        read += len(chunk)
        if not chunk.isascii():
            odd = True
            if not decoder.decode(chunk).isascii():
                return UTF8
        if read >= LOOKED_AT:
            break
    if not odd:
        return UTF8
    note = "the file is not UTF-8: it is read as Windows-1252 (where letters look wrong, save it as UTF-8)"
    return TextEncoding("cp1252", note)
