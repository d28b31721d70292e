"""Which of several responses is better, for whoever may have judges asked: by page or by request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubrica.errors import InputError, RubricaError
from rubrica.llm.public import by_public_name
from rubrica.model.evaluation import Unscored
from rubrica.model.rubric import Rubric
from rubrica.runs.compared_responses import named
from rubrica.store.database import Database

from . import catalogue
from .access import Caller, check_action
from .draft import rubric_of
from .spending import SpendingLimits

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury
    from rubrica.judges.preference import Preference


class NoJudgeError(RubricaError):
    """The server has no model that could be asked."""

    def __init__(self) -> None:
        super().__init__("this server has no model to compare responses (start it with `rubrica serve --judge MODEL`)")


@dataclass(frozen=True, slots=True)
class PreferenceRequest:
    """Some responses to the same prompt."""

    prompt: str
    responses: Sequence[str] | Mapping[str, str]  # in a list, or by name
    rubric: str | None = None  # a reference: the rubric whose qualities count; None: in general
    graded: bool = False  # a grade from 1 to 7 in place of a choice between two


@dataclass(frozen=True, slots=True)
class PreferenceService:
    """Has a server's judges compare responses. Nothing is stored."""

    database: Database
    spending: SpendingLimits
    jury: Jury | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """The models that are asked, by their public names."""
        return () if self.jury is None else tuple(by_public_name(self.jury.names))

    async def compare(self, caller: Caller, request: PreferenceRequest) -> Preference | Unscored:
        """How the responses stand, by every judge and in both orders; the caller pays."""
        check_action(caller, "asking a judge")
        try:
            responses = named(request.responses)
        except ValueError as error:
            raise InputError(f"responses: {error}") from None
        if request.graded and len(responses) != 2:
            raise InputError("graded: a grade from 1 to 7 compares two responses; leave it out for more")
        rubric = await self._rubric(caller, request.rubric)
        if self.jury is None:
            raise NoJudgeError
        quote = await self.jury.quote_rank(request.prompt, responses, rubric, graded=request.graded)
        async with self.spending.paying(caller, quote):
            return await self.jury.rank(request.prompt, responses, rubric, graded=request.graded)

    async def _rubric(self, caller: Caller, reference: str | None) -> Rubric | None:
        if reference is None:
            return None
        entry = await self.database.read(catalogue.entry, caller, reference)
        return rubric_of(entry.version.definition)
