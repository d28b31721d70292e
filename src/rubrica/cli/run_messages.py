"""What ``rubrica run`` says: how it begins, what it has done, what the run came to."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.text import Text

from rubrica.report.figures import counted, dollars
from rubrica.runs.files.folder import RunOpening
from rubrica.runs.run import Run
from rubrica.runs.summary.tally import RunTally

from .screen import note, out, program, safe
from .tally_tables import outcome


def tell_opening(opening: RunOpening) -> None:
    """Whether this is a new run, and why."""
    if opening.kind == "restarted":
        why = f"changed since: {'; '.join(opening.changes)}" if opening.changes else "as asked"
        note(f"a new run, {why}", "bold")
        note(f"the earlier one is in {opening.earlier}")


def tell_before(opening: RunOpening, kept: Run) -> None:
    """What was done before."""
    if opening.kind == "resumed":
        note(f"going on with {kept.folder}: {counted(kept.before, 'evaluation')} done before")
    if kept.unreadable:
        note(f"{counted(kept.unreadable, 'stored line')} cannot be read; those cases are judged again", "yellow")


def rate(count: int, seconds: float) -> str:
    """
    >>> rate(1, 0.5), rate(9_000, 3.0)
    ('1 evaluation kept in 0.5 s', '9,000 evaluations kept in 3.0 s (3,000 a second)')
    """
    said = f"{counted(count, 'evaluation')} kept in {seconds:,.1f} s"
    return f"{said} ({count / seconds:,.0f} a second)" if seconds >= 1 else said


def done_now(kept: Run, tally: RunTally) -> str:
    """What this process has done."""
    facts = [rate(kept.added, tally.seconds)]
    if (cost := tally.cost) is not None:
        facts.append(dollars(cost.usd))
    if kept.skipped:
        facts.append(f"{kept.skipped:,} done before")
    if kept.changed:
        facts.append(f"{counted(kept.changed, 'changed case')} judged anew")
    if kept.retried:
        facts.append(f"{kept.retried:,} tried again")
    if tally.broken:
        facts.append(counted(tally.broken, "broken line"))
    return ", ".join(facts)


def tell_end(folder: Path, whole: RunTally, said: str, failed: int = 0) -> None:
    """What the whole run came to, and what to type next."""
    console, place = out(), safe(shlex.quote(str(folder)))
    console.print(outcome(whole, f"{counted(whole.judged, 'evaluation')} in {folder}; {said}"))
    if failed:
        note(f"{counted(failed, 'case')} got no score from a model; --retry-errors asks again", "yellow")
    if not whole.judged:
        note("no case was judged: the file is empty, or no case fits", "yellow")
        return
    console.print("\nLook at")
    console.print(f"  {place}/report.html  in a browser", soft_wrap=True)
    console.print("Type next")
    console.print(Text(f"  {safe(program())} summary {place}", "bold cyan"), soft_wrap=True)
