"""Fits the rating of replies: `python -m training.conversation DATA`, with the folder of the public sets.

Ridge regression on people's overall ratings of replies in 60 conversations about topics, and on our own of replies in
small talk of other kinds, each of which counts half: one writer made them up. A conversation is never in two parts: two
thirds of the public ones are learnt from, one third is kept apart and only measured. The errors that are stored were
made on public conversations that the fit had not met.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rubrica.scoring.agreement import spearman
from rubrica.text.conversation import FILE, ConversationModel, ReplyRater, Sign, signs
from rubrica.text.relevance import turns
from rubrica.text.texts import Texts

from .examples import digest

Floats = NDArray[np.float64]
WEIGHTS = Path(__file__).parents[1] / "src" / "rubrica" / "text" / FILE
SET = "dialogue_usr_topical"
OWN = Path(__file__).parent / "examples" / "conversation" / "rated.txt"
OWN_COUNTS = 0.5  # what a reply of ours teaches beside one that several people rated
LOWEST, HIGHEST = 1.0, 5.0  # of the ratings
SHRINK = 100.0  # as if so many replies had said that no sign counts
FOLDS, DRAWN = 5, 5
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BY_MEANING = ("near_last", "near_dialogue", "generic", "says", "asks", "varies", "repeats", "copies")
BY_SURFACE = ("says", "asks", "varies", "repeats", "copies", "taken_up")


@dataclass(frozen=True, slots=True)
class RatedReply:
    """A reply with what went before it and its mean rating, 0 to 1."""

    context: str
    reply: str
    rating: float
    apart: bool
    counts: float = 1.0


def rated_replies(folder: Path) -> list[RatedReply]:
    """The set; every third conversation, in the order of a digest of its words, is kept apart."""
    with gzip.open(folder / f"{SET}.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    contexts = sorted({each["context"] for each in records}, key=lambda text: hashlib.sha256(text.encode()).digest())
    apart = set(contexts[len(contexts) * 2 // 3 :])
    return [
        RatedReply(
            joined(each["context"]),
            joined(each["response"]),
            _from_0_to_1(each["human"]["overall"]),
            each["context"] in apart,
        )
        for each in records
    ]


def own_replies(file: Path = OWN) -> list[RatedReply]:
    """The replies that we rated, with the spaces before marks that some sets have taken out."""
    found = []
    for block in file.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        before = "\n".join(joined(line.removeprefix("- ")) for line in lines if line.startswith("- "))
        for rating, _, reply in (line.partition(" ") for line in lines if not line.startswith("- ")):
            found.append(RatedReply(before, joined(reply), _from_0_to_1(float(rating)), False, OWN_COUNTS))
    return found


def _from_0_to_1(rating: float) -> float:
    return (rating - LOWEST) / (HIGHEST - LOWEST)


def joined(text: str) -> str:
    """Text as people write it: the set has spaces before marks and endings.

    >>> joined("i do n't know , it 's late .")
    "i don't know, it's late."
    """
    return re.sub(r" (?=n['’]t\b|['’]\w|[.,!?;:)])", "", text)


def signs_of(reply: RatedReply) -> dict[str, float]:
    return signs(reply.reply, turns(Texts(reply.context)))


def table(found: Sequence[dict[str, float]], names: Sequence[str]) -> Floats:
    return np.array([[each[name] for name in names] for each in found])


def fit(numbers: Floats, ratings: Floats, counts: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Middle, spread and weight of each sign, and the mean rating."""
    middle = np.average(numbers, axis=0, weights=counts)
    spread = np.sqrt(np.average((numbers - middle) ** 2, axis=0, weights=counts)) + 1e-9
    scaled = (numbers - middle) / spread
    base = float(np.average(ratings, weights=counts))
    counted = (scaled * counts[:, None]).T
    weight = np.linalg.solve(counted @ scaled + SHRINK * np.eye(scaled.shape[1]), counted @ (ratings - base))
    return middle, spread, np.asarray(weight, dtype=np.float64), base


def unseen_ratings(numbers: Floats, ratings: Floats, counts: Floats, groups: Sequence[str]) -> list[Floats]:
    """The rating of each reply by fits that have not met its conversation, for several ways to part them."""
    names = sorted(set(groups))
    found = []
    for draw in range(DRAWN):
        order = np.random.default_rng(draw).permutation(len(names)) % FOLDS
        fold = np.array([order[names.index(group)] for group in groups])
        own = np.zeros(len(ratings))
        for each in range(FOLDS):
            others = fold != each
            middle, spread, weight, base = fit(numbers[others], ratings[others], counts[others])
            own[fold == each] = base + (numbers[fold == each] - middle) / spread @ weight
        found.append(np.clip(own, 0, 1))
    return found


def rater(replies: Sequence[RatedReply], found: Sequence[dict[str, float]], names: Sequence[str]) -> ReplyRater:
    """The weights of some signs, with what they err by where people rated and the conversation is new to them."""
    numbers, ratings = table(found, names), np.array([each.rating for each in replies])
    counts = np.array([each.counts for each in replies])
    middle, spread, weight, base = fit(numbers, ratings, counts)
    people = counts == 1
    unseen = [each[people] for each in unseen_ratings(numbers, ratings, counts, [each.context for each in replies])]
    errors = np.quantile(np.concatenate([ratings[people] - each for each in unseen]), QUANTILES)
    agreement = float(np.mean([spearman(each.tolist(), ratings[people].tolist()) or 0.0 for each in unseen]))
    rows = zip(names, middle.tolist(), spread.tolist(), weight.tolist(), strict=True)
    return ReplyRater(
        round(base, 4),
        {name: Sign(*(round(number, 4) for number in numbers)) for name, *numbers in rows},
        {f"{share:g}": round(float(error), 3) for share, error in zip(QUANTILES, errors, strict=True)},
        round(agreement, 3),
        int(people.sum()),
    )


def train(replies: Sequence[RatedReply]) -> ConversationModel:
    """Both ratings, from what is not kept apart."""
    learnt = [each for each in replies if not each.apart]
    found = [signs_of(each) for each in learnt]
    return ConversationModel(digest(learnt), rater(learnt, found, BY_MEANING), rater(learnt, found, BY_SURFACE))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(f"usage: python -m training.conversation DATA   (the folder that has {SET}.jsonl.gz)")
    model = train([*rated_replies(Path(sys.argv[1])), *own_replies()])
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=1) + b"\n")
    print(f"{WEIGHTS.name}: agreement {model.by_meaning.agreement}, without the model {model.by_surface.agreement}")


if __name__ == "__main__":
    main()
