"""How far a bulk run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """How far a bulk run is. Pieces that an earlier process judged are counted too."""

    rows: int
    errors: int
    pieces: int
    all_pieces: int
