"""How often the offline classifier gets the type of real questions: ``python -m benchmarks.question_types``.

The typed questions are not part of the project: they are looked for in ``$RUBRICA_DATA``, else in ``../shared/data``.
Without them nothing is measured. The classifier was not trained on any of them. A third of them was *apart* while its
examples were written and its few settings chosen; the others were looked at, to learn what kinds of questions exist.

Their types follow from where they come from, and some are wrong. Few are FACTUAL, one is ETHICAL: for these two, see
what `python -m training.question_types` says about examples that were kept apart, and with `--cross` about subjects and
ways of asking that were not learnt from.

*Words* reads words alone, as where the sentence model is not installed. *From 0.8* is the share of questions with such
a confidence, and how many of these are right; *plausible* how often the type is among those whose chances add up to
0.9.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from rubrica.engine.classified_profile import PLAUSIBLE
from rubrica.text.question_type import TYPES, TypeChances, by_words, classify_question

from .floor import Ratio

FILE = "question_types.jsonl.gz"
TARGET = 0.80
CONFIDENT = 0.8


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: its type, what the classifier says, and whether it was kept apart."""

    type: str
    found: TypeChances
    apart: bool

    @property
    def right(self) -> bool:
        return self.found.type == self.type

    @property
    def covered(self) -> bool:
        """Whether the type is among the plausible ones."""
        reached = 0.0
        for kind, chance in self.found.chances.items():
            if kind == self.type:
                return True
            reached += chance
            if reached >= PLAUSIBLE:
                return False
        return False


def classified() -> list[Ratio]:
    """The row for `make bench`."""
    outcomes = load()
    if outcomes is None:
        return []
    share = fmean(each.right for each in outcomes)
    apart = fmean(each.right for each in outcomes if each.apart)
    return [
        Ratio("question types found offline", "all of them", share, TARGET, f"{len(outcomes)}; third apart {apart:.3f}")
    ]


def load(classify: Callable[[str], TypeChances | None] = classify_question) -> list[Outcome] | None:
    """Every typed question, classified; None where the data are not on this machine."""
    path = Path(os.environ.get("RUBRICA_DATA") or Path(__file__).parents[2] / "shared" / "data") / FILE
    if not path.exists():
        print(f"question types: skipped, {path.name} is not here (set RUBRICA_DATA to its folder)")
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["type"] is not None]
    return [
        Outcome(row["type"], found, _is_apart(str(row["id"])))
        for row in rows
        if (found := classify(row["prompt"])) is not None
    ]


def _is_apart(name: str) -> bool:
    return int.from_bytes(hashlib.sha256(f"third{name}".encode()).digest()[:4], "big") % 3 == 0


def calibration_gap(outcomes: Sequence[Outcome]) -> float:
    """How far confidence and accuracy lie apart, on average over ten bands of confidence (ECE)."""
    bands: dict[int, list[Outcome]] = {}
    for each in outcomes:
        bands.setdefault(min(9, int(10 * each.found.confidence)), []).append(each)
    return sum(abs(sum(each.found.confidence - each.right for each in band)) for band in bands.values()) / len(outcomes)


def main() -> None:
    console = Console(width=130)
    for title, classify in (("Words", by_words), ("All that is installed", classify_question)):
        outcomes = load(classify)
        if outcomes is None:
            return
        table = Table(title=f"{title}: question types found offline, right of all")
        for name in ("part", "all", *TYPES, "gap", "from 0.8", "plausible"):
            table.add_column(name, justify="left" if name == "part" else "right")
        for name, chosen in (
            ("looked at", [each for each in outcomes if not each.apart]),
            ("apart", [each for each in outcomes if each.apart]),
        ):
            table.add_row(name, *_cells(chosen))
        console.print(table)
    console.print("gap: how far confidence and accuracy lie apart, on average")


def _cells(chosen: Sequence[Outcome]) -> list[str]:
    asked, right = Counter(each.type for each in chosen), Counter(each.type for each in chosen if each.right)
    sure = [each for each in chosen if each.found.confidence >= CONFIDENT]
    return [
        f"{right.total() / len(chosen):.3f}",
        *(f"{right[kind]}/{asked[kind]}" for kind in TYPES),
        f"{calibration_gap(chosen):.3f}",
        f"{len(sure) / len(chosen):.2f}, {fmean(each.right for each in sure):.3f}",
        f"{fmean(each.covered for each in chosen):.3f}",
    ]


if __name__ == "__main__":
    main()
