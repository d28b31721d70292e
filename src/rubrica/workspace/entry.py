"""One rubric as it is shown: the document of one version, and how it is listed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rubrica.errors import StaleError
from rubrica.store.rubrics import RubricListing
from rubrica.store.versions import ForkOrigin, Version

TAG_DIGITS = 16


@dataclass(frozen=True, slots=True)
class RubricEntry:
    """A rubric at one version. `origin` is what it was copied from, where whoever asks may see that."""

    listing: RubricListing
    version: Version
    origin: ForkOrigin | None = None

    @property
    def tag(self) -> str:
        """Changes whenever anything that is shown does: the revision, then a digest of content and listing."""
        listed = (self.listing.category, self.listing.tags, self.listing.is_public)
        content = self.version.hash.encode() + msgspec.json.encode(listed)
        return f"{self.version.revision}-{hashlib.sha256(content).hexdigest()[:TAG_DIGITS]}"

    @property
    def document(self) -> dict[str, Any]:
        """The rubric document for use elsewhere: as written, with its version, category and tags."""
        listing = self.listing
        listed = {"category": listing.category, "tags": list(listing.tags)}
        own = {**self.version.definition, "version": self.version.version}
        return own | {key: value for key, value in listed.items() if value}

    def shown(self) -> dict[str, Any]:
        """The rubric as one object. Put back as it is, it changes nothing."""
        listing, version = self.listing, self.version
        return {
            "id": listing.id,
            "slug": listing.slug,
            **version.definition,
            "description": version.definition.get("description", ""),
            "version": version.version,
            "revision": version.revision,
            "category": listing.category,
            "tags": listing.tags,
            "is_public": listing.is_public,
            "created_by": listing.created_by,
            "created_at": listing.created_at,
            "updated_at": listing.updated_at,
            "hash": version.hash,
            "forked_from": None if self.origin is None else origin_shown(self.origin),
            "examples": version.examples,
        }


@dataclass(frozen=True, slots=True)
class SeenRevision:
    """What an editor had read before changing it: tags (any of them will do) or a revision. Neither: whatever it is."""

    tags: frozenset[str] | None = None
    revision: int | None = None

    def check(self, entry: RubricEntry) -> None:
        """Refuse a change of something else than what was read."""
        if self.tags is not None:
            fresh = entry.tag in self.tags
        else:
            fresh = self.revision is None or self.revision == entry.listing.revision
        if not fresh:
            raise StaleError(
                f"{entry.listing.slug} was changed since you read it: it is at revision {entry.listing.revision} "
                f"({entry.listing.version}) now (read it again and apply your change to that)"
            )


ANYTHING = SeenRevision()


def origin_shown(origin: ForkOrigin) -> Mapping[str, Any]:
    """What something was copied from, as replies and bundles have it: there, a rubric's id is its `evaluation_id`."""
    return {"evaluation_id": origin.rubric_id, "name": origin.name, "version": origin.version}
