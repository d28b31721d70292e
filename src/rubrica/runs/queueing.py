"""Between a run and the review queue of a database: what is put into it, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rubrica.model.evaluation import Evaluation
from rubrica.store.reviews import Item, NewItem
from rubrica.store.reviews import Opinion as Kept

from .opinions import Filled
from .review import Rubrics, questions_of, rubric_for
from .sampling import Drawn


def new_items(drawn: Sequence[Drawn], rubrics: Rubrics) -> list[NewItem]:
    """A sample as the queue takes it."""
    return [_item(one, rubrics) for one in drawn]


def _item(one: Drawn, rubrics: Rubrics) -> NewItem:
    evaluation = one.evaluation
    rubric = rubric_for(evaluation, rubrics)
    return NewItem(
        one.item,
        evaluation.case or "",
        rubric.reference,
        evaluation.hash,
        one.stratum,
        [question.plain for question in questions_of(rubric, evaluation)],
        msgspec.json.decode(evaluation.to_json()),  # JSON has no infinity: an open bound becomes null
    )


def filled_of(kept: Sequence[Kept]) -> list[Filled]:
    """What people gave, as if it were read from a review file."""
    return [
        Filled("the database", number, one.item, "", one.reviewer, one.scores, one.note)
        for number, one in enumerate(kept, 1)
    ]


def evaluation_of(item: Item) -> Evaluation:
    """The evaluation that an item is about."""
    return Evaluation.from_json(msgspec.json.encode(item.evaluation))
