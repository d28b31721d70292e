"""What ``rubrica run`` prints when a run has ended: what it came to, and what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.text import Text

from rubrica.report.figures import count_of
from rubrica.runs.events import RunOutcome
from rubrica.runs.files.folder import ERRORS
from rubrica.runs.summary.tally import RunTally

from .run_messages import done_now, rate
from .screen import note, out, program, safe
from .tally_tables import tally_page as outcome_table

MOST_SHOWN = 5
"""Reasons of failed judges that are told; the evaluations have them all."""


def print_end(folder: Path, outcome: RunOutcome, whole: RunTally, address: str = "") -> None:
    """What the whole run came to, and what to type next; `address` is where in an object store it is."""
    done, said = outcome.counts, done_now(outcome)
    if outcome.bulk:
        if done.renamed:
            note(f"{count_of(done.renamed, 'case')} had the id of another one; the second x is called x#2, …", "yellow")
        if done.broken:
            note(f"{count_of(done.broken, 'record')} could not be judged: {folder}/{ERRORS} says why", "yellow")
        said = f"figures only, explanations on demand; {rate(done.added, done.seconds)}"
    console = out()
    console.print(outcome_table(whole, f"{count_of(whole.judged, 'evaluation')} in {address or folder}; {said}"))
    if done.failed:
        note(f"{count_of(done.failed, 'case')} got no score from a model; --retry-errors asks again", "yellow")
        for reason, count in done.reasons[:MOST_SHOWN]:
            note(f"  {count:,} × {reason}")
    if not whole.judged:
        note("no case was judged: the file is empty, or no case fits", "yellow")
        return
    console.print()
    print_next_steps(folder, address)


def print_next_steps(folder: Path, address: str = "") -> None:
    """Where to look at a run, and what to type next."""
    console, place, named = out(), safe(shlex.quote(str(folder))), safe(shlex.quote(address or str(folder)))
    console.print("Look at")
    console.print(f"  {place}/report.html  in a browser", soft_wrap=True)
    console.print("Type next")
    console.print(Text(f"  {safe(program())} summary {named}", "bold cyan"), soft_wrap=True)
