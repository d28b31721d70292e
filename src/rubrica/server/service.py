"""The Service that every route works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rubrica.games.board_cache import BoardCache
from rubrica.games.live_boards import LiveBoards
from rubrica.store.database import Database
from rubrica.workspace.preferences import PreferenceService
from rubrica.workspace.run_service import RunService
from rubrica.workspace.spending import SpendingLimits
from rubrica.workspace.work_pool import WorkPool

from .council_service import CouncilService
from .plans import ServicePlans
from .settings import ServerSettings

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Service:
    """One running service: its database, plans, judges, clock, council, threads, limits, runs and live boards."""

    database: Database
    plans: ServicePlans
    jury: Jury | None = None
    clock: Callable[[], datetime] = utc_now
    settings: ServerSettings = field(default_factory=ServerSettings)
    council: CouncilService | None = None
    work: WorkPool = field(default_factory=WorkPool)
    spending: SpendingLimits = field(init=False)
    runs: RunService = field(init=False)
    preferences: PreferenceService = field(init=False)
    boards: BoardCache = field(default_factory=BoardCache, init=False)
    live_boards: LiveBoards = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        limits = SpendingLimits(self.database, self.clock, settings.spending, self.jury)
        runs = RunService(settings.runs, settings.judges, self.database, self.clock, limits, self.jury)
        object.__setattr__(self, "spending", limits)
        object.__setattr__(self, "runs", runs)
        object.__setattr__(self, "live_boards", LiveBoards(self.database, self.clock, self.boards))
        object.__setattr__(self, "preferences", PreferenceService(self.database, limits, self.jury))

    @classmethod
    def open(
        cls, settings: ServerSettings, *, clock: Callable[[], datetime] = utc_now, jury: Jury | None = None
    ) -> Service:
        """A service over the database that the settings name. Whoever serves it closes it."""
        council = CouncilService(settings.council) if settings.council else None
        return cls(Database.open(settings.database), ServicePlans(jury), jury, clock, settings, council)

    async def close(self) -> None:
        """Finish what is being written, and let go of the database, the judges and the council."""
        if self.council is not None:
            await self.council.close()
        if self.jury is not None:
            await self.jury.close()
        await self.live_boards.close()
        await self.spending.close()
        await self.database.close()
