"""Models that judge, on an event loop of their own, with several cases under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rubrica.engine.evaluate import aevaluate
from rubrica.engine.plan import Plan
from rubrica.judges.jury import Jury
from rubrica.judges.preference import Preference
from rubrica.llm.estimate import CostEstimate
from rubrica.llm.settings import load_settings
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation, Unscored
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric

from .batch import CaseWork, Judged, judge_case
from .compared_responses import ComparedCase, PreferenceTerms
from .concurrency import run_concurrently
from .request import JudgeSettings


class JurySession:
    """A jury at work: judges by rubric, evaluates one context, or many of them at once."""

    nodes: int | None = None  # it asks from this machine

    def __init__(self, jury: Jury, runner: asyncio.Runner, jobs: int) -> None:
        self.jury = jury
        self.runner = runner
        self._jobs = jobs

    def judge_of(self, rubric: Rubric, turn: int = 0) -> Judge:
        return self.jury.judge(rubric, turn)

    def evaluate(self, plan: Plan, context: Context) -> Evaluation:
        return self.runner.run(aevaluate(plan, context))

    def evaluator(self, work: Iterable[CaseWork]) -> Iterator[Judged]:
        """Evaluations as they finish, at most `jobs` under way. Stopped early, none is left running."""
        return run_concurrently(self.runner, work, judge_case, self._jobs)

    def rankings(
        self, pairs: Iterable[ComparedCase], how: PreferenceTerms
    ) -> Iterator[tuple[ComparedCase, Preference | Unscored]]:
        """Preferences as they are found, at most `jobs` comparisons under way."""

        async def one(case: ComparedCase) -> tuple[ComparedCase, Preference | Unscored]:
            ranked = self.jury.rank(case.prompt, case.responses, how.rubric, graded=how.graded, labels=how.labels)
            return case, await ranked

        return run_concurrently(self.runner, pairs, one, self._jobs)

    @property
    def estimates(self) -> Sequence[CostEstimate]:
        """What a dry run counted, by model."""
        return self.jury.estimates


@contextmanager
def jury_session(judging: JudgeSettings, note: Callable[[str], None], *, warm: bool) -> Iterator[JurySession]:
    """A jury of the named models, open for as long as it is used."""
    settings = load_settings()
    if judging.budget is not None:
        settings = settings.model_copy(update={"budget": judging.budget})
    if settings.unused:
        note(f"no such setting: {', '.join(settings.unused)} (`rubrica config` lists them)")
    with asyncio.Runner() as runner:
        jury = Jury(
            judging.names,
            settings,
            repeats=judging.repeats,
            warm=warm,
            cached=judging.cached,
            record=judging.record,
            seed=judging.seed,
            dry=judging.dry,
            public=judging.public,
        )
        try:
            yield JurySession(jury, runner, judging.jobs)
        finally:
            notes = jury.cache.notes if jury.cache is not None else []
            runner.run(jury.close())
            for line in notes:
                note(line)
