"""If-Match and If-None-Match: what a client says it has read."""

from __future__ import annotations

from starlette.exceptions import HTTPException

from rubrica.workspace.entry import ANYTHING, SeenRevision

LONGEST = 2_000
"""Characters of such a header."""


def seen_revision(if_match: str | None, revision: int | None = None) -> SeenRevision | None:
    """What an editor had read, by the header or else by the revision in the body; None: they do not say.

    >>> seen_revision('"3-ab", W/"4-cd"')
    SeenRevision(tags=frozenset({'3-ab'}), revision=None)
    >>> seen_revision("*") == ANYTHING, seen_revision(None, 3), seen_revision(None)
    (True, SeenRevision(tags=None, revision=3), None)
    """
    if if_match is None:
        return None if revision is None else SeenRevision(revision=revision)
    if if_match.strip() == "*":
        return ANYTHING
    return SeenRevision(frozenset(tag for tag, weak in _tags(if_match) if not weak))


def must_have_seen(if_match: str | None, revision: int | None) -> SeenRevision:
    """The same, where it has to be said."""
    read = seen_revision(if_match, revision)
    if read is None:
        raise HTTPException(
            428,
            "say which state you change: send the ETag that GET gave as If-Match, or its `revision` in the body "
            "(`If-Match: *` overwrites whatever is there)",
        )
    return read


def unchanged(if_none_match: str | None, tag: str) -> bool:
    """Whether a client already has what it asks for.

    >>> unchanged('W/"3-ab", "x"', "3-ab"), unchanged("*", "3-ab"), unchanged(None, "3-ab")
    (True, True, False)
    """
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or any(tag == known for known, _ in _tags(if_none_match))


def _tags(header: str) -> list[tuple[str, bool]]:
    """The entity tags in a header, and whether each is a weak one. What is none of ours matches nothing."""
    parts = (part.strip() for part in header[:LONGEST].split(","))
    return [(part.removeprefix("W/").strip('"'), part.startswith("W/")) for part in parts if part]
