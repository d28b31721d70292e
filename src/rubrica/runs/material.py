"""What a run judges where it is no file of cases: questions, replies, anything that is read as cases.

A workflow describes its material once, and has all powers of a run: nothing is judged twice, the same request goes on,
failed judges are asked again, costs are counted, and the folder is one that every command about runs can open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import ClassVar

from .events import EventCallback
from .files.case_source import CaseSource
from .rubrics import JudgeOf


class RunMaterial(ABC):
    """Gives the cases of a run. What has to be made before they can be judged, and what is made of them afterwards,
    happens in the run's locked folder.

    A case is judged once for each id and content: its context holds all that the evaluation shall tell, and nothing
    that depends on where in its file a record stands.
    """

    distributable: ClassVar[bool] = False
    """Whether other machines can judge its cases: they need nothing but the case, the rubric and the models."""

    derived: ClassVar[tuple[str, ...]] = ()
    """Files that `conclude` writes, as patterns: they go as soon as the evaluations change."""

    @abstractmethod
    def opened(self) -> AbstractContextManager[CaseSource]:
        """The cases, to be read once. It may be opened several times."""

    def count(self) -> int | None:
        """How many cases there are, told without judging; None where that is not known."""
        return None

    def judged_by(self, judge_of: JudgeOf) -> JudgeOf:
        """How the judge of a rubric is found, where it is not the run's as it stands."""
        return judge_of

    def prepare(self, _folder: Path, _tell: EventCallback, _stop: Event | None) -> bool:
        """Make what is to be judged, such as having a model write it; False where that was stopped.

        It is called whenever the run is gone on with, so what was made before is to be found again in the folder. A
        ModelsDownError ends the run as models that do not judge do.
        """
        return True

    def conclude(self, _folder: Path, _now: datetime) -> Sequence[str]:
        """Write files of its own, from the evaluations of the finished run; with notes on what could not be made."""
        return ()
