"""What single axes are worth offline, on pairs of texts of which one is better by one axis.

The pairs (``sets/rated_*.jsonl``) were written for this, by writers who saw what each axis asks and nothing else of
Rubrica, and who also said between which values careful people would rate both texts. The worse text is the longer one
about as often as the better one. Where a recipe was mended by pairs, they are marked as used and left out. Eight pairs
for the restraint of hints came later, when the first ones turned out to differ in whether they ask a question.

- *Put first*: how often the better one has the higher value; the same value is half right. 0.5 is chance.
- *Within its bounds*: of the texts whose bounds leave something out, how many have some of what people would rate
  within them.
- *Given different values*: in how many pairs the two values differ at all.
- *Left inconclusive*: for how many of the texts the verdict of the whole rubric stays open without a judge.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import rubrica
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.plan import Plan
from rubrica.model.context import Context
from rubrica.model.evaluation import DimensionResult
from rubrica.packs.validity import Figure

from .figures import mean_of, measured, share_of

SETS = sorted((Path(__file__).parent / "sets").glob("rated_*_pairs.jsonl"))
TITLE = "pairs of our own, written apart"
TEXTS = "texts of such pairs"
FIRST, HELD, APART = "better one of two put first", "within its bounds (90 % stated)", "pairs given different values"
OPEN = "verdicts left inconclusive"
LEVEL = "0.85 to 0.95"
SHARED = {"council-review": ("council-review-four",)}
"""Rubrics that ask the same of an axis as another, whose pairs serve them as well."""


class Rated(NamedTuple):
    """What an axis gave for a text, between which values people would rate it, and whether the verdict is open."""

    result: DimensionResult
    people: tuple[float, float]
    is_open: bool

    @property
    def narrowed(self) -> bool:
        bounds = self.result.bounds
        return bounds is not None and bounds != (self.result.low, self.result.high)

    @property
    def held(self) -> bool:
        assert self.result.bounds is not None
        return self.result.bounds[0] <= self.people[1] and self.people[0] <= self.result.bounds[1]


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two texts as they were judged offline, the better one first."""

    rubric: str
    axis: str
    group: str
    better: Rated
    worse: Rated

    @property
    def values(self) -> tuple[float, float] | None:
        """Both values; None where one could not be scored."""
        better, worse = self.better.result.value, self.worse.result.value
        return None if better is None or worse is None else (better, worse)

    @property
    def credit(self) -> float:
        """1 where the better one has the higher value, one half where both have the same or one has none."""
        if self.values is None or self.values[0] == self.values[1]:
            return 0.5
        return float(self.values[0] > self.values[1])


def rated_pairs() -> list[RatedPair]:
    """All pairs that no recipe was mended by, judged offline by every rubric that has their axis."""
    rows = [json.loads(line) for path in SETS for line in path.read_text(encoding="utf-8").splitlines()]
    plans = {
        name: compile_rubric(rubrica.load(name)) for name in {row["rubric"] for row in rows}.union(*SHARED.values())
    }
    return [
        RatedPair(
            name,
            row["dimension"],
            row["group"],
            *(_rated(plans[name], row, which) for which in ("better", "worse")),
        )
        for row in rows
        if not row.get("used")
        for name in (row["rubric"], *SHARED.get(row["rubric"], ()))
        if row["dimension"] in plans[name].rubric.dimensions
    ]


def _rated(plan: Plan, row: Mapping[str, Any], which: str) -> Rated:
    low, high = row[f"{which}_rating"]
    found = evaluate(plan, Context.of(row["context"] | row[which]))
    return Rated(found.dimensions[row["dimension"]], (low, high), found.verdict == "inconclusive")


def by_axis(pairs: Sequence[RatedPair]) -> dict[tuple[str, str], list[RatedPair]]:
    """The pairs of each axis, in the order of the sets."""
    found: dict[tuple[str, str], list[RatedPair]] = {}
    for pair in pairs:
        found.setdefault((pair.rubric, pair.axis), []).append(pair)
    return found


def figures(pairs: Sequence[RatedPair]) -> Iterator[Figure]:
    """What each axis is worth on its pairs."""
    for (rubric, axis), own in by_axis(pairs).items():
        score, groups = f"{rubric}/{axis}", [pair.group for pair in own]
        yield measured(Figure(score, TITLE, 0, FIRST, 0.0), groups, mean_of([pair.credit for pair in own]))
        differ = [pair.credit != 0.5 for pair in own]
        yield measured(Figure(score, TITLE, 0, APART, 0.0), groups, share_of(differ))
        narrowed = [(pair.group, each.held) for pair in own for each in (pair.better, pair.worse) if each.narrowed]
        if narrowed:
            names, held = zip(*narrowed, strict=True)
            yield measured(Figure(score, TEXTS, 0, HELD, 0.0, goal=LEVEL), names, share_of(held))
        texts = [(pair.group, each.is_open) for pair in own for each in (pair.better, pair.worse)]
        names, undecided = zip(*texts, strict=True)
        yield measured(Figure(score, TEXTS, 0, OPEN, 0.0), names, share_of(undecided))


def main() -> None:
    pairs = rated_pairs()
    table = Table(title="Axes on pairs of texts of which one is better")
    for name in ("axis", "measure", "texts", "value", "95 %"):
        table.add_column(name, justify="left" if name in ("axis", "measure") else "right")
    for each in figures(pairs):
        table.add_row(each.score, each.measure, str(each.texts), f"{each.value:.2f}", f"{each.low:.2f}–{each.high:.2f}")
    console = Console()
    console.print(table)
    if "--each" in sys.argv:
        for pair in pairs:
            console.print(
                pair.rubric, pair.axis, pair.group, pair.values, pair.better.result.why, pair.worse.result.why
            )


if __name__ == "__main__":
    main()
