"""What is published of two raters of the same items: Cohen's kappa, F1, bias with limits of agreement, intervals.

A rater is a judge, a person, or several taken together. All are pure. A figure that has no value says why, or is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from statistics import fmean, stdev
from typing import Literal, TypeVar, assert_never

from .agreement import Agreement
from .intervals import REPLICATES, Estimate, bootstrap

KappaWeights = Literal["none", "linear", "quadratic"]
Label = TypeVar("Label", bound=Hashable)

NOTHING_RATED = "no item was rated by both"
ONE_LABEL = "both gave every item the same, so agreement by chance cannot be told from agreement"
BEYOND = 1.96
"""Standard deviations from the bias to either limit of agreement: 95 of 100 differences lie between, if normal."""
DRAWS = 200_000
"""So many pairs are drawn for an interval in all: of many items fewer replicates tell as much."""
FEWEST_REPLICATES = 200
SEED = 20


def cohen_kappa(pairs: Iterable[tuple[Label, Label]]) -> Agreement:
    """Cohen's kappa of two raters' labels: 1 is perfect, 0 what chance gives.

    >>> print(cohen_kappa([("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15))
    0.400
    """
    rated = Counter(pairs)
    total = rated.total()
    if not total:
        return Agreement(None, NOTHING_RATED)
    first: Counter[Label] = Counter()
    second: Counter[Label] = Counter()
    for (one, other), count in rated.items():
        first[one] += count
        second[other] += count
    same = sum(count for (one, other), count in rated.items() if one == other)
    chance = sum(count * second[label] for label, count in first.items()) / total
    if chance == total:
        return Agreement(None, ONE_LABEL, total)
    return Agreement((same - chance) / (total - chance), units=total)


def weighted_kappa(pairs: Sequence[tuple[float, float]], weights: KappaWeights = "quadratic") -> Agreement:
    """Kappa of two raters' numbers, where a miss counts by how far it is off: by the distance, or its square.

    Ordinal labels are given as their places. Where both used neighbouring whole numbers, the distance of two numbers is
    that of their places, and this is the kappa of contingency tables.

    >>> pairs = [(1, 1), (1, 2), (2, 2), (3, 3), (3, 1)]
    >>> [str(weighted_kappa(pairs, weights)) for weights in ("none", "linear", "quadratic")]
    ['0.412', '0.348', '0.286']
    """
    if weights == "none":
        return cohen_kappa(pairs)
    if not pairs:
        return Agreement(None, NOTHING_RATED)
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    if len({*first, *second}) == 1:
        return Agreement(None, ONE_LABEL, len(pairs))
    match weights:
        case "linear":
            observed = fmean(abs(one - other) for one, other in pairs)
            chance = _mean_distance(first, second)
        case "quadratic":
            observed = fmean((one - other) ** 2 for one, other in pairs)
            chance = _variance(first) + _variance(second) + (fmean(first) - fmean(second)) ** 2
        case _:
            assert_never(weights)
    return Agreement(1 - observed / chance, units=len(pairs))


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How well one label was found. None where a share has nothing under it."""

    precision: float | None  # of the items given the label, the share that have it
    recall: float | None  # of the items that have it, the share given it
    f1: float  # their harmonic mean
    count: int  # items that have it


def label_scores(pairs: Iterable[tuple[Label, Label]]) -> dict[Label, LabelScore]:
    """Precision, recall and F1 of every label; each pair is what was given and what is true.

    >>> found = label_scores([("pass", "pass"), ("pass", "fail"), ("fail", "fail"), ("fail", "fail")])
    >>> {label: (own.precision, own.recall, round(own.f1, 3)) for label, own in found.items()}
    {'pass': (0.5, 1.0, 0.667), 'fail': (1.0, 0.6666666666666666, 0.8)}
    """
    rated = list(pairs)
    given, true = Counter(one for one, _ in rated), Counter(other for _, other in rated)
    hits = Counter(one for one, other in rated if one == other)
    found = {}
    for label in dict.fromkeys([*given, *true]):
        precision = hits[label] / given[label] if given[label] else None
        recall = hits[label] / true[label] if true[label] else None
        f1 = 2 * hits[label] / (given[label] + true[label])
        found[label] = LabelScore(precision, recall, f1, true[label])
    return found


def macro_f1(pairs: Iterable[tuple[Label, Label]]) -> float | None:
    """The mean of the labels' F1, however rare a label is; None without pairs.

    >>> round(macro_f1([("pass", "pass"), ("pass", "fail"), ("fail", "fail"), ("fail", "fail")]), 3)
    0.733
    """
    found = label_scores(pairs)
    return fmean(own.f1 for own in found.values()) if found else None


@dataclass(frozen=True, slots=True)
class LimitsOfAgreement:
    """Bland and Altman's: the mean of given minus true, and between which differences 95 of 100 lie."""

    bias: float
    low: float
    high: float


def limits_of_agreement(pairs: Sequence[tuple[float, float]]) -> LimitsOfAgreement | None:
    """The bias of the first rater against the second, and the limits around it; None with fewer than two pairs.

    >>> limits_of_agreement([(7, 6), (9, 6), (8, 6)])
    LimitsOfAgreement(bias=2.0, low=0.040000000000000036, high=3.96)
    """
    if len(pairs) < 2:
        return None
    gaps = [one - other for one, other in pairs]
    bias, reach = fmean(gaps), BEYOND * stdev(gaps)
    return LimitsOfAgreement(bias, bias - reach, bias + reach)


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """Two raters' scores of the same items. Intervals are of resampled items; None where there are too few."""

    count: int
    bias: Estimate | None  # the first minus the second: above 0 the first is kinder
    limits: LimitsOfAgreement | None
    kappa: Agreement  # every difference counts the same
    linear: Agreement
    quadratic: Agreement
    quadratic_interval: Estimate | None

    @property
    def plain(self) -> dict[str, object]:
        return {
            "count": self.count,
            "bias": _plain(self.bias),
            "limits": None if self.limits is None else [self.limits.low, self.limits.high],
            "kappa": self.kappa.value,
            "kappa_linear": self.linear.value,
            "kappa_quadratic": self.quadratic.value,
            "kappa_quadratic_interval": _plain(self.quadratic_interval),
        }


def score_agreement(pairs: Sequence[tuple[float, float]]) -> ScoreAgreement:
    """All figures of two raters' scores; the same pairs always have the same intervals.

    >>> found = score_agreement([(3, 2), (5, 5), (8, 6), (9, 9)])
    >>> print(found.bias, found.quadratic)
    0.75 (0 to 1.5) 0.900
    """
    several, chance = len(pairs) > 1, Random(SEED)  # noqa: S311 - no secret
    return ScoreAgreement(
        len(pairs),
        bootstrap(pairs, _bias, chance, replicates=_replicates(pairs)) if several else None,
        limits_of_agreement(pairs),
        cohen_kappa(pairs),
        weighted_kappa(pairs, "linear"),
        weighted_kappa(pairs, "quadratic"),
        bootstrap(pairs, _quadratic, chance, replicates=_replicates(pairs)) if several else None,
    )


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """Two raters' labels of the same items; for F1 the second rater's are the true ones."""

    count: int
    same: int
    kappa: Agreement
    kappa_interval: Estimate | None
    macro_f1: float | None
    labels: dict[str, LabelScore]

    @property
    def plain(self) -> dict[str, object]:
        return {
            "count": self.count,
            "same": self.same,
            "kappa": self.kappa.value,
            "kappa_interval": _plain(self.kappa_interval),
            "macro_f1": self.macro_f1,
            "labels": {
                label: {"precision": own.precision, "recall": own.recall, "f1": own.f1, "count": own.count}
                for label, own in self.labels.items()
            },
        }


def label_agreement(pairs: Sequence[tuple[str, str]]) -> LabelAgreement:
    """All figures of two raters' labels; the same pairs always have the same interval."""
    chance = Random(SEED)  # noqa: S311 - no secret
    interval = bootstrap(pairs, _kappa, chance, replicates=_replicates(pairs)) if len(pairs) > 1 else None
    same = sum(one == other for one, other in pairs)
    return LabelAgreement(len(pairs), same, cohen_kappa(pairs), interval, macro_f1(pairs), label_scores(pairs))


def _bias(pairs: Sequence[tuple[float, float]]) -> float:
    return fmean(one - other for one, other in pairs)


def _kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    return cohen_kappa(pairs).value


def _quadratic(pairs: Sequence[tuple[float, float]]) -> float | None:
    return weighted_kappa(pairs, "quadratic").value


def _replicates(pairs: Sequence[object]) -> int:
    return max(FEWEST_REPLICATES, min(REPLICATES, DRAWS // len(pairs)))


def _plain(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high}


def _variance(values: Sequence[float]) -> float:
    middle = fmean(values)
    return fmean((value - middle) ** 2 for value in values)


def _mean_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """The mean distance of a value of one from a value of the other, over all pairs of them."""
    places = sorted({*first, *second})
    counts, others = Counter(first), Counter(second)
    below = below_other = 0.0  # the shares of each at or below a place
    total = 0.0
    for place, next_place in pairwise(places):
        below += counts[place] / len(first)
        below_other += others[place] / len(second)
        total += (next_place - place) * (below * (1 - below_other) + below_other * (1 - below))
    return total
