"""How the scores of several players are compared: each method in plain words, and what it makes of an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubrica.model.judge_options import Normalisation
from rubrica.report.figures import figure
from rubrica.scoring.normalise import Method, over_set

from .document import mapping_at

EXAMPLE = (10.0, 15.0, 40.0)
"""Points of three players."""


WAYS: Mapping[Method, str] = {
    "none": "Scores are compared as they are.",
    "percentage_of_max": "Each score becomes its share of the most points that can be had, or were.",
    "min_max": "The lowest score becomes 0, the highest 1, the others lie in between.",
    "log": "Like from lowest to highest, but on logarithms: for points without an upper end, where one player may have "
    "ten times as many as another.",
    "z_score": "Each score becomes its distance from the mean, in standard deviations: 0 is average, above 0 is "
    "better. It takes out how strict a judge is.",
}
"""What each method does."""


def method_of(document: Mapping[str, Any], key: str) -> Method:
    """The method a document says; `none` where it says none that there is."""
    said = mapping_at(document, (key,)).get("method")
    return next((method for method in WAYS if method == said), "none")


def takes_logarithm(method: Method) -> bool:
    """Whether it makes sense to take logarithms before it: one takes them itself, and one compares nothing."""
    return method not in ("none", "log")


def example_of(method: Method, *, apply_log: bool = False) -> str:
    """What a method makes of three players' points, in a sentence.

    >>> example_of("min_max")
    '10, 15 and 40 points become 0, 0.17 and 1.'
    """
    wanted = Normalisation(method=method, apply_log=apply_log)
    points = {str(place): score for place, score in enumerate(EXAMPLE)}
    made = over_set(points, wanted.method, apply_log=wanted.apply_log)
    before, after = (_join_scores([round(one, 2) for one in scores.values()]) for scores in (points, made))
    return f"{before} points become {after}." if before != after else f"{before} points stay {after}."


def _join_scores(scores: list[float]) -> str:
    *most, last = map(figure, scores)
    return f"{', '.join(most)} and {last}"
