"""What ``rubrica curriculum`` says while questions are written and judged, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from rubrica.education.execute import CurriculumEvent, CurriculumOutcome, PieceFinished
from rubrica.education.folder import FinishedWork
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.events import RunAdvanced, RunNote

from .judge_options import interrupted
from .progress import ProgressScreen
from .screen import note


class CurriculumScreen(ProgressScreen):
    """Shows the events of a run over a curriculum on standard error."""

    def __init__(self, noun: str) -> None:
        super().__init__()
        self._noun = noun  # what a piece of work is: a skill, a record

    def __call__(self, event: CurriculumEvent) -> None:
        match event:
            case RunNote(text):
                note(text)
            case RunAdvanced():
                if event.done and not event.judged:
                    said = f"{count_of(event.done, self._noun)} done already"
                    note(f"going on: {said}, {(event.total or 0) - event.done} to go")
                self.show(event)
            case PieceFinished(piece):
                if not piece.succeeded:
                    note(self._complaint(piece), "yellow")
            case _:
                assert_never(event)

    def _complaint(self, piece: FinishedWork) -> str:
        first = piece.records[0]
        skill = f"{self._noun} {first.get('substandard_id')} ({first.get('lesson_title')})"
        where = f"line {first['line']}" if "line" in first else skill
        return f"{where}: {first['error']}"


def summary_of(outcome: CurriculumOutcome) -> Mapping[str, Any]:
    """The figures of a run that is finished; one that was stopped ends the command."""
    if outcome.summary is not None:
        return outcome.summary
    if outcome.ending == "unanswered":
        raise RubricaError(f"{outcome.reason}; what is finished is kept. When they answer, the same command goes on")
    raise interrupted("what is finished is kept, and the same command goes on from there")
