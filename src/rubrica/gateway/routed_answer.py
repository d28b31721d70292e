"""An answer on its way through the tiers: where it came from, what was done for it, and why there may be none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from rubrica.errors import RubricaError
from rubrica.llm.model import ModelError
from rubrica.model.judge import QuestionClass
from rubrica.store.gateway import GateZone

from .controls import Tier
from .council import Council, CouncilAnswer
from .grading import Grade
from .hedging import SpareAnswer
from .middle_tiers import TierTry
from .upstream import Completion, HedgedCall, Stream, Upstream

StepName = Tier | Literal["classification", "grading", "decision", "council"]
StepStatus = Literal["complete", "failed", "skipped"]


class RouteStep(msgspec.Struct, frozen=True):
    """One thing the gateway did for a request, or left out, and how long it took."""

    name: StepName
    status: StepStatus
    said: str = ""  # why it failed, was skipped, or came to its decision
    duration_ms: float = 0.0
    ended: float = msgspec.field(default_factory=time.perf_counter)  # by the clock of `RoutedAnswer.started`


@dataclass(slots=True)
class RoutedAnswer:
    """Where an answer came from, and everything that led there."""

    tier: Tier | Literal["council"]
    upstream: Upstream | Council
    completion: Completion | None = None  # a whole answer …
    stream: Stream | None = None  # … or one that has begun
    classified: QuestionClass | None = None
    grade: Grade | None = None
    passed_over: Completion | None = None  # tier-0's answer, where it did not pass
    degraded: str = ""  # why this is not the answer that was wanted
    refused: str = ""  # the gate for which no answer is sent
    withheld: Completion | None = None  # tier-1's answer, where it is not sent
    second_grade: Grade | None = None  # of tier-1's answer, where tier-0's was vetoed
    zone: GateZone | None = None  # what the learned gate did without a grade
    threshold: float | None = None  # that the request chose
    tries: list[TierTry] = field(default_factory=list)  # of the tiers between the first and the last
    steps: list[RouteStep] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    council: CouncilAnswer | None = None  # where that was asked for
    spare: SpareAnswer | None = None  # the last tier's, asked for while tier-0 was slow
    hedged: list[tuple[Tier, HedgedCall]] = field(default_factory=list)  # tiers that were asked as well

    @property
    def overtaken(self) -> bool:
        """Whether the last tier, asked as well, answered while tier-0 had not."""
        return self.spare is not None and self.spare.won


MALFORMED = (None, 400, 413, 415, 422)
"""Statuses by which a model says that the request is at fault, and not the key, the account or the address."""


class AllDownError(RubricaError):
    """No model answered. `rejected` is the trouble of a request that every one refused: the client has to mend it."""

    def __init__(self, troubles: Mapping[str, ModelError]) -> None:
        self.troubles = dict(troubles)
        refused = [error for error in troubles.values() if error.trouble == "rejected" and error.status in MALFORMED]
        self.rejected = refused[-1] if len(refused) == len(troubles) else None
        told = ", ".join(f"{asked} failed ({error.trouble})" for asked, error in troubles.items())
        super().__init__(f"no model could answer: {told}")  # what exactly is in the steps: it names our own machines

    @property
    def retry_after(self) -> float:
        """Seconds after which the first of them may answer again."""
        return min((error.retry_after or 1.0 for error in self.troubles.values()), default=1.0)
