"""What requests and replies about reviews look like, and how they are made of what the workspace tells."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from rubrica.model.calibration import CalibrationFigures
from rubrica.runs.review.queue_items import evaluation_of
from rubrica.store.review_queue import ItemSummary
from rubrica.workspace.calibration import CalibratedRubric, Keeping
from rubrica.workspace.review_agreement import AgreementReport, differences
from rubrica.workspace.reviews import LONGEST_NOTE, ReviewTask, ScoredItem

Bounds = tuple[float, float]


class ReviewItemRow(BaseModel):
    """An item in a line. It tells nothing of what the judge gave."""

    id: UUID
    run: str
    case: str
    rubric: str = Field(description="name@version")
    state: Literal["open", "done"]
    disputed: bool = Field(description="Judges disagree, or are not sure. These come first.")
    opinions: int = Field(description="People who have scored it.")
    mine: bool = Field(description="Whether you are one of them.")
    created_at: datetime


class ReviewItemList(BaseModel):
    """Items, the disputed first."""

    items: list[ReviewItemRow]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


class ReviewProgressRow(BaseModel):
    """How far the review of one run is."""

    run: str
    open: int
    done: int


class ReviewProgressShown(BaseModel):
    """How far the reviews are that you take part in, and what waits for you."""

    runs: list[ReviewProgressRow]
    open: int = Field(description="Items that nobody has scored.")
    disputed: int = Field(description="Of those.")
    mine: int = Field(description="Items that you have scored.")
    second: int = Field(description="Items that others have scored and you have not.")
    all: int


class ReviewQuestionShown(BaseModel):
    """One question of an item."""

    name: str
    title: str
    asks: str
    scale: Bounds
    anchors: list[tuple[str, str]] = Field(description="Scores, and what they look like.")


class QuestionDifference(BaseModel):
    """What was given to one question."""

    title: str
    scale: Bounds
    mine: float | None
    judge: float | None
    others: list[float] = Field(description="What other people gave.")
    reason: str = Field(description="The judge's.")


class ScoredShown(BaseModel):
    """What became of an item that you have scored: not before, so that you score it blind."""

    scores: dict[str, float | None]
    note: str
    verdict: str = Field(description="The judge's.")
    score: float | None = Field(description="The judge's.")
    differences: list[QuestionDifference]


class ReviewItemShown(BaseModel):
    """An item to score, and what came of it once you have."""

    id: UUID
    run: str
    case: str
    rubric: str
    prompt: str
    response: str
    about: dict[str, str]
    questions: list[ReviewQuestionShown]
    scored: ScoredShown | None = Field(description="null until you have scored it.")


class NewReviewScores(BaseModel):
    """What you give an item."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"scores": {"clarity": 7}, "note": "Wanders at the end."}]}
    )

    scores: dict[str, float | None] = Field(
        min_length=1, max_length=1_000, description="By the name of the question; leave out what you cannot tell."
    )
    note: str = Field("", max_length=LONGEST_NOTE)


class QuestionAgreementShown(BaseModel):
    """How far the judge and people agree on one question."""

    rubric: str
    question: str
    count: int = Field(description="Evaluations with scores of both.")
    alpha: float | None = Field(description="Krippendorff's alpha of the judge and the people's mean.")
    difference: float | None = Field(description="Mean of the judge's score minus the people's: above 0 is too kind.")
    exact: float | None = Field(description="Share of people's scores that are the judge's.")
    near: float | None = Field(description="Share of them within one step of it.")
    step: float
    people_alpha: float | None
    people_count: int = Field(description="Evaluations that two people scored.")
    alpha_levelled: float | None = Field(description="Alpha without each person's harshness and spread.")
    people_alpha_levelled: float | None = Field(description="The same of people among each other.")
    raters: dict[str, float] = Field(description="How much kinder each person is than the others; below 0, harsher.")


class OtherVerdict(BaseModel):
    """Where people's scores come to another verdict than the judge's."""

    judge: str
    people: str
    count: int


class LabelsShown(BaseModel):
    """Labels of one rubric that calibration can learn from."""

    rubric: str
    count: int
    lacking: str = Field(description="What there is too little of; empty where there is enough.")


class AgreementShown(BaseModel):
    """The judge held against people, over runs that you may read."""

    items: int
    people: list[str]
    questions: list[QuestionAgreementShown]
    verdicts: int = Field(description="Evaluations whose every question was answered.")
    same_verdict: int = Field(description="Of those, where people come to the judge's verdict.")
    other_verdicts: list[OtherVerdict]
    labels: list[LabelsShown]
    notes: list[str] = Field(description="What was left out, and why.")


