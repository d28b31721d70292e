"""The grades and the classes of error of a run, as tables for its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubrica.packs.library import load
from rubrica.report.titles import dimension_title
from rubrica.runs.summary.page_tables import PageTable

from .results import RUBRIC, VERDICTS
from .taxonomy import TOTAL

Data = Mapping[str, Any]
NOTHING = "–"


def page_tables(together: Data) -> list[PageTable]:
    """Two tables of a summary of all grades: how each grade came out, and what was wrong in it."""
    grades = together["grade_summaries"]
    return [_grades_table(grades), _errors_table(grades)] if grades else []


def grade_title(grade: int | None) -> str:
    """
    >>> grade_title(4), grade_title(0), grade_title(None)
    ('Grade 4', 'Kindergarten', 'No grade')
    """
    return "No grade" if grade is None else "Kindergarten" if grade == 0 else f"Grade {grade}"


def weakest(summary: Data) -> tuple[str, float] | None:
    """The dimension with the lowest mean."""
    means = {name: figures["mean"] for name, figures in summary["dimension_scores"].items()}
    known = [(value, name) for name, value in means.items() if value is not None]
    return (min(known)[1], min(known)[0]) if known else None


def _grades_table(grades: list[Data]) -> PageTable:
    rows, rubric = [], load(RUBRIC)
    for summary in grades:
        verdicts, low = summary["quality_distribution"], weakest(summary)
        rows.append(
            (
                grade_title(summary["grade"]),
                f"{summary['total_questions']:,}",
                *(f"{verdicts[name]:,}" for name in VERDICTS),
                _percent(summary["scores"]["mean"]),
                f"{dimension_title(low[0], rubric)} {low[1]:.2f}" if low is not None else NOTHING,
                f"{summary['failed_questions'] + summary['total_skills'] - summary['successful_skills']:,}",
            )
        )
    columns = ("Grade", "Questions", *(name.capitalize() for name in VERDICTS), "Mean quality", "Weakest", "Failed")
    return PageTable("Grades", columns, tuple(rows), "Failed: written or judged to no end; they count in no mean.")


def _errors_table(grades: list[Data]) -> PageTable:
    names = [name for name in grades[0]["error_taxonomy"] if name != TOTAL]
    rows = []
    for name in (*names, TOTAL):
        counts = [summary["error_taxonomy"].get(name, 0) for summary in grades]
        title = "All" if name == TOTAL else name.replace("_", " ").capitalize()
        rows.append((title, *(f"{count:,}" for count in counts), f"{sum(counts):,}"))
    columns = ("Class of error", *(grade_title(summary["grade"]) for summary in grades), "All grades")
    return PageTable("Errors", columns, tuple(rows), "By what the issue says; a question may have several.")


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.1f} %"
