"""Few-shot examples of a dimension: responses that were judged before, with what they got and why."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from .bounds import LONGEST_PROSE, Number, Prose
from .rules import FROZEN, Name

MOST_EXAMPLES = 20


class FewShotExample(BaseModel):
    """A response with the answer or the score that it deserves, shown to a judge before it judges others."""

    model_config = FROZEN

    prompt: Prose = Field("", title="Question", description="what the response answers")
    response: Annotated[str, Field(min_length=1, max_length=LONGEST_PROSE)] = Field(description="the response")
    answer: Name | None = Field(None, description="the right answer, where the dimension has `answers`")
    score: Number | None = Field(None, description="the right score on the scale, where it has none")
    because: Prose = Field("", description="why, in a sentence")

    @field_validator("answer", mode="before")
    @classmethod
    def _words_of_yaml(cls, given: Any) -> Any:
        """YAML takes a bare yes or no for a truth value."""
        return ("yes" if given else "no") if isinstance(given, bool) else given

    @model_validator(mode="after")
    def _one_outcome(self) -> Self:
        if (self.answer is None) == (self.score is None):
            raise ValueError("an example has an answer or a score, one of the two")
        return self
