"""Converts between evaluations of a run and items of a database's review queue."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rubrica.model.evaluation import Evaluation
from rubrica.store.reviews import NewReviewItem, ReviewItem
from rubrica.store.reviews import StoredOpinion as Kept

from .opinions import FilledRecord
from .questions import Rubrics, questions_of, rubric_for
from .sampling import DrawnEvaluation


def new_items(drawn: Sequence[DrawnEvaluation], rubrics: Rubrics) -> list[NewReviewItem]:
    """A sample as the queue takes it."""
    return [_item(one, rubrics) for one in drawn]


def _item(one: DrawnEvaluation, rubrics: Rubrics) -> NewReviewItem:
    evaluation = one.evaluation
    rubric = rubric_for(evaluation, rubrics)
    return NewReviewItem(
        one.item,
        evaluation.case or "",
        rubric.reference,
        evaluation.hash,
        one.stratum,
        [question.plain for question in questions_of(rubric, evaluation)],
        msgspec.json.decode(evaluation.to_json()),  # JSON has no infinity: an open bound becomes null
    )


def filled_of(kept: Sequence[Kept]) -> list[FilledRecord]:
    """What people gave, as if it were read from a review file."""
    return [
        FilledRecord("the database", number, one.item, "", one.reviewer, one.scores, one.note)
        for number, one in enumerate(kept, 1)
    ]


def evaluation_of(item: ReviewItem) -> Evaluation:
    """The evaluation that an item is about."""
    return Evaluation.from_json(msgspec.json.encode(item.evaluation))
