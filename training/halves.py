"""How far the figure of the safety model moves with what is kept apart: `python -m training.halves DATA`.

The weights that ship learn from one half of the behaviours. Here the same recipe learns from the other half too, and
from ten halves drawn at random, each with five behaviours of every kind; it is measured on what it has not met. A plain
bag of words beside it says how hard each half is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.safety import ALLOWED, recall_of

from rubrica.text.linear import FeatureLayout

from .examples import read_groups
from .exchanges import EXAMPLES, Labelled, answers, everyday, not_near, own_examples, with_tails
from .plain import plain_scores
from .safety import ANSWER, BITS, Lesson, rarities

DRAWN = 5  # times that behaviours are parted at random; each parting gives two halves
OF_A_KIND = 10  # behaviours of a kind follow one another


def parted(texts: Sequence[Labelled], learnt: set[str]) -> list[Labelled]:
    """The same texts, with these behaviours to learn from and the others kept apart."""
    return [replace(each, half="learnt" if each.group in learnt else "apart") for each in texts]


def drawn_half(texts: Sequence[Labelled], random: Random) -> set[str]:
    """Half of the behaviours of each kind."""
    kinds: dict[int, list[str]] = {}
    for behaviour in sorted({int(each.group) for each in texts}):
        kinds.setdefault(behaviour // OF_A_KIND, []).append(str(behaviour))
    return {behaviour for kind in kinds.values() for behaviour in random.sample(kind, len(kind) // 2)}


def measured(texts: Sequence[Labelled], harmless: Sequence[Labelled]) -> list[tuple[float, bool]]:
    """The score of every text that is kept apart, and whether it is unsafe."""
    everything = with_tails(texts)
    layout = FeatureLayout(bits=BITS, grams=(3, 4), groups=read_groups(EXAMPLES / "groups.yaml"))
    others = [*not_near(own_examples(), [each for each in texts if each.half == "apart"]), *harmless]
    rarity = rarities(layout, [each for each in (*everything, *others) if each.half == "learnt"])
    lesson = Lesson.of(layout, rarity, ANSWER, everything, others)
    apart = lesson.where(lambda each: each.half == "apart" and not each.part)
    scores = lesson.scores(lesson.weights(lesson.where(lambda each: each.half == "learnt")), apart).tolist()
    return [(score, everything[place].unsafe) for score, place in zip(scores, apart.tolist(), strict=True)]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m training.halves DATA   (the folder that has safety_responses.jsonl.gz)")
    folder = Path(sys.argv[1])
    texts = answers(folder)
    harmless = [each for each in everyday(folder) if each.half == "learnt"]
    every = {each.group for each in texts}
    shipped = {each.group for each in texts if each.half == "learnt"}
    random = Random(0)  # noqa: S311
    drawn = [drawn_half(texts, random) for _ in range(DRAWN)]
    found = []
    print(f"recall at {ALLOWED} false positives: the model's, and that of a plain bag of words")
    for number, learnt in enumerate(part for half in (shipped, *drawn) for part in (half, every - half)):
        halves = parted(texts, learnt)
        recall, plain = (recall_of(scores, ALLOWED) for scores in (measured(halves, harmless), plain_scores(halves)))
        found.append(recall)
        print(f"{recall:.3f}  {plain:.3f}  {('as shipped', 'the other way round', '')[min(number, 2)]}".rstrip())
    at_random = found[2:]
    print(f"at random: {fmean(at_random):.3f} on average, from {min(at_random):.3f} to {max(at_random):.3f}")


if __name__ == "__main__":
    main()
