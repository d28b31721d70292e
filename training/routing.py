"""Learns how likely the worked answer to a sum is wrong: `python -m training.routing DATA`.

DATA is the folder that has routing_gsm8k.jsonl.gz: recorded answers of a weak and a strong model, and which were right.
Two thirds of the questions are learnt from; the third that `benchmarks.routing` calls *apart* is not looked at. What is
printed comes from random halves of those two thirds: learnt on one half, told of the other, averaged.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rubrica.text.maths.worked_sum import is_worked_sum, signs_of
from rubrica.text.sign_weights import SignWeights
from rubrica.text.texts import Texts

from .examples import digest
from .fit import newton, rounded

WEIGHTS = Path(__file__).parents[1] / "src" / "rubrica" / "text" / "maths" / "worked_sums.json"
SHRINK = 10.0
LEAST_SPREAD = 0.05
HALVES = 40
BANDS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.01)


def is_apart(name: str) -> bool:
    """Whether a question is kept apart: one in three is."""
    return int.from_bytes(hashlib.sha256(f"third{name}".encode()).digest()[:4], "big") % 3 == 0


def read_answers(folder: Path) -> list[dict[str, Any]]:
    """The recorded answers to questions that are not kept apart."""
    with gzip.open(folder / "routing_gsm8k.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if not is_apart(str(row["id"]))]


def train(found: Sequence[Mapping[str, float]], wrong: Sequence[bool], made_from: str = "") -> SignWeights:
    """The weights that make the wrong answers likely: logistic regression by Newton's method, shrunken."""
    names = tuple(found[0])
    signs = np.array([[each[name] for name in names] for each in found])
    means, spreads = signs.mean(axis=0), np.maximum(signs.std(axis=0), LEAST_SPREAD)
    numbers = np.column_stack([(signs - means) / spreads, np.ones(len(signs))])
    weights = newton(numbers, np.array(wrong, dtype=float), np.array([SHRINK] * len(names) + [1e-9]))
    *shared, bias = weights
    return SignWeights(names, rounded(means), rounded(spreads), rounded(shared), round(float(bias), 4), made_from)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m training.routing DATA   (the folder that has routing_gsm8k.jsonl.gz)")
    rows = read_answers(Path(sys.argv[1]))
    texts = [(Texts(row["prompt"], row["weak_response"]), not row["weak_correct"]) for row in rows]
    kept = [(signs_of(each), wrong) for each, wrong in texts if is_worked_sum(each)]
    signs, wrong = [each for each, _ in kept], [each for _, each in kept]
    made = train(signs, wrong, digest([(row["id"], row["weak_correct"]) for row in rows], SHRINK))
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes from {len(signs)} answers")
    for name, weight in zip(made.signs, made.weights, strict=True):
        print(f"  {name:20}{weight:+.2f}")
    _print_bands(signs, wrong)


def _print_bands(signs: Sequence[Mapping[str, float]], wrong: Sequence[bool]) -> None:
    """How often answers were wrong at which risk, in the halves that were not learnt from."""
    order, told = np.random.default_rng(0), []
    for _ in range(HALVES):
        places = order.permutation(len(signs)).tolist()
        half, rest = places[: len(places) // 2], places[len(places) // 2 :]
        made = train([signs[at] for at in half], [wrong[at] for at in half])
        told += [(made.chance(signs[at]), wrong[at]) for at in rest]
    for low, high in pairwise(BANDS):
        inside = [each for each in told if low <= each[0] < high]
        if inside:
            share, (risk, found) = len(inside) / len(told), np.mean(inside, axis=0)
            print(f"risk {low:.1f} to {high:.1f}: {share:.2f} of answers, {risk:.2f} said, {found:.2f} wrong")


if __name__ == "__main__":
    main()
