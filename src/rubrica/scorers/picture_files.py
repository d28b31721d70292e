"""Pictures as bytes: read from a data: URL or a file, never fetched, and their size off the first bytes."""

from __future__ import annotations

import base64
import binascii
import struct
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes

import msgspec

LARGEST_FILE = 20_000_000
"""Bytes of a picture that is looked at, as much as a judge would be sent."""

Format = Literal["PNG", "JPEG", "GIF", "WEBP"]


class PictureError(Exception):
    """Why a picture cannot be looked at."""


class PictureHeader(msgspec.Struct, frozen=True):
    """What the first bytes of a picture tell."""

    format: Format
    width: int
    height: int


def picture_data(url: str) -> bytes:
    """The bytes of a data: URL or a regular file."""
    scheme = url[:8].lower()
    if scheme.startswith(("http://", "https://")):
        raise PictureError("a picture behind a link is not fetched")
    if scheme.startswith("data:"):
        head, comma, packed = url[5:].partition(",")
        if not comma or len(packed) > 2 * LARGEST_FILE:
            raise PictureError("a data: URL without data, or too long")
        try:
            return base64.b64decode(packed, validate=True) if head.endswith(";base64") else unquote_to_bytes(packed)
        except (binascii.Error, ValueError):
            return b""  # not base64: a picture that cannot be decoded
    return _file(Path(url))


def _file(path: Path) -> bytes:
    try:
        if not path.is_file():  # neither a folder nor a pipe that would keep us waiting
            raise PictureError(f"there is no picture {path.name!r} here")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise PictureError(f"the picture {path.name[:80]!r} cannot be read: {type(error).__name__}") from None
    if len(data) > LARGEST_FILE:
        raise PictureError(f"the picture {path.name[:80]!r} is larger than {LARGEST_FILE:,} bytes")
    return data


def picture_header(data: bytes) -> PictureHeader | None:
    """Format and size, read off the first bytes; None for anything but PNG, JPEG, GIF and WebP.

    >>> picture_header(b"GIF89a" + bytes([64, 0, 32, 0]))
    PictureHeader(format='GIF', width=64, height=32)
    """
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return PictureHeader("PNG", *struct.unpack(">II", data[16:24]))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return PictureHeader("GIF", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except struct.error:
        pass
    return None


def _jpeg(data: bytes) -> PictureHeader | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        kind = data[place + 1]
        if kind in {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return PictureHeader("JPEG", width, height)
        alone = kind in {0x01, 0xFF} or 0xD0 <= kind <= 0xD8
        place += (1 if kind == 0xFF else 2) if alone else 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]
    return None


def _webp(data: bytes) -> PictureHeader | None:
    match data[12:16]:
        case b"VP8X":
            width = int.from_bytes(data[24:27], "little") + 1
            return PictureHeader("WEBP", width, int.from_bytes(data[27:30], "little") + 1)
        case b"VP8L":
            bits = struct.unpack("<I", data[21:25])[0]
            return PictureHeader("WEBP", (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return PictureHeader("WEBP", width & 0x3FFF, height & 0x3FFF)
        case _:
            return None
