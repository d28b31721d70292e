"""How far an offline score can be trusted: what was measured of it, by kind of text."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from .bounds import FormulaText, Label, Number, Prose
from .rules import FROZEN

Spread = Annotated[Number, Field(ge=0)]


class Reliability(BaseModel):
    """A kind of text, and where people's scores of such texts lie for 90 % of them.

    ``below`` and ``above`` are counted from the offline value, ``low`` and ``high`` are places on the scale; where both
    are given the narrower counts, and where none is, the end of the scale. Bounds never leave the offline value out.
    """

    model_config = FROZEN

    kind: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="what such texts are, in a few words")
    when: FormulaText | None = Field(
        None,
        description="which texts are of this kind; besides what rules read, `offline_value` is the score that they "
        "gave. Left out: every text that is of none of the kinds before",
    )
    below: Spread | None = Field(None, description="how far people's scores lie below the offline value")
    above: Spread | None = Field(None, description="how far they lie above it")
    low: Number | None = Field(None, description="the least that people give such a text")
    high: Number | None = Field(None, description="the most that they give it")
    texts: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = Field(
        None, description="how many texts were measured; left out: none had to be, it is so by definition"
    )
    data: Label = Field("", description="where those texts come from")
    right: dict[Label, Annotated[float, Field(ge=0, le=1)]] = Field(
        {}, max_length=100, description="by verdict, how often people agreed where the offline value alone decided"
    )
    because: Prose = Field("", description="why, where it is so by definition")

    def bounds(self, value: float, scale: tuple[float, float]) -> tuple[float, float]:
        """Between which scores a text of this kind lies that has this offline value.

        >>> Reliability(kind="small talk", below=0.3, high=0.9).bounds(0.7, (0, 1))
        (0.4, 0.9)
        >>> Reliability(kind="a sum is wrong", high=4).bounds(6, (1, 10))
        (1, 6)
        """
        least, most = scale
        low = max(least, *(end for end in (self.low, _off(value, self.below, -1)) if end is not None), least)
        high = min(most, *(end for end in (self.high, _off(value, self.above, 1)) if end is not None), most)
        return min(low, value), max(high, value)

    @model_validator(mode="after")
    def _ends_in_order(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low is {self.low:g}, above high, which is {self.high:g}")
        return self


def _off(value: float, spread: float | None, sign: int) -> float | None:
    return None if spread is None else round(value + sign * spread, 9)
