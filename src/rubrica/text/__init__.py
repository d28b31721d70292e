"""Text features by name, linear-time patterns, safety patterns, number and multiple-choice checks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rubrica.plugins import added

from . import (
    answer_preference,
    continuity,
    conversation,
    cues,
    cut_off,
    features,
    pii,
    relevance,
    reply_language,
    risk,
    safety,
    speech,
)
from .maths import arithmetic, asked_sum, solution, worked_sum
from .questions import answer_forms, maths_grade, mcq, topic
from .texts import Feature

FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for module in (
        features,
        continuity,
        relevance,
        conversation,
        speech,
        reply_language,
        cues,
        safety,
        risk,
        pii,
        arithmetic,
        asked_sum,
        solution,
        cut_off,
        answer_preference,
        worked_sum,
        mcq,
        answer_forms,
        topic,
        maths_grade,
    )
    for feature in module.FEATURES
}
"""Rubrica's own text features, by the name formulas use."""


@cache
def text_features() -> Mapping[str, Feature]:
    """Every text feature by the name formulas use: Rubrica's own, and what installed packages add."""
    return {**FEATURES, **added("rubrica.features", Feature, FEATURES)}
