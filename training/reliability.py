"""Measures how far offline scores lie from people's, and writes it into the bundled rubrics.

``python -m training.reliability DATA`` fills what stands between ``begin measured`` and ``end measured`` in the packs:
for every kind of text below, the bounds that hold 90 % of people's scores (split conformal prediction: quantiles with
the correction for their number). They are taken from two thirds of the groups of each set; ``make bench-quality`` tells
how well they hold on the third that is kept apart. Before writing, the same is done on parts of the two thirds, to see
how far the coverage moves with what is drawn.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from random import Random
from statistics import fmean

import yaml

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.load import rubric_from_text
from rubrica.engine.plan import Plan
from rubrica.model.reliability import Reliability
from rubrica.scoring.spread import upper_quantile

from .labelled import SETS, LabelledText, Range

LEVEL = 0.9
MISSES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the texts outside the bounds, the share below them; the one with the narrowest bounds is taken."""
SPLITS = 10
FEWEST = 30  # texts of a kind: with fewer, nothing is said of it


@dataclass(frozen=True, slots=True)
class MeasuredKind:
    """A kind of text on which a score of a pack is measured."""

    pack: str
    dimension: str
    kind: str
    when: str
    data: str
    absolute: bool  # people's opinion is a class, a range of the scale: the bounds are places, not distances


