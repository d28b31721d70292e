"""Learns which of two answers people prefer: `python -m training.preferences DATA`, with the folder of the public sets.

A pair is a request with two answers, of which at least two of three people prefer the same one (PandaLM). Requests
come up in several pairs and stay together: a third of them is kept apart and only measured (`benchmarks.preferences`).
What is printed comes from random thirds of the others: learnt on the rest, told of the third, averaged.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np

from rubrica.text.answer_preference import FILE, signs_of
from rubrica.text.sign_weights import SignWeights
from rubrica.text.texts import Texts

from .examples import digest
from .exchanges import records
from .fit import newton, rounded

WEIGHTS = Path(__file__).parents[1] / "src" / "rubrica" / "text" / FILE
SHRINK = 10.0
LEAST_SPREAD = 0.05
AGREED = 2  # of the three people
SPLITS = 20


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two answers to a request, the one that people prefer first."""

    request: str
    preferred: str
    other: str

    @property
    def apart(self) -> bool:
        """Whether its request belongs to the third that nothing is fitted to."""
        return hashlib.sha256(f"preference {self.request.lower()}".encode()).digest()[0] % 3 == 0


def judged_pairs(folder: Path) -> list[JudgedPair]:
    """The pairs on which most people agree."""
    found = []
    for row in records(folder, "pandalm"):
        votes = [row["annotators"].count(choice) for choice in (1, 2)]
        if max(votes) >= AGREED:
            answers = [str(row["response_1"]), str(row["response_2"])]
            preferred = answers.pop(votes.index(max(votes)))
            found.append(JudgedPair(f"{row['instruction']}\n{row['input'] or ''}".strip(), preferred, answers[0]))
    return found


def train(pairs: Sequence[JudgedPair]) -> SignWeights:
    """The weights that make the preferred answers likely: the difference of two answers has no bias."""
    signs = [[signs_of(Texts(each.request, answer)) for answer in (each.preferred, each.other)] for each in pairs]
    names = tuple(signs[0][0])
    values = np.array([[[answer[name] for name in names] for answer in both] for both in signs])
    means, spreads = values.mean(axis=(0, 1)), np.maximum(values.std(axis=(0, 1)), LEAST_SPREAD)
    ahead = (values[:, 0] - values[:, 1]) / spreads
    weights = newton(ahead, np.ones(len(ahead)), np.full(len(names), SHRINK))
    made_from = digest([(each.request, each.preferred) for each in pairs], SHRINK)
    return SignWeights(names, rounded(means), rounded(spreads), rounded(weights), 0.0, made_from)


def first(model: SignWeights, pairs: Sequence[JudgedPair]) -> float:
    """How often the preferred answer has the higher chance; a tie counts one half."""
    credits = []
    for each in pairs:
        one, other = (model.chance(signs_of(Texts(each.request, text))) for text in (each.preferred, each.other))
        credits.append(0.5 if one == other else float(one > other))
    return fmean(credits)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m training.preferences DATA   (the folder that has pandalm.jsonl.gz)")
    pairs = [each for each in judged_pairs(Path(sys.argv[1])) if not each.apart]
    made = train(pairs)
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes from {len(pairs)} pairs")
    for name, weight in zip(made.signs, made.weights, strict=True):
        print(f"  {name:20}{weight:+.2f}")
    order, requests, shares = np.random.default_rng(0), sorted({each.request for each in pairs}), []
    for _ in range(SPLITS):
        told = set(order.permutation(requests)[: len(requests) // 3].tolist())
        learnt = train([each for each in pairs if each.request not in told])
        shares.append(first(learnt, [each for each in pairs if each.request in told]))
    print(f"preferred first, of thirds that were not learnt from: {fmean(shares):.3f}")


if __name__ == "__main__":
    main()
