"""What is asked for in the address of a leaderboard."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from rubrica.games.attachments import LONGEST_DIMENSION
from rubrica.games.board_pages import BoardQuery
from rubrica.games.games import LONGEST_NAME
from rubrica.games.leaderboard import Way
from rubrica.games.teams import LONGEST_TEAM
from rubrica.store.standings import TimeRange

PAGE, MOST = 100, 1_000
MOST_SKIPPED = 10_000_000


class BoardParameters(BaseModel):
    """Which page of a leaderboard, in which form."""

    model_config = ConfigDict(extra="forbid")

    by: Way = Field(
        "normalized",
        description="normalized: compared as each rubric's normalization says, by weight. composite: shares of full "
        "marks by weight. korgym: against the other players, whatever the rubrics say.",
    )
    dimension: str | None = Field(
        None, max_length=LONGEST_DIMENSION, description="Rank by this dimension; left out: overall."
    )
    season: str | None = Field(None, max_length=LONGEST_TEAM, description="Of this season, by its id or name.")
    since: AwareDatetime | None = Field(None, description="Rounds played from then on.")
    until: AwareDatetime | None = Field(None, description="Rounds played before then.")
    team: str | None = Field(None, max_length=LONGEST_TEAM, description="Its players only, by its id or name.")
    player: str | None = Field(None, max_length=LONGEST_NAME, description="Players with this in their name.")
    offset: int = Field(0, ge=0, le=MOST_SKIPPED, description="Players that are skipped.")
    limit: int = Field(PAGE, ge=1, le=MOST, description="Players that are listed.")
    format: Literal["json", "csv"] = Field("json", description="csv: a table for spreadsheets.")

    def query(self) -> BoardQuery:
        span = TimeRange(self.since, self.until)
        return BoardQuery(self.by, self.dimension, self.season, span, self.team, self.player, self.offset, self.limit)
