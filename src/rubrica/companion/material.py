"""The conversations of a trial as the material of a run: held first, each reply once, and judged as its cases."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Event

from rubrica.engine.cases import BadLine, Case
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.judges.judge import ModelJudge
from rubrica.llm.connect import connect
from rubrica.llm.estimate import CostEstimate
from rubrica.llm.model import Model
from rubrica.llm.settings import load_settings
from rubrica.model.evaluation import Evaluation, total_cost
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of
from rubrica.runs.batch import BadCase
from rubrica.runs.concurrency import run_concurrently
from rubrica.runs.events import EventCallback, RunAdvanced, RunNote
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.case_source import CaseSource
from rubrica.runs.files.evaluation_head import head_of
from rubrica.runs.files.folder import ERRORS, EVALUATIONS
from rubrica.runs.loop import draw_results
from rubrica.runs.material import RunMaterial
from rubrica.runs.rubrics import JudgeOf
from rubrica.runs.run_writer import AskOutcome, encoded, stop_when_unanswered
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.page_tables import write_tables

from .candidate import Candidate, SpokenTurn, converse
from .journal import JOURNAL, Journal
from .judgement import JudgedReply, OverallJudge, with_assertions, with_overall
from .page import trial_html, trial_tables
from .rehearsal import RehearsingModel
from .scenarios import Scenario
from .trial import Trial

TRIAL_PAGE = "trial.html"
Talk = list[SpokenTurn]


@dataclass(frozen=True, slots=True)
class TrialTerms:
    """What a trial is made of: a system prompt, the model that speaks under it, and what it is put through."""

    name: str  # of the system prompt
    system: str
    model: str
    scenarios: Sequence[Scenario]
    rubric: Rubric
    overall: bool = False  # the judge gives one score of the whole
    temperature: float = 0.0
    repeat: int = 1

    @property
    def judged_by(self) -> Rubric:
        """The rubric of the evaluations that count."""
        asserted = with_assertions(self.rubric)
        return with_overall(asserted) if self.overall else asserted


@dataclass
class Conversations(RunMaterial):
    """Conversations with one candidate. `trial` is what they came to, once the run is finished."""

    terms: TrialTerms
    has_judge: bool = False
    jobs: int = 8
    max_failures: int = 5
    resume: bool = True
    trial: Trial | None = None
    spoken: list[SpokenTurn] = field(default_factory=list)
    _judged_before: set[str] = field(default_factory=set)

    derived = (TRIAL_PAGE,)

    def judged_by(self, judge_of: JudgeOf) -> JudgeOf:
        """Judges see the rubric as its author wrote it, without what assertions add to it."""
        terms = self.terms

        def judge(rubric: Rubric, turn: int = 0) -> Judge:  # noqa: ARG001 - the author's, not the one of this run
            found = judge_of(terms.rubric, turn)
            if not terms.overall:
                return found
            if not isinstance(found, ModelJudge):
                raise RubricaError("--overall asks one judge, once (name one, and a rubric without repeats)")
            return OverallJudge(compile_rubric(terms.judged_by), found)

        return judge

    def count(self) -> int | None:
        return self.terms.repeat * sum(len(scenario.turns) for scenario in self.terms.scenarios)

    @contextmanager
    def opened(self) -> Iterator[CaseSource]:
        yield _Replies(self.spoken)

    def prepare(self, folder: Path, on_event: EventCallback, stop: Event | None) -> bool:
        """Hold every conversation. Replies that are known are not asked for again."""
        self._judged_before = {head_of(line).case or "" for line in _readable(folder / EVALUATIONS)}
        journal = Journal.in_folder(folder) if self.resume else Journal(folder / JOURNAL)
        try:
            if journal.unreadable:
                said = count_of(journal.unreadable, "line")
                on_event(RunNote(f"{said} of {JOURNAL} cannot be read; what they held is asked for again"))
            with asyncio.Runner() as runner:
                model = connect(self.terms.model, load_settings())
                try:
                    return self._hold(model, runner, journal, on_event, stop)
                finally:
                    runner.run(model.close())
        finally:
            journal.close()

    def estimate_replies(self, folder: Path) -> CostEstimate:
        """What holding the conversations would ask for: nobody is asked, nothing is written."""
        model = RehearsingModel(self.terms.model)
        journal = Journal(folder / JOURNAL, read_only=True) if self.resume else Journal()

        async def hold() -> list[SpokenTurn]:
            return [turn for work in self._work() for turn in await converse(self._candidate(model), *work, journal)]

        self.spoken = asyncio.run(hold())
        return model.estimate

    def _hold(
        self, model: Model, runner: asyncio.Runner, journal: Journal, on_event: EventCallback, stop: Event | None
    ) -> bool:
        candidate, started, talks = self._candidate(model), time.monotonic(), dict[tuple[str, int], Talk]()
        work = self._work()

        async def hold(one: tuple[Scenario, int]) -> Talk:
            return await converse(candidate, *one, journal)

        def held() -> Generator[Talk, None, None]:
            with closing(run_concurrently(runner, work, hold, self.jobs)) as found:
                for talk, _ in stop_when_unanswered(found, _answered, self.max_failures):
                    talks[talk[0].scenario.id, talk[0].repeat] = talk
                    yield talk

        def progress() -> RunAdvanced:
            costs = [turn.cost for talk in talks.values() for turn in talk if turn.cost is not None]
            cost = total_cost(costs) if costs else None
            return RunAdvanced(len(talks), len(talks), time.monotonic() - started, len(work), cost=cost)

        done = draw_results(held(), progress, on_event, stop)
        self.spoken = [turn for scenario, repeat in work for turn in talks.get((scenario.id, repeat), ())]
        return done

    def _work(self) -> list[tuple[Scenario, int]]:
        return [(scenario, repeat) for repeat in range(self.terms.repeat) for scenario in self.terms.scenarios]

    def _candidate(self, model: Model) -> Candidate:
        return Candidate(model, self.terms.system, self.terms.temperature)

    def conclude(self, folder: Path, _now: datetime) -> Sequence[str]:
        """Decide about the prompt, and write the page of the trial."""
        kept = {found.case: found for found in StoredRun.open(folder).evaluations()}
        terms, rules = self.terms, compile_rubric(with_assertions(self.terms.rubric))
        found = [self._judged(turn, kept.get(turn.case), rules) for turn in self.spoken]
        self.trial = Trial.of(terms.name, terms.model, found, terms.judged_by)
        write_tables(folder, trial_tables(self.trial))
        with write_atomically(folder / TRIAL_PAGE) as place:
            place.write_text(trial_html(self.trial), encoding="utf-8")
        return ()

    def _judged(self, spoken: SpokenTurn, kept: Evaluation | None, rules: Plan) -> JudgedReply | SpokenTurn:
        if spoken.context is None:
            return spoken
        if kept is None or kept.context is None or encoded(kept.context) != encoded(spoken.context):
            return replace(spoken, context=None, failure=f"it could not be judged ({ERRORS} says why)")
        if not self.has_judge:
            return JudgedReply(spoken, kept)
        is_new = spoken.case not in self._judged_before  # whoever listens hears of each reply once
        return JudgedReply(spoken, evaluate(rules, spoken.context, spoken.case, notify=is_new), kept)


@dataclass
class _Replies:
    """Replies as cases; one that could not be had is a case that cannot be judged."""

    spoken: Sequence[SpokenTurn]
    size: int | None = None
    read: int = 0
    notes: tuple[str, ...] = ()

    def cases(self) -> Iterator[Case | BadLine]:
        for number, turn in enumerate(self.spoken, 1):
            if turn.context is None:
                yield BadCase(number, turn.failure, turn.case)
            else:
                yield Case(turn.case, number, turn.context)


def _answered(talk: Talk) -> AskOutcome:
    """Whether the candidate answered anything in a conversation."""
    missing = [turn for turn in talk if not turn.reached]
    return AskOutcome(len(missing) < len(talk), bool(missing), missing[0].failure if missing else "")


def _readable(path: Path) -> Iterator[bytes]:
    for line in finished_lines(path):
        try:
            head_of(line)
        except RubricaError:
            continue
        yield line
