"""From an Evaluation to what an author of questions reads: sections, issues, strengths, a recommendation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rubrica.model.evaluation import INCONCLUSIVE, DimensionResult, Evaluation, GateResult
from rubrica.runs.run_writer import ask_outcome

from .results import SECTIONS, Issue, QuestionEvaluation, SectionEvaluation
from .taxonomy import Taxonomy, taxonomy

DI = "di_compliance"
IMAGE = "image_"
"""How the names of dimensions about pictures begin."""

LEAKAGE = "leakage"
"""The gate that flags it: where it fired, a judge that says the same adds nothing."""

PICTURE_ABSENT = "there is no picture, so this section does not apply"


@dataclass(frozen=True, slots=True)
class _Remark:
    """Something said about a question, and the section it belongs to."""

    text: str
    section: str


def question_evaluation(evaluation: Evaluation, question_id: int) -> QuestionEvaluation:
    """One question's evaluation in the terms of its sections. Nothing is judged here: it is sorted and named."""
    sorter = taxonomy()
    issues = tuple(_distinct(_issues(evaluation, sorter)))
    strengths = list(_strengths(evaluation, sorter))
    told = {name: _section(evaluation, name, issues, strengths) for name in SECTIONS}
    direct = evaluation.dimensions.get(DI)
    remarks = evaluation.remarks
    return QuestionEvaluation(
        question_id=question_id,
        overall_score=_share(evaluation),
        recommendation=evaluation.verdict,
        reason=evaluation.reason,
        question_section=told["question"],
        scaffolding_section=told["scaffolding"],
        image_section=told["image"],
        scores={name: _rounded(result.share) for name, result in evaluation.dimensions.items() if _is_counted(name)},
        di_scores={name: _rounded(part.share) for name, part in direct.parts.items()} if direct is not None else {},
        di_failure=next((gate.reason or gate.name for gate in _fired_gates(evaluation) if DI in gate.when), ""),
        issues=issues,
        strengths=tuple(dict.fromkeys(remark.text for remark in strengths)),
        suggestions=remarks.suggestions if remarks is not None else (),
        offline=evaluation.offline,
        rests_on=tuple(_basis(evaluation)),
        duration=round(evaluation.duration_ms / 1000, 6),
    )


def failure_of(evaluation: Evaluation) -> str:
    """Why a question came to no judgement: a judge that owes scores left it open. Empty where it is judged."""
    asked = ask_outcome(evaluation)
    if not asked.failed or evaluation.verdict != INCONCLUSIVE:
        return ""
    return f"no score from the judge: {asked.reason}" if asked.reason else "no score from the judge"


def _basis(evaluation: Evaluation) -> Iterator[str]:
    """What the verdict rests on: what the engine notes, and each dimension that has no score, with the reason."""
    yield from evaluation.notes
    for name, result in evaluation.dimensions.items():
        if result.status == "unscored":
            yield f"{name.replace('_', ' ')} has no score: {result.reason}"


def _is_counted(name: str) -> bool:
    return not name.startswith(IMAGE)  # those make up the image section alone


def _share(evaluation: Evaluation) -> float | None:
    return None if evaluation.score is None else _rounded(evaluation.score / evaluation.out_of)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)


def _fired_gates(evaluation: Evaluation) -> list[GateResult]:
    return [gate for gate in evaluation.gates if gate.fired]


def _issues(evaluation: Evaluation, sorter: Taxonomy) -> Iterator[Issue]:
    """What gates found, what a judge said, and what rules took points off for."""
    for gate in _fired_gates(evaluation):
        text = gate.reason or gate.name
        category = sorter.category(text, gate=gate.name)
        yield Issue(text=text, category=category, section=sorter.section(text, category))
    if evaluation.remarks is not None:
        flagged = any(gate.name == LEAKAGE for gate in _fired_gates(evaluation))
        for said in evaluation.remarks.issues:
            text, category = sorter.judged(said)
            if not sorter.says_nothing(text) and not (flagged and LEAKAGE in text.lower()):
                yield Issue(text=text, category=category, section=sorter.section(text, category))
    for dimension, text, points in _hits(evaluation):
        if points < 0:
            category = sorter.category(text, dimension=dimension)
            yield Issue(text=text, category=category, section=_section_of(dimension, sorter.section(text, category)))


def _strengths(evaluation: Evaluation, sorter: Taxonomy) -> Iterator[_Remark]:
    if evaluation.remarks is not None:
        for text in evaluation.remarks.strengths:
            if not sorter.says_nothing(text):
                yield _Remark(text, sorter.section(text))
    for dimension, text, points in _hits(evaluation):
        if points > 0:
            yield _Remark(text, _section_of(dimension, sorter.section(text)))


_SCAFFOLDING = ("pedagogical_value", "explanation_quality", DI)


def _section_of(dimension: str, otherwise: str) -> str:
    if dimension.startswith(IMAGE):
        return "image"
    return "scaffolding" if dimension in _SCAFFOLDING else otherwise if otherwise != "image" else "question"


def _hits(evaluation: Evaluation) -> Iterator[tuple[str, str, float]]:
    """What rules gave or took, with the dimension they belong to. A check that does not hold takes something."""
    for name, result in evaluation.dimensions.items():
        yield from _hits_of(name, result)
        for part in result.parts.values():
            yield from _hits_of(name, part)


def _hits_of(name: str, result: DimensionResult) -> Iterator[tuple[str, str, float]]:
    for hit in result.hits:
        if hit.type == "check":
            if not hit.points and not hit.error:
                yield name, hit.reason or hit.rule, -1.0
        elif hit.points:
            yield name, hit.reason or hit.rule, hit.points


def _distinct(issues: Iterator[Issue]) -> Iterator[Issue]:
    """Each text once: a gate and the rule beside it often say the same."""
    seen: set[str] = set()
    for issue in issues:
        if issue.text not in seen:
            seen.add(issue.text)
            yield issue


def _section(
    evaluation: Evaluation, name: str, issues: tuple[Issue, ...], strengths: list[_Remark]
) -> SectionEvaluation:
    result = evaluation.sections.get(name)
    note = evaluation.remarks.sections.get(name, "") if evaluation.remarks is not None else ""
    score = result.score if result is not None else None
    verdict = result.verdict if result is not None else None
    if not note and score is None:
        note = (
            PICTURE_ABSENT if name == "image" and _absent(evaluation) else result.reason if result is not None else ""
        )
    return SectionEvaluation(
        section_score=None if score is None else _rounded(score / evaluation.out_of),
        issues=tuple(issue.text for issue in issues if issue.section == name),
        strengths=tuple(dict.fromkeys(remark.text for remark in strengths if remark.section == name)),
        recommendation=verdict,
        note=note,
    )


def _absent(evaluation: Evaluation) -> bool:
    """Whether there is no picture to judge."""
    found = [result for name, result in evaluation.dimensions.items() if name.startswith(IMAGE)]
    return bool(found) and all(result.status == "not_applicable" for result in found)
