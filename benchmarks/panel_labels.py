"""Learned panels against a majority and the best single judge, with 40 labels: ``python -m benchmarks.panel_labels``.

The data (100 pairs of outputs with a gold choice, judged by many models and prompts in both orders; 999 pairs with the
choices of three people and two models) are not part of the project: they are looked for in ``$RUBRICA_DATA``, else in
``../shared/data``. Without them only simulated panels are measured.

Each split draws 40 items as labels, the same for all judges, and tries the rest. What is measured is what `rubrica
calibrate` does with labelled choices and `rubrica prefer` with its weights: both orders of a judge joined, weights
where they did better than a majority on labels left out of learning, else a majority. Against it:

- *majority*: all judges alike.
- *chosen*: the judge with the most right among the same 40 labels. This is what a user could do.
- *hindsight*: the judge with the most right among the items that are tried. Nobody can choose it beforehand, and of few
  items it flatters: it is the best of many draws of luck.
- *no labels*: weights from how far judges agree (Dawid and Skene), on all items without their gold.

The panels are all judges, the models that were given the same prompt, the prompts of one model, and *fooled*: one
strong judge among nine weaker ones, on items of which half are those the weaker ones' majority has wrong. The judges
are drawn anew for each of 200 splits, until there are 24 such items, of which 20 are labels. Each judge's answers, and
which items these are, come from the data; that they are half of all is the making of this benchmark.

*people* is one person's choice (where it is none, the pair is left out) told by the other two and the two models. In
simulated panels the truth is known, and 500 other items are tried: one good judge among nine that copy a view which is
right half of the time, or a third of the time; judges that are all the same; two cliques; judges of rising skill; one
that is mostly wrong.

An undecided answer (a tie, an unread reply, two orders that differ) counts one half.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.console import Console
from rich.table import Table

from rubrica.judges.labels import ChoiceLabel
from rubrica.judges.panel_fit import learn_choices

from .floor import Ratio

LABELS, SPLITS, SEED = 40, 30, 20261115
STRONG = "GPT-4/"
FOOLED, FOOLED_SPLITS = 9, 200
SIMULATED = 500
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
    hindsight: list[float] = field(default_factory=list)
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
    rows = _rows("panel_labels.jsonl.gz")
    if rows is None:
        return None
    seats = sorted({seat for row in rows for seat in row["judges"]})
    return Records([row["gold"] for row in rows], {seat: [row["judges"].get(seat) for row in rows] for seat in seats})


def load_people() -> Records | None:
    """One person's choices as gold, with two others and two models as judges."""
    rows = _rows("pandalm.jsonl.gz")
    if rows is None:
        return None
    rows = [row for row in rows if row["annotators"][2] in (1, 2)]
    answers = {f"model/{name}": [row["judges"].get(name) for row in rows] for name in sorted(rows[0]["judges"])}
    answers |= {f"person/{place}": [row["annotators"][place] for row in rows] for place in range(2)}
    return Records([row["annotators"][2] for row in rows], answers)


def _rows(name: str) -> list[dict[str, Any]] | None:
    folder = Path(os.environ.get("RUBRICA_DATA") or Path(__file__).parents[2] / "shared" / "data")
    path = folder / name
    if not path.exists():
        print(f"panel labels: skipped, {name} is not here (set RUBRICA_DATA to its folder)")
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


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


def simulations() -> dict[str, Callable[[random.Random], Records]]:
    """Panels whose truth is known, by name."""
    return {
        "one good (.88), fooled .5": partial(_one_good, 0.88, 0.5),
        "one good (.75), fooled .5": partial(_one_good, 0.75, 0.5),
        "one good (.88), fooled .35": partial(_one_good, 0.88, 0.35),
        "5 alike, .7": partial(_of_skill, [0.7] * 5),
        "9 alike, .6": partial(_of_skill, [0.6] * 9),
        "two cliques, .75": partial(_cliques, (0.75, 4), (0.75, 4)),
        "two cliques, .8 and .6": partial(_cliques, (0.8, 3), (0.6, 6)),
        "skill .55 to .9": partial(_of_skill, [0.55, 0.64, 0.73, 0.81, 0.9]),
        "one liar": partial(_of_skill, [0.75] * 4 + [0.2]),
    }


