"""Executes trials: conversations are held and judged as a run, in a folder that every command about runs can open.

It prints nothing: whoever calls it hears events, and shows them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from msgspec.structs import replace

from rubrica.errors import RubricaError
from rubrica.llm.budget import Budget, spending_from
from rubrica.llm.connect import check_keys
from rubrica.llm.estimate import CostEstimate
from rubrica.llm.price import price
from rubrica.llm.provider_table import check_form
from rubrica.llm.settings import load_settings
from rubrica.runs.events import EventCallback, RunNote, RunOutcome, ignore_event
from rubrica.runs.execute import estimate_run, execute_run
from rubrica.runs.request import NO_JUDGES, CaseChoice, JudgeSettings, RunRequest

from .material import Conversations, TrialTerms
from .trial import Trial

MOST_FAILURES = 5


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """A trial to execute, or to go on with."""

    terms: TrialTerms
    folder: Path
    judging: JudgeSettings = NO_JUDGES
    resume: bool = True  # False: begin anew, whatever is there
    retry_errors: bool = False  # judge replies again for which the judge failed
    max_failures: int = MOST_FAILURES  # stop after so many conversations or replies in a row without an answer

    def __post_init__(self) -> None:
        if self.terms.overall and not self.judging.names:
            raise RubricaError("--overall asks a judge; name one with --judge")

    def conversations(self) -> Conversations:
        judging = self.judging
        return Conversations(self.terms, bool(judging.names), judging.jobs, self.max_failures, self.resume)

    def run(self, material: Conversations) -> RunRequest:
        """The run that judges the conversations."""
        terms = self.terms
        described = {
            "prompt": f"{terms.name} #{digest(terms.system)}",
            "model": terms.model,
            "companion temperature": terms.temperature,
        }
        return RunRequest(
            CaseChoice(terms.name, material=material),
            self.folder,
            terms.judged_by,
            replace(self.judging, budget=None),  # which is for candidate and judge together
            resume=self.resume,
            retry_errors=self.retry_errors,
            max_failures=self.max_failures,
            bulk=False,
            terms=described,
        )


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """How an execution ended; however it did, what was had is kept, and the same request goes on."""

    run: RunOutcome
    trial: Trial | None = None  # where it is finished


def execute_trial(
    request: TrialRequest, on_event: EventCallback = ignore_event, stop: Event | None = None
) -> TrialOutcome:
    """Hold the conversations that are missing, judge what is not judged, and decide about the prompt."""
    material = request.conversations()
    outcome = execute_run(request.run(material), on_event, stop)
    return TrialOutcome(outcome, material.trial)


def execute_trials(
    requests: Sequence[TrialRequest],
    on_event: EventCallback = ignore_event,
    budget: float | None = None,
    stop: Event | None = None,
) -> list[TrialOutcome]:
    """Several trials, one after the other, until one is not finished. The budget is for all of them."""
    outcomes: list[TrialOutcome] = []
    settings = load_settings()
    names = list(dict.fromkeys(name for one in requests for name in (one.terms.model, *one.judging.names)))
    check_keys(names, settings)
    with ExitStack() as stack:
        limit = budget if budget is not None else settings.budget
        if limit is not None:
            shared = stack.enter_context(spending_from(Budget(limit, price)))
            for name in names:
                if check_form(name).billed:
                    shared.check(name)
        for request in requests:
            if len(requests) > 1:
                on_event(RunNote(f"{request.terms.name} with {request.terms.model}"))
            outcomes.append(execute_trial(request, on_event, stop))
            if outcomes[-1].run.ending != "finished":
                break
    return outcomes


def estimate_trial(request: TrialRequest, on_event: EventCallback = ignore_event) -> list[CostEstimate]:
    """What a trial would still ask of candidate and judge: nobody is asked, nothing is written."""
    material = request.conversations()
    found = [material.estimate_replies(request.folder)]
    if request.judging.names:
        found += estimate_run(request.run(material), on_event).models
    return found


def digest(text: str) -> str:
    """A text in twelve letters.

    >>> digest("Be kind.")
    '5499befb38db'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:12]
