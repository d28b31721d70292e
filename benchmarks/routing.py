"""Routing by offline grades against random and length-based routing: ``python -m benchmarks.routing``.

The recorded answers of a weak and a strong model to the same word problems are replayed as the gateway would route
them: the question is classified offline, the weak answer graded offline with `answer-quality`, and what stays below the
threshold of its type goes to the strong model. The data are not part of the project: they are looked for in
``$RUBRICA_DATA``, else in ``../shared/data``. Without them nothing is measured.

Routing is judged by its APGR, the average performance gap recovered (RouteLLM, arXiv 2406.18665): with the share of
calls that may go to the strong model growing from 0 to 1, worst grades first, the share of the accuracy gap between
the two models that is closed, averaged over all shares. Random routing gives 0.5; 0 is never better than the weak
model until all is sent; knowing every outcome beforehand gives a little over 1, because the weak model is sometimes
the one that is right. Equal grades count as shuffled.

*Length* is the best of four: long or short questions or answers first, chosen in hindsight.

*Risk of a wrong sum* routes by the feature `wrong_sum_risk` alone, which also has a say in the offline grades. It was
learnt from two thirds of the records, *learnt*, which the recipes were written with in view; the third *apart* tells
more. Intervals are those of nine in ten samples drawn anew from the records.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table
from training.routing import train

import rubrica
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.gateway.classifier import OfflineClassifier
from rubrica.model.context import Context
from rubrica.text.maths.worked_sum import is_worked_sum, signs_of, wrong_sum_risk
from rubrica.text.texts import Texts

from .floor import Ratio

FILE = "routing_gsm8k.jsonl.gz"
TARGET = 1.1  # how much better than the best floor
SAMPLES = 200  # drawn anew for an interval
HALVES = 40  # ways to cut the records in two


@dataclass(frozen=True, slots=True)
class Record:
    """A question, its weak answer, and which model was right."""

    id: str
    prompt: str
    answer: str
    weak: bool
    strong: bool

    @property
    def apart(self) -> bool:
        """Whether nothing was learnt from it: one in three is."""
        return int.from_bytes(hashlib.sha256(f"third{self.id}".encode()).digest()[:4], "big") % 3 == 0


@dataclass(frozen=True, slots=True)
class Routing:
    """What a way of routing achieves: its APGR, and its accuracy at the share that is sent to the strong model."""

    apgr: float
    share: float
    accuracy: float


def routing() -> list[Ratio]:
    """The row for `make bench`."""
    records = load()
    if records is None:
        return []
    found = compared(records, margins(records))
    offline = found["offline grading"].apgr
    other = {name: each.apgr for name, each in found.items() if name in ("random", "length")}
    best = max(other, key=other.__getitem__)
    detail = f"APGR {offline:.3f} against " + ", ".join(f"{name} {apgr:.3f}" for name, apgr in other.items())
    return [Ratio("routing by offline grades", f"{best}, the best other way", offline / other[best], TARGET, detail)]


def load() -> list[Record] | None:
    """The records, or None where the data are not on this machine."""
    path = Path(os.environ.get("RUBRICA_DATA") or Path(__file__).parents[2] / "shared" / "data") / FILE
    if not path.exists():
        print(f"routing: skipped, {path.name} is not here (set RUBRICA_DATA to its folder)")
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [_record(json.loads(line)) for line in lines]


def _record(row: Mapping[str, Any]) -> Record:
    return Record(str(row["id"]), row["prompt"], row["weak_response"], row["weak_correct"], row["strong_correct"])


def margins(records: Sequence[Record]) -> list[float]:
    """How far each weak answer's score is above the threshold of its question's type; below 0 it is escalated."""
    rubric = rubrica.load("answer-quality")
    plan, classify = compile_rubric(rubric), OfflineClassifier()
    found = []
    for record in records:
        kind = classify(record.prompt).type
        context = Context(prompt=record.prompt, response=record.answer, metadata={"question_type": kind})
        evaluation = evaluate(plan, context)
        assert evaluation.score is not None
        assert evaluation.threshold is not None
        found.append(evaluation.score - evaluation.threshold)
    return found


def wrong_sum_risks(records: Sequence[Record]) -> list[float]:
    """How likely each weak answer is wrong; where that cannot be told, as likely as on average."""
    told = [Texts(record.prompt, record.answer) for record in records]
    risks = [wrong_sum_risk(texts) if is_worked_sum(texts) else None for texts in told]
    average = fmean(risk for risk in risks if risk is not None)
    return [average if risk is None else risk for risk in risks]


def on_halves(records: Sequence[Record]) -> list[float]:
    """The APGR of `wrong_sum_risk` on random halves of the records, each by weights that the other half teaches."""
    told = [Texts(record.prompt, record.answer) for record in records]
    signs = [signs_of(texts) if is_worked_sum(texts) else None for texts in told]
    chance, found = random.Random(0), []  # noqa: S311 - cuts, no secrets
    for _ in range(HALVES):
        places = chance.sample(range(len(records)), len(records))
        learnt, apart = places[: len(places) // 2], places[len(places) // 2 :]
        known = [(own, not records[at].weak) for at in learnt if (own := signs[at]) is not None]
        weights = train([own for own, _ in known], [wrong for _, wrong in known])
        risks = [None if (own := signs[at]) is None else weights.chance(own) for at in apart]
        average = fmean(risk for risk in risks if risk is not None)
        grades = [-(average if risk is None else risk) for risk in risks]
        found.append(routed([records[at] for at in apart], grades, 0.0).apgr)
    return sorted(found)


def interval(records: Sequence[Record], grades: Sequence[float]) -> tuple[float, float]:
    """Within which the APGR lies in nine of ten samples of the records, drawn with replacement."""
    chance, found = random.Random(0), []  # noqa: S311 - samples, no secrets
    for _ in range(SAMPLES):
        places = chance.choices(range(len(records)), k=len(records))
        drawn = [records[at] for at in places]
        if gains(drawn, [0.0] * len(drawn))[-1][1] > 0:  # there is a gap to close
            found.append(routed(drawn, [grades[at] for at in places], 0.0).apgr)
    found.sort()
    return found[len(found) // 20], found[-1 - len(found) // 20]


def compared(records: Sequence[Record], grades: Sequence[float]) -> dict[str, Routing]:
    """Each way of routing at the share that grading sends to the strong model."""
    share = fmean(grade < 0 for grade in grades)
    lengths = [
        [sign * len(text) for text in texts]
        for texts in ([record.prompt for record in records], [record.answer for record in records])
        for sign in (1, -1)
    ]
    return {
        "weak alone": Routing(0.0, 0.0, fmean(record.weak for record in records)),
        "random": routed(records, [0.0] * len(records), share),
        "length": max((routed(records, order, share) for order in lengths), key=lambda each: each.apgr),
        "risk of a wrong sum": routed(records, [-risk for risk in wrong_sum_risks(records)], share),
        "offline grading": routed(records, grades, share),
        "strong alone": Routing(1.0, 1.0, fmean(record.strong for record in records)),
    }


def routed(records: Sequence[Record], grades: Sequence[float], share: float) -> Routing:
    """Routing the lowest grades first to the strong model."""
    points = gains(records, grades)
    gap = points[-1][1]
    area = sum((right - left) * (low + high) / 2 for (left, low), (right, high) in pairwise(points))
    return Routing(area / gap, share, fmean(record.weak for record in records) + _at(points, share))


def gains(records: Sequence[Record], grades: Sequence[float]) -> list[tuple[float, float]]:
    """The accuracy gained for each share that is sent to the strong model; between these points it grows evenly."""
    by_grade: dict[float, list[int]] = {}
    for record, grade in zip(records, grades, strict=True):
        by_grade.setdefault(grade, []).append(record.strong - record.weak)
    points, sent, gained = [(0.0, 0.0)], 0, 0
    for grade in sorted(by_grade):
        sent, gained = sent + len(by_grade[grade]), gained + sum(by_grade[grade])
        points.append((sent / len(records), gained / len(records)))
    return points


def _at(points: Sequence[tuple[float, float]], share: float) -> float:
    for (left, low), (right, high) in pairwise(points):
        if share <= right:
            return low + (high - low) * (share - left) / (right - left)
    return points[-1][1]


def main() -> None:
    records = load()
    if records is None:
        return
    grades = margins(records)
    console = Console()
    for title, kept in (
        ("all", lambda _record: True),
        ("learnt", lambda record: not record.apart),
        ("apart", lambda record: record.apart),
    ):
        chosen = [(record, grade) for record, grade in zip(records, grades, strict=True) if kept(record)]
        table = Table(title=f"{title}: {len(chosen)} questions")
        for name in ("routing", "to the strong model", "accuracy", "APGR"):
            table.add_column(name, justify="left" if name == "routing" else "right")
        some, marks = [record for record, _ in chosen], [grade for _, grade in chosen]
        ranked = {"offline grading": marks, "risk of a wrong sum": [-risk for risk in wrong_sum_risks(some)]}
        for name, each in compared(some, marks).items():
            apgr = "" if name.endswith("alone") else f"{each.apgr:.3f}"
            if name in ranked:
                low, high = interval(some, ranked[name])
                apgr += f" ({low:.3f} to {high:.3f})"
            table.add_row(name, f"{each.share:.1%}", f"{each.accuracy:.3f}", apgr)
        console.print(table)
    halves = on_halves(records)
    between = f"{halves[len(halves) // 20]:.3f} to {halves[-1 - len(halves) // 20]:.3f}"
    console.print(
        f"risk of a wrong sum, {len(halves)} random halves: APGR {fmean(halves):.3f} ({between} in nine of ten)"
    )


if __name__ == "__main__":
    main()
