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
from rubrica.workspace.run_places import RunPlaces
from rubrica.workspace.run_service import RunService
from rubrica.workspace.spending import SpendingLimits
from rubrica.workspace.work_pool import WorkPool

from .council_service import CouncilService
from .council_sessions import CouncilSessions
from .plans import ServicePlans
from .settings import ServerSettings
from .webhook_sender import WebhookSender

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Service:
    """One running service: its database, plans, judges, clock, council, threads, limits, and the work it does."""

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
    sessions: CouncilSessions = field(init=False)
    webhooks: WebhookSender = field(init=False)
    boards: BoardCache = field(default_factory=BoardCache, init=False)
    live_boards: LiveBoards = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        limits = SpendingLimits(self.database, self.clock, settings.spending, self.jury)
        webhooks = WebhookSender(self.database, self.clock, private=settings.private_webhooks)
        runs = RunService(
            RunPlaces(settings.runs, settings.more_runs),
            settings.judges,
            self.database,
            self.clock,
            limits,
            self.jury,
            on_end=webhooks.wake,
            at_once=settings.run_jobs,
            queued=settings.queued_runs,
        )
        sessions = CouncilSessions(self.database, self.clock, limits, self.council, webhooks.wake)
        object.__setattr__(self, "spending", limits)
        object.__setattr__(self, "runs", runs)
        object.__setattr__(self, "live_boards", LiveBoards(self.database, self.clock, self.boards))
        object.__setattr__(self, "preferences", PreferenceService(self.database, limits, self.jury))
        object.__setattr__(self, "sessions", sessions)
        object.__setattr__(self, "webhooks", webhooks)

    @classmethod
    def open(
        cls, settings: ServerSettings, *, clock: Callable[[], datetime] = utc_now, jury: Jury | None = None
    ) -> Service:
        """A service over the database that the settings name. Whoever serves it closes it."""
        council = CouncilService(settings.council) if settings.council else None
        return cls(Database.open(settings.database), ServicePlans(jury), jury, clock, settings, council)

    async def close(self) -> None:
        """Finish what is being written, and let go of the database, the judges and the council."""
        await self.sessions.close()
        await self.runs.close()
        if self.council is not None:
            await self.council.close()
        if self.jury is not None:
            await self.jury.close()
        await self.live_boards.close()
        await self.spending.close()
        await self.database.close()
