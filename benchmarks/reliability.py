"""How far offline scores agree with people, and how well their bounds hold: part of ``python -m benchmarks.quality``.

Everything is measured on the third of each set that no bounds were taken from. *Agreement* is the AUC where people say
yes or no, Spearman's ρ where they rate, and the share of pairs in the same order where they compare; its interval is a
bootstrap over the groups of the set. *Held* is the share of texts whose score by people is within the bounds, of those
texts whose bounds leave something out: bounds of the whole scale hold always, and say nothing. They should hold 90 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import TypeVar

from rich.table import Table
from training.labelled import SETS, LabelledText

import rubrica
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.model.evaluation import INCONCLUSIVE, Evaluation
from rubrica.scoring.agreement import spearman

from .preferences import PACK, TITLE, EvaluatedPair, evaluated_pairs
from .safety import auc, data

DRAWS = 300
PACKS = ("answer-quality", "voice-companion")
LEVEL = (0.85, 0.95)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measured:
    """A text of the third that is kept apart, and what was made of it."""

    text: LabelledText
    evaluation: Evaluation

    def value(self, dimension: str) -> float:
        value = self.evaluation.dimensions[dimension].value
        assert value is not None
        return value

    def bounds(self, dimension: str) -> tuple[float, float]:
        result = self.evaluation.dimensions[dimension]
        assert result.bounds is not None
        return result.bounds

    def narrowed(self, dimension: str) -> bool:
        result = self.evaluation.dimensions[dimension]
        return self.bounds(dimension) != (result.low, result.high)

    def held(self, dimension: str) -> bool:
        (low, high), (least, most) = self.bounds(dimension), self.text.people[dimension]
        return low - 1e-9 <= least and most <= high + 1e-9


def reliability_table() -> Table:
    """The table of `make bench-quality`."""
    table = Table(title="Offline scores and people, on groups that nothing was fitted to", title_justify="left")
    for column in (
        "offline score",
        "measured on",
        "texts",
        "agreement",
        "bounds narrowed",
        "held (90 %)",
        "inconclusive",
    ):
        table.add_column(column, justify="left" if column in ("offline score", "measured on") else "right")
    for pack in PACKS:
        measured: set[str] = set()
        for row in _rows(pack):
            table.add_row(*row)
            measured.add(row[0].rpartition(": ")[2])
        left = [name for name in rubrica.load(pack).dimensions if name not in measured]
        table.add_row(
            f"{pack}: {', '.join(left)}", "no labels to take bounds from", "–", "–", "by definition", "–", "–"
        )
    table.add_row(*_pairs())
    return table


def kept_apart(pack: str) -> Iterator[tuple[str, list[Measured]]]:
    """The thirds that no bounds were taken from, of the sets that have people's scores of a pack's dimensions."""
    plan = compile_rubric(rubrica.load(pack))
    for labelled in SETS.values():
        apart = [text for text in labelled.texts(data()) if text.apart]
        if apart and apart[0].people.keys() <= plan.rubric.dimensions.keys():
            yield labelled.title, [Measured(text, evaluate(plan, text.context)) for text in apart]


def _rows(pack: str) -> Iterator[tuple[str, ...]]:
    for title, seen in kept_apart(pack):
        open_ones = f"{fmean(one.evaluation.verdict == INCONCLUSIVE for one in seen):.0%}"
        for dimension in seen[0].text.people:
            narrowed = [one for one in seen if one.narrowed(dimension)]
            yield (
                f"{pack}: {dimension}",
                title,
                str(len(seen)),
                _agreement(seen, dimension),
                f"{len(narrowed) / len(seen):.0%}",
                _held(narrowed, dimension),
                open_ones,
            )


def _agreement(seen: Sequence[Measured], dimension: str) -> str:
    if any(low != high for low, high in (one.text.people[dimension] for one in seen)):
        scored = seen[0].evaluation.dimensions[dimension]
        middle = (scored.low + scored.high) / 2

        def measure(some: Sequence[Measured]) -> float | None:
            sides: dict[bool, list[float]] = {True: [], False: []}
            for one in some:
                sides[one.text.people[dimension][0] > middle].append(one.value(dimension))
            return auc(sides[False], sides[True]) if all(sides.values()) else None

        return f"AUC {_with_interval(seen, measure, lambda one: one.text.group)}"

    def correlation(some: Sequence[Measured]) -> float | None:
        return spearman([one.value(dimension) for one in some], [one.text.people[dimension][0] for one in some])

    return f"ρ {_with_interval(seen, correlation, lambda one: one.text.group)}"


def _held(narrowed: Sequence[Measured], dimension: str) -> str:
    if not narrowed:
        return "–"
    share = fmean(one.held(dimension) for one in narrowed)
    return f"{share:.0%} of {len(narrowed)}"


def _pairs() -> tuple[str, ...]:
    """Pairs of answers to the same request, in the order that most of three people put them."""
    pairs = evaluated_pairs()

    def order(some: Sequence[EvaluatedPair]) -> float:
        return fmean(pair.by_score() for pair in some)

    undecided = fmean(each.verdict == INCONCLUSIVE for pair in pairs for each in pair.evaluations)
    told = f"order {_with_interval(pairs, order, lambda each: each.pair.request)}"
    return f"{PACK}: score", TITLE, str(len(pairs)), told, "–", "–", f"{undecided:.0%}"


def _with_interval(
    seen: Sequence[T], measure: Callable[[Sequence[T]], float | None], group: Callable[[T], object]
) -> str:
    """A measure and the 95 % interval of a bootstrap over groups."""
    whole = measure(seen)
    groups: dict[object, list[T]] = {}
    for one in seen:
        groups.setdefault(group(one), []).append(one)
    several, chance = list(groups.values()), Random(7)  # noqa: S311 - the same draws every time
    drawn = [measure([one for some in chance.choices(several, k=len(several)) for one in some]) for _ in range(DRAWS)]
    found = sorted(value for value in drawn if value is not None)
    if whole is None or not found:
        return "–"
    return f"{whole:.2f} ({found[int(0.025 * len(found))]:.2f} to {found[int(0.975 * len(found))]:.2f})"
