"""How far the judge agrees with people, over all that they have scored, and the labels that calibration learns from."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rubrica.judges.calibration import FEWEST_LABELS
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.packs.library import find
from rubrica.report.figures import count_of
from rubrica.runs.review.agreement import QuestionAgreement, VerdictAgreement, agreements, labels, verdict_agreement
from rubrica.runs.review.opinions import Opinion, ReviewedRun, read_reviews
from rubrica.runs.review.questions import questions_of, result_of, rubric_for
from rubrica.runs.review.queue_items import evaluation_of, filled_of
from rubrica.store.reviews import ReviewItem
from rubrica.store.reviews import StoredOpinion as Kept

RubricsOf = Callable[[str], Mapping[str, Rubric]]
"""The rubrics of a run by name, as they were when it was made."""


@dataclass(frozen=True, slots=True)
class LabelledReviews:
    """Labels of one rubric: a file, and what to do with it."""

    rubric: str  # name@version
    lines: Sequence[str]
    document: Rubric  # as it was when the judge scored by it

    @property
    def name(self) -> str:
        return self.rubric.partition("@")[0]

    @property
    def file(self) -> str:
        return f"labels.{self.name}.jsonl"

    @property
    def command(self) -> str:
        """The command that learns from it."""
        rubric = self.name if find(self.rubric) is not None else f"{self.name}.yaml"
        return shlex.join(["rubrica", "calibrate", self.file, "-r", rubric, "-o", f"{self.name}-calibrated.yaml"])

    @property
    def lacking(self) -> str:
        """What there is too little of; empty where there is enough."""
        judges = Counter(judge for judge, _ in {(row["judge"], row["id"]) for row in map(json.loads, self.lines)})
        missing = FEWEST_LABELS - min(judges.values(), default=0)
        each = " of each judge" if len(judges) > 1 else ""
        return f"{count_of(missing, 'more label')}{each} needed to calibrate by" if missing > 0 else ""


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """How a judge stands with people."""

    items: int
    people: Sequence[str]
    questions: Sequence[QuestionAgreement]
    verdicts: VerdictAgreement
    labels: Sequence[LabelledReviews]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ReviewDifference:
    """One question of one item: what the reviewer, the judge and others gave."""

    title: str
    scale: tuple[float, float]
    mine: float | None
    judge: float | None
    others: Sequence[float]
    reason: str  # the judge's

    @property
    def gap(self) -> float | None:
        """Above 0 the judge is kinder."""
        return None if self.mine is None or self.judge is None else self.judge - self.mine


def agreement_report(
    done: Mapping[str, tuple[Sequence[ReviewItem], Sequence[Kept]]], rubrics_of: RubricsOf
) -> AgreementReport:
    """Hold the judge against people, over the done items and opinions of some runs."""
    combined = ReviewedRun()
    notes: list[str] = []
    known: dict[str, Rubric] = {}
    for run, (items, kept) in done.items():
        rubrics = rubrics_of(run)
        found, left_out = _of_run(run, items, kept, rubrics)
        if left_out:
            notes.append(f"{run}: {count_of(left_out, 'item')} left out, for the run's rubric is not there any more")
        clash = {name for name, rubric in rubrics.items() if name in known and known[name].hash != rubric.hash}
        if clash:
            notes.append(
                f"{run}: left out, for {', '.join(sorted(clash))} was another text there; choose that run alone"
            )
            continue
        known |= rubrics
        combined.evaluations |= found.evaluations
        combined.opinions |= found.opinions
    by_rubric = labels(combined, known)
    return AgreementReport(
        len({opinion.item for opinion in combined.opinions.values()}),
        combined.reviewers,
        agreements(combined, known),
        verdict_agreement(combined, known),
        [
            LabelledReviews(reference, lines, known[reference.partition("@")[0]])
            for reference, lines in by_rubric.items()
        ],
        notes,
    )


def _of_run(
    run: str, items: Sequence[ReviewItem], kept: Sequence[Kept], rubrics: Mapping[str, Rubric]
) -> tuple[ReviewedRun, int]:
    """The opinions on one run. The same case has the same item in every run, so the run's name goes before it."""
    usable = [item for item in items if _rubric_hash(item, rubrics) == item.rubric_hash]
    names = {item.item for item in usable}
    found = read_reviews(
        filled_of([one for one in kept if one.item in names]), [evaluation_of(item) for item in usable], rubrics
    )
    return (
        ReviewedRun(
            {f"{run}/{item}": evaluation for item, evaluation in found.evaluations.items()},
            {
                (f"{run}/{item}", person): Opinion(f"{run}/{item}", person, one.scores, one.note)
                for (item, person), one in found.opinions.items()
            },
        ),
        len(items) - len(usable),
    )


def _rubric_hash(item: ReviewItem, rubrics: Mapping[str, Rubric]) -> str | None:
    rubric = rubrics.get(item.rubric.partition("@")[0])
    return rubric.hash if rubric is not None else None


def differences(
    evaluation: Evaluation,
    mine: Mapping[str, float | None],
    others: Sequence[Mapping[str, float | None]],
    questions: Sequence[tuple[str, str, float, float]],
) -> list[ReviewDifference]:
    """What was given to each question of an item, side by side. A question is its name, title and scale."""
    found = []
    for name, title, low, high in questions:
        result = result_of(evaluation, name)
        scored = result is not None and result.status == "scored"
        given = [value for one in others if (value := one.get(name)) is not None]
        found.append(
            ReviewDifference(
                title,
                (low, high),
                mine.get(name),
                result.value if result is not None and scored else None,
                given,
                (result.why if result is not None else "") or "",
            )
        )
    return found


def own_verdict(
    evaluation: Evaluation, scores: Mapping[str, float | None], rubrics: Mapping[str, Rubric]
) -> str | None:
    """The verdict that a person's scores come to; None where they left something out, or the rubric is not known."""
    rubric = rubrics.get(evaluation.rubric)
    if rubric is None or rubric.hash != evaluation.hash:
        return None
    given = {name: value for name, value in scores.items() if value is not None}
    if any(question.name not in given for question in questions_of(rubric_for(evaluation, rubrics), evaluation)):
        return None
    one = ReviewedRun({"": evaluation}, {("", ""): Opinion("", "", given)})
    decided = verdict_agreement(one, rubrics)
    if not decided.count:
        return None
    return evaluation.verdict if decided.same else next(iter(decided.others))[1]
