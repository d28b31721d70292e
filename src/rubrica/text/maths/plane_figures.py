"""Area and perimeter of a rectangle, a square or a triangle whose sides a question gives in plain words."""

from __future__ import annotations

import re
from fractions import Fraction

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.units import UNIT_WORD, MeasuredAmount, measured_amount

_NOUN = r"(?:field|garden|room|floor|table|park|yard|plot|poster|card|pool|lawn|board|carpet|rug|playground)"
_SHAPE = rf"(?P<shape>rectangle|rectangular\s+{_NOUN}|square(?:\s+{_NOUN})?|triangle)"
_SIZE = rf"(\d[\d,]*(?:\.\d+)?(?:\s?{UNIT_WORD})?)"
_SIDES = (  # what the two numbers are, by shape
    rf"{_SIZE}\s+(?:long|in\s+length)\s+and\s+{_SIZE}\s+(?:wide|in\s+width)",
    rf"{_SIZE}\s+wide\s+and\s+{_SIZE}\s+long",
    rf"(?:a\s+)?length\s+(?:of\s+)?{_SIZE}\s+and\s+(?:a\s+)?width\s+(?:of\s+)?{_SIZE}",
    rf"(?:a\s+)?width\s+(?:of\s+)?{_SIZE}\s+and\s+(?:a\s+)?length\s+(?:of\s+)?{_SIZE}",
    rf"sides\s+of\s+{_SIZE}\s+and\s+{_SIZE}",
    rf"{_SIZE}\s+by\s+{_SIZE}",
)
_SIDE = (
    rf"(?:a\s+)?sides?(?:\s+lengths?)?\s+(?:of\s+)?{_SIZE}",
    rf"sides?\s+(?:that\s+are\s+)?{_SIZE}\s+long",
    rf"{_SIZE}\s+on\s+each\s+side",
)
_BASE = (
    rf"(?:a\s+)?base\s+(?:of\s+)?{_SIZE}\s+and\s+(?:a\s+)?height\s+(?:of\s+)?{_SIZE}",
    rf"(?:a\s+)?height\s+(?:of\s+)?{_SIZE}\s+and\s+(?:a\s+)?base\s+(?:of\s+)?{_SIZE}",
)
_THREE = (rf"sides\s+(?:of\s+)?{_SIZE},\s+{_SIZE},?\s+and\s+{_SIZE}",)
_ASKED = r"(?P<asked>area|perimeter)"
_FIND = r"(?:what\s+is|find|calculate|work\s+out|determine)"
_FIRST = lazy_pattern(
    rf"(?:a|the)\s+{_SHAPE}\s+(?:is|measures|has|with)\s+(?P<sides>[^.?;]{{5,80}}?)[.,;]\s+{_FIND}\s+(?:its|the)\s+{_ASKED}"
    rf"(?:\s+of\s+(?:the|this)\s+(?:rectangle|square|triangle|{_NOUN}))?\s*[.?]",
    re.IGNORECASE,
)
_LAST = lazy_pattern(
    rf"{_FIND}\s+the\s+{_ASKED}\s+of\s+a\s+{_SHAPE}\s+(?:with|that\s+is|that\s+has|measuring|of|which\s+is)\s+"
    rf"(?P<sides>[^.?;]{{3,80}}?)\s*[.?]",
    re.IGNORECASE,
)


def figure_size(text: str) -> MeasuredAmount | None:
    """The area or perimeter that a question asks for; None where its form is not known, or where units differ.

    >>> figure_size("A rectangle is 8 cm long and 5 cm wide. What is its perimeter?")
    MeasuredAmount(value=Fraction(26, 1), unit='cm', decimals=None)
    """
    found = _FIRST.fullmatch(text) or _LAST.fullmatch(text)
    if found is None:
        return None
    shape, asked = found["shape"].lower().split()[0][:6], found["asked"].lower()
    forms = {"rectan": _SIDES, "square": _SIDE, "triang": _BASE if asked == "area" else _THREE}[shape]
    sides = next(
        (match.groups() for form in forms if (match := re.fullmatch(form, found["sides"].strip(), re.I))), None
    )
    amounts = [measured_amount(side) for side in sides or ()]
    known = [amount for amount in amounts if amount is not None]
    units = {amount.unit for amount in known if amount.unit}
    if not known or len(known) != len(amounts) or len(units) > 1 or any(unit.endswith("²") for unit in units):
        return None
    if units and any(amount.unit == "" for amount in known[-1:]):
        return None  # "8 by 5 cm" is clear, "8 cm by 5" is not
    unit = units.pop() if units else ""
    value = _size(shape, asked, [amount.value for amount in known])
    return MeasuredAmount(value, f"{unit}²" if unit and asked == "area" else unit)


def _size(shape: str, asked: str, sides: list[Fraction]) -> Fraction:
    if shape == "triang":
        return sides[0] * sides[1] / 2 if asked == "area" else sum(sides, Fraction(0))
    one, two = sides[0], sides[-1]
    return one * two if asked == "area" else 2 * (one + two)
