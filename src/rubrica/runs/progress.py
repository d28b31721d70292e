"""How far a run has come, worked out from what it keeps, what it counts and how much of its file has been read."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from rubrica.report.figures import count_of, dollars, duration

from .events import RunAdvanced
from .files.case_source import CaseSource
from .run_writer import RunWriter
from .summary.tally import RunTally

if TYPE_CHECKING:
    from .cluster.session import ClusterSession
    from .jury_session import JurySession


class ProgressMeter(msgspec.Struct, frozen=True):
    """Reads off how far a run is. `expected` is how many evaluations there will be, where that was counted."""

    file: CaseSource
    run: RunWriter
    tally: RunTally
    expected: int | None = None
    judging: JurySession | ClusterSession | None = None
    clock: Callable[[], float] = time.monotonic
    started: float = msgspec.field(default_factory=time.monotonic)

    def read(self) -> RunAdvanced:
        file, tally, done = self.file, self.tally, self.run.done.skipped + self.tally.judged
        total = max(self.expected, done) if self.expected is not None else None
        if total is None and file.size and file.read:
            total = round(done * file.size / file.read)
        nodes = self.judging.nodes if self.judging is not None else None
        seconds = self.clock() - self.started
        return RunAdvanced(done, tally.judged, seconds, total, self.expected is None, tally.cost, nodes)


def progress_text(now: RunAdvanced) -> str:
    """How far a run is, in one line: how many, how fast, what it cost, how long it will take."""
    rate = now.judged / now.seconds if now.seconds > 0 else 0.0
    about = "about " if now.estimated else ""
    facts = [f"{now.done:,} of {about}{now.total:,}" if now.total is not None else f"{now.done:,} done"]
    facts.append(f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second")
    if now.nodes is not None:
        facts.append(count_of(now.nodes, "node"))
    if now.cost is not None:
        facts.append(dollars(now.cost.usd))
    if now.total is not None and rate > 0:
        facts.append(f"{duration(1000 * (now.total - now.done) / rate)} left")
    return " · ".join(facts)
