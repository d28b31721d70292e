"""How far judges agree with people on each question, and labels for calibration."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rubrica.engine.compile import compile_rubric
from rubrica.engine.rejudge import decide
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.runs.files.rows import GROUP
from rubrica.scoring.agreement import Agreement, krippendorff_alpha
from rubrica.scoring.rater_pairs import LabelAgreement, ScoreAgreement, label_agreement, score_agreement
from rubrica.scoring.raters import RaterEffects, rater_effects

from .opinions import Opinion, ReviewedRun
from .questions import ReviewQuestion, Rubrics, questions_of, result_of, rubric_for

_CORRECTED = re.compile(r"(-?[\d.]+(?:e[-+]?\d+)?) corrected to -?[\d.]+(?:e[-+]?\d+)? by calibration")
WIDE = 4.0
"""The span of a scale from which on one point is a small step; on a shorter one, a tenth of it is."""


@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """How far the judge and people agree on one question, and people among each other."""

    rubric: str
    question: ReviewQuestion
    count: int  # evaluations with scores of both
    alpha: Agreement  # of the judge and the people's mean
    difference: float | None  # mean of the judge's score minus the people's: above 0 is too kind
    exact: float | None  # share of people's scores that are the judge's
    near: float | None  # share of them within one step of it
    step: float
    people: Agreement  # of people among each other
    pairs: int  # evaluations that two people scored
    levelled: Agreement  # of the judge and the people, each person's harshness and spread taken out
    people_levelled: Agreement  # of people among each other, likewise
    raters: Mapping[str, float]  # how much kinder each person is than the others about the same responses
    scores: ScoreAgreement  # of the judge and the people's mean: kappa, bias and its limits

    @property
    def plain(self) -> dict[str, Any]:
        return {
            "rubric": self.rubric,
            "question": self.question.name,
            "count": self.count,
            "alpha": self.alpha.value,
            "difference": self.difference,
            "exact": self.exact,
            "near": self.near,
            "step": self.step,
            "people_alpha": self.people.value,
            "people_count": self.pairs,
            "alpha_levelled": self.levelled.value,
            "people_alpha_levelled": self.people_levelled.value,
            "raters": {rater: round(offset, 4) for rater, offset in self.raters.items()},
            "scores": self.scores.plain,
        }


@dataclass(frozen=True, slots=True)
class VerdictAgreement:
    """How often people's scores, under the same rubric, come to the judge's verdict."""

    others: Mapping[tuple[str, str], int]  # by the judge's and the people's verdict
    labels: LabelAgreement  # the judge's verdicts against the people's

    @property
    def count(self) -> int:
        return self.labels.count

    @property
    def same(self) -> int:
        return self.labels.same


def agreements(found: ReviewedRun, rubrics: Rubrics) -> list[QuestionAgreement]:
    """Agreement on every question of every rubric that somebody answered."""
    by_question: dict[tuple[str, str], tuple[ReviewQuestion, list[_RatedItem]]] = {}
    for item, evaluation, opinions in opinions_by_item(found):
        rubric = rubric_for(evaluation, rubrics)
        for question in questions_of(rubric, evaluation):
            given = {one.reviewer: one.scores[question.name] for one in opinions if question.name in one.scores}
            result = result_of(evaluation, question.name)
            value = result.value if result is not None and result.status == "scored" else None
            if given:
                by_question.setdefault((rubric.reference, question.name), (question, []))[1].append(
                    _RatedItem(item, value, given)
                )
    return [_agreement(rubric, question, units) for (rubric, _), (question, units) in by_question.items()]


@dataclass(frozen=True, slots=True)
class _RatedItem:
    """What the judge and each person gave one item."""

    item: str
    value: float | None
    given: Mapping[str, float]  # by person

    def levelled(self, effects: RaterEffects) -> list[float]:
        return [effects.adjusted(rater, score) for rater, score in self.given.items()]


def _agreement(rubric: str, question: ReviewQuestion, units: Sequence[_RatedItem]) -> QuestionAgreement:
    both = [(one.value, fmean(one.given.values())) for one in units if one.value is not None]
    gaps = [one.value - person for one in units if one.value is not None for person in one.given.values()]
    ratings = [(one.item, rater, score) for one in units for rater, score in one.given.items()]
    several = len({rater for _, rater, _ in ratings}) > 1
    effects = rater_effects(ratings) if several else RaterEffects()
    told = [(one.value, fmean(one.levelled(effects))) for one in units if one.value is not None]
    step = 1.0 if question.high - question.low >= WIDE else (question.high - question.low) / 10
    return QuestionAgreement(
        rubric,
        question,
        len(both),
        krippendorff_alpha(both),
        fmean(value - people for value, people in both) if both else None,
        fmean(abs(gap) < 1e-9 for gap in gaps) if gaps else None,
        fmean(abs(gap) <= step + 1e-9 for gap in gaps) if gaps else None,
        step,
        krippendorff_alpha([list(one.given.values()) for one in units]),
        sum(len(one.given) > 1 for one in units),
        krippendorff_alpha(told),
        krippendorff_alpha([one.levelled(effects) for one in units]),
        effects.offsets,
        score_agreement(both),
    )


def verdict_agreement(found: ReviewedRun, rubrics: Rubrics) -> VerdictAgreement:
    """Decide anew by people's mean scores, where they answered every question."""
    pairs: list[tuple[str, str]] = []
    for _, evaluation, opinions in opinions_by_item(found):
        rubric = rubric_for(evaluation, rubrics)
        means = _means(opinions)
        if any(question.name not in means for question in questions_of(rubric, evaluation)):
            continue
        theirs = decide(compile_rubric(rubric), means, evaluation.context or Context()).verdict
        pairs.append((evaluation.verdict, theirs))
    return VerdictAgreement(Counter(pair for pair in pairs if pair[0] != pair[1]), label_agreement(pairs))


