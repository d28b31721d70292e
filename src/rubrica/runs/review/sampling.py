"""Stratified samples of a run for people to look at: something of everything, and the same sample every time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from rubrica.errors import InputError
from rubrica.model.evaluation import INCONCLUSIVE, DimensionResult, Evaluation, every_result

STRATA = ("rubric", "verdict", "score", "doubt")
"""What a sample is spread over unless somebody asks for something else."""
BANDS = 4
"""Stretches of full marks that scores are told apart by."""
UNSURE = 0.6
"""Confidence below which an evaluation is doubtful."""
APART = 0.2
"""Share of a scale by which two votes must differ for the judges to disagree."""
SURE, DOUBTFUL = "sure", "doubtful"


@dataclass(frozen=True, slots=True)
class DrawnEvaluation:
    """An evaluation that was drawn, what the review file calls it, and what it stands for."""

    item: str
    stratum: str
    evaluation: Evaluation


def draw(
    evaluations: Callable[[], Iterable[Evaluation]], share: float, *, by: Sequence[str] = STRATA, seed: int = 0
) -> list[DrawnEvaluation]:
    """A share of every stratum, at least one of each, in an order that tells nothing.

    The evaluations are read twice, and only eight bytes of each are kept in between. Which are drawn depends on the
    seed and on what was judged, not on the order in which they were finished. Of repeats, the first stands for all.
    """
    if not 0 < share <= 1:
        raise InputError(f"the share to review is above 0 and at most 1, not {share:g} (0.1 is a tenth)")
    ranks: dict[str, array[int]] = {}
    for evaluation in _first(evaluations()):
        own = ranks.setdefault(stratum_of(evaluation, by), array("Q"))
        own.append(_rank(item_of(evaluation), seed))
    wanted = sizes({stratum: len(own) for stratum, own in ranks.items()}, share)
    last = {stratum: sorted(own)[wanted[stratum] - 1] for stratum, own in ranks.items()}
    found: dict[str, DrawnEvaluation] = {}
    for evaluation in _first(evaluations()):
        item, stratum = item_of(evaluation), stratum_of(evaluation, by)
        if _rank(item, seed) <= last[stratum]:
            found.setdefault(item, DrawnEvaluation(item, stratum, evaluation))
    return sorted(found.values(), key=lambda one: _rank(one.item, seed))


def sizes(counts: Mapping[str, int], share: float) -> dict[str, int]:
    """How many to draw from each stratum: the share of all in proportion, and one where that is nothing.

    >>> sizes({"pass": 90, "fail": 9, "open": 1}, 0.1)
    {'pass': 9, 'fail': 1, 'open': 1}
    """
    exact = {stratum: count * share for stratum, count in counts.items()}
    rounded = {stratum: math.floor(size + 1e-9) for stratum, size in exact.items()}
    missing = round(sum(counts.values()) * share) - sum(rounded.values())
    most_cut = sorted(counts, key=lambda stratum: (rounded[stratum] - exact[stratum], stratum))
    for stratum in most_cut[: max(missing, 0)]:
        rounded[stratum] += 1
    return {stratum: min(max(size, 1), counts[stratum]) for stratum, size in rounded.items()}


def stratum_of(evaluation: Evaluation, by: Sequence[str] = STRATA) -> str:
    """What an evaluation stands for, in words: ``tone@1.0.0, fail, 25–50%, doubtful``."""
    return ", ".join(_trait(evaluation, name) for name in by)


def item_of(evaluation: Evaluation) -> str:
    """Twelve digits that stand for what was judged, by which rubric: the same in every run of the same case."""
    context = evaluation.context
    texts = (context.prompt, context.response) if context is not None else ("", "")
    digest = blake2b(digest_size=6)
    for part in (evaluation.case or "", evaluation.hash, *texts):
        data = part.encode(errors="replace")
        digest.update(len(data).to_bytes(8))
        digest.update(data)
    return digest.hexdigest()


def doubts(evaluation: Evaluation) -> Iterator[str]:
    """What makes an evaluation doubtful, in words; nothing where it is sure."""
    if evaluation.verdict == INCONCLUSIVE:
        yield "the verdict is open"
    if evaluation.confidence is not None and evaluation.confidence < UNSURE:
        yield f"confidence {evaluation.confidence:.2f}"
    for name, result in evaluation.dimensions.items():
        if result.status in ("unscored", "neutral"):
            yield f"{name} has no score"
        for axis, own in every_result({name: result}):
            if _vote_spread(own) >= APART:
                yield f"the judges disagree on {axis}"


def _trait(evaluation: Evaluation, name: str) -> str:
    match name:
        case "rubric":
            return f"{evaluation.rubric}@{evaluation.version}"
        case "verdict":
            return evaluation.verdict
        case "score":
            return _band(evaluation)
        case "doubt":
            return DOUBTFUL if any(doubts(evaluation)) else SURE
        case "profile" | "band":
            return str(getattr(evaluation, name) or f"no {name}")
        case _:
            value = evaluation.context.lookup(name) if evaluation.context is not None else None
            return f"{name} {value}" if value is not None else f"no {name}"


def _band(evaluation: Evaluation) -> str:
    if evaluation.score is None or evaluation.out_of <= 0:
        return "no score"
    step = min(max(int(evaluation.score / evaluation.out_of * BANDS), 0), BANDS - 1)
    return f"{step * 100 // BANDS}–{(step + 1) * 100 // BANDS}%"


def _vote_spread(result: DimensionResult) -> float:
    values = [vote.value for vote in result.votes if vote.value is not None]
    span = result.high - result.low
    return (max(values) - min(values)) / span if values and span > 0 else 0.0


def _first(evaluations: Iterable[Evaluation]) -> Iterator[Evaluation]:
    return (evaluation for evaluation in evaluations if evaluation.repeat == 0)


def _rank(item: str, seed: int) -> int:
    return int.from_bytes(blake2b(f"{seed} {item}".encode(), digest_size=8).digest())
