"""A run in an object store as its small files tell it: what it is made by, how far it is, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rubrica.errors import RubricaError
from rubrica.jsontext import UNREADABLE
from rubrica.runs.files.folder import ERRORS, EVALUATIONS, SUMMARY
from rubrica.runs.files.manifest import MANIFEST, Manifest, manifest_of
from rubrica.runs.objects.address import ObjectAddress
from rubrica.runs.objects.object_store import ObjectStore

from .claim import CLAIMS, USUAL_PACE
from .index import SEGMENTS, FileSegments, MirrorIndex

MOST_BYTES = 50_000_000
"""Of a manifest, and of a summary; whoever writes to a store may put anything there."""


@dataclass(frozen=True, slots=True)
class RunHead:
    """What is known of a run without its evaluations, as it was committed last."""

    version: str  # of the index
    manifest: Manifest
    summary: Mapping[str, Any] | None = None  # None: it came to none yet
    evaluations: int = 0  # lines that are stored
    broken: int = 0  # lines that are no case, or cases that could not be judged
    under_way: bool = False  # a driver has it


def read_head(store: ObjectStore, address: ObjectAddress, known: RunHead | None = None) -> RunHead | None:
    """The head of a run; None where no run is. What `known` says is not fetched again where it is the same commit."""
    index = MirrorIndex.read(store, address)
    if index is None:
        return None
    head = known if known is not None and known.version == index.version else _head(store, address, index)
    under_way = head.manifest.finished is None and _is_claimed(store, address)
    return head if head.under_way == under_way else replace(head, under_way=under_way)


def _head(store: ObjectStore, address: ObjectAddress, index: MirrorIndex) -> RunHead:
    data = _content(store, address, index.files.get(MANIFEST, ()))
    manifest = manifest_of(data, f"{address}/{MANIFEST}")
    try:
        summary = msgspec.json.decode(_content(store, address, index.files.get(SUMMARY, ())))
    except UNREADABLE:
        summary = None
    lines = [sum(own.lines for own in index.files.get(name, ())) for name in (EVALUATIONS, ERRORS)]
    return RunHead(index.version, manifest, summary if isinstance(summary, dict) else None, lines[0], lines[1])


def _content(store: ObjectStore, address: ObjectAddress, segments: FileSegments) -> bytes:
    """A small file."""
    if sum(segment.size for segment in segments) > MOST_BYTES:
        raise RubricaError(f"{address} has a file of more than {MOST_BYTES:,} bytes where a small one is expected")
    parts = [store.read(address.under(f"{SEGMENTS}/{segment.name}")) for segment in segments]
    return b"".join(part or b"" for part in parts)


def _is_claimed(store: ObjectStore, address: ObjectAddress) -> bool:
    """Whether a driver says that it is at work. The clocks here and there may differ by as long as a claim lives."""
    if address.is_web:
        return False  # which lists nothing
    oldest = datetime.now(UTC) - timedelta(seconds=2 * USUAL_PACE.expiry)
    return any(claim.changed > oldest for claim in store.listed(address.under(CLAIMS)))
