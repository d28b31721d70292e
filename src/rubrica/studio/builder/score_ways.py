"""How dimensions become one score: by weights, by points or by a formula, and what changes from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Literal

from rubrica.studio.criterion_lines import CriterionLine, whole

from .criterion_tree import DIMENSIONS, axis_names, insert, new_criterion, points_at, short_name
from .dimensions import profile_names, weighed_by_profiles, weights_of, with_weights
from .document import Data, Path, at, mapping_at, put
from .hand_made import HAND_MADE
from .weights import normalise_weights

ScoreWay = Literal["weighted", "points", "formula"]
WAYS: dict[ScoreWay, str] = {
    "weighted": "the weighted mean of the dimensions",
    "points": "the points earned of those possible",
    "formula": "a formula",
}
MOST_NAMED = 3
"""Criteria that are named in a sentence; the rest are counted."""
MOST_SHARES = 1_000
"""Points to which weights come that are shares of a whole number."""


def score_way(document: Data) -> ScoreWay:
    """How the score is made, as far as a draft says so.

    >>> score_way({}), score_way({"score": {"points": True}}), score_way({"score": {"formula": "a"}})
    ('weighted', 'points', 'formula')
    """
    score = mapping_at(document, ("score",))
    return "formula" if score.get("formula") is not None else "points" if score.get("points") else "weighted"


def with_score_way(document: Data, way: ScoreWay) -> tuple[Data, list[str]]:
    """The document with its score made in another way, and what that changed, in sentences.

    >>> document = {"dimensions": {"a": {"weight": 0.75}, "b": {"weight": 0.25}}}
    >>> changed, told = with_score_way(document, "points")
    >>> changed["dimensions"], changed["score"]
    ({'a': {'points': 75}, 'b': {'points': 25}}, {'points': True})
    >>> with_score_way(changed, "weighted")[0]["dimensions"]
    {'a': {'weight': 0.75}, 'b': {'weight': 0.25}}
    """
    if way == score_way(document):
        return document, []
    told: list[str] = []
    if way == "points":
        document = _to_points(document, told)
    else:
        document = _from_points(document, told)
    names = ", ".join(mapping_at(document, DIMENSIONS)) or "1"
    kept = {key: value for key, value in mapping_at(document, ("score",)).items() if key not in HAND_MADE["ScoreSpec"]}
    own = {"formula": f"mean({names})"} if way == "formula" else {way: True}
    if way == "formula":
        told.append("The score is what the formula below says; it begins as the plain mean.")
    return put(document, ("score",), {**kept, **own}), told


def _to_points(document: Data, told: list[str]) -> Data:
    weights = weights_of(document, DIMENSIONS)
    if not weights:
        told.append("Each criterion has points, and what costs points has fewer than 0. They need not sum to anything.")
        return put(document, ("scale",), None)  # criteria are answered by yes or no, which is 1 or 0
    if weighed_by_profiles(document) or not any(weights.values()):
        weights = dict.fromkeys(weights, 1 / len(weights))
        told.append("Every dimension has the same points now.")
    else:
        told.append("Weights became points in the same proportions, so every case scores what it scored before.")
    told.append("Points need not sum to 100, and what costs points has fewer than 0.")
    worth = _points_of(weights)
    for name in weights:
        axis = {key: value for key, value in mapping_at(document, (*DIMENSIONS, name)).items() if key != "weight"}
        points = {} if "from" in axis else {"points": worth[name] or 1}
        document = put(document, (*DIMENSIONS, name), {**axis, **points})
    for profile in profile_names(document):
        if mapping_at(document, ("profiles", profile, "weights")):
            document = put(document, ("profiles", profile, "weights"), None)
            told.append(f"The profile {profile} has no weights any more: points are the same for all.")
    return document


def _points_of(weights: Mapping[str, float]) -> dict[str, float]:
    """Points in the proportions of weights: percents, or the smallest whole numbers where those are no whole ones.

    >>> _points_of({"a": 0.75, "b": 0.25}), _points_of({"a": 5 / 12, "b": 7 / 12})
    ({'a': 75, 'b': 25}, {'a': 5, 'b': 7})
    """
    percents = {name: whole(round(100 * weight, 9)) for name, weight in weights.items()}
    shares = {name: Fraction(weight).limit_denominator(MOST_SHARES) for name, weight in weights.items()}
    times = lcm(*(share.denominator for share in shares.values()))
    is_exact = all(abs(share - weights[name]) < 1e-12 for name, share in shares.items())
    if times > MOST_SHARES or not is_exact or all(isinstance(own, int) for own in percents.values()):
        return percents
    return {name: int(share * times) for name, share in shares.items()}


def _from_points(document: Data, told: list[str]) -> Data:
    things = mapping_at(document, DIMENSIONS)
    if score_way(document) != "points" or not things:
        return document
    points = {name: points_at(axis) for name, axis in things.items()}
    costly = [name for name, own in points.items() if own is not None and own < 0]
    for name in things:
        document = put(document, (*DIMENSIONS, name, "points"), None)
    earned = {name: max(own or 0.0, 0.0) if "from" not in things[name] else 1.0 for name, own in points.items()}
    whole_sum = sum(earned.values())
    # The exact shares: in whole percents, cases near a threshold would get another verdict.
    weights = {name: own / whole_sum for name, own in earned.items()} if whole_sum else normalise_weights(earned)
    document = with_weights(document, DIMENSIONS, weights)
    changed = costly or any("from" in axis for axis in things.values())
    same = "" if changed else ", so every case scores what it scored before"
    told.append(f"Points became weights in the same proportions{same}.")
    if costly:
        named = ", ".join(costly[:MOST_NAMED]) + (f" and {len(costly) - MOST_NAMED} more" * (len(costly) > MOST_NAMED))
        told.append(f"Weights cannot cost anything, so {named} counts for nothing now: remove it, or make it a gate.")
    return document


def with_criteria(document: Data, root: Path, lines: Sequence[CriterionLine]) -> Data:
    """The document with a list of criteria at the end of a place, each named by its first words.

    >>> lines = [CriterionLine("Names the dose.", 5, ("accuracy",))]
    >>> with_criteria({"score": {"points": True}}, ("dimensions",), lines)["dimensions"]["names_the_dose"]
    {'asks': 'Names the dose.', 'answers': {'yes': 1, 'no': 0}, 'tags': ['accuracy'], 'points': 5}
    """
    taken = axis_names(document)
    for line in lines:
        name = short_name(line.criterion, taken)
        taken.add(name)
        path: Path = (*root, name)
        tags = {"tags": list(line.tags)} if line.tags else {}
        axis = {**new_criterion(document, path, line.criterion), **tags, "points": line.points}
        document = insert(document, path, axis)
    return document


def list_points(document: Data, root: Path) -> list[float]:
    """The points of the things at a place, those that have any."""
    found = (points_at(axis) for axis in mapping_at(document, root).values())
    return [own for own in found if own is not None]


def filled_from_cases(document: Data) -> str | None:
    """The dimension that each case fills with criteria of its own, where there is one."""
    return next((name for name, axis in mapping_at(document, DIMENSIONS).items() if at(axis, ("from",))), None)


def with_case_criteria(document: Data, path: Path) -> Data:
    """The document with a dimension that each case fills with criteria of its own."""
    kept = {key: value for key, value in mapping_at(document, path).items() if key in ("title", "weight", "applies")}
    title = kept.pop("title", "") or "Criteria of the case"
    return put(document, path, {"title": title, "from": "criteria", **kept})
