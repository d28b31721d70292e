"""The short form: a one-dimension rubric written as scoring type, rules and maximum."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from .bounds import Label, Number, PositiveNumber, Prose, choice_words
from .judge_options import Normalisation
from .rules import HOLDS_RULES, Rule


class ShortForm(BaseModel):
    """``{name, scoring_type, rules, max_score, normalization_config}``: expands to a rubric with one dimension.

    Columns that a database row carries along (id, created_by, …) are accepted and left out.
    """

    model_config = HOLDS_RULES

    name: Annotated[str, Field(min_length=1, max_length=255)]
    description: Prose = Field("", title="What good means here, in a sentence or two")
    version: Label = "1.0"
    scoring_type: Literal["binary", "proportional", "cumulative"] = Field(
        title="Scoring",
        description="won or lost, a share of what is possible, or points that add up",
        json_schema_extra=choice_words("won or lost", "a share of what is possible", "points add up"),
    )
    rules: Annotated[tuple[Rule, ...], Field(min_length=1, max_length=1_000)]
    max_score: PositiveNumber | None = Field(
        None, title="Most points", description="the most points possible; left out, worked out from the rules"
    )
    win_at: Number | None = Field(None, title="Points that win", description="`binary`: points that win")
    normalization_config: Normalisation | None = None
    category: Label = ""
    tags: Annotated[tuple[Label, ...], Field(max_length=100)] = ()
    id: Any = None
    created_by: Any = None
    created_at: Any = None
    updated_at: Any = None
    is_public: Any = None
