"""Addresses of objects: which store, and which name in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Self

import msgspec
from msgspec.structs import replace

from rubrica.errors import InputError

_ADDRESS = re.compile(r"(s3|gs|az|https?)://([^/]*)/*(.*)", re.DOTALL | re.IGNORECASE)
_OTHER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WEB = ("http", "https")
_WILD = re.compile(r"[*?\[]")
_ANY_DEPTH = "**"
SUCH_AS = "an address such as s3://BUCKET/runs/monday"


class ObjectAddress(msgspec.Struct, frozen=True):
    """An object, several by a pattern, or everything under a name.

    >>> ObjectAddress.of("s3://data/cases/monday.jsonl").name
    'monday.jsonl'
    """

    scheme: str
    place: str  # the bucket, the container, or the host
    key: str = ""

    @classmethod
    def of(cls, text: str) -> Self:
        found = _ADDRESS.fullmatch(text)
        if found is None or not found[2]:
            raise InputError(f"{text!r} is no address of an object; write it as s3://BUCKET/NAME")
        address = cls(found[1].lower(), found[2], found[3])
        if address.is_web and ("@" in address.place or "?" in address.key):
            problem = "has a password or a signature in it, which would be written down"
            raise InputError(f"{address.scheme}://{address.place.rpartition('@')[2]}/… {problem}; copy the file first")
        return address

    @property
    def is_web(self) -> bool:
        """Whether it is on a web server, where nothing is listed and nothing written."""
        return self.scheme in _WEB

    @property
    def root(self) -> str:
        return f"{self.scheme}://{self.place}"

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def holds(self, other: ObjectAddress) -> bool:
        """Whether another one lies below this one.

        >>> runs = ObjectAddress.of("s3://data/runs")
        >>> [runs.holds(ObjectAddress.of(f"s3://{text}")) for text in ("data/runs/a", "data/runs-b/a", "other/runs/a")]
        [True, False, False]
        """
        inside = other.key.startswith(f"{self.key.rstrip('/')}/")
        return (self.root, inside) == (other.root, True) and ".." not in other.key.split("/")

    def under(self, key: str) -> str:
        """A name in the same store, below this one."""
        return "/".join(part for part in (self.key.rstrip("/"), key) if part)

    def __str__(self) -> str:
        return f"{self.root}/{self.key}"


def is_address(text: str) -> bool:
    """Whether a source or a run is in an object store. Other addresses are no names of files either.

    >>> is_address("s3://data/cases.jsonl"), is_address("cases.jsonl"), is_address("c:/cases.jsonl")
    (True, False, False)
    >>> is_address("gcs://data/cases.jsonl")
    Traceback (most recent call last):
    rubrica.errors.InputError: gcs://…: files and runs are at s3://, gs://, az:// and https://, or on this machine
    """
    if _ADDRESS.fullmatch(text) is not None:
        return True
    if (other := _OTHER.match(text)) is not None:
        raise InputError(f"{other[0]}…: files and runs are at s3://, gs://, az:// and https://, or on this machine")
    return False


def store_address(text: str) -> ObjectAddress:
    """Where a run is kept. Nothing is written to web servers."""
    address = read_address(text)
    if address.is_web:
        raise InputError(f"{text}: a run is kept at {SUCH_AS}")
    return address


def read_address(text: str) -> ObjectAddress:
    """Where a run is read, which may be a web server, or where several are."""
    address = ObjectAddress.of(text)
    if is_pattern(address.key) or not address.key.strip("/"):
        raise InputError(f"{text}: a run is kept at {SUCH_AS}")
    return replace(address, key=address.key.strip("/"))


def is_pattern(text: str) -> bool:
    return _WILD.search(text) is not None


def fixed_folder(pattern: str) -> str:
    """The folder that everything a pattern names is in.

    >>> fixed_folder("cases/2026-*/day.jsonl"), fixed_folder("*.jsonl")
    ('cases', '')
    """
    parts = pattern.split("/")
    fixed = next((number for number, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    return "/".join(parts[:fixed])


def fits(key: str, pattern: str) -> bool:
    """Whether a pattern names an object, as a shell would read it: ``*`` ends at a slash, ``**`` does not.

    >>> [fits("cases/a/b.jsonl", pattern) for pattern in ("cases/*/b.*", "cases/*", "cases/**", "**/[a-c].jsonl")]
    [True, False, True, True]
    """
    split = pattern.split("/")
    parts = [part for part, before in zip(split, ("", *split), strict=False) if not part == before == _ANY_DEPTH]
    return _fits(key.split("/"), parts)


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == _ANY_DEPTH:
        return any(_fits(names[start:], parts[1:]) for start in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])
