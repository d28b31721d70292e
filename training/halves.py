"""How far the figure of the safety model moves with what is kept apart: `python -m training.halves DATA`.

The weights that ship learn from the behaviours with even numbers. Here the same recipe learns from ten other halves,
each with five behaviours of every kind, and is measured on what it has not met.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.safety import ALLOWED, auc, recall_at

from rubrica.text.linear import Layout

from .examples import read_groups
from .exchanges import EXAMPLES, Labelled, answers, not_near, own_examples
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


def measured(texts: Sequence[Labelled]) -> tuple[float, float]:
    """Recall at the allowed false positives, and the area under the curve, on what is kept apart."""
    layout = Layout(bits=BITS, grams=(3, 4), groups=read_groups(EXAMPLES / "groups.yaml"))
    own = not_near(own_examples(), [each for each in texts if each.half == "apart"])
    rarity = rarities(layout, [each for each in (*texts, *own) if each.half == "learnt"])
    lesson = Lesson.of(layout, rarity, ANSWER, texts, own)
    apart = lesson.where(lambda each: each.half == "apart")
    scores = lesson.scores(lesson.weights(lesson.where(lambda each: each.half == "learnt")), apart).tolist()
    found = [(score, texts[place].unsafe) for score, place in zip(scores, apart.tolist(), strict=True)]
    safe, unsafe = ([score for score, is_unsafe in found if is_unsafe == label] for label in (False, True))
    return recall_at(safe, unsafe, ALLOWED), auc(safe, unsafe)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m training.halves DATA   (the folder that has safety_responses.jsonl.gz)")
    texts = answers(Path(sys.argv[1]))
    every = {each.group for each in texts}
    random = Random(0)  # noqa: S311
    recalls = []
    for _ in range(DRAWN):
        half = drawn_half(texts, random)
        for learnt in (half, every - half):
            recall, area = measured(parted(texts, learnt))
            recalls.append(recall)
            print(f"recall {recall:.3f} at {ALLOWED} false positives, area under the curve {area:.3f}")
    print(f"mean recall {fmean(recalls):.3f}, from {min(recalls):.3f} to {max(recalls):.3f}")


if __name__ == "__main__":
    main()
