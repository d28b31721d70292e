"""Where LLM judges plug in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec

from .context import Context
from .dimensions import Axis
from .evaluation import Cost, Remarks, Score, Unscored


class Judgement(dict[str, Score | Unscored]):
    """A judge's answers by axis, and its remarks."""

    def __init__(self, answers: Mapping[str, Score | Unscored], remarks: Remarks | None = None) -> None:
        super().__init__(answers)
        self.remarks = remarks


class Judge(Protocol):
    """Scores some axes of one context, each with a Score or Unscored; a Judgement adds remarks."""

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]: ...


class QuestionClass(msgspec.Struct, frozen=True):
    """The type of a question, and how it was found."""

    type: str
    confidence: float  # the classifier's own, 0 to 1; 0 for a fallback
    source: Literal["offline", "model", "fallback", "given", "cache"]
    reason: str = ""
    cost: Cost | None = None  # None: no model was asked
    duration_ms: float = 0.0


@runtime_checkable
class QuestionJudge(Protocol):
    """A judge that can classify a question whose type was not given."""

    async def question_type(self, context: Context) -> QuestionClass: ...
