"""The formula language: one grammar, read as a value, or as an interval while some names are open."""

from rubrica.formula.check import name_hint, never_a_name
from rubrica.formula.functions import FUNCTIONS, Function
from rubrica.formula.interval import Interval
from rubrica.formula.nodes import Node, text_of
from rubrica.formula.parse import Formula, composed, conjuncts, parse

__all__ = [
    "FUNCTIONS",
    "Formula",
    "Function",
    "Interval",
    "Node",
    "composed",
    "conjuncts",
    "name_hint",
    "never_a_name",
    "parse",
    "text_of",
]