def labels(found: ReviewedRun, rubrics: Rubrics) -> dict[str, list[str]]:
    """Lines for ``rubrica calibrate``, by rubric: what each judge gave before any correction, and what each person did.

    Only what a judge scored is there: rules, formulas and offline stand-ins are not calibrated.
    """
    lines: dict[str, list[str]] = {}
    for item, evaluation, opinions in opinions_by_item(found):
        rubric = rubric_for(evaluation, rubrics)
        by_judge: dict[str, dict[str, float]] = {}
        for question in questions_of(rubric, evaluation):
            if question.judged and any(question.name in opinion.scores for opinion in opinions):
                for judge, value in _as_given(evaluation, question.name):
                    by_judge.setdefault(judge, {})[question.name] = value
        group = evaluation.context.lookup(GROUP) if evaluation.context is not None else None
        for judge, scores in by_judge.items():
            for opinion in opinions:
                human = {name: opinion.scores[name] for name in scores if name in opinion.scores}
                label: dict[str, Any] = {"id": evaluation.case or item, "judge": judge, "rater": opinion.reviewer}
                label |= {"scores": {name: scores[name] for name in human}, "human": human}
                label |= {} if group is None else {"group": str(group)}
                if human:
                    lines.setdefault(rubric.reference, []).append(json.dumps(label, ensure_ascii=False))
    return lines


def _as_given(evaluation: Evaluation, axis: str) -> Iterator[tuple[str, float]]:
    """What each judge gave, by name, before calibration corrected it; a judge's repeats as their mean."""
    result = result_of(evaluation, axis)
    if result is None or result.source != "llm" or result.offline or result.status != "scored":
        return
    if not result.votes:
        if result.value is not None:
            yield result.judge or "judge", _uncorrected(result.value, result.reason)
        return
    votes: dict[str, list[float]] = {}
    for vote in result.votes:
        if vote.value is not None:
            votes.setdefault(vote.judge, []).append(_uncorrected(vote.value, vote.reason))
    for judge, values in votes.items():
        yield judge, round(fmean(values), 6)


def _uncorrected(value: float, reason: str) -> float:
    """A score as the judge gave it: where calibration corrected it, its reason says from what.

    >>> _uncorrected(8.495, "right (9 corrected to 8.495 by calibration 1 of 2026-05-04)")
    9.0
    """
    told = _CORRECTED.search(reason)
    return float(told[1]) if told is not None else value


def _means(opinions: Sequence[Opinion]) -> dict[str, float]:
    given: dict[str, list[float]] = {}
    for opinion in opinions:
        for name, value in opinion.scores.items():
            given.setdefault(name, []).append(value)
    return {name: round(fmean(values), 6) for name, values in given.items()}


def opinions_by_item(found: ReviewedRun) -> Iterator[tuple[str, Evaluation, list[Opinion]]]:
    """Each item that people scored, with its evaluation and all they said of it."""
    by_item: dict[str, list[Opinion]] = {}
    for opinion in found.opinions.values():
        by_item.setdefault(opinion.item, []).append(opinion)
    for item, opinions in by_item.items():
        yield item, found.evaluations[item], opinions
