"""What may be used: dollars by day and month, requests and tokens by minute; and what models cost by your own list."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from rubrica.model.bounds import PositiveNumber

Rate = Annotated[int, Field(ge=1, le=1_000_000_000)]
UsdPerMillion = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
TeamName = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]*$")]


class DollarLimits(BaseModel):
    """What may be spent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usd_per_day: PositiveNumber | None = Field(
        None, description="most US dollars a day (UTC); later requests are refused", examples=[5]
    )
    usd_per_month: PositiveNumber | None = Field(
        None, description="most US dollars a calendar month (UTC)", examples=[100]
    )

    @property
    def limits_spending(self) -> bool:
        return self.usd_per_day is not None or self.usd_per_month is not None


class UsageLimits(DollarLimits):
    """What somebody may use: a key, or a team, which is all its keys together."""

    requests_per_minute: Rate | None = Field(
        None, description="most requests in a minute of the clock; later ones get 429", examples=[60]
    )
    tokens_per_minute: Rate | None = Field(
        None, description="most tokens of prompts and answers in a minute of the clock", examples=[100_000]
    )

    @property
    def limits_rates(self) -> bool:
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


class ModelPrice(BaseModel):
    """What a model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: UsdPerMillion = Field(description="read")
    output: UsdPerMillion = Field(description="written")
    cached_input: UsdPerMillion | None = Field(None, description="read from the provider's cache; left out: as input")
    cache_write: UsdPerMillion | None = Field(None, description="written to that cache; left out: as input")
