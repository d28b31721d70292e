"""Sections in a document: named groups of dimensions, each with a score, and verdicts, of its own."""

from __future__ import annotations

from collections.abc import Sequence

from .document import Data, Path, at, free_name, list_at, mapping_at, put

ROOT: Path = ("sections",)


def with_section(document: Data) -> tuple[Data, str]:
    """The document with a further section, and its name. It begins with the dimensions that no section has yet.

    >>> with_section({"dimensions": {"a": {}, "b": {}}, "sections": {"first": {"dimensions": ["a"]}}})[0]["sections"]
    {'first': {'dimensions': ['a']}, 'section': {'dimensions': ['b']}}
    """
    every = list(mapping_at(document, ("dimensions",)))
    taken = {name for section in mapping_at(document, ROOT) for name in members_of(document, section)}
    name = free_name(mapping_at(document, ROOT), "part" if "section" in every else "section")
    return put(document, (*ROOT, name), {"dimensions": [one for one in every if one not in taken] or every}), name


def members_of(document: Data, section: str) -> list[str]:
    """The dimensions of a section."""
    return [str(name) for name in list_at(document, (*ROOT, section, "dimensions"))]


def with_member(document: Data, section: str, dimension: str, *, inside: bool) -> Data:
    """The document with a dimension in a section, or out of it; the members keep the order of the dimensions.

    >>> document = {"dimensions": {"a": {}, "b": {}}, "sections": {"all": {"dimensions": ["b"]}}}
    >>> with_member(document, "all", "a", inside=True)["sections"]
    {'all': {'dimensions': ['a', 'b']}}
    """
    before = members_of(document, section)
    wanted = {*before, dimension} if inside else {*before} - {dimension}
    known = [name for name in mapping_at(document, ("dimensions",)) if name in wanted]
    after = [*known, *(name for name in before if name in wanted and name not in known)]
    document = put(document, (*ROOT, section, "dimensions"), after)
    if at(document, (*ROOT, section, "formula")) == _mean(before):  # nobody has written another one
        document = put(document, (*ROOT, section, "formula"), _mean(after))
    return document


def by_formula(document: Data, section: str, *, formula: bool) -> Data:
    """The document with a section scored by a formula, which begins as the mean it had, or by that mean."""
    return put(document, (*ROOT, section, "formula"), _mean(members_of(document, section)) if formula else None)


def _mean(members: Sequence[str]) -> str:
    return f"mean({', '.join(members) or '0'})"


def summary_of(document: Data) -> str:
    """The sections in a few words; empty where there are none."""
    return ", ".join(_titles(document, list(mapping_at(document, ROOT))))


def _titles(document: Data, sections: Sequence[str]) -> list[str]:
    return [str(at(document, (*ROOT, name, "title"), "") or name) for name in sections]
