"""Criteria: what the author of a case asks of its response, each worth points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from .bounds import Number, Prose
from .few_shot import MOST_EXAMPLES, FewShotExample
from .rules import Name

MOST_POINTS = 1e6
MOST_CRITERIA = 5_000
"""Of one case; and as many leaves may the parts of a rubric have."""
LONGEST_CRITERION = 2_000
MET_OR_NOT: dict[str, float | None] = {"met": 1.0, "not_met": 0.0}
"""What a judge answers where nobody says otherwise."""


def _counts(points: float) -> float:
    if points == 0:
        raise ValueError("0 points count for nothing; give points above or below zero, or leave it out")
    return points


Points = Annotated[FiniteFloat, Field(ge=-MOST_POINTS, le=MOST_POINTS), AfterValidator(_counts)]
"""What full marks are worth; below zero, what they cost."""
Tag = Annotated[str, Field(min_length=1, max_length=100)]
Tags = Annotated[tuple[Tag, ...], Field(max_length=20)]


class Criterion(BaseModel):
    """One criterion of a case, written by whoever wrote the case: judges are shown it as the question, nowhere else.

    >>> Criterion.model_validate("Names the capital.").points
    1.0
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    criterion: Annotated[str, Field(min_length=1, max_length=LONGEST_CRITERION)] = Field(description="what is asked")
    points: Points = Field(1.0, description="what it is worth when it is met; below zero, what that costs")
    tags: Tags = Field((), description="what results are told by, such as accuracy")
    answers: Annotated[dict[Name, Number | None], Field(max_length=50)] = Field(
        {}, description="labels with their values; left out: those of the dimension"
    )
    examples: Annotated[tuple[FewShotExample, ...], Field(max_length=MOST_EXAMPLES)] = Field(
        (), description="responses with the answer that each deserves, shown to the judge with the criterion"
    )
    reference: Prose = Field("", description="what a good response says on this criterion, shown to the judge with it")
    id: Name | None = Field(None, description="what it is called in results; left out: c1, c2 and so on")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return {"criterion": data} if isinstance(data, str) else data


def check_criteria(criteria: Sequence[Criterion]) -> None:
    """Refuse criteria that stand there twice, or that nobody can earn points by: a ValueError says so."""
    if not criteria:
        return
    if twice := _twice(map(_folded, criteria)):
        given = next(one.criterion for one in criteria if _folded(one) == twice)
        raise ValueError(f"the criterion {_short(given)!r} is given twice; leave one out")
    if twice := _twice(criterion_names(criteria)):
        raise ValueError(f"two criteria are called {twice!r}; give each its own id")
    if all(one.points < 0 for one in criteria):
        raise ValueError("the points are all negative, so nothing can be earned; give some of them points above zero")


def criterion_names(criteria: Sequence[Criterion]) -> list[str]:
    """What criteria are called: by their ids, else by their places from 1."""
    return [one.id or f"c{number}" for number, one in enumerate(criteria, 1)]


def _folded(criterion: Criterion) -> str:
    """The words of a criterion, whatever their case and the space between them."""
    return " ".join(criterion.criterion.split()).casefold()


def _twice(words: Iterable[str]) -> str | None:
    return next((word for word, count in Counter(words).items() if count > 1), None)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
