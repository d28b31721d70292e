"""How often the offline classifier gets the type of real questions: ``python -m benchmarks.question_types``.

The typed questions are not part of the project: they are looked for in ``$RUBRICA_DATA``, else in ``../shared/data``.
Without them nothing is measured. The classifier was not trained on any of them. One half, *seen*, was looked at while
its examples were written, to learn what kinds of questions there are; the *unseen* half tells more.

Their types follow from where they come from, and some are wrong. Few are FACTUAL, one is ETHICAL: for these two, see
what `python -m training.question_types` says about examples that were kept apart.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from rubrica.gateway.classifier import TYPES, OfflineClassifier, QuestionClass

from .floor import Ratio

FILE = "question_types.jsonl.gz"
TARGET = 0.80


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: its type, what the classifier says, and whether it was looked at."""

    type: str
    found: QuestionClass
    seen: bool

    @property
    def right(self) -> bool:
        return self.found.type == self.type


def classified() -> list[Ratio]:
    """The row for `make bench`."""
    outcomes = load()
    if outcomes is None:
        return []
    share = fmean(each.right for each in outcomes)
    unseen = fmean(each.right for each in outcomes if not each.seen)
    return [
        Ratio(
            "question types found offline", "all of them", share, TARGET, f"{len(outcomes)}; unseen half {unseen:.3f}"
        )
    ]


def load() -> list[Outcome] | None:
    """Every typed question, classified; None where the data are not on this machine."""
    path = Path(os.environ.get("RUBRICA_DATA") or Path(__file__).parents[2] / "shared" / "data") / FILE
    if not path.exists():
        print(f"question types: skipped, {path.name} is not here (set RUBRICA_DATA to its folder)")
        return None
    classify = OfflineClassifier()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["type"] is not None]
    return [
        Outcome(row["type"], classify(row["prompt"]), hashlib.sha256(str(row["id"]).encode()).digest()[0] % 2 == 0)
        for row in rows
    ]


def calibration_gap(outcomes: Sequence[Outcome]) -> float:
    """How far confidence and accuracy lie apart, on average over ten bands of confidence (ECE)."""
    bands: dict[int, list[Outcome]] = {}
    for each in outcomes:
        bands.setdefault(min(9, int(10 * each.found.confidence)), []).append(each)
    return sum(abs(sum(each.found.confidence - each.right for each in band)) for band in bands.values()) / len(outcomes)


def main() -> None:
    outcomes = load()
    if outcomes is None:
        return
    table = Table(title="Question types found offline, right of all")
    for name in ("half", "all", *TYPES, "gap"):
        table.add_column(name, justify="left" if name == "half" else "right")
    for name, chosen in (
        ("all", outcomes),
        ("seen", [each for each in outcomes if each.seen]),
        ("unseen", [each for each in outcomes if not each.seen]),
    ):
        asked, right = Counter(each.type for each in chosen), Counter(each.type for each in chosen if each.right)
        cells = [f"{right[kind]}/{asked[kind]}" for kind in TYPES]
        table.add_row(name, f"{right.total() / len(chosen):.3f}", *cells, f"{calibration_gap(chosen):.3f}")
    console = Console()
    console.print(table)
    console.print("gap: how far confidence and accuracy lie apart, on average")


if __name__ == "__main__":
    main()
