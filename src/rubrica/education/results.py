"""Evaluations of questions with their sections, and of a whole response. Scores are 0 to 1.

A score that cannot be known is None, never a stand-in: a question that a check rejected before it was judged has no
score, and a question without a picture has no picture to score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

FROZEN = ConfigDict(frozen=True, extra="ignore")
RUBRIC = "education-question"
VERDICTS = ("accept", "revise", "reject", "inconclusive")
SECTIONS = ("question", "scaffolding", "image")
DIMENSIONS = (
    "correctness",
    "grade_alignment",
    "difficulty_alignment",
    "language_quality",
    "pedagogical_value",
    "explanation_quality",
    "instruction_adherence",
    "format_compliance",
    "di_compliance",
    "query_relevance",
)


class Issue(BaseModel):
    """Something wrong with a question, its class, and the section it belongs to."""

    model_config = FROZEN

    text: str
    category: str
    section: str


class SectionEvaluation(BaseModel):
    """One section of a question. Where it does not apply, score and recommendation are None and `note` says why."""

    model_config = FROZEN

    section_score: float | None
    issues: tuple[str, ...] = ()
    strengths: tuple[str, ...] = ()
    recommendation: str | None = None
    note: str = ""


class QuestionEvaluation(BaseModel):
    """How one question came out."""

    model_config = FROZEN

    question_id: int = Field(description="Its place in the response, counted from 0.")
    overall_score: float | None
    recommendation: str
    reason: str = ""
    question_section: SectionEvaluation
    scaffolding_section: SectionEvaluation
    image_section: SectionEvaluation
    scores: Mapping[str, float | None] = Field(default_factory=dict, description="By dimension.")
    di_scores: Mapping[str, float | None] = Field(default_factory=dict, description="The parts of di_compliance.")
    di_failure: str = Field("", description="The rule of direct instruction that rejected it, in words.")
    issues: tuple[Issue, ...] = ()
    strengths: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    offline: bool = Field(False, description="Scored by rules alone: no judge was asked.")
    rests_on: tuple[str, ...] = Field((), description="What the verdict rests on and what was not known, in sentences.")
    duration: float = Field(0.0, description="Seconds.")

    def section(self, name: str) -> SectionEvaluation:
        found: SectionEvaluation = getattr(self, f"{name}_section")
        return found


class SectionAverage(BaseModel):
    """A section over several questions; None where it applied to none of them."""

    model_config = FROZEN

    average_score: float | None
    count: int = Field(description="Questions that have a score in it.")


class ResponseEvaluation(BaseModel):
    """How the questions of one response came out together."""

    model_config = FROZEN

    request_id: str
    timestamp: str
    overall_score: float | None = Field(description="The mean of the questions that have a score.")
    scores: Mapping[str, float | None] = Field(description="The mean of each dimension.")
    section_scores: Mapping[str, SectionAverage]
    question_evaluations: tuple[QuestionEvaluation, ...]
    compliance_report: Mapping[str, Any]
    recommendations: tuple[str, ...]
    quality_distribution: Mapping[str, int]
    error_taxonomy: Mapping[str, int]
    total_issues: int
    total_strengths: int
    question_count: int
    scored_count: int = Field(description="Questions that have an overall score.")
    failed_count: int = Field(0, description="Questions that the judge left open because it failed.")
    error: str = Field("", description="Why the judge failed; empty where it did not.")

    @property
    def success(self) -> bool:
        """Whether every question was judged."""
        return not self.failed_count

    @property
    def aggregate_scores(self) -> dict[str, float | None]:
        """The mean of each dimension, and `overall` beside them."""
        return {**self.scores, "overall": self.overall_score}

    @property
    def overall(self) -> dict[str, Any]:
        """The figures of the whole, as a question's record holds them."""
        sections = {name: section.model_dump() for name, section in self.section_scores.items()}
        return {"overall_score": self.overall_score, "scores": dict(self.scores), "section_scores": sections}
