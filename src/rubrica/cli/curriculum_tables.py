"""The figures of a run over a curriculum, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from rubrica.education.curriculum import Skill
from rubrica.education.results import RUBRIC, VERDICTS
from rubrica.packs.library import load
from rubrica.report.figures import count_of, duration
from rubrica.report.titles import dimension_title
from rubrica.runs.compare.trend import Trend

from .figures_table import FiguresTable
from .screen import safe, short
from .verdict_style import bar, verdict_text

Data = Mapping[str, Any]


def grade_table(summary: Data, noun: str) -> Table:
    """One grade: how long, how good, what came of it, what was wrong."""
    grade = "no grade" if summary["grade"] is None else f"Grade {summary['grade']}"
    table = _two_columns(grade)
    done, all_of_them = summary["successful_skills"], summary["total_skills"]
    table.add_row("questions", f"{summary['total_questions']:,} from {done:,} of {all_of_them:,} {noun}")
    times, scores = summary["durations"], summary["scores"]
    table.add_row("duration", f"mean {_time(times['mean'])}, p95 {_time(times['p95'])}, p99 {_time(times['p99'])}")
    estimated = ", estimated offline" if summary["offline_questions"] and scores["mean"] is not None else ""
    table.add_row("quality", f"mean {_percent(scores['mean'])}, median {_percent(scores['median'])}{estimated}")
    table.add_row("verdicts", _verdicts(summary["quality_distribution"]))
    table.add_row("errors", _errors(summary["error_taxonomy"], "total_errors"))
    weak = sorted(
        (figures["mean"], name) for name, figures in summary["dimension_scores"].items() if figures["mean"] is not None
    )
    if weak:
        rubric = load(RUBRIC)
        table.add_row("weakest", ", ".join(f"{dimension_title(name, rubric)} {mean:.2f}" for mean, name in weak[:3]))
    if summary["offline_questions"]:
        offline = f"{count_of(summary['offline_questions'], 'question')} scored offline"
        table.add_row("note", f"{offline}, by code; where only a reader can tell, these scores are estimates")
    return table


def all_grades_table(together: Data, noun: str) -> Table:
    """All grades: totals, means, the share of each verdict, and errors by class."""
    overall, verdicts = together["overall"], together["aggregated_quality_distribution"]
    table = _two_columns("All grades" if len(together["grades_evaluated"]) > 1 else "In all")
    table.add_row(noun, f"{overall['total_skills']:,}")
    table.add_row("questions", f"{overall['total_questions']:,}")
    table.add_row("mean duration", _time(overall["mean_duration"]))
    table.add_row("mean quality", _percent(overall["mean_score"]))
    total = overall["total_questions"]
    for name in VERDICTS:
        if verdicts[name] or name != "inconclusive":
            share = verdicts[name] / total if total else None
            figures = Text.assemble(f"{verdicts[name]:,}  ", bar(share), f"  {_percent(share)}")
            table.add_row(verdict_text(name), figures)
    errors = together["aggregated_error_taxonomy"]
    table.add_row("errors", f"{errors['total']:,}")
    for name, number in errors.items():
        if name != "total" and (number or name != "unclassified"):
            table.add_row(f"  {name.replace('_', ' ')}", f"{number:,}")
    return table


def skills_table(skills: Sequence[Skill]) -> Table:
    """Skills with their grade and id."""
    table = FiguresTable()
    for name in ("grade", "id", "skill", "unit", "subject"):
        table.add_column(name, justify="right" if name == "grade" else "left")
    for skill in skills:
        words = (skill.substandard_id, skill.lesson_title, skill.unit_name, skill.subject)
        table.add_row(str(skill.grade), *(short(text, 60) for text in words))
    return table


def trend_table(trends: Sequence[Trend]) -> Table:
    """Figures over time, with what the newest is to those before."""
    table = FiguresTable()
    for name in ("figure", "over time", "latest", "trend", "the latest is"):
        table.add_column(name, justify="right" if name == "latest" else "left")
    for trend in trends:
        style = "bold red" if trend.latest == "regression" else ""
        row = (trend.spark[-40:], f"{trend.known[-1]:.2f}", trend.direction, Text(trend.latest, style))
        table.add_row(safe(trend.name), *row)
    return table


def _two_columns(title: str) -> Table:
    table = Table(
        box=None, padding=(0, 2, 0, 0), show_header=False, title=title, title_justify="left", title_style="bold"
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _verdicts(distribution: Data) -> Text:
    shown = [name for name in VERDICTS if distribution[name] or name != "inconclusive"]
    parts: list[Any] = []
    for name in shown:
        parts += [verdict_text(name), f" {distribution[name]:,}  "]
    return Text.assemble(*parts)


def _errors(taxonomy: Data, total: str) -> str:
    counts = [f"{name.replace('_', ' ')} {n:,}" for name, n in taxonomy.items() if name != total and n]
    return ", ".join(counts) or "none"


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else duration(1000 * seconds)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"
