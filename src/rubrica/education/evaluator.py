"""Judges a response: every question by the rubric, with one judge call each, and all of them together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.model.evaluation import Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.runs.files.manifest import commit_of
from rubrica.text.language import ENGLISH, language_of

from . import report as reports
from .baseline import BASELINE, BaselineFile, entry_of
from .compliance import (
    compliance_report,
    dimension_means,
    mean,
    quality_distribution,
    recommendations,
    section_scores,
)
from .inputs import GivenRequest, GivenResponse, request_of, response_of
from .questions import GeneratedQuestion, GenerateQuestionResponse, GenerateQuestionsRequest, context_of
from .results import RUBRIC, QuestionEvaluation, ResponseEvaluation
from .sections import failure_of, question_evaluation
from .taxonomy import count_errors

WORKERS = 6
T = TypeVar("T")


def utc_now() -> datetime:
    return datetime.now(UTC)


class ResponseEvaluator:
    """Judges responses by one rubric.

    `judge` is a model's name, a Judge, or None: then judged dimensions use their offline scorer, and the result says
    so. Replies of a model named here are not kept: every evaluation is a fresh one. `parallel_workers` questions are
    under way at once.
    """

    def __init__(
        self,
        parallel_workers: int = WORKERS,
        judge: str | Judge | None = None,
        rubric: str | Path | Rubric = RUBRIC,
        *,
        image_files: bool = True,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        if parallel_workers < 1:
            raise RubricaError(f"parallel_workers is {parallel_workers}; at least one question must be under way")
        self.parallel_workers = parallel_workers
        self.rubric = load(rubric)
        self._judge = judge
        self._files = image_files  # whether a question may name pictures by their path
        self._clock = clock
        self._plan = compile_rubric(self.rubric, None if isinstance(judge, str) else judge)

    def evaluate_response(
        self,
        request: GivenRequest,
        response: GivenResponse,
        update_baseline: bool = False,
        baseline_file: str | Path = BASELINE,
    ) -> ResponseEvaluation:
        """Judge every question of a response, and wait for it.

        Both may be models, plain data or JSON text; what cannot be read raises an InputError that names the field.
        Inside a running event loop, `aevaluate_response` is the one to await: this one would keep the loop waiting.
        """
        return self._wait(self.aevaluate_response(request, response, update_baseline, baseline_file))

    async def aevaluate_response(
        self,
        request: GivenRequest,
        response: GivenResponse,
        update_baseline: bool = False,
        baseline_file: str | Path = BASELINE,
    ) -> ResponseEvaluation:
        """Judge every question of a response. With `update_baseline` the outcome is added to the baseline file."""
        asked, given = request_of(request), response_of(response)
        found = self.conclude(asked, given, await self.aevaluations(asked, given))
        if update_baseline:
            await asyncio.to_thread(self._remember, found, Path(baseline_file))
        return found

    async def aevaluations(
        self, request: GenerateQuestionsRequest, response: GenerateQuestionResponse
    ) -> tuple[Evaluation, ...]:
        """The full record of every question, from which each point can be traced."""
        contexts = [context_of(request, question, files=self._files) for question in response.data]
        free = asyncio.Semaphore(self.parallel_workers)
        async with self._opened() as plan:

            async def judged(place: int) -> Evaluation:
                async with free:
                    return await aevaluate(plan, contexts[place], f"{response.request_id}/{place}")

            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(judged(place)) for place in range(len(contexts))]
            except ExceptionGroup as errors:  # one question that cannot be judged at all; the others were given up
                raise errors.exceptions[0] from None
        return tuple(task.result() for task in tasks)

    def conclude(
        self,
        request: GenerateQuestionsRequest,
        response: GenerateQuestionResponse,
        evaluations: Sequence[Evaluation],
    ) -> ResponseEvaluation:
        """What the evaluations of a response's questions come to together. Pure but for the time."""
        judged = tuple(
            _with_basis(question_evaluation(evaluation, place), request, response.data[place])
            for place, evaluation in enumerate(evaluations)
        )
        failures = [why for evaluation in evaluations if (why := failure_of(evaluation))]
        overall, means = mean(item.overall_score for item in judged), dimension_means(judged)
        compliance = compliance_report(request, response, judged)
        return ResponseEvaluation(
            request_id=response.request_id,
            timestamp=self._clock().isoformat(),
            overall_score=overall,
            scores=means,
            section_scores=section_scores(judged),
            question_evaluations=judged,
            compliance_report=compliance,
            recommendations=recommendations(overall, means, compliance),
            quality_distribution=quality_distribution(item.recommendation for item in judged),
            error_taxonomy=count_errors(issue for item in judged for issue in item.issues),
            total_issues=sum(len(item.issues) for item in judged),
            total_strengths=sum(len(item.strengths) for item in judged),
            question_count=len(judged),
            scored_count=sum(item.overall_score is not None for item in judged),
            failed_count=len(failures),
            error=failures[0] if failures else "",
        )

    def generate_report(self, evaluation: ResponseEvaluation) -> str:
        """The evaluation as text."""
        return reports.generate_report(evaluation)

    def _remember(self, found: ResponseEvaluation, path: Path) -> None:
        BaselineFile(path).add(entry_of(found, commit_of(Path.cwd())))

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Plan]:
        """The plan with its judge; a judge given by name is connected for as long as it is asked."""
        if not isinstance(self._judge, str):
            yield self._plan
            return
        with requires("judges", self._judge):
            from rubrica.judges.jury import Jury  # late: judging by code alone needs no HTTP client and no price list
        async with Jury([self._judge], cached=False) as jury:
            yield compile_rubric(self.rubric, jury.judge(self.rubric))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        if self._judge is not None and not isinstance(self._judge, str):
            work.close()
            raise RubricaError("an event loop is running and the judge may belong to it (await aevaluate_response)")
        with ThreadPoolExecutor(1) as thread:  # a loop of its own, beside the one that is kept waiting
            return thread.submit(asyncio.run, work).result()


