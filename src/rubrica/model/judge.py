"""Where LLM judges plug in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .context import Context
from .dimensions import Axis
from .evaluation import Remarks, Score, Unscored


class Judgement(dict[str, Score | Unscored]):
    """A judge's answers by axis, together with what it said beside them."""

    def __init__(self, answers: Mapping[str, Score | Unscored], remarks: Remarks | None = None) -> None:
        super().__init__(answers)
        self.remarks = remarks


class Judge(Protocol):
    """Asked about some axes of one context, it answers each with a Score or Unscored; a Judgement adds remarks."""

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]: ...
