"""Images of a request, as bytes or addresses that a provider takes."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from urllib.parse import unquote_to_bytes

import msgspec

from rubrica.llm.model import ModelError, Request

LARGEST_IMAGE = 20_000_000
"""Bytes of an image file; providers take less."""


class Picture(msgspec.Struct, frozen=True):
    """An image as a provider takes it: an address it fetches itself, or base64 with its media type."""

    url: str = ""
    media_type: str = ""
    base64: str = ""

    @property
    def as_url(self) -> str:
        return self.url or f"data:{self.media_type};base64,{self.base64}"


async def pictures(request: Request) -> dict[str, Picture]:
    """Every image of a request, by how the request names it; files are read now."""
    found: dict[str, Picture] = {}
    for message in request.messages:
        if message.images and message.role != "user":
            raise ModelError("rejected", f"a {message.role} message cannot hold images; put them in a user message")
        for image in message.images:
            if image not in found:
                found[image] = await _picture(image)
    return found


async def _picture(image: str) -> Picture:
    found = linked(image)
    if found is not None:
        return found
    return await asyncio.to_thread(_from_file, Path(image))


def linked(image: str) -> Picture | None:
    """The picture behind an http(s) or data: URL; None where it is neither.

    >>> linked("data:image/png;base64,AAAA")
    Picture(url='', media_type='image/png', base64='AAAA')
    >>> linked("/etc/passwd")
    """
    scheme = image[:8].lower()
    if scheme.startswith(("http://", "https://")):
        return Picture(url=image)
    if not scheme.startswith("data:"):
        return None
    head, comma, data = image[5:].partition(",")
    kind, _, encoding = head.partition(";")
    if not comma or not kind.startswith("image/"):
        raise ModelError("rejected", "an image's data: URL must start with data:image/")
    packed = data if encoding.endswith("base64") else base64.b64encode(unquote_to_bytes(data)).decode()
    return Picture(media_type=kind, base64=packed)


def _from_file(path: Path) -> Picture:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_IMAGE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise ModelError("rejected", f"the image {path.name} cannot be read: {reason}") from None
    if len(data) > LARGEST_IMAGE:
        raise ModelError("rejected", f"the image {path.name} is larger than {LARGEST_IMAGE:,} bytes")
    return Picture(media_type=_media_type(data, path.name), base64=base64.b64encode(data).decode())


def _media_type(data: bytes, name: str) -> str:
    # By content, not by name: a path in a case must not carry any other file to a provider.
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ModelError("rejected", f"the image {name} is not PNG, JPEG, GIF or WebP")
