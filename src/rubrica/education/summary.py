"""The figures of a grade and of all grades, from the records of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from rubrica.scoring.spread import Spread, spread_of

from .compliance import difficulty_of
from .questions import GeneratedQuestion
from .results import DIMENSIONS, SECTIONS, VERDICTS
from .taxonomy import taxonomy_counts

TIME_PERCENTS = (90, 95, 99)
SCORE_PERCENTS = (25, 75)
MOST_LISTED = 20
"""Questions against direct instruction that are told one by one; all are counted."""
Data = Mapping[str, Any]


@dataclass
class GradeFigures:
    """Records of one grade, counted as they go by."""

    grade: int | None
    skills: dict[str, bool] = field(default_factory=dict)  # by key: whether it came to questions
    durations: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    dimensions: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in DIMENSIONS})
    sections: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SECTIONS})
    verdicts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)  # types of question
    difficulties: Counter[str] = field(default_factory=Counter)
    requested: int = 0  # questions that were asked for
    questions: int = 0
    strengths: int = 0
    offline: int = 0
    failed: int = 0  # questions that a judge left open
    against_instruction: list[Data] = field(default_factory=list)  # questions that break direct instruction altogether

    def add(self, record: Data) -> None:
        """Count one record; that of a skill without questions has no evaluation."""
        key, request = str(record.get("skill_key")), record.get("request") or {}
        judged = record.get("question_evaluation")
        if key not in self.skills:
            self.requested += int(request.get("count") or 1)
        self.skills[key] = isinstance(judged, Mapping)
        if not isinstance(judged, Mapping):
            return
        self.questions += 1
        self.failed += not record.get("success")
        question = GeneratedQuestion.of(record["question"])
        self.kinds[question.kind] += 1
        self.difficulties[difficulty_of(question)] += 1
        self.strengths += len(judged.get("strengths", ()))
        if judged.get("di_failure"):
            score = judged.get("scores", {}).get("di_compliance")
            told = {"question_id": record.get("case"), "score": score, "reason": judged["di_failure"]}
            self.against_instruction.append(told)
        self.offline += bool(judged.get("offline"))
        self.durations.append(float(record.get("duration") or 0.0))
        self.verdicts[str(judged["recommendation"])] += 1
        if judged.get("overall_score") is not None:
            self.scores.append(float(judged["overall_score"]))
        for name, score in judged.get("scores", {}).items():
            if score is not None:
                self.dimensions.setdefault(name, []).append(float(score))
        for name, scores in self.sections.items():
            score = judged.get(f"{name}_section", {}).get("section_score")
            if score is not None:
                scores.append(float(score))
        self.errors.update(str(issue["category"]) for issue in judged.get("issues", ()))

    def summary(self, timestamp: str) -> dict[str, Any]:
        """Every figure of the grade, as plain data."""
        return {
            "grade": self.grade,
            "timestamp": timestamp,
            "total_skills": len(self.skills),
            "total_questions": self.questions,
            "successful_skills": sum(self.skills.values()),
            "durations": _figures(self.durations, ("mean", "median", "p90", "p95", "p99", "min", "max"), TIME_PERCENTS),
            "scores": _figures(self.scores, ("mean", "median", "min", "max", "p25", "p75", "std"), SCORE_PERCENTS),
            "dimension_scores": {
                name: _figures(values, ("mean", "median", "std", "min", "max"))
                for name, values in self.dimensions.items()
            },
            "section_scores": {
                name: {**_figures(values, ("mean", "median", "std")), "count": len(values)}
                for name, values in self.sections.items()
            },
            "quality_distribution": _distribution(self.verdicts, self.questions),
            "error_taxonomy": taxonomy_counts(self.errors),
            "scored_questions": len(self.scores),
            "failed_questions": self.failed,
            "offline_questions": self.offline,
        }


def all_grades(
    figures: Sequence[GradeFigures], summaries: Sequence[Data], model: str, timestamp: str
) -> dict[str, Any]:
    """The figures over all grades. Those of a dimension are of the grades' means, each grade counting once."""
    verdicts, errors = Counter[str](), Counter[str]()
    for grade in figures:
        verdicts.update(grade.verdicts)
        errors.update(grade.errors)
    questions = sum(grade.questions for grade in figures)
    names = dict.fromkeys(name for grade in figures for name in grade.dimensions)
    means = {
        name: [
            summary["dimension_scores"][name]["mean"] for summary in summaries if name in summary["dimension_scores"]
        ]
        for name in names
    }
    distribution = _distribution(verdicts, questions)
    return {
        "timestamp": timestamp,
        "model": model,
        "grades_evaluated": [grade.grade for grade in figures],
        "grade_summaries": list(summaries),
        "overall": {
            "total_skills": sum(len(grade.skills) for grade in figures),
            "total_questions": questions,
            "mean_duration": _mean(value for grade in figures for value in grade.durations),
            "mean_score": _mean(value for grade in figures for value in grade.scores),
            "failed_skills": sum(not found for grade in figures for found in grade.skills.values()),
            "failed_questions": sum(grade.failed for grade in figures),
        },
        "aggregated_dimension_scores": {
            name: _figures([value for value in values if value is not None], ("mean", "std", "min", "max"))
            for name, values in means.items()
        },
        "aggregated_quality_distribution": {name: value for name, value in distribution.items() if name != "total"},
        "aggregated_error_taxonomy": taxonomy_counts(errors, "total"),
    }