def _answers(gold: Sequence[int], right: float, chance: random.Random) -> list[int]:
    return [one if chance.random() < right else 3 - one for one in gold]


def _records(gold: list[int], judges: Sequence[Sequence[int]]) -> Records:
    return Records(gold, {f"judge/{place:02d}": own for place, own in enumerate(judges)})


def _gold(chance: random.Random) -> list[int]:
    return [chance.choice((1, 2)) for _ in range(LABELS + SIMULATED)]


def _of_skill(skills: Sequence[float], chance: random.Random) -> Records:
    gold = _gold(chance)
    return _records(gold, [_answers(gold, skill, chance) for skill in skills])


def _one_good(skill: float, view: float, chance: random.Random) -> Records:
    gold = _gold(chance)
    shared = _answers(gold, view, chance)
    return _records(gold, [_answers(gold, skill, chance), *(_answers(shared, 0.9, chance) for _ in range(FOOLED))])


def _cliques(one: tuple[float, int], other: tuple[float, int], chance: random.Random) -> Records:
    gold = _gold(chance)
    views = [(_answers(gold, skill, chance), size) for skill, size in (one, other)]
    return _records(gold, [_answers(view, 0.9, chance) for view, size in views for _ in range(size)])


def measure_simulated(name: str, make: Callable[[random.Random], Records]) -> Outcome:
    chance = random.Random(f"{SEED} {name}")  # noqa: S311 - seeded draws
    outcome = Outcome(name, 0)
    for _ in range(SPLITS):
        records = make(chance)
        judges = by_judge(sorted(records.answers))
        outcome = replace(outcome, judges=len(judges))
        _try(outcome, judges, records, range(LABELS), range(LABELS, len(records.gold)))
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
    best, luckiest = (
        max(sorted(judges), key=lambda judge: _accuracy({judge: 1.0}, judges, records, items))
        for items in (labelled, tried)
    )
    for kept, weights in (
        (outcome.learned, alike if found is None else found.judges),
        (outcome.majority, alike),
        (outcome.chosen, {best: 1.0}),
        (outcome.hindsight, {luckiest: 1.0}),
        (outcome.unlabelled, alike if alone is None else alone.judges),
    ):
        kept.append(_accuracy(weights, judges, records, tried))


def _accuracy(
    weights: Mapping[str, float], judges: Mapping[str, Sequence[str]], records: Records, items: Sequence[int]
) -> float:
    counted = {judge: judges[judge] for judge in weights if judge in judges}
    return fmean(_credit(_voted(weights, counted, records, item), records.gold[item]) for item in items)


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


def _lead(mine: Sequence[float], other: Sequence[float]) -> str:
    """The mean of the differences, and 1.96 of its standard errors over the splits to either side."""
    gains = [one - two for one, two in zip(mine, other, strict=True)]
    return f"{fmean(gains):+.3f} ± {1.96 * stdev(gains) / math.sqrt(len(gains)):.3f}"


def main() -> None:
    records, people = load(), load_people()
    table = Table(title=f"Accuracy on the other items, {LABELS} labels")
    for name in (
        "panel",
        "judges",
        "learned",
        "majority",
        "chosen",
        "hindsight",
        "no labels",
        "- majority",
        "- chosen",
    ):
        table.add_column(name, justify="left" if name == "panel" else "right", no_wrap=True)
    measured = []
    if records is not None:
        measured += [measure(name, seats, records) for name, seats in panels(records.answers).items()]
        measured.append(measure_fooled(records))
    if people is not None:
        measured.append(measure("people", sorted(people.answers), people))
    measured += [measure_simulated(name, make) for name, make in simulations().items()]
    for found in measured:
        each = (found.learned, found.majority, found.chosen, found.hindsight, found.unlabelled)
        leads = (_lead(found.learned, found.majority), _lead(found.learned, found.chosen))
        table.add_row(found.panel, str(found.judges), *(f"{fmean(own):.3f}" for own in each), *leads)
    console = Console(width=140)
    console.print(table)
    console.print(
        f"The last two: learned less the other, ± 1.96 standard errors over {SPLITS} splits ({FOOLED_SPLITS} of the "
        "fooled).\nSplits of recorded panels share their items, so that theirs is no confidence interval."
    )


if __name__ == "__main__":
    main()
