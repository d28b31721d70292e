"""Hints for unknown names in formulas: what the author may have meant."""

from __future__ import annotations

from collections.abc import Collection

from rubrica.formula.functions import FUNCTIONS
from rubrica.hints import did_you_mean

_CONSTANTS = {"true": "True", "false": "False", "TRUE": "True", "FALSE": "False"}


def never_a_name(name: str) -> bool:
    """Whether a name can only be a slip: a function without its brackets, or True and False in other letters."""
    return name in FUNCTIONS or name in _CONSTANTS


def name_hint(name: str, known: Collection[str]) -> str:
    """What to write instead of an unknown name, or nothing.

    >>> name_hint("acuracy", ["accuracy", "score"]), name_hint("true", []), name_hint("zzz", ["score"])
    ("did you mean 'accuracy'?", 'write True', '')
    """
    if name in _CONSTANTS:
        return f"write {_CONSTANTS[name]}"
    if name in FUNCTIONS:
        return f"it is a function: write {FUNCTIONS[name].usage}"
    return did_you_mean(name, known)