class DimensionProposal(BaseModel):
    """One dimension: how far judges and people were apart, and how far they are by the correction."""

    dimension: str
    labels: int
    corrected: bool
    before: dict[str, float | None] | None
    after: dict[str, float | None] | None = Field(description="On labels that it was not learned from.")
    reason: str = Field(description="Why it stays as it is; empty where it is corrected.")


class CalibrationProposal(BaseModel):
    """What the labels teach. Nothing is kept yet."""

    rubric: str
    version: str = Field(description="That it would have.")
    keep: Keeping = Field(
        description="`version`: of your own rubric. `fork`: of somebody else's. `new`: it is not known here. "
        "`changed`: the rubric is another now, so it cannot be kept."
    )
    dimensions: list[DimensionProposal]
    unlabelled: list[str] = Field(description="Dimensions that a judge scores and nobody labelled.")
    document: str | None = Field(description="The corrected rubric (YAML); null where nothing could be corrected.")


class CalibrationWanted(BaseModel):
    """Whose labels are learned from."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"rubric": "answer-quality"}]})

    rubric: str = Field(min_length=1, max_length=200, description="Its name, or name@version.")
    run: str | None = Field(None, max_length=200, description="Only what was scored of this run.")


def summary_shown(own: ItemSummary) -> dict[str, Any]:
    """An item in a line."""
    return {
        "id": own.id,
        "run": own.run,
        "case": own.case_id,
        "rubric": own.rubric,
        "state": own.state,
        "disputed": own.rank == 0,
        "opinions": own.opinions,
        "mine": own.mine,
        "created_at": own.created_at,
    }


def item_shown(found: ReviewTask | ScoredItem) -> dict[str, Any]:
    """An item as its reviewer may see it."""
    task = found.task if isinstance(found, ScoredItem) else found
    questions = [
        {"name": one.name, "title": one.title, "asks": one.asks, "scale": (one.low, one.high), "anchors": one.anchors}
        for one in task.questions
    ]
    told = {name: getattr(task, name) for name in ("id", "run", "case", "rubric", "prompt", "response", "about")}
    return {**told, "questions": questions, "scored": _scored(found) if isinstance(found, ScoredItem) else None}


def _scored(found: ScoredItem) -> dict[str, Any]:
    evaluation = evaluation_of(found.item)
    asked = [(one.name, one.title, one.low, one.high) for one in found.task.questions]
    others = [one.scores for one in found.others]
    return {
        "scores": found.mine.scores,
        "note": found.mine.note,
        "verdict": evaluation.verdict,
        "score": evaluation.score,
        "differences": differences(evaluation, found.mine.scores, others, asked),
    }


def agreement_shown(report: AgreementReport) -> dict[str, Any]:
    """The judge held against people."""
    verdicts = report.verdicts
    return {
        "items": report.items,
        "people": report.people,
        "questions": [own.plain for own in report.questions],
        "verdicts": verdicts.count,
        "same_verdict": verdicts.same,
        "other_verdicts": [
            {"judge": judge, "people": people, "count": count} for (judge, people), count in verdicts.others.items()
        ],
        "labels": [{"rubric": own.rubric, "count": len(own.lines), "lacking": own.lacking} for own in report.labels],
        "notes": report.notes,
    }


def proposal_shown(made: CalibratedRubric, keep: Keeping) -> dict[str, Any]:
    """What calibration would change."""
    fit = made.fit
    kept = fit.found.calibration.dimensions if fit.found.calibration is not None else {}
    dimensions = []
    for name, labels in fit.items.items():
        own, refused = kept.get(name), fit.found.refused.get(name)
        figures = own or refused
        dimensions.append(
            {
                "dimension": name,
                "labels": labels,
                "corrected": own is not None,
                "before": _figures(figures.before if figures is not None else None),
                "after": _figures(figures.after if figures is not None else None),
                "reason": refused.reason if refused is not None else "",
            }
        )
    return {
        "rubric": fit.rubric.reference,
        "version": made.version,
        "keep": keep,
        "dimensions": dimensions,
        "unlabelled": list(fit.unlabelled),
        "document": made.text,
    }


def _figures(found: CalibrationFigures | None) -> Mapping[str, float | None] | None:
    return None if found is None else found.model_dump(mode="json")
