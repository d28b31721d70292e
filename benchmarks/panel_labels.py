"""Pooled judges against the best single judge, with 40 labels per judge: ``python -m benchmarks.panel_labels``.

The data (100 pairs of outputs with a gold choice, judged by many models and prompts in both orders) are not part of
the project: they are looked for in ``$RUBRICA_DATA``, else in ``../shared/data``. Without them nothing is measured.

Each split draws 40 items as labels, the same for all judges, and tries the rest. Pooling is what Rubrica ships:
both orders of a judge joined at half a vote each, weights from the 40 labels (`weights_from_answers`). Against it:

- *chosen*: the judge with the most right among the same 40 labels, ties averaged. This is what a user could do.
- *twice the labels*: the judge chosen in the same way on 80 labels, tried on the other 20.
- *hindsight*: the judge with the most right on all items, those it is tried on included. Nobody can choose it, and
  among many judges it is partly luck; it is an upper bound for choosing.

The power in `weights_from_answers` was settled on these same data; powers from 1 to 4 all beat *chosen*, plain
log-odds weights do too by less, and a bare majority does not for the panel of all judges.

An undecided answer (a tie, an unread reply, two orders that differ) counts one half.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from rubrica.scoring.pooling import elect, weights_from_answers

from .floor import Ratio

LABELS, SPLITS, SEED = 40, 300, 20261115
Answers = Mapping[str, Sequence[int | None]]  # by judge and order: the output each item's answer names, 0 or None: none


@dataclass(frozen=True, slots=True)
class Records:
    """Every judge's answer to every item, and the right ones."""

    gold: list[int]
    answers: Answers

    def right(self, seats: Sequence[str]) -> list[float]:
        """Per item how right a judge is, its orders joined: 1, 0, or between where it is undecided."""
        return [fmean(_credit(self.answers[seat][item], gold) for seat in seats) for item, gold in enumerate(self.gold)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Accuracies of one panel, one per split."""

    panel: str
    judges: int
    pooled: list[float]
    chosen: list[float]
    hindsight: list[float]
    twice: list[float]


def pooled_accuracy() -> list[Ratio]:
    """Rows for `make bench`: the panel of all judges, and the mean over smaller panels."""
    records = load()
    if records is None:
        return []
    every, *smaller = [measure(name, seats, records) for name, seats in panels(records.answers).items()]
    return [
        _row(f"accuracy of {every.judges} pooled judges", [every]),
        _row(f"accuracy of {len(smaller)} smaller panels", smaller),
    ]


def _row(what: str, outcomes: Sequence[Outcome]) -> Ratio:
    pooled, chosen = fmean(fmean(o.pooled) for o in outcomes), fmean(fmean(o.chosen) for o in outcomes)
    hindsight = fmean(fmean(o.hindsight) for o in outcomes)
    detail = f"{pooled:.3f} against {chosen:.3f}; the best in hindsight {hindsight:.3f}"
    return Ratio(what, f"best judge by the same {LABELS} labels", pooled / chosen, 1.0, detail)


def load() -> Records | None:
    """The records, or None where the data are not on this machine."""
    folder = Path(os.environ.get("RUBRICA_DATA") or Path(__file__).parents[2] / "shared" / "data")
    path = folder / "panel_labels.jsonl.gz"
    if not path.exists():
        print(f"panel labels: skipped, {path.name} is not here (set RUBRICA_DATA to its folder)")
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    seats = sorted({seat for row in rows for seat in row["judges"]})
    return Records([row["gold"] for row in rows], {seat: [row["judges"].get(seat) for row in rows] for seat in seats})


def panels(answers: Answers) -> dict[str, list[str]]:
    """All judges; per prompt the models that were given it; per model its prompts."""
    found: dict[str, list[str]] = {"all": sorted(answers)}
    for part, kind in ((1, "prompt"), (0, "model")):
        for seat in sorted(answers):
            found.setdefault(f"{kind} {seat.split('/')[part]}", []).append(seat)
    return {name: seats for name, seats in found.items() if len(by_judge(seats)) >= 3}


def by_judge(seats: Sequence[str]) -> dict[str, list[str]]:
    """Seats (model/prompt/order) of the same judge together."""
    joined: dict[str, list[str]] = {}
    for seat in seats:
        joined.setdefault("/".join(seat.split("/")[:2]), []).append(seat)
    return joined


def measure(panel: str, seats: Sequence[str], records: Records) -> Outcome:
    judges = by_judge(seats)
    right = {judge: records.right(own) for judge, own in judges.items()}
    alone = {seat: records.right([seat]) for seat in seats} | right  # single judges: in one order, and in both
    luckiest = max(sorted(alone), key=lambda judge: sum(alone[judge]))
    chance = random.Random(SEED)  # noqa: S311 - seeded splits
    outcome = Outcome(panel, len(judges), [], [], [], [])
    for _ in range(SPLITS):
        order = list(range(len(records.gold)))
        chance.shuffle(order)
        labelled, tried = order[:LABELS], order[LABELS:]
        weights = weights_from_answers({judge: [own[item] for item in labelled] for judge, own in right.items()})
        elected = (_credit(_elected(item, judges, weights, records), records.gold[item]) for item in tried)
        outcome.pooled.append(fmean(elected))
        outcome.chosen.append(_best_judge(alone, labelled, tried))
        outcome.twice.append(_best_judge(alone, order[: 2 * LABELS], order[2 * LABELS :]))
        outcome.hindsight.append(fmean(alone[luckiest][item] for item in tried))
    return outcome


def _elected(
    item: int, judges: Mapping[str, Sequence[str]], weights: Mapping[str, float], records: Records
) -> int | None:
    return elect(
        (choice, weights[judge] / len(own))
        for judge, own in judges.items()
        for seat in own
        if (choice := records.answers[seat][item])
    )


def _best_judge(right: Mapping[str, Sequence[float]], labelled: Sequence[int], tried: Sequence[int]) -> float:
    """How right the judge with the most right labels is on other items; the mean of several where they tie."""
    totals = {judge: sum(own[item] for item in labelled) for judge, own in right.items()}
    top = max(totals.values())
    best = [judge for judge, total in totals.items() if total == top]
    return fmean(fmean(right[judge][item] for item in tried) for judge in best)


def _credit(answer: int | None, gold: int) -> float:
    return float(answer == gold) if answer else 0.5


def _interval(values: Sequence[float]) -> str:
    """The mean, and the range of the middle 95 % of the splits."""
    rising = sorted(values)
    cut = len(rising) // 40
    return f"{fmean(values):+.3f} [{rising[cut]:+.3f}, {rising[-1 - cut]:+.3f}]"


def main() -> None:
    records = load()
    if records is None:
        return
    table = Table(title=f"Accuracy on the other items, {LABELS} labels per judge, {SPLITS} splits")
    for name in ("panel", "judges", "pooled", "chosen", "twice the labels", "hindsight", "pooled - chosen"):
        table.add_column(name, justify="left" if name == "panel" else "right")
    for name, seats in panels(records.answers).items():
        found = measure(name, seats, records)
        gains = [mine - other for mine, other in zip(found.pooled, found.chosen, strict=True)]
        table.add_row(
            found.panel,
            str(found.judges),
            f"{fmean(found.pooled):.3f}",
            f"{fmean(found.chosen):.3f}",
            f"{fmean(found.twice):.3f}",
            f"{fmean(found.hindsight):.3f}",
            _interval(gains),
        )
    console = Console()
    console.print(table)
    console.print("In brackets: the middle 95 % of the splits. They share 100 items, so it is no confidence interval.")


if __name__ == "__main__":
    main()
