"""The report page: one self-contained HTML file with a card per evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from types import MappingProxyType
from typing import TextIO

from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric

from .card import card_of
from .figures import figure
from .rendering import TEMPLATES, stylesheet
from .roles import ROLES, SIGNS, Role, role_of

MOST_CARDS = 500
"""Evaluations drawn as cards; further ones are only counted."""
OPEN_CARDS = 3
"""Cards whose details stand open from the start."""

NO_RUBRICS: Mapping[str, Rubric] = MappingProxyType({})


def write_report(
    evaluations: Iterable[Evaluation], out: TextIO, *, title: str, rubrics: Mapping[str, Rubric] = NO_RUBRICS
) -> int:
    """Write the page, card by card as evaluations come; returns how many there were.

    Only counts are kept in memory. The summary is therefore written last, and the stylesheet puts it on top.
    `rubrics` is by name or by name@version.
    """
    out.write(TEMPLATES.get_template("head.html.j2").render(title=title, style=stylesheet()))
    card_template = TEMPLATES.get_template("card.html.j2")
    tally = ReportTally()
    for evaluation in evaluations:
        rubric = _rubric_of(evaluation, rubrics)
        tally.add(evaluation, rubric)
        if tally.total <= MOST_CARDS:
            card = card_of(evaluation, tally.total, rubric)
            out.write(card_template.render(card=card, open=tally.total <= OPEN_CARDS))
    out.write(TEMPLATES.get_template("tail.html.j2").render(tally=tally, most=MOST_CARDS, signs=SIGNS))
    return tally.total


def report_html(
    evaluations: Iterable[Evaluation], *, title: str = "Evaluation report", rubrics: Mapping[str, Rubric] = NO_RUBRICS
) -> str:
    """The page as one string.

    >>> report_html([], title="Nothing yet").startswith("<!doctype html>")
    True
    """
    page = StringIO()
    write_report(evaluations, page, title=title, rubrics=rubrics)
    return page.getvalue()


@dataclass(slots=True)
class RubricTally:
    """The evaluations of one rubric, counted."""

    title: str
    out_of: float
    verdicts: Counter[str] = field(default_factory=Counter)
    roles: dict[str, Role] = field(default_factory=dict)
    scored: int = 0
    sum: float = 0.0

    @property
    def total(self) -> int:
        return self.verdicts.total()

    @property
    def mean(self) -> str:
        """The mean over the evaluations that have a score."""
        return f"{figure(round(self.sum / self.scored, 2))} / {figure(self.out_of)}" if self.scored else "—"

    @property
    def by_verdict(self) -> list[tuple[str, Role, int]]:
        """Verdicts from good to bad, most frequent first among equals."""
        found = [(verdict, self.roles[verdict], count) for verdict, count in self.verdicts.items()]
        return sorted(found, key=lambda row: (ROLES.index(row[1]), -row[2], row[0]))


@dataclass(slots=True)
class ReportTally:
    """All evaluations, counted per rubric and verdict."""

    total: int = 0
    rubrics: dict[str, RubricTally] = field(default_factory=dict)

    def add(self, evaluation: Evaluation, rubric: Rubric | None) -> None:
        self.total += 1
        reference = f"{evaluation.rubric}@{evaluation.version}"
        counts = self.rubrics.get(reference)
        if counts is None:
            title = rubric.display_title if rubric is not None else evaluation.rubric
            counts = self.rubrics[reference] = RubricTally(title, evaluation.out_of)
        if evaluation.verdict not in counts.roles:  # worked out once: it reads the rubric's formulas
            counts.roles[evaluation.verdict] = role_of(evaluation.verdict, rubric)
        counts.verdicts[evaluation.verdict] += 1
        if evaluation.score is not None:
            counts.scored += 1
            counts.sum += evaluation.score

    @property
    def by_role(self) -> list[tuple[Role, str, int]]:
        """The roles that occur, with the verdicts that have them and how many there are."""
        names: dict[Role, dict[str, None]] = {}
        counts: Counter[Role] = Counter()
        for rubric in self.rubrics.values():
            for verdict, role, count in rubric.by_verdict:
                names.setdefault(role, {})[verdict.replace("_", " ")] = None
                counts[role] += count
        return [(role, ", ".join(names[role]), counts[role]) for role in ROLES if role in names]


def _rubric_of(evaluation: Evaluation, rubrics: Mapping[str, Rubric]) -> Rubric | None:
    return rubrics.get(f"{evaluation.rubric}@{evaluation.version}") or rubrics.get(evaluation.rubric)
