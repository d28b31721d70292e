"""What a server is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rubrica.workspace.spending import SpendingPolicy

MAX_BODY = 2_000_000
"""Bytes of a request body."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Chosen on the command line, and the same for as long as the server runs."""

    database: str = "rubrica.db"  # a SQLAlchemy URL, or the path of a SQLite file
    judges: tuple[str, ...] = ()  # models by name; none: judged dimensions use their offline scorer
    max_body: int = MAX_BODY  # bytes
    preload: bool = True  # the bundled rubrics
    spending: SpendingPolicy = field(default_factory=SpendingPolicy)
    runs: Path = Path("runs")  # a folder of run folders: those that are started here, and those that were put there
    more_runs: tuple[str, ...] = ()  # other places whose runs are shown: folders, and addresses in object stores
    council: tuple[str, ...] = ()  # models by name that a council may be asked with; none: there is no council
    private_webhooks: bool = False  # whether webhooks may lead into this machine's own network
    run_jobs: int = 2  # runs that this server works off itself at once
    queued_runs: bool = False  # whether runs wait in the database for a worker, of this server or elsewhere
