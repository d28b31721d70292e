"""Keys that cannot answer what is asked: special angles for other values, chances past 1, negative lengths."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import evaluate
from rubrica.text.questions.options import number_of
from rubrica.text.questions.question import Question

_FUNCTIONS: dict[str, Callable[[float], float]] = {"sin": math.sin, "cos": math.cos, "tan": math.tan}
_TRIG = lazy_pattern(
    r"\\?\b(sin|cos|tan)\s*(?:\\left)?\(?\s*\\?(?:[a-zA-Zθαβφ]|theta|alpha|beta|phi)\s*(?:\\right)?\)?\s*=\s*"
    r"([-−+]?\s*(?:\d|√|\\d?frac|\\sqrt|sqrt|\.\d)[^,;?\n=a-zA-Z]{0,30}(?:sqrt[({]\d+[)}][^,;?\n=a-zA-Z]{0,10})?)"
)
_DEGREES = lazy_pattern(r"(-?\d+(?:\.\d+)?)\s*(?:°|\^\\?\{?\\?circ\}?|degrees?\b|deg\b)")
_RADIANS = lazy_pattern(r"(-?\d*)\s*(?:π|\\pi|\bpi\b)\s*(?:/\s*(\d+))?|\\frac\{(-?\d*)\s*\\pi\}\{(\d+)\}")
_TOLERANCE = 0.01  # of the function's value: a rounded angle is right within it


def impossible_key(question: Question) -> str:
    """Why the question's key cannot be its answer; nothing where it can, or where one cannot tell.

    >>> options = (("A", "30°"), ("B", "60°"))
    >>> impossible_key(Question("Solve cos(x) = -1/3.", options, "B", 1))
    'a special angle is no solution of cos = -1/3'
    """
    key = question.key or (question.answer if not question.options else "")
    if not key:
        return ""
    return _special_angle(question.text, key) or _chance(question.text, key) or _negative(question.text, key)


def _special_angle(stem: str, key: str) -> str:
    found = list(_TRIG.finditer(stem))
    if len(found) != 1:
        return ""
    name, written = found[0][1], found[0][2].strip().rstrip(".)")
    value, angles = _value(written), _angles(key)
    if value is None or not angles or not all(_is_special(angle) for angle in angles):
        return ""
    reached = [_FUNCTIONS[name](angle) for angle in angles]
    specials = {_FUNCTIONS[name](math.radians(angle)) for angle in (*range(0, 360, 30), *range(0, 360, 45))}
    if any(abs(one - value) <= _TOLERANCE for one in (*reached, *specials)):
        return ""
    return f"a special angle is no solution of {name} = {written}"


def _value(written: str) -> float | None:
    plain = re.sub(r"\\?sqrt[({](\d+)[)}]", r"√\1", written)
    plain = re.sub(r"\\d?frac\{([^{}]{1,12})\}\{([^{}]{1,12})\}", r"((\1)/(\2))", plain)
    try:
        return float(evaluate(plain))
    except (FormulaError, FormulaFault, OverflowError):
        return None


def _angles(key: str) -> list[float]:
    """The angles a key consists of, in radians; none if it holds anything else that counts."""
    rest = _RADIANS.sub(" ", _DEGREES.sub(" ", key))
    if re.search(r"\d|\b(?:sin|cos|tan|arc\w+|none|no)\b", rest, re.IGNORECASE):
        return []
    angles = [math.radians(float(match[1])) for match in _DEGREES.finditer(key)]
    for match in _RADIANS.finditer(key):
        times, under = match[1] or match[3] or "1", match[2] or match[4] or "1"
        if int(under):
            angles.append(math.pi * int("-1" if times == "-" else times) / int(under))
    return angles


def _is_special(angle: float) -> bool:
    degrees = math.degrees(angle)
    return any(abs(degrees / step - round(degrees / step)) < 1e-6 for step in (30, 45))


_CHANCE = lazy_pattern(r"\b(?:what\s+is|find|calculate|determine)\s+(?:\w+\s+){0,3}probability\b", re.IGNORECASE)
_NOT_CHANCE = lazy_pattern(r"percent|%|odds|expected|how many|ratio", re.IGNORECASE)


def _chance(stem: str, key: str) -> str:
    if not _CHANCE.search(stem):
        return ""
    percent = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*%\s*", key)
    if percent:
        return "a probability past 100%" if not 0 <= Fraction(percent[1]) <= 100 else ""
    value = number_of(key)
    if value is None or _NOT_CHANCE.search(stem):
        return ""
    return "" if 0 <= value <= 1 else "a probability outside 0 to 1"


_AMOUNT = lazy_pattern(
    r"\bhow\s+many\s+(?:\w+\s+){1,4}(?:are|were|did|does|do|can|will|has|have|left|remain)\b"
    r"|\bwhat\s+is\s+the\s+(?:\w+\s+){0,2}(?:length|area|perimeter|volume|distance|width|height|radius|circumference)\b",
    re.IGNORECASE,
)
_SIGNED = lazy_pattern(
    r"temperature|change|net\b|loss|lost|negative|below|degrees|integer|value|difference|differ|signed|debt|more|less",
    re.IGNORECASE,
)


def _negative(stem: str, key: str) -> str:
    match = re.fullmatch(r"\s*(-\s?[\d.,/]+)\s*(?:[a-zA-Z²³^]{1,15}(?:\s[a-zA-Z²³]{1,10})?)?\s*", key.replace("−", "-"))
    value = number_of(match[1]) if match else None
    if value is None or value >= 0 or not _AMOUNT.search(stem) or _SIGNED.search(stem):
        return ""
    return "a negative length or count"
