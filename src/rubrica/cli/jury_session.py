"""Judging with models on the command line: a jury, an event loop, and several cases at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table

from rubrica.engine.evaluate import aevaluate
from rubrica.engine.plan import Plan
from rubrica.judges.jury import Jury
from rubrica.llm.settings import load_settings
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.report.figures import dollars
from rubrica.runs.batch import CaseWork, Judged, judged
from rubrica.runs.concurrency import rarely_scanned, run_concurrently

from .screen import note, safe


class JurySession:
    """A jury at work: judges by rubric, evaluates one context, or many of them at once."""

    def __init__(self, jury: Jury, runner: asyncio.Runner, jobs: int) -> None:
        self._jury = jury
        self._runner = runner
        self._jobs = jobs

    def judge_of(self, rubric: Rubric, turn: int = 0) -> Judge:
        return self._jury.judge(rubric, turn)

    def evaluate(self, plan: Plan, context: Context) -> Evaluation:
        return self._runner.run(aevaluate(plan, context))

    def evaluator(self, work: Iterable[CaseWork]) -> Iterator[Judged]:
        """Evaluations as they finish, at most `jobs` under way. Stopped early, none is left running."""
        return run_concurrently(self._runner, work, judged, self._jobs)

    def estimate(self) -> Table:
        """What a dry run counted."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("judge", "calls", "tokens in (about)", "out (about)", "price (about)"):
            table.add_column(name, justify="left" if name == "judge" else "right", no_wrap=True)
        for row in self._jury.estimates:
            counts = (f"{row.calls:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}")
            table.add_row(safe(row.model), *counts, dollars(row.usd))
        return table


@contextmanager
def jury_session(
    names: Sequence[str],
    *,
    repeats: int | None,
    warm: bool = False,
    budget: float | None,
    jobs: int,
    cached: bool,
    record: str | None,
    seed: int,
    dry: bool,
) -> Iterator[JurySession]:
    """A jury of the named models, open for as long as it is used."""
    settings = load_settings()
    if budget is not None:
        settings = settings.model_copy(update={"budget": budget})
    if settings.unused:
        note(f"no such setting: {', '.join(settings.unused)} (`rubrica config` lists them)")
    with asyncio.Runner() as runner:
        jury = Jury(
            names,
            settings,
            repeats=repeats,
            warm=warm,
            cached=cached,
            record=Path(record) if record is not None else None,
            seed=seed,
            dry=dry,
        )
        try:
            with rarely_scanned():
                yield JurySession(jury, runner, jobs)
        finally:
            notes = jury.cache.notes if jury.cache is not None else []
            runner.run(jury.close())
            for told in notes:
                note(told)
