"""How an axis came out, while an evaluation is under way."""

from __future__ import annotations

from dataclasses import dataclass

from rubrica.model.evaluation import Cost, Score, Unscored


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The dimension has nothing to judge here; its weight is shared out."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotNeeded:
    """Not scored, because it could not change the verdict. Some of its parts may have been: what that cost."""

    reason: str
    cost: Cost | None = None
    duration_ms: float = 0.0


Outcome = Score | Unscored | NotApplicable | NotNeeded
