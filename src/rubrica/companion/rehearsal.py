"""What holding conversations would cost: a candidate that says nothing of its own, and counts what it is asked."""

from __future__ import annotations

from rubrica.llm.estimate import CostEstimate, UsageEstimator
from rubrica.llm.model import Reply, Request, Usage

PLACEHOLDER = " ".join(["word"] * 40)
"""Stands for a reply, in what comes after it: as long as a spoken turn should be at most."""


class RehearsingModel:
    """Answers with a placeholder, so that the turns after it and the judge can be counted as well."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.estimate = CostEstimate(name)
        self._estimator = UsageEstimator(name)

    async def __call__(self, request: Request) -> Reply:
        self.estimate.add(self._estimator.of(request))
        return Reply(PLACEHOLDER, self.name, Usage())

    async def close(self) -> None:
        """Nothing is open."""
