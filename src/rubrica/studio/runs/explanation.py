"""One evaluation explained in full: the report's card, and what each judge gave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from rubrica.model.evaluation import Evaluation, Vote, every_result
from rubrica.model.rubric import Rubric
from rubrica.report.card import card_of
from rubrica.report.parts_tree import part_title
from rubrica.report.rendering import TEMPLATES
from rubrica.report.titles import dimension_titles


@dataclass(frozen=True, slots=True)
class Votes:
    """What judges gave one dimension or part."""

    title: str
    given: tuple[Vote, ...]


def explanation(evaluation: Evaluation, rubric: Rubric | None) -> Markup:
    """Score, verdict, radar, waterfall, rules, gates and the texts with what was found in them. All of it escaped."""
    card = card_of(evaluation, 1, rubric)
    return Markup(TEMPLATES.get_template("card.html.j2").render(card=card, open=True))  # noqa: S704 - it escapes


def votes_of(evaluation: Evaluation, rubric: Rubric | None) -> Iterator[Votes]:
    """The votes of a panel, or of repeats, dimension by dimension; nothing where one judge was asked once."""
    titles = dimension_titles(rubric)
    for axis, own in every_result(evaluation.dimensions):
        if own.votes:
            yield Votes(part_title(axis, own, titles), own.votes)
