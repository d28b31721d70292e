"""The evaluation of a response as text, for a terminal, a log or a mail."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.packs.library import load
from rubrica.report.figures import count_of
from rubrica.report.titles import dimension_title, section_title

from .results import RUBRIC, SECTIONS, QuestionEvaluation, ResponseEvaluation
from .taxonomy import TOTAL

BAR = 20
MOST_SHOWN = 5
"""Issues and suggestions of one question."""


def generate_report(evaluation: ResponseEvaluation) -> str:
    """The report: figures, compliance, every question with its sections, recommendations."""
    return "\n".join([*_head(evaluation), *_dimensions(evaluation), *_compliance(evaluation), *_questions(evaluation),
                      *_closing(evaluation)])  # fmt: skip


def _head(evaluation: ResponseEvaluation) -> Iterator[str]:
    yield f"Evaluation of {count_of(evaluation.question_count, 'question')} (request {evaluation.request_id})"
    yield "=" * 72
    yield f"Overall score  {_figure(evaluation.overall_score)}"
    verdicts = ", ".join(f"{name} {count}" for name, count in evaluation.quality_distribution.items() if count)
    yield f"Verdicts       {verdicts or 'none'}"
    without = evaluation.question_count - evaluation.scored_count
    if without:
        yield f"Without score  {without} (a check decided before they were judged, or scores are missing)"
    if evaluation.failed_count:
        yield f"Judge failed   {count_of(evaluation.failed_count, 'question')}: {evaluation.error}"
    offline = sum(item.offline for item in evaluation.question_evaluations)
    if offline:
        yield f"By code alone  {offline} (offline; name a judge for more)"
    yield ""


def _dimensions(evaluation: ResponseEvaluation) -> Iterator[str]:
    rubric = load(RUBRIC)
    yield "Dimensions"
    for name, score in evaluation.scores.items():
        yield f"  {dimension_title(name, rubric):24} {_bar(score)} {_figure(score)}"
    yield "Sections"
    for name, section in evaluation.section_scores.items():
        score = section.average_score
        tail = f"  ({count_of(section.count, 'question')})" if section.count else "  (does not apply, or not scored)"
        yield f"  {section_title(name, rubric):24} {_bar(score)} {_figure(score)}{tail}"
    yield ""


def _compliance(evaluation: ResponseEvaluation) -> Iterator[str]:
    report = evaluation.compliance_report
    count, grade, direct = report["count_compliance"], report["grade_compliance"], report["di_compliance"]
    yield "As asked"
    yield f"  questions     {count['generated']} of {count['requested']}{_mark(count['compliant'])}"
    yield f"  grade         {grade['response_grade']} for {grade['requested']}{_mark(grade['compliant'])}"
    for title, name in (("types", "type_distribution"), ("difficulties", "difficulty_distribution")):
        shares = ", ".join(f"{kind} {number}" for kind, number in report[name].items())
        yield f"  {title:13} {shares or 'none'}"
    yield f"  DI failures   {len(direct['hard_failures'])}"
    kinds = {name: number for name, number in evaluation.error_taxonomy.items() if name != TOTAL}
    errors = ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in kinds.items() if number)
    yield f"  errors        {errors or 'none'}"
    yield ""


def _questions(evaluation: ResponseEvaluation) -> Iterator[str]:
    for item in evaluation.question_evaluations:
        yield from _question(item)


def _question(item: QuestionEvaluation) -> Iterator[str]:
    yield f"Question {item.question_id + 1}: {item.recommendation} ({_figure(item.overall_score)})"
    if item.recommendation == INCONCLUSIVE:
        yield f"  {item.reason}"
    for name in SECTIONS:
        section = item.section(name)
        verdict = f" {section.recommendation}" if section.recommendation else ""
        note = f"  {section.note}" if section.note else ""
        yield f"  {name:12} {_figure(section.section_score)}{verdict}{note}"
        yield from (f"    - {text}" for text in section.issues[:MOST_SHOWN])
        yield from (f"    + {text}" for text in section.strengths[:MOST_SHOWN])
    yield from (f"  > {text}" for text in item.suggestions[:MOST_SHOWN])
    yield from (f"  ({text})" for text in item.rests_on)
    yield ""


def _closing(evaluation: ResponseEvaluation) -> Iterator[str]:
    yield "Next"
    yield from (f"  {text}" for text in evaluation.recommendations)


def _figure(score: float | None) -> str:
    return "  –  " if score is None else f"{score:5.2f}"


def _bar(score: float | None) -> str:
    full = 0 if score is None else round(min(max(score, 0.0), 1.0) * BAR)
    return "█" * full + "░" * (BAR - full)


def _mark(fine: bool) -> str:
    return "" if fine else "  (not as asked)"
