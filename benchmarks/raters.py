"""Whether knowing people's harshness helps to tell what each gives: ``python -m benchmarks.raters``.

The data (texts rated by three people each, on nine questions, and a model's chances for every answer) are not part of
the project: `calibration_synthetic.jsonl.gz` is looked for in ``$RUBRICA_DATA``, else in ``../shared/data``.

The judge's score is the mean of its chances. What is measured is what `rubrica calibrate` tells of labels that name
their rater: the rank correlation of scores with every single person's ratings, on texts that nothing was learned from,
as the scores are, and with each person's harshness and spread.
"""

from __future__ import annotations

import gzip
import json
import os
from datetime import date
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from rubrica.judges.calibration import calibrate
from rubrica.judges.labels import Label
from rubrica.model.calibration import RaterFigures
from rubrica.model.scale import Scale

from .floor import Ratio

FILE = "calibration_synthetic.jsonl.gz"
SCALE = Scale(min=1, max=4)
SEEDS = range(5)


def labels() -> list[Label]:
    """What the model and each person gave; none where the data are not on this machine."""
    folder = Path(os.environ.get("RUBRICA_DATA") or Path(__file__).parents[2] / "shared" / "data")
    path = folder / FILE
    if not path.exists():
        print(f"raters: skipped, {FILE} is not here (set RUBRICA_DATA to its folder)")
        return []
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            for question, given in row["questions"].items():
                chances = row["llm_probs"].get(question)
                if given and chances:
                    score = fmean(range(1, 5), chances)
                    found.append(Label(question, score, given, row["text_id"], rater=row["annotator"]))
    return found


def figures(rated: list[Label]) -> dict[str, list[RaterFigures]]:
    """By question, what is told of its raters, dealt into folds in several ways."""
    scales = {label.dimension: SCALE for label in rated}
    found: dict[str, list[RaterFigures]] = {}
    for seed in SEEDS:
        outcome = calibrate(rated, scales, version=1, on=date(2026, 1, 1), seed=seed)
        for question, people in outcome.people.items():
            found.setdefault(question, []).append(people.figures)
    return found


def _means(own: list[RaterFigures]) -> tuple[float, float]:
    return fmean(one.spearman or 0.0 for one in own), fmean(one.adjusted or 0.0 for one in own)


def people_told() -> list[Ratio]:
    """A row for `make bench`."""
    rated = labels()
    if not rated:
        return []
    told = [_means(own) for own in figures(rated).values()]
    before, after = fmean(a for a, _ in told), fmean(b for _, b in told)
    detail = f"{after:.2f} with each person's harshness, {before:.2f} without"
    return [Ratio("rank correlation with single people", "1", after, 0.25, detail)]


def main() -> None:
    rated = labels()
    if not rated:
        return
    table = Table(title=f"Rank correlation with single people's ratings, {len(SEEDS)} deals into folds")
    for name in ("question", "scores as they are", "with harshness and spread"):
        table.add_column(name, justify="left" if name == "question" else "right")
    told = {question: _means(own) for question, own in sorted(figures(rated).items())}
    for question, (before, after) in told.items():
        table.add_row(question, f"{before:.3f}", f"{after:.3f}")
    table.add_row("mean", f"{fmean(a for a, _ in told.values()):.3f}", f"{fmean(b for _, b in told.values()):.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
