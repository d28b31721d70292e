"""How an axis came out, while an evaluation is under way."""

from __future__ import annotations

import msgspec

from rubrica.model.evaluation import Cost, Score, Unscored


class NotApplicable(msgspec.Struct, frozen=True):
    """The dimension has nothing to judge here; its weight is shared out."""

    reason: str


class NotNeeded(msgspec.Struct, frozen=True):
    """Not scored, because it could not change the verdict. Some of its parts may have been: what that cost."""

    reason: str
    cost: Cost | None = None
    duration_ms: float = 0.0


Outcome = Score | Unscored | NotApplicable | NotNeeded
