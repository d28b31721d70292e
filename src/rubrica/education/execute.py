"""Executes a run over questions: the one run, with one budget for whoever writes and whoever judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Any

from rubrica.errors import RubricaError
from rubrica.llm.budget import Budget, spending_from
from rubrica.llm.price import price
from rubrica.llm.provider_table import check_form
from rubrica.llm.settings import load_settings
from rubrica.runs.events import EventCallback, RunOutcome, ignore_event
from rubrica.runs.execute import execute_run
from rubrica.runs.request import RunRequest

from .evaluator import utc_now
from .material import QuestionMaterial
from .written import WrittenMaterial


@dataclass(frozen=True, slots=True)
class CurriculumOutcome:
    """How an execution ended. However it did, what was finished is kept, and executing the same request goes on."""

    run: RunOutcome
    summary: Mapping[str, Any] | None = None  # of all grades, where the run is finished
    writing_usd: float | None = None  # what writing has cost this time

    @property
    def failed(self) -> int:
        """Skills and records that came to nothing, and questions that a judge left open, in the whole run."""
        if self.summary is None:
            return 0
        overall = self.summary["overall"]
        return int(overall["failed_skills"]) + int(overall["failed_questions"])


def execute_curriculum(
    request: RunRequest,
    on_event: EventCallback = ignore_event,
    stop: Event | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> CurriculumOutcome:
    """Execute a run whose material are questions, and tell what its grades came to.

    A budget holds for writing and judging together.
    """
    material, limit = request.cases.material, request.judging.budget
    limit = load_settings().budget if limit is None else limit
    if not isinstance(material, QuestionMaterial):
        raise RubricaError("the material of the run are no questions (execute_run takes any)")
    with ExitStack() as stack:
        if limit is not None:
            shared = Budget(limit, price)
            if isinstance(material, WrittenMaterial) and check_form(material.writing.model).billed:
                shared.check(material.writing.model)
            stack.enter_context(spending_from(shared))
        outcome = execute_run(request, on_event, stop, clock)
    written = material.usd if isinstance(material, WrittenMaterial) else None
    return CurriculumOutcome(outcome, material.summary if outcome.ending == "finished" else None, written)
