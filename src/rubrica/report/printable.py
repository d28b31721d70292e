"""Text of others that cannot steer what shows it: a terminal, a job's log, a page, a table."""

from __future__ import annotations

import re

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_HIDDEN = [*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)]
_VISIBLE = _PICTURES | dict.fromkeys(_HIDDEN, 0xFFFD)
_STEERS = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with control and direction-changing characters made visible, one for one; newlines and tabs stay.

    >>> printable("red \x1b[31m")
    'red ␛[31m'
    """
    return text.translate(_VISIBLE)


def printable_json(text: str) -> str:
    r"""JSON text with such characters escaped as JSON does, so that it still means the same.

    >>> printable_json('"\x9b31m"')
    '"\\u009b31m"'
    """
    return text if text.isascii() and "\x7f" not in text else _STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
