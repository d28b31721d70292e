"""The rules of a draft: of which type each is, and how a new one begins."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from rubrica.model.rules import rule_type
from rubrica.scorers.rule_table import rule_types
from rubrica.scorers.rule_type import RuleType

from .document import Data


def type_of_draft(rule: Any) -> RuleType[Any] | None:
    """The type of a rule of a document; one that says none adjusts. None where there is no such type.

    >>> type_of_draft({"add": 1}).name, type_of_draft({"type": "penalty"}).name, type_of_draft({"type": "no"})
    ('adjust', 'penalty', None)
    """
    return rule_types().get(rule_type(rule)) if isinstance(rule, dict) else None


def new_rule(kind: str) -> Data:
    """A new rule of a type, for its form to be filled in.

    >>> new_rule("adjust")
    {'when': 'word_count > 100', 'add': -1, 'because': ''}
    """
    return deepcopy(dict(rule_types()[kind].begins))
