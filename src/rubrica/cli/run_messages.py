"""What ``rubrica run`` says while a run is under way: how it begins, how far it is, what it has done."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of, dollars
from rubrica.runs.bulk.progress import BulkProgress
from rubrica.runs.concurrency import reduced_garbage_collection
from rubrica.runs.events import (
    IdRepeated,
    LineBroken,
    RunAdvanced,
    RunEvent,
    RunNote,
    RunOpened,
    RunOutcome,
)

from .broken_lines import BrokenLines
from .judge_options import interrupted
from .progress import ProgressScreen
from .screen import note


class RunScreen(ProgressScreen):
    """Shows the events of a run on standard error."""

    def __init__(self, folder: Path | str) -> None:
        super().__init__()
        self._folder = folder
        self._complain = BrokenLines()

    def __call__(self, event: RunEvent) -> None:
        match event:
            case RunOpened():
                _print_opening(event, self._folder)
                if event.opening.manifest.judges:
                    self.enter_context(reduced_garbage_collection())
            case RunAdvanced() | BulkProgress():
                self.show(event)
                if isinstance(event, RunAdvanced) and event.done:
                    from . import tally_tables  # noqa: F401 - for the end, while models are waited for
            case LineBroken(line):
                self._complain(line)
            case IdRepeated(case):
                said = f"the id {case.id!r} occurs again; such cases are called {case.id}#2, …"
                note(f"line {case.line}: {said}", "yellow")
            case RunNote(text):
                note(text)
            case _:
                assert_never(event)


def _print_opening(opened: RunOpened, folder: Path | str) -> None:
    """Whether this is a new run, and why; or what was done before."""
    opening = opened.opening
    if opening.kind == "restarted":
        why = f"changed since: {'; '.join(opening.changes)}" if opening.changes else "as asked"
        note(f"a new run, {why}", "bold")
        note(f"the earlier one is in {opening.earlier}")
    if opening.kind == "resumed" and opening.manifest.kind == "judged":
        note(f"going on with {folder}: {count_of(opened.before, 'evaluation')} done before")
    if opened.unreadable:
        note(f"{count_of(opened.unreadable, 'stored line')} cannot be read; those cases are judged again", "yellow")


def rate(count: int, seconds: float) -> str:
    """
    >>> rate(1, 0.5), rate(9_000, 3.0)
    ('1 judged in 0.5 s', '9,000 judged in 3.0 s (3,000 a second)')
    """
    said = f"{count:,} judged in {seconds:,.1f} s"
    return f"{said} ({count / seconds:,.0f} a second)" if seconds >= 1 else said


def done_now(outcome: RunOutcome) -> str:
    """What this process has done."""
    done = outcome.counts
    facts = [rate(done.added, done.seconds)]
    if done.cost is not None:
        facts.append(dollars(done.cost.usd))
    if done.skipped:
        facts.append(f"{done.skipped:,} done before")
    if done.changed:
        facts.append(f"{count_of(done.changed, 'changed case')} judged anew")
    if done.retried:
        facts.append(f"{done.retried:,} tried again")
    if done.broken:
        facts.append(count_of(done.broken, "broken line"))
    return ", ".join(facts)


def end_if_stopped(outcome: RunOutcome) -> None:
    """End the command where a run was stopped, or no model answered: what is done is kept, and the reason is told."""
    if outcome.ending == "unanswered":
        raise RubricaError(f"{outcome.reason}; {done_now(outcome)}. When they answer again, the same command goes on")
    if outcome.ending == "stopped":
        said = f"{done_now(outcome)}, and kept; the same command goes on with the rest"
        raise interrupted("the same command goes on with the pieces that are missing" if outcome.bulk else said)
