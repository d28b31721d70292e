"""How far a bulk run is."""

from __future__ import annotations

import msgspec


class BulkProgress(msgspec.Struct, frozen=True):
    """How far a bulk run is. Pieces that an earlier process judged are counted too."""

    rows: int
    errors: int
    pieces: int
    all_pieces: int
