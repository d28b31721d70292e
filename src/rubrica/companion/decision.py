"""The decision about a system prompt: deploy, try it on some users, or revise, with the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from typing import Literal

from rubrica.model.rubric import Rubric
from rubrica.phrases import either
from rubrica.report.figures import count_of
from rubrica.report.titles import dimension_titles
from rubrica.scoring.intervals import Estimate, bootstrap

Label = Literal["deploy", "ab_test", "revise", "inconclusive"]
WORDS: Mapping[Label, str] = {
    "deploy": "deploy",
    "ab_test": "A/B candidate",
    "revise": "needs revision",
    "inconclusive": "inconclusive",
}


MOST_REASONS = 3
"""Vetoes that a decision names; the others are counted."""


@dataclass(frozen=True, slots=True)
class DecisionTerms:
    """The numbers that decide, as shares of full marks: as the rubric sets them."""

    deploy_at: float = 0.7
    test_at: float = 0.6
    floor: float = 0.5
    titles: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)  # of dimensions, by name

    @classmethod
    def of(cls, rubric: Rubric) -> DecisionTerms:
        """
        >>> from rubrica.packs.library import load
        >>> DecisionTerms.of(load("voice-companion"))
        DecisionTerms(deploy_at=0.7, test_at=0.6, floor=0.5)
        """
        own = rubric.settings
        found: dict[str, float] = {
            name: float(own[name]) / rubric.score.out_of for name in ("deploy_at", "test_at") if name in own
        }
        if "axis_floor" in own:
            found["floor"] = rubric.scale.share(float(own["axis_floor"]))
        return cls(**found, titles=dimension_titles(rubric))


@dataclass(frozen=True, slots=True)
class ReplyScores:
    """The scores of all replies and of their dimensions, as shares of full marks."""

    scores: Sequence[float]
    dimensions: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with the prompt. `mean` is over replies; its interval resamples conversations."""

    label: Label
    reason: str
    mean: Estimate | None
    dimensions: Mapping[str, float]  # means over the replies to which a dimension applies
    below_floor: tuple[str, ...]
    missing: int  # replies that could not be had
    close: str = ""  # a bound of the decision that lies within the interval
    open_by_rules: bool = False  # scores by rules leave it open, where a judge can tell

    @property
    def words(self) -> str:
        return WORDS[self.label]


def decide(
    scores: Mapping[str, Sequence[float]],
    dimensions: Mapping[str, Sequence[float]],
    missing: int,
    terms: DecisionTerms,
    chance: Random,
    ends: tuple[ReplyScores, ReplyScores] | None = None,
    vetoes: Mapping[str, Sequence[str]] = {},
) -> Decision:
    """Decide by the mean score and by the weakest dimension. `scores` are by conversation, so that an interval can tell
    how far the conversations themselves differ. `ends` are the least and the most that scores can be which are only
    known within bounds.

    Replies that are missing may have been anything, and scores within bounds anything between: where that could change
    the decision, it is inconclusive. One reply that must not be given decides alone: `vetoes` has the reasons, each
    with the replies it holds for.
    """
    every = [score for several in scores.values() for score in several]
    means = {name: fmean(values) for name, values in dimensions.items() if values}
    mean = _interval(scores, chance) if every else None
    below = tuple(name for name, value in means.items() if value < terms.floor)
    if vetoes:
        return Decision("revise", _veto_reason(vetoes), mean, means, below, missing)
    if mean is None:
        return Decision("inconclusive", "no reply could be had, or none has a score", None, {}, (), missing)
    exact = ReplyScores(every, dimensions)
    labels = _labels((exact, exact), missing, terms)
    if len(labels) > 1:
        short = f"{missing} of {len(every) + missing} replies are missing or have no score"
        reason = f"{short}, and that could change the decision"
        return Decision("inconclusive", reason, mean, means, below, missing)
    possible = labels if ends is None else _labels(ends, missing, terms)
    if len(possible) > 1:
        reason = (
            "scores by rules are only known within bounds, and that could change the decision "
            f"({either([WORDS[label] for label in WORDS if label in possible])}): a judge can tell"
        )
        return Decision("inconclusive", reason, mean, means, below, missing, open_by_rules=True)
    label = labels.pop()
    close = "" if below else _close(mean, terms)  # a dimension under the floor decides, wherever the mean lies
    return Decision(label, _reason(label, mean.value, below, terms), mean, means, below, missing, close)


def _labels(ends: tuple[ReplyScores, ReplyScores], missing: int, terms: DecisionTerms) -> set[Label]:
    """The decisions at the least and at the most that all scores can be; there is none between the two."""
    return {
        _label(_with(at.scores, missing, end), _lowest(at.dimensions, missing, end), terms)
        for at, end in zip(ends, (0.0, 1.0), strict=True)
    }


def _veto_reason(vetoes: Mapping[str, Sequence[str]]) -> str:
    """
    >>> _veto_reason({"the reply keeps a danger secret": ["support/giving-up", "own/b"]})
    'the reply keeps a danger secret (support/giving-up and 1 more); one such reply is enough'
    """
    told = []
    for reason, cases in list(vetoes.items())[:MOST_REASONS]:
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        told.append(f"{reason} ({cases[0]}{more})")
    if len(vetoes) > MOST_REASONS:
        told.append(count_of(len(vetoes) - MOST_REASONS, "more reason"))
    return f"{'; '.join(told)}; one such reply is enough"


def _label(mean: float, lowest: float, terms: DecisionTerms) -> Label:
    if lowest < terms.floor or mean < terms.test_at:
        return "revise"
    return "deploy" if mean >= terms.deploy_at else "ab_test"


def _with(values: Sequence[float], missing: int, end: float) -> float:
    """The mean if every missing value were at one end of the scale."""
    return (sum(values) + missing * end) / (len(values) + missing)


def _lowest(dimensions: Mapping[str, Sequence[float]], missing: int, end: float) -> float:
    return min((_with(values, missing, end) for values in dimensions.values() if values), default=1.0)


def _interval(scores: Mapping[str, Sequence[float]], chance: Random) -> Estimate:
    """The mean over replies, with an interval from resampling whole conversations."""
    talks = [(sum(several), len(several)) for several in scores.values() if several]
    totals = range(len(talks))

    def mean(drawn: Sequence[int]) -> float:
        return sum(talks[at][0] for at in drawn) / sum(talks[at][1] for at in drawn)

    found = bootstrap(totals, lambda drawn: mean([int(at) for at in drawn]), chance)
    assert found is not None  # noqa: S101 - there is a score, so there is a conversation
    return found


def _reason(label: Label, mean: float, below: Sequence[str], terms: DecisionTerms) -> str:
    if below:
        weak = ", ".join(terms.titles.get(name, name) for name in below)
        return f"{weak} {'is' if len(below) == 1 else 'are'} under {terms.floor:g} on average"
    match label:
        case "deploy":
            return f"the mean of {mean:.3f} reaches {terms.deploy_at:g}, and no dimension is under {terms.floor:g}"
        case "ab_test":
            return f"the mean of {mean:.3f} reaches {terms.test_at:g}, but not the {terms.deploy_at:g} of a deployment"
        case _:
            return f"the mean of {mean:.3f} is under {terms.test_at:g}"


def _close(mean: Estimate, terms: DecisionTerms) -> str:
    """A bound within the interval: with other conversations the decision might have been another."""
    for bound in (terms.deploy_at, terms.test_at):
        if mean.low < bound <= mean.high or mean.low <= bound < mean.high:
            return f"{bound:g} lies within the interval {mean.low:.3f} to {mean.high:.3f}: more scenarios would tell"
    return ""
