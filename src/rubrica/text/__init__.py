"""Text features by name, linear-time patterns, safety patterns, number and multiple-choice checks."""

from __future__ import annotations

from collections.abc import Mapping

from . import arithmetic, continuity, cut_off, features, mcq, pii, risk, safety, solution, topic
from .texts import Feature

FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for module in (features, continuity, safety, risk, pii, arithmetic, solution, cut_off, mcq, topic)
    for feature in module.FEATURES
}
"""Every text feature, by the name formulas use."""
