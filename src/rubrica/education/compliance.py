"""Whether a response meets its request, and recommendations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from rubrica.report.figures import count_of

from .questions import GeneratedQuestion, GenerateQuestionResponse, GenerateQuestionsRequest
from .results import DIMENSIONS, SECTIONS, VERDICTS, QuestionEvaluation, SectionAverage

GOOD_ENOUGH = 0.7
"""The overall score from which a question may be accepted."""

WEAK = 0.6
"""A dimension whose mean is below this is named among the recommendations."""


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None where none is.

    >>> mean([0.5, None, 1.0]), mean([None])
    (0.75, None)
    """
    known = [value for value in values if value is not None]
    return round(fmean(known), 6) if known else None


def quality_distribution(verdicts: Iterable[str]) -> dict[str, int]:
    """How many questions came to each recommendation."""
    return {**dict.fromkeys(VERDICTS, 0), **Counter(verdicts)}


def section_scores(judged: Sequence[QuestionEvaluation]) -> dict[str, SectionAverage]:
    found = {name: [item.section(name).section_score for item in judged] for name in SECTIONS}
    return {
        name: SectionAverage(average_score=mean(scores), count=sum(score is not None for score in scores))
        for name, scores in found.items()
    }


def dimension_means(judged: Sequence[QuestionEvaluation]) -> dict[str, float | None]:
    names = dict.fromkeys([*DIMENSIONS, *(name for item in judged for name in item.scores)])
    return {name: mean(item.scores.get(name) for item in judged) for name in names}


def compliance_report(
    request: GenerateQuestionsRequest, response: GenerateQuestionResponse, judged: Sequence[QuestionEvaluation]
) -> dict[str, Any]:
    """Count, grade, types, difficulties, recommendations, direct instruction and sections, as plain data."""
    generated, grade = len(response.data), request.grade if response.grade is None else response.grade
    count: dict[str, Any] = {"requested": request.count, "generated": generated}
    if response.claimed != generated:
        count["claimed"] = response.claimed
    return {
        "count_compliance": {**count, "compliant": request.count == generated == response.claimed},
        "grade_compliance": {"requested": request.grade, "response_grade": grade, "compliant": request.grade == grade},
        "type_distribution": dict(Counter(question.kind for question in response.data)),
        "difficulty_distribution": dict(Counter(map(difficulty_of, response.data))),
        "quality_distribution": quality_distribution(item.recommendation for item in judged),
        "di_compliance": _direct_instruction(judged),
        "section_scores": {name: score.model_dump() for name, score in section_scores(judged).items()},
    }


def difficulty_of(question: GeneratedQuestion) -> str:
    return (question.difficulty or "").strip().lower() or "unknown"


def _direct_instruction(judged: Sequence[QuestionEvaluation]) -> dict[str, Any]:
    scores = [item.scores.get("di_compliance") for item in judged]
    return {
        "average_score": mean(scores),
        "hard_failures": [
            {"question_id": item.question_id, "score": score, "reason": item.di_failure}
            for item, score in zip(judged, scores, strict=True)
            if item.di_failure
        ],
        "breakdown": [
            {"question_id": item.question_id, "score": score, **item.di_scores}
            for item, score in zip(judged, scores, strict=True)
        ],
    }


def recommendations(
    overall: float | None, means: Mapping[str, float | None], report: Mapping[str, Any]
) -> tuple[str, ...]:
    """What to do next, in sentences; the most pressing is not always the first."""
    told: list[str] = []
    verdicts = report["quality_distribution"]
    if overall is not None:
        quality = "good enough" if overall >= GOOD_ENOUGH else "too low"
        known = "an estimate while verdicts are open" if verdicts["inconclusive"] else quality
        told.append(f"Overall quality is {known}: {overall:.2f} of 1.")
    actions = {
        "reject": "Write {} anew: rejected.",
        "revise": "Revise {} as the suggestions say.",
        "inconclusive": "Ask a judge about {}: the verdict is open.",
    }
    told += [action.format(count_of(verdicts[name], "question")) for name, action in actions.items() if verdicts[name]]
    count, grade = report["count_compliance"], report["grade_compliance"]
    if not count["compliant"]:
        told.append(f"{count_of(count['generated'], 'question')} came where {count['requested']} were asked for.")
    if not grade["compliant"]:
        told.append(f"The response is for grade {grade['response_grade']}, not for grade {grade['requested']}.")
    direct = report["di_compliance"]
    failed = direct.get("hard_failure_count", len(direct["hard_failures"]))
    if failed:
        told.append(f"Against direct instruction altogether: {count_of(failed, 'question')}.")
    weak = sorted((value, name) for name, value in means.items() if value is not None and value < WEAK)
    if weak:
        told.append(
            "Weakest: " + ", ".join(f"{name.replace('_', ' ')} ({value:.2f})" for value, name in weak[:3]) + "."
        )
    return tuple(told)
