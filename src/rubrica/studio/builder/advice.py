"""What lint advises about a criterion, and the document once its author takes that over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rubrica.authoring.lint_warning import LintWarning, RuleName

from .criterion_tree import axis_names, insert, points_at, remove_row, short_name
from .dimensions import weights_of, with_weights
from .document import Data, Path, at, mapping_at, put

BETWEEN = " | "
"""Stands between the two wordings of a criterion that asks two things."""
GAP = "["
REDUNDANT: tuple[RuleName, ...] = ("overlap", "contradiction")
AdviceKind = Literal["", "reword", "fill", "split", "remove"]
ACTIONS: dict[AdviceKind, str] = {
    "": "",
    "reword": "Use this wording",
    "fill": "Use it, and fill the gap",
    "split": "Make two of it",
    "remove": "Remove this one",
}


@dataclass(frozen=True, slots=True)
class CriterionAdvice:
    """A warning about what a criterion asks, and what can be done about it."""

    path: Path  # of the criterion
    why: str
    wording: str
    kind: AdviceKind

    @property
    def action(self) -> str:
        """What the button says; empty where there is none."""
        return ACTIONS[self.kind]


def advice_about(warning: LintWarning) -> CriterionAdvice | None:
    """The advice of a warning; None where it is not about what a criterion asks.

    >>> from rubrica.errors import Problem
    >>> found = LintWarning("vague", Problem("'good' means what?", ("dimensions", "a", "asks")), "Is it [say how]?")
    >>> advice_about(found).action
    'Use it, and fill the gap'
    """
    path, wording = warning.problem.path, warning.wording
    if path[:1] != ("dimensions",) or path[-1] != "asks":
        return None
    kind: AdviceKind = "reword" if wording else ""
    if warning.rule in REDUNDANT:
        kind = "remove"
    elif warning.rule == "two-questions" and BETWEEN in wording:
        kind = "split"
    elif GAP in wording:
        kind = "fill"
    return CriterionAdvice(path[:-1], warning.problem.message, wording, kind)


def advice_by_criterion(warnings: Iterable[LintWarning]) -> dict[Path, tuple[CriterionAdvice, ...]]:
    """What is advised about each criterion, by its place."""
    found: dict[Path, tuple[CriterionAdvice, ...]] = {}
    for advice in filter(None, map(advice_about, warnings)):
        found[advice.path] = (*found.get(advice.path, ()), advice)
    return found


def take_advice(document: Data, advice: CriterionAdvice) -> Data:
    """The document once an advice is taken over. Two criteria in place of one share what it counts.

    >>> document = {"dimensions": {"a": {"asks": "Is a and b.", "points": 6}}, "score": {"points": True}}
    >>> take_advice(document, CriterionAdvice(("dimensions", "a"), "", "Is a. | Is b.", "split"))["dimensions"]
    {'a': {'asks': 'Is a.', 'points': 3}, 'is_b': {'asks': 'Is b.', 'points': 3}}
    """
    path = advice.path
    if not mapping_at(document, path):
        return document
    if advice.kind == "remove":
        return remove_row(document, path)
    if advice.kind != "split":
        return put(document, (*path, "asks"), advice.wording)
    return _split(document, path, *advice.wording.split(BETWEEN, 1))


def _split(document: Data, path: Path, first: str, second: str) -> Data:
    holder, name = path[:-1], str(path[-1])
    weights = weights_of(document, holder)
    axis = {**mapping_at(document, path), "asks": first}
    points = points_at(axis)
    if points is not None:
        axis["points"] = int(points / 2) if float(points / 2).is_integer() else points / 2
    document = put(document, path, axis)
    other: Path = (*holder, short_name(second, axis_names(document)))
    copied = {key: value for key, value in axis.items() if key not in ("title", "examples")}
    index = list(mapping_at(document, holder)).index(name) + 1
    document = insert(document, other, {**copied, "asks": second}, index)
    if name in weights and at(document, (*other, "weight")) is not None:
        half = weights[name] / 2
        document = with_weights(document, holder, {**weights, name: half, str(other[-1]): half})
    return document
