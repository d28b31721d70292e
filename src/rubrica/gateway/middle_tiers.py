"""Tiers between the cheapest model and the best: asked in turn, each answer graded, until one passes."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from rubrica.llm.model import ModelError

from .chat import Chat
from .controls import TIERS, Tier
from .grading import Grade, Grader
from .upstream import Completion, Upstream


@dataclass(frozen=True, slots=True)
class TierTry:
    """What came of asking one tier: an answer with its grade, or why there is none."""

    tier: Tier
    upstream: Upstream
    duration_ms: float
    answer: Completion | None = None
    grade: Grade | None = None
    error: ModelError | None = None

    @property
    def status(self) -> Literal["complete", "failed"]:
        return "complete" if self.error is None else "failed"

    @property
    def explanation(self) -> str:
        """What came of it, in words."""
        if self.error is not None or self.grade is None:
            return str(self.error or "its answer cannot be graded")
        return self.grade.failure or f"{self.grade.words}, and it needs {self.grade.threshold:g}"

    @property
    def sendable(self) -> bool:
        """Whether its answer may stand in where nobody gives a better one: no gate vetoes it."""
        return self.answer is not None and self.grade is not None and not self.grade.may_be_vetoed


@dataclass(frozen=True, slots=True)
class TierQuestion:
    """What a tier is asked, and how its answer is graded."""

    chat: Chat
    body: dict[str, Any]  # without streaming
    question_type: str
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class MiddleTiers:
    """The tiers between the first and the last."""

    upstreams: tuple[Upstream, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.upstreams)

    @property
    def last(self) -> Tier:
        """What the tier above all of them is called.

        >>> MiddleTiers().last
        'tier-1'
        """
        return TIERS[len(self.upstreams) + 1]

    def of(self, tier: str) -> Upstream | None:
        """One of them by its name."""
        return next((one for name, one in zip(TIERS[1:], self.upstreams, strict=False) if name == tier), None)

    async def tries(self, asked: TierQuestion, grader: Grader) -> AsyncGenerator[TierTry, None]:
        """Each tier in turn; whoever follows them stops where an answer passes."""
        for tier, upstream in zip(TIERS[1:], self.upstreams, strict=False):
            started = time.perf_counter()
            try:
                answer = await upstream.complete(asked.body)
            except ModelError as error:
                yield TierTry(tier, upstream, _since(started), error=error)
                continue
            spent = _since(started)
            if not answer.text.strip():
                yield TierTry(tier, upstream, spent, answer)  # calls of tools, or nothing: not gradable
                continue
            grade = await grader(asked.chat, answer.text, asked.question_type, asked.threshold)
            yield TierTry(tier, upstream, spent, answer, grade)


TWO_TIERS = MiddleTiers()


def best_try(tries: Iterable[TierTry], below: Grade | None) -> TierTry | None:
    """The answer with the best grade, where that is better than tier-0's."""
    found = [(one.grade.score, one) for one in tries if one.grade is not None and one.sendable]
    score, best = max(found, key=lambda pair: pair[0], default=(0.0, None))
    return best if below is None or score > below.score else None


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
