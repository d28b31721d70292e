"""The rule types, one line each; documents, plans, pages, the builder and the reference all read this table.

Installed packages add lines by the entry point ``rubrica.rules``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rubrica.model.rules import RuleDocument
from rubrica.plugins import added

from .adjust import ADJUST
from .cross_round import CROSS_ROUND_ANALYSIS
from .custom_expression import CUSTOM_EXPRESSION
from .metric_threshold import METRIC_THRESHOLD
from .patterns import PATTERN_DETECTION, PENALTY
from .rule_type import RuleType

RULE_TYPES: tuple[RuleType[Any], ...] = (
    PATTERN_DETECTION,
    PENALTY,
    METRIC_THRESHOLD,
    CROSS_ROUND_ANALYSIS,
    CUSTOM_EXPRESSION,
    ADJUST,
)
"""Rubrica's own, in the order they are offered."""


@cache
def rule_types() -> Mapping[str, RuleType[Any]]:
    """Every rule type by its name: Rubrica's own, and what installed packages add."""
    own = {kind.name: kind for kind in RULE_TYPES}
    return {**own, **added("rubrica.rules", RuleType, own)}


def type_of(rule: RuleDocument) -> RuleType[Any]:
    return rule_types()[rule.type]
