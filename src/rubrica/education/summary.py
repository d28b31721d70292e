"""The figures of a grade and of all grades, from the records of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from rubrica.scoring.spread import Spread, spread_of

from .results import DIMENSIONS, SECTIONS, VERDICTS
from .taxonomy import CATEGORIES, TOTAL, UNCLASSIFIED

TIME_PERCENTS = (90, 95, 99)
SCORE_PERCENTS = (25, 75)
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
    questions: int = 0
    offline: int = 0

    def add(self, record: Data) -> None:
        """Count one record; a failed skill's has no question."""
        self.skills[str(record.get("skill_key"))] = bool(record.get("success"))
        judged = record.get("question_evaluation")
        if not isinstance(judged, Mapping):
            return
        self.questions += 1
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
            "error_taxonomy": _taxonomy(self.errors, TOTAL),
            "scored_questions": len(self.scores),
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
        },
        "aggregated_dimension_scores": {
            name: _figures([value for value in values if value is not None], ("mean", "std", "min", "max"))
            for name, values in means.items()
        },
        "aggregated_quality_distribution": {name: value for name, value in distribution.items() if name != "total"},
        "aggregated_error_taxonomy": _taxonomy(errors, "total"),
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


def _taxonomy(errors: Mapping[str, int], total: str) -> dict[str, int]:
    counts = {**dict.fromkeys((*CATEGORIES, UNCLASSIFIED), 0), **errors}
    return {**counts, total: sum(counts.values())}
