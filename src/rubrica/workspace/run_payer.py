"""On whose account the judges of a queued run are asked: kept with it, for whoever works it off."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from .access import Caller
from .spending import SpendingPolicy


@dataclass(frozen=True, slots=True)
class RunPayer:
    """Who started a run, what the server lets them spend, and the most they want to spend on it."""

    caller: Caller
    policy: SpendingPolicy
    budget: float | None = None  # US dollars

    @property
    def document(self) -> dict[str, Any]:
        """As plain data.

        >>> from .access import LOCAL
        >>> payer = RunPayer(LOCAL, SpendingPolicy(usd_per_day=5.0), 2.0)
        >>> msgspec.convert(payer.document, RunPayer) == payer
        True
        """
        found: dict[str, Any] = msgspec.to_builtins(asdict(self))
        return found

    def left(self, spent: float | None) -> float | None:
        """What is left of the budget, after what was spent before the run came to another worker."""
        return None if self.budget is None else max(self.budget - (spent or 0.0), 0.0)
