"""What a simple record is: one whose Context would hold its texts and values just as they are written.

It has no chat, no earlier rounds, no pictures and no nested metadata, and its texts are texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from rubrica.engine.cases import OWN_KEYS
from rubrica.model.context import Context, Metadata
from rubrica.model.evidence import Field

SIMPLE: dict[str, type] = {"prompt": str, "response": str, "custom_metrics": dict}
NOT_SIMPLE = frozenset((Context.model_fields.keys() - SIMPLE.keys()) | Metadata.model_fields.keys() | {"expect"})
"""Keys that make a record one to read as a case: what they hold is checked or changed on its way into a Context."""
NEVER_NAMED = frozenset(Context.model_fields.keys() | {*OWN_KEYS})
"""Keys that no formula reads by name."""
FIELDS: tuple[Field, ...] = ("prompt", "response")
MOST_BRACKETS = 150
"""A line with more may be nested too deeply; whether it is, the reader of cases knows."""


def lines_in(data: bytes) -> list[bytes]:
    r"""The lines of some bytes, without their ends.

    >>> lines_in(b"{}\n\n{}\n")
    [b'{}', b'', b'{}']
    """
    return data.removesuffix(b"\n").split(b"\n") if data else []


def is_shallow(lines: Sequence[bytes]) -> bool:
    """Whether no line is nested too deeply, as far as the number of its brackets tells."""
    return not any(line.count(b"[") + line.count(b"{") > MOST_BRACKETS for line in lines)