def _with_basis(
    found: QuestionEvaluation, request: GenerateQuestionsRequest, question: GeneratedQuestion
) -> QuestionEvaluation:
    """The evaluation with what the request left open, and what was not measured for the question's language."""
    told: list[str] = []
    language = language_of(f"{question.question}\n{question.explanation or ''}")
    if found.offline and language not in ("", ENGLISH):
        told.append(f"it is in {language}: readability is not measured for {language}, so its grade has no score")
    if not request.subject:
        told.append("no subject was named, so it was judged without the notes for one (give `subject`)")
    return found.model_copy(update={"rests_on": (*told, *found.rests_on)}) if told else found


def evaluate_api_response(
    request: GivenRequest,
    response: GivenResponse,
    generate_report: bool = False,
    update_baseline: bool = False,
    baseline_file: str | Path = BASELINE,
    evaluator: ResponseEvaluator | None = None,
) -> tuple[ResponseEvaluation, str | None]:
    """Judge a response; its evaluation, and the report as text where it is wanted.

    Request and response may be models, plain data or JSON text. Give an `evaluator` for a judge, another rubric or
    another number of workers.
    """
    chosen = evaluator or ResponseEvaluator()
    evaluation = chosen.evaluate_response(request, response, update_baseline, baseline_file)
    return evaluation, reports.generate_report(evaluation) if generate_report else None


async def aevaluate_api_response(
    request: GivenRequest,
    response: GivenResponse,
    generate_report: bool = False,
    update_baseline: bool = False,
    baseline_file: str | Path = BASELINE,
    evaluator: ResponseEvaluator | None = None,
) -> tuple[ResponseEvaluation, str | None]:
    """The same inside a running event loop."""
    chosen = evaluator or ResponseEvaluator()
    evaluation = await chosen.aevaluate_response(request, response, update_baseline, baseline_file)
    return evaluation, reports.generate_report(evaluation) if generate_report else None
