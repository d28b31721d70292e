"""Learned panels against a majority and the best single judge, with 40 labels: ``python -m benchmarks.panel_labels``.

The data (100 pairs of outputs with a gold choice, judged by many models and prompts in both orders) are not part of
the project: they are looked for in ``$RUBRICA_DATA``, else in ``../shared/data``. Without them nothing is measured.

Each split draws 40 items as labels, the same for all judges, and tries the rest. What is measured is what `rubrica
calibrate` does with labelled choices and `rubrica prefer` with its weights: both orders of a judge joined, weights
where they did better than a majority on labels left out of learning, else a majority. Against it:

- *majority*: all judges alike.
- *chosen*: the judge with the most right among the same 40 labels. This is what a user could do.
- *no labels*: weights from how far judges agree (Dawid and Skene), on all items without their gold.

The panels are all judges, the models that were given the same prompt, the prompts of one model, and *fooled*: one
strong judge among nine weaker ones, on items of which half are those the weaker ones' majority has wrong. The judges
are drawn anew for each of 60 splits, until there are 24 such items, of which 20 are labels. Each judge's answers, and
which items these are, come from the data; that they are half of all is the making of this benchmark.

An undecided answer (a tie, an unread reply, two orders that differ) counts one half.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from rubrica.judges.labels import ChoiceLabel
from rubrica.judges.panel_fit import learn_choices

from .floor import Ratio

LABELS, SPLITS, SEED = 40, 20, 20261115
STRONG = "GPT-4/"
FOOLED, FOOLED_SPLITS = 9, 60
Answers = Mapping[str, Sequence[int | None]]  # by judge and order: the output each item's answer names, 0 or None: none


@dataclass(frozen=True, slots=True)
class Records:
    """Every judge's answer to every item, and the right ones."""

    gold: list[int]
    answers: Answers

    def side(self, seats: Sequence[str], item: int) -> float:
        """A judge's answer from -1 (the first output) to 1 (the second), its orders joined."""
        return fmean({1: -1.0, 2: 1.0}.get(self.answers[seat][item] or 0, 0.0) for seat in seats)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Accuracies of one panel, one per split."""

    panel: str
    judges: int
    learned: list[float] = field(default_factory=list)
    majority: list[float] = field(default_factory=list)
    chosen: list[float] = field(default_factory=list)
    unlabelled: list[float] = field(default_factory=list)


def pooled_accuracy() -> list[Ratio]:
    """Rows for `make bench`: all judges, smaller panels, and one right judge among fooled ones."""
    records = load()
    if records is None:
        return []
    every, *smaller = [measure(name, seats, records) for name, seats in panels(records.answers).items()]
    fooled = measure_fooled(records)
    return [
        _row(f"accuracy of {every.judges} learned judges", [every]),
        _row(f"accuracy of {len(smaller)} smaller learned panels", smaller),
        _row("accuracy of a learned panel, most fooled", [fooled]),
    ]


def _row(what: str, outcomes: Sequence[Outcome]) -> Ratio:
    learned, majority, chosen = (
        fmean(fmean(getattr(outcome, name)) for outcome in outcomes) for name in ("learned", "majority", "chosen")
    )
    detail = f"{learned:.3f} against {majority:.3f}; the best by the same {LABELS} labels {chosen:.3f}"
    return Ratio(what, "majority", learned / majority, 1.0, detail)


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
    chance = random.Random(SEED)  # noqa: S311 - seeded splits
    outcome = Outcome(panel, len(judges))
    for _ in range(SPLITS):
        items = list(range(len(records.gold)))
        chance.shuffle(items)
        _try(outcome, judges, records, items[:LABELS], items[LABELS:])
    return outcome


def measure_fooled(records: Records) -> Outcome:
    """One strong judge among weaker ones, where half of the items are those that their majority has wrong."""
    every = by_judge(sorted(records.answers))
    strong = sorted(judge for judge in every if judge.startswith(STRONG))
    weak = sorted(judge for judge in every if not judge.startswith(STRONG))
    chance = random.Random(SEED)  # noqa: S311 - seeded splits
    outcome = Outcome("fooled", FOOLED + 1)
    while len(outcome.learned) < FOOLED_SPLITS:  # most draws have too few such items
        judges = {judge: every[judge] for judge in (chance.choice(strong), *chance.sample(weak, FOOLED))}
        others = [own for judge, own in judges.items() if judge in weak]
        wrong: list[int] = []
        right: list[int] = []
        for item, gold in enumerate(records.gold):
            votes = sum(records.side(own, item) for own in others)
            (wrong if votes * (2 * gold - 3) < 0 else right).append(item)
        chance.shuffle(wrong)
        items = wrong + chance.sample(right, len(wrong))
        chance.shuffle(items)
        cut = max(min(LABELS, round(0.65 * len(items))), 20)
        if len(items) - cut >= 4:
            _try(outcome, judges, records, items[:cut], items[cut:])
    return outcome


def _try(
    outcome: Outcome,
    judges: Mapping[str, Sequence[str]],
    records: Records,
    labelled: Sequence[int],
    tried: Sequence[int],
) -> None:
    alike = dict.fromkeys(judges, 1.0)
    found = learn_choices(list(_labels(judges, records, labelled, labelled=True))).weights
    alone = learn_choices(list(_labels(judges, records, [*labelled, *tried], labelled=False))).weights
    right = {judge: [_credit(records.side(own, i), records.gold[i]) for i in labelled] for judge, own in judges.items()}
    best = max(sorted(right), key=lambda judge: sum(right[judge]))
    for kept, weights in (
        (outcome.learned, alike if found is None else found.judges),
        (outcome.majority, alike),
        (outcome.chosen, {best: 1.0}),
        (outcome.unlabelled, alike if alone is None else alone.judges),
    ):
        kept.append(fmean(_credit(_voted(weights, judges, records, i), records.gold[i]) for i in tried))


def _labels(
    judges: Mapping[str, Sequence[str]], records: Records, items: Sequence[int], *, labelled: bool
) -> Iterator[ChoiceLabel]:
    names = {1: "first", 2: "second"}
    for item in items:
        human = names[records.gold[item]] if labelled else None
        for judge, seats in judges.items():
            for seat in seats:
                yield ChoiceLabel(str(item), judge, names.get(records.answers[seat][item] or 0), human)


def _voted(weights: Mapping[str, float], judges: Mapping[str, Sequence[str]], records: Records, item: int) -> float:
    return sum(weights.get(judge, 0.0) * records.side(seats, item) for judge, seats in judges.items())


def _credit(side: float, gold: int) -> float:
    product = side * (2 * gold - 3)
    return 1.0 if product > 1e-9 else 0.0 if product < -1e-9 else 0.5


def _interval(values: Sequence[float]) -> str:
    """The mean, and the range of the middle 95 % of the splits."""
    rising = sorted(values)
    cut = len(rising) // 40
    return f"{fmean(values):+.3f} [{rising[cut]:+.3f}, {rising[-1 - cut]:+.3f}]"


def main() -> None:
    records = load()
    if records is None:
        return
    table = Table(title=f"Accuracy on the other items, {LABELS} labels, {SPLITS} splits")
    for name in ("panel", "judges", "learned", "majority", "chosen", "no labels", "learned - majority"):
        table.add_column(name, justify="left" if name == "panel" else "right")
    measured = [measure(name, seats, records) for name, seats in panels(records.answers).items()]
    for found in (*measured, measure_fooled(records)):
        gains = [mine - other for mine, other in zip(found.learned, found.majority, strict=True)]
        means = (fmean(own) for own in (found.learned, found.majority, found.chosen, found.unlabelled))
        table.add_row(found.panel, str(found.judges), *(f"{mean:.3f}" for mean in means), _interval(gains))
    console = Console()
    console.print(table)
    console.print("In brackets: the middle 95 % of the splits. They share 100 items, so it is no confidence interval.")


if __name__ == "__main__":
    main()
