"""Notes for the judge in a document: what it is told besides, by a value of the context such as the subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .document import Data, Path, at, free_name, mapping_at, put, rename

ROOT: Path = ("notes",)
BY = "by"
"""The key that says which context name chooses; every other key is a note."""
USUALLY_BY = "subject"


def note_names(document: Data) -> list[str]:
    """The values that have a note, in their order."""
    return [str(name) for name in mapping_at(document, ROOT) if name != BY]


def text_of(document: Data, name: str) -> str:
    """What a note tells the judge."""
    note = at(document, (*ROOT, name))
    return str(note if isinstance(note, str) else at(note, ("text",), ""))


def also_of(document: Data, name: str) -> list[str]:
    """The other values that a note is for."""
    found = at(document, (*ROOT, name, "also"), [])
    return [str(value) for value in found] if isinstance(found, list | tuple) else []


def with_note(document: Data) -> tuple[Data, str]:
    """The document with a further note, and the value it is for, both to be filled in.

    >>> with_note({})
    ({'notes': {'by': 'subject', 'value': ''}}, 'value')
    """
    name = free_name(mapping_at(document, ROOT), "value")
    document = put(document, (*ROOT, BY), at(document, (*ROOT, BY), USUALLY_BY))
    return put(document, (*ROOT, name), ""), name


def write_note(document: Data, name: str, text: str, also: Sequence[str]) -> Data:
    """The document with a note that says that: plain text, unless it is for other values too.

    >>> write_note({}, "science", "Check the units.", [])
    {'notes': {'science': 'Check the units.'}}
    >>> write_note({}, "science", "Check the units.", ["physics"])["notes"]["science"]
    {'text': 'Check the units.', 'also': ['physics']}
    """
    note: Any = {"text": text, "also": list(also)} if also else text
    return put(document, (*ROOT, name), note)


def rename_note(document: Data, name: str, new_name: str) -> Data:
    """The document with a note for another value."""
    return rename(document, (*ROOT, name), new_name)


def remove_note(document: Data, name: str) -> Data:
    """The document without a note; the last one takes the key along that said what chooses."""
    document = put(document, (*ROOT, name), None)
    return document if note_names(document) else put(document, ROOT, None)
