"""Fields of a rubric that have a form made for them, and why; all others are drawn as the schema tells them."""

from __future__ import annotations

from collections.abc import Mapping

_ONE_WAY = "shown for the way of scoring that is chosen"
_SLIDER = "a slider among those that keep their sum"
_ROWS = "rows of a tree that can be moved, weighed and named anew"
_PATTERN = {
    "regex": "or keywords: a pattern has one of them, tried on the sample as one types",
    "keywords": "or a regex: a pattern has one of them, tried on the sample as one types",
    "match": "of keywords only",
    "ignore_case": "of a regex only",
}
_COUNTED = {**_PATTERN, "at_most": "only where matches count up to a number"}
_RECIPE = {
    "rules": "a list, with a form for each type of rule",
    "start": _ONE_WAY,
    "scoring": _ONE_WAY,
    "possible": "only where points are a share of those possible",
    "win_at": "only where points win or lose",
    "formula": _ONE_WAY,
    "checks": "a list of conditions",
    "confidence": "only where no judge scores it",
}
_AXIS = {
    **_RECIPE,
    "anchors": "rows, with a bar that shows what of the scale they cover",
    "answers": "one of the usual ways, or labels of its own with their values",
    "examples": "rows, with how many there are of each answer",
    "weight": "a slider among those that keep their sum, or a number of its row",
    "points": "a number of its row",
    "scorer": "what the rest of the form depends on",
    "looks": "only where a judge scores it",
    "offline": "only where a judge scores it",
}

HAND_MADE: Mapping[str, Mapping[str, str]] = {
    "Rubric": {
        "scale": "beside the title",
        "dimensions": "folds that can be moved, weighed and named anew",
        "sections": "folds that can be moved and named anew",
        "profiles": "by a value of the context, with sliders",
        "score": "beside the title, with the choice between weights and a formula",
        "bands": "rows, with a bar that shows what each covers",
        "gates": "sentences",
        "verdicts": "sentences",
        "on_unscored": "also written as one word",
        "judging": "in one fold with what cannot be scored",
        "notes": "by a value of the context, also written as plain text",
        "normalization": "each method with what it makes of an example",
        "calibration": "made by `rubrica calibrate`, not written",
        "settings": "numbers and switches by name",
        "patterns": "by name, tried on the sample as one types",
        "context": "by name, also written as plain text",
    },
    "ShortForm": {
        "rules": "a list, with a form for each type of rule",
        "win_at": "only where points win or lose",
        "normalization_config": "each method with what it makes of an example",
        "id": "of a database, left out",
        "created_by": "of a database, left out",
        "created_at": "of a database, left out",
        "updated_at": "of a database, left out",
        "is_public": "of a database, left out",
    },
    "ScoreSpec": {
        "weighted": "or points, or a formula: one choice for all",
        "points": "or weights, or a formula: one choice for all",
        "clip": "only where the score is in points",
        "formula": "only where it is chosen",
    },
    "Dimension": {**_AXIS, "parts": _ROWS, "from": "one of the ways it is scored"},
    "Part": {**_AXIS, "parts": _ROWS},
    "FewShotExample": {"answer": "where it has answers", "score": "where it has none"},
    "Offline": _RECIPE,
    "Section": {
        "dimensions": "boxes to be ticked",
        "formula": "or the mean: one choice for both",
        "verdicts": "sentences, once they are asked for",
    },
    "Profile": {"weights": _SLIDER},
    "Gate": {
        "cap": "one of three effects",
        "floor": "one of three effects",
        "verdict": "one of three effects, chosen among the rubric's verdicts",
        "before": "a switch; a condition is written in the document",
    },
    "OnUnscored": {"policy": "also written as one word", "neutral": "only where a neutral value counts"},
    "Normalisation": {"apply_log": "only for methods that do not take logarithms themselves"},
    "Pattern": _PATTERN,
    "ScoredPattern": _COUNTED,
    "PenalisedPattern": _COUNTED,
    "Threshold": {
        "operator": "not of the last row",
        "value": "not of the last row",
        "default": "the last row, by a button",
        "score": "or a formula: one of them",
        "score_formula": "or points: one of them",
    },
}
"""By the model and the key of the field."""