def run_compliance(figures: Sequence[GradeFigures]) -> dict[str, Any]:
    """Whether a run's questions are as asked, as the report on a response has it."""
    grades = [grade.grade for grade in figures]
    requested, generated = sum(grade.requested for grade in figures), sum(grade.questions for grade in figures)
    verdicts, kinds, levels = Counter[str](), Counter[str](), Counter[str]()
    for grade in figures:
        verdicts.update(grade.verdicts)
        kinds.update(grade.kinds)
        levels.update(grade.difficulties)
    direct = [value for grade in figures for value in grade.dimensions.get("di_compliance", ())]
    sections = {name: [value for grade in figures for value in grade.sections[name]] for name in SECTIONS}
    failures = [failure for grade in figures for failure in grade.against_instruction]
    return {
        "count_compliance": {"requested": requested, "generated": generated, "compliant": requested == generated},
        "grade_compliance": {"requested": grades, "response_grade": grades, "compliant": True},
        "type_distribution": dict(kinds),
        "difficulty_distribution": dict(levels),
        "quality_distribution": {**dict.fromkeys(VERDICTS, 0), **verdicts},
        "di_compliance": {
            "average_score": _mean(direct),
            "hard_failures": failures[:MOST_LISTED],
            "hard_failure_count": len(failures),
        },
        "section_scores": {
            name: {"average_score": _mean(values), "count": len(values)} for name, values in sections.items()
        },
    }


def _figures(values: Sequence[float], names: Iterable[str], percents: Sequence[int] = ()) -> dict[str, float | None]:
    """Some figures of values; None where there are none, and for the scatter of a single one."""
    spread = spread_of(sorted(values), percents)
    known: Mapping[str, float | int | None] = _rounded(spread) if spread is not None else {}
    return {name: known.get(name) for name in names}


def _rounded(spread: Spread) -> dict[str, float | None]:
    return {name: None if value is None else round(value, 6) for name, value in spread.to_dict().items()}


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(fmean(known), 6) if known else None


def _distribution(verdicts: Mapping[str, int], total: int) -> dict[str, Any]:
    counts = {**dict.fromkeys(VERDICTS, 0), **verdicts}
    rates = {f"{name}_rate": round(counts[name] / total, 6) if total else None for name in ("accept", "reject")}
    return {**counts, "total": total, **rates}
