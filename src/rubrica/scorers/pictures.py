"""Pictures looked at by code: whether they can be opened, how large, how clear. None is ever fetched.

Size and format are read off the first bytes. Only what needs the pixels takes Pillow, an extra. Whatever cannot be
looked at has no number: a formula that reads one says why.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from rubrica.errors import FormulaFault
from rubrica.extras import MissingExtraError, requires
from rubrica.lru_cache import LruCache
from rubrica.model.context import Context
from rubrica.text.questions.question import read_question

from .picture_files import PictureError, PictureHeader, picture_data, picture_header

if TYPE_CHECKING:
    from PIL.Image import Image as Bitmap

MOST_PIXELS = 25_000_000
"""Pixels of a picture that is decoded: a small file may claim any size."""
MOST_PICTURES = 10
_NOISE = 0.0002  # share of the pixels that may be specks
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_KEPT = 64


class PictureMeasurements(msgspec.Struct, frozen=True):
    """What decoding a picture tells; `fault` says why it cannot be decoded, and everything else is 0 then."""

    width: int = 0
    height: int = 0
    contrast: float = 0.0  # between its dark and its light parts: 0 none, 1 black and white
    sharpness: float = 0.0  # the steepest edges: 1 from one pixel to the next, 0.1 smeared over ten
    fault: str = ""


# --- decoding ---------------------------------------------------------------------------------------------


def measure_picture(data: bytes) -> PictureMeasurements:
    """Decode a picture and measure it. A FormulaFault says that Pillow is missing."""
    found = picture_header(data)
    if found is None:
        return PictureMeasurements(fault="it is not a PNG, JPEG, GIF or WebP picture")
    if found.width * found.height > MOST_PIXELS:
        return PictureMeasurements(fault=f"it claims {found.width:,} × {found.height:,} pixels, too many to decode")
    try:
        with requires("images", "pictures are not looked at"):
            from PIL import Image, ImageChops  # late: most rubrics look at no picture
    except MissingExtraError as error:
        raise PictureError(str(error)) from None
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return PictureMeasurements(fault="it has too many pixels to decode")
            opened.load()
            grey = _on_paper(opened, Image).convert("L")
            return _measured(grey, ImageChops.difference)
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError, OverflowError, MemoryError) as error:
        return PictureMeasurements(fault=f"it cannot be decoded: {type(error).__name__}")
    except (struct.error, zlib.error, Image.DecompressionBombError) as error:
        return PictureMeasurements(fault=f"it cannot be decoded: {type(error).__name__}")


def _measured(grey: Bitmap, difference: Callable[[Bitmap, Bitmap], Bitmap]) -> PictureMeasurements:
    dark, light = _between(grey.histogram(), _NOISE, 1 - _NOISE)
    steepest = 0
    for across, down in ((1, 0), (0, 1)):
        box = (across, down, grey.width, grey.height)
        if box[2] > box[0] and box[3] > box[1]:
            moved = grey.crop((0, 0, grey.width - across, grey.height - down))
            steps = difference(grey.crop(box), moved)
            steepest = max(steepest, _between(steps.histogram(), 0.0, 1 - _NOISE)[1])
    reach = max(1, light - dark)
    return PictureMeasurements(grey.width, grey.height, (light - dark) / 255, min(1.0, steepest / reach))


def _on_paper(picture: Bitmap, images: ModuleType) -> Bitmap:
    """The picture as a white page shows it, where parts of it are transparent."""
    if not picture.has_transparency_data:
        return picture
    clear = picture.convert("RGBA")
    page: Bitmap = images.new("RGBA", clear.size, (255, 255, 255, 255))
    page.alpha_composite(clear)
    return page


def _between(histogram: list[int], low: float, high: float) -> tuple[int, int]:
    """The levels below which these shares of the pixels lie."""
    total, passed, first = sum(histogram), 0, -1
    for level, number in enumerate(histogram):
        passed += number
        if first < 0 and number and passed > low * total:
            first = level
        if number and passed >= high * total:
            return max(first, 0), level
    return max(first, 0), len(histogram) - 1


# --- of a context -----------------------------------------------------------------------------------------

_measurements = LruCache[bytes, PictureMeasurements](_KEPT)


def _measure_cached(data: bytes) -> PictureMeasurements:
    """What `measure_picture` tells, kept for the features that ask next."""
    key = hashlib.blake2b(data, digest_size=16).digest()
    found = _measurements.get(key)
    if found is None:
        found = measure_picture(data)
        _measurements.put(key, found)
    return found


def picture_urls(context: Context) -> Iterator[str]:
    """The pictures of a context: those given with it, else those written into the question itself."""
    if context.images:
        yield from (image.url for image in context.images)
        return
    question = read_question(context.response)
    for url, _ in question.images if question is not None else ():
        if not url[:5].lower().startswith("data:"):
            raise PictureError(f"the question names a picture ({url[:60]}) that was not given with it")
        yield url


def _linked(context: Context) -> float:
    """How many pictures code does not fetch: links, and names in the question of what was not given with it."""
    if context.images:
        return float(sum(image.url[:8].lower().startswith(("http://", "https://")) for image in context.images))
    question = read_question(context.response)
    named = question.images if question is not None else ()
    return float(sum(not url[:5].lower().startswith("data:") for url, _ in named))


def _worst(measure: Callable[[PictureMeasurements], float]) -> Callable[[Context], float]:
    """The lowest number that any picture of a context gives; 0 without a picture."""

    def of(context: Context) -> float:
        try:
            looks = [
                _measure_cached(picture_data(url))
                for url, _ in zip(picture_urls(context), range(MOST_PICTURES), strict=False)
            ]
        except PictureError as reason:
            raise FormulaFault(str(reason)) from None
        return min((float(measure(one)) for one in looks), default=0.0)

    return of


def _side(pick: Callable[[PictureHeader], int]) -> Callable[[Context], float]:
    def of(context: Context) -> float:
        try:
            found = [
                picture_header(picture_data(url))
                for url, _ in zip(picture_urls(context), range(MOST_PICTURES), strict=False)
            ]
        except PictureError as reason:
            raise FormulaFault(str(reason)) from None
        return min((float(pick(one)) if one is not None else 0.0 for one in found), default=0.0)

    return of


PICTURE_COUNTS: Mapping[str, tuple[str, Callable[[Context], float]]] = {
    "image_linked": ("pictures that are only links or names, which code does not fetch", _linked),
    "image_readable": ("1 if every picture can be decoded, else 0", _worst(lambda one: not one.fault)),
    "image_width": ("pixels across of the narrowest picture", _side(lambda one: one.width)),
    "image_height": ("pixels down of the lowest picture", _side(lambda one: one.height)),
    "image_contrast": (
        "difference between the dark and the light parts of the faintest picture: 0 blank, 1 black and white",
        _worst(lambda one: one.contrast),
    ),
    "image_sharpness": (
        "edges of the most blurred picture: 1 from one pixel to the next, 0.1 smeared over ten",
        _worst(lambda one: one.sharpness),
    ),
}
"""Numbers that can be read off the pictures of a context: 0 without a picture, none where one cannot be seen."""
