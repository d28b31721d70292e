"""Text features by name, linear-time patterns, safety patterns, number and multiple-choice checks."""

from __future__ import annotations

from collections.abc import Mapping

from . import arithmetic, ending, features, mcq, pii, safety, solution
from .reading import Feature

FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for module in (features, safety, pii, arithmetic, solution, ending, mcq)
    for feature in module.FEATURES
}
"""Every text feature, by the name formulas use."""
