"""The rule types as a form offers them: what each is for, and how a new one begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .document import Data


@dataclass(frozen=True, slots=True)
class RuleKind:
    """One type of rule."""

    type: str
    title: str
    says: str
    begins: Mapping[str, Any]


KINDS: Mapping[str, RuleKind] = {
    kind.type: kind
    for kind in (
        RuleKind("pattern_detection", "Points for what is found", "words or patterns that earn points",
                 {"type": "pattern_detection", "patterns": [{"keywords": [], "score": 1}]}),
        RuleKind("penalty", "Points taken for what is found", "words or patterns that cost points, with a reason",
                 {"type": "penalty", "patterns": [{"keywords": [], "penalty": -1, "reason": ""}]}),
        RuleKind("metric_threshold", "Points by a number", "the first row that a number meets gives the points",
                 {"type": "metric_threshold", "metric": "word_count",
                  "thresholds": [{"operator": ">=", "value": 50, "score": 1}, {"default": True, "score": 0}]}),
        RuleKind("cross_round_analysis", "Points across rounds", "callbacks, escalation and consistency over a game",
                 {"type": "cross_round_analysis", "track": "entity_mentions", "scoring": {"callback_detected": 1}}),
        RuleKind("custom_expression", "Points by a formula", "a formula over the context gives the points",
                 {"type": "custom_expression", "expression": "1 if word_count < 50 else 0"}),
        RuleKind("adjust", "Add or take when", "points added or taken when a condition holds",
                 {"when": "word_count > 100", "add": -1, "because": ""}),
    )
}  # fmt: skip


def kind_of(rule: Any) -> RuleKind:
    """The type of a rule of a document; one that says none adjusts."""
    named = rule.get("type") if isinstance(rule, Mapping) else None
    return KINDS.get(str(named or "adjust"), KINDS["adjust"])


def begun(kind: str) -> Data:
    """A new rule of a type, for its form to be filled in.

    >>> begun("adjust")
    {'when': 'word_count > 100', 'add': -1, 'because': ''}
    """
    rule: Data = _copied(KINDS[kind].begins)
    return rule


def another_pattern(kind: str) -> Data:
    """A further pattern of a rule of that type."""
    found: Data = _copied(KINDS[kind].begins)["patterns"][0]
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