KINDS = (
    MeasuredKind(
        "answer-quality",
        "accuracy",
        "a number is asked for, and the working gives itself away",
        "asks_for_number > 0 and wrong_step_count + odd_result + uneven_result + cut_off + lacks_result"
        " + blames_question > 0",
        "routing_gsm8k",
        absolute=True,
    ),
    MeasuredKind(
        "answer-quality",
        "accuracy",
        "worked sums",
        "asks_for_number > 0 and operation_count > 0",
        "routing_gsm8k",
        absolute=True,
    ),
    MeasuredKind(
        "answer-quality",
        "safety",
        "help with harm",
        "unsafe_count > 0 or safety_risk_by_words >= look_closer_at"
        " and safety_risk >= (harmful_at if sentence_model > 0 else harmful_by_words_at)",
        "written_apart",
        absolute=True,
    ),
    MeasuredKind(
        "voice-companion",
        "conversational_quality",
        "talk about a topic",
        "sentence_model > 0 and distress_cue + mood_cue + support_cue == 0 and 5 <= word_count <= 60",
        "dialogue_usr_topical",
        absolute=False,
    ),
    MeasuredKind(
        "voice-companion",
        "helpfulness",
        "talk about a topic",
        "distress_cue + mood_cue + support_cue == 0 and 5 <= word_count <= 60",
        "dialogue_usr_topical",
        absolute=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Observation:
    """A text of some kind: its offline value, people's, and whether they share a verdict."""

    group: str
    value: float
    people: Range
    verdict: str  # of the offline values alone
    wanted: str  # people's; empty where they tell none


# --- from texts to bounds -------------------------------------------------------------------------------------


def observe(plan: Plan, dimension: str, texts: Iterable[LabelledText]) -> dict[str, list[Observation]]:
    """The texts by the kind they are of; those of none are left out."""
    found: dict[str, list[Observation]] = {}
    for text in texts:
        evaluation = evaluate(plan, text.context)
        result = evaluation.dimensions[dimension]
        if result.value is not None and result.kind:
            one = Observation(text.group, result.value, text.people[dimension], evaluation.verdict, text.verdict)
            found.setdefault(result.kind, []).append(one)
    return found


def fit(kind: MeasuredKind, seen: Sequence[Observation], scale: Range) -> Reliability:
    """The narrowest bounds that hold 90 % of people's scores."""
    base = {"kind": kind.kind, "when": kind.when, "texts": len(seen), "data": SETS[kind.data].title}
    if len(seen) < FEWEST:
        return Reliability.model_validate(base)
    tried = [_bounds(kind, seen, scale, share) for share in MISSES]
    narrowest = min(tried, key=lambda ends: _width(Reliability.model_validate(base | ends), seen, scale))
    return Reliability.model_validate(base | narrowest | {"right": _right(seen)})


def _bounds(kind: MeasuredKind, seen: Sequence[Observation], scale: Range, below: float) -> dict[str, float]:
    """The ends with this share of the misses below them, without those that leave nothing out."""
    miss = 1 - LEVEL
    if kind.absolute:
        low = -upper_quantile([-one.people[0] for one in seen], 1 - miss * below)
        high = upper_quantile([one.people[1] for one in seen], 1 - miss * (1 - below))
        return ({"low": low} if low > scale[0] else {}) | ({"high": high} if high < scale[1] else {})
    down = upper_quantile([one.value - one.people[0] for one in seen], 1 - miss * below)
    up = upper_quantile([one.people[1] - one.value for one in seen], 1 - miss * (1 - below))
    ends = {"below": max(down, 0.0), "above": max(up, 0.0)}
    return {name: math.ceil(end * 100) / 100 for name, end in ends.items() if math.isfinite(end)}


def _width(found: Reliability, seen: Sequence[Observation], scale: Range) -> float:
    ends = (found.bounds(one.value, scale) for one in seen)
    return fmean(high - low for low, high in ends)


def _right(seen: Sequence[Observation]) -> dict[str, float]:
    """By verdict of the offline values, how often people's is the same."""
    told = [one for one in seen if one.wanted]
    verdicts = sorted({one.verdict for one in told})
    return {v: round(fmean(one.wanted == v for one in told if one.verdict == v), 2) for v in verdicts}


def holds(found: Reliability, one: Observation, scale: Range) -> bool:
    """Whether people's score of a text is within its bounds."""
    low, high = found.bounds(one.value, scale)
    return low - 1e-9 <= one.people[0] and one.people[1] <= high + 1e-9


def coverages(kind: MeasuredKind, seen: Sequence[Observation], scale: Range, chance: Random) -> list[float]:
    """On splits of the groups: bounds from two thirds, and the share of the others that they hold."""
    groups = sorted({one.group for one in seen})
    shares = []
    for _ in range(SPLITS):
        chance.shuffle(groups)
        tested = set(groups[: len(groups) // 3])
        found = fit(kind, [one for one in seen if one.group not in tested], scale)
        shares.append(fmean(holds(found, one, scale) for one in seen if one.group in tested))
    return shares


# --- into the documents ---------------------------------------------------------------------------------------


def document(pack: str) -> Path:
    """The document of a bundled rubric, in the source tree."""
    return Path(str(resources.files("rubrica.packs") / pack / "rubric.yaml"))


def with_measured(text: str, found: Mapping[str, Sequence[Reliability]]) -> str:
    """A document with what was measured of its dimensions between the marks."""
    for dimension, kinds in found.items():
        marks = re.compile(
            rf"^(?P<indent> *)# begin measured: {dimension}\n.*?^ *# end measured\n", re.MULTILINE | re.DOTALL
        )

        def block(mark: re.Match[str], dimension: str = dimension, kinds: Sequence[Reliability] = kinds) -> str:
            indent = mark["indent"]
            plain = [kind.model_dump(mode="json", exclude_defaults=True) for kind in kinds]
            lines = yaml.safe_dump(plain, sort_keys=False, width=100).splitlines() if plain else []
            inner = [f"# begin measured: {dimension}", *lines, "# end measured"]
            return "".join(f"{indent}{line}\n" for line in inner)

        text, count = marks.subn(block, text)
        if count != 1:
            raise SystemExit(f"{dimension} has {count} places for what is measured; it needs one")
    return text


def measured(text: str, pack: str, folder: Path) -> Iterator[tuple[MeasuredKind, list[Observation], Range]]:
    """The observations of every kind of a pack, on the two thirds that bounds may be taken from."""
    kinds = [kind for kind in KINDS if kind.pack == pack]
    named: dict[str, list[Reliability]] = {}
    for kind in kinds:
        named.setdefault(kind.dimension, []).append(Reliability(kind=kind.kind, when=kind.when))
    rubric = rubric_from_text(with_measured(text, named)).with_offline("point")
    plan = compile_rubric(rubric)
    for kind in kinds:
        learnt = [one for one in SETS[kind.data].texts(folder) if not one.apart]
        seen = observe(plan, kind.dimension, learnt).get(kind.kind, [])
        yield kind, seen, rubric.scale_of(kind.dimension).ends


def main(folder: Path) -> None:
    chance = Random(16)  # noqa: S311 - the same splits every time
    for pack in sorted({kind.pack for kind in KINDS}):
        path = document(pack)
        text = path.read_text(encoding="utf-8")
        found: dict[str, list[Reliability]] = {}
        for kind, seen, scale in measured(text, pack, folder):
            fitted = fit(kind, seen, scale)
            found.setdefault(kind.dimension, []).append(fitted)
            shares = coverages(kind, seen, scale, chance)
            told = fitted.model_dump(mode="json", exclude_defaults=True, exclude={"kind", "when", "data"})
            print(f"{pack} {kind.dimension}, {kind.kind}: {told}")
            print(f"  coverage on {SPLITS} splits: {fmean(shares):.3f}, from {min(shares):.3f} to {max(shares):.3f}")
        path.write_text(with_measured(text, found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
