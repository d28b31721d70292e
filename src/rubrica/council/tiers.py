"""What the tiers of a council allow: seconds and tokens for each stage, rounds of debate, effort, early consensus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubrica.llm.reasoning import Effort
from rubrica.model.bounds import Label

TierName = Literal["quick", "balanced", "high", "reasoning"]
MOST_ROUNDS = 5
MOST_TOKENS = 1_000_000
TOKENS_A_WORD = 2
"""Twice what English takes, so that whoever keeps to its words is not cut, in other languages either."""


@dataclass(frozen=True, slots=True)
class Tier:
    """What a council may take. Each stage has the same number of seconds."""

    seconds: float
    tokens: int  # of one answer
    final_tokens: int  # of the chair's answer
    review_tokens: int | None = None  # of one review; None: by the number of answers
    debate: int = 0  # rounds in which reviewers see each other's points
    effort: Effort | None = None  # of models that reason
    early: bool = False  # stop when no review can change the winner any more


TIERS: Mapping[TierName, Tier] = {
    "quick": Tier(20.0, 700, 900, early=True),
    "balanced": Tier(60.0, 2_000, 2_500),
    "high": Tier(180.0, 6_000, 8_000),
    "reasoning": Tier(600.0, 6_000, 8_000, debate=1, effort="medium"),
}

Seconds = Annotated[float, Field(gt=0, le=3600)]
TokenLimit = Annotated[int, Field(ge=1, le=MOST_TOKENS)]
Rounds = Annotated[int, Field(ge=0, le=MOST_ROUNDS)]


class TierChange(BaseModel):
    """What a settings file makes different about a tier. What is left out stays as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: Annotated[tuple[Label, ...], Field(max_length=26)] | None = Field(
        None, description="who is a member at this tier"
    )
    deadline: Seconds | None = Field(None, description="seconds a stage")
    max_tokens: TokenLimit | None = Field(None, description="of one answer")
    review_tokens: TokenLimit | None = Field(None, description="of one review")
    final_tokens: TokenLimit | None = Field(None, description="of the final answer")
    debate: Rounds | None = Field(None, description="rounds in which reviewers see each other's points")
    effort: Effort | None = Field(None, description="of models that reason")
    early: bool | None = Field(None, description="stop when no review can change the winner")


def words_for(tokens: int) -> int:
    """The words that a model is told to keep to, where it may write so many tokens.

    >>> words_for(700), words_for(2_000), words_for(5)
    (350, 1000, 2)
    """
    words = tokens // TOKENS_A_WORD
    return words // 10 * 10 if words >= 100 else words
