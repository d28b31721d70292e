"""Amounts with their unit, and what one unit is worth in another: 2.4 m are 240 cm."""

from __future__ import annotations

import re
from fractions import Fraction

import msgspec

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import evaluate, tokens_of
from rubrica.text.maths.latex import plain_maths

_LONGEST = 60  # characters of an amount with its unit

# By kind: names, and how much of the first one each is. Only what is the same everywhere: a gallon is not.
_KINDS: dict[str, dict[str, str]] = {
    "length": {
        "1": "m meter metre", "1/1000": "mm millimeter millimetre", "1/100": "cm centimeter centimetre",
        "1/10": "dm decimeter decimetre", "1000": "km kilometer kilometre",
    },
    "imperial length": {"1": "in inch inche", "12": "ft foot feet", "36": "yd yard", "63360": "mi mile"},
    "mass": {
        "1": "g gram gramme", "1/1000": "mg milligram", "1000": "kg kilogram kilogramme kilo", "1000000": "t tonne",
    },
    "imperial mass": {"1": "oz ounce", "16": "lb pound"},
    "volume": {
        "1": "l liter litre dm³", "1/1000": "ml milliliter millilitre cm³", "1000": "m³",
        "1/100": "cl centiliter centilitre", "1/10": "dl deciliter decilitre",
    },
    "time": {
        "1": "s sec second", "60": "min minute", "3600": "h hr hour", "86400": "day", "604800": "week",
    },
    "calendar": {"1": "month", "12": "year"},
    "money": {"1": "cent ¢", "100": "dollar $ euro €"},
}  # fmt: skip
_UNITS = {
    name: (kind, Fraction(worth))
    for kind, sizes in _KINDS.items()
    for worth, names in sizes.items()
    for name in names.split()
}
_AREA = lazy_pattern(r"^(?:square|sq\.?)\s+(\w+)$|^(\w+?)\s?(?:²|\^2|\^\(2\)|squared)$", re.IGNORECASE)
_ONE = lazy_pattern(
    r"\s*(?P<sign>[-−–]?)\s*(?P<money>[$€£]?)\s*(?P<number>[\d√(.½⅓⅔¼¾⅕⅛](?:[\d\s.,/()√½⅓⅔¼¾⅕⅛^]*[\d)½⅓⅔¼¾⅕⅛])?)\s*"
    r"(?P<unit>%|°|€|¢|[^\W\d_][^\W\d_.]*(?:\s[^\W\d_]+){0,2}\s?(?:[²³]|\^\(?[23]\)?)?)?\s*\.?\s*"
)
_OTHER_WORTH = lazy_pattern(  # beside a number, these make it another one, or leave it open
    r"\b(?:and|or|to|than|more|less|about|out|tens?|ones?|hundreds?|thousands?|millions?|billions?|dozens?|pairs?|lakhs?"
    r"|crores?|hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundredths?"
    r"|thousandths?|squared|cubed|times|remainder|pi|st|nd|rd|th|[abceijknopqruvwxyz])\b",
    re.IGNORECASE,
)


class MeasuredAmount(msgspec.Struct, frozen=True):
    """A number and the unit beside it: a known one in its plainest form, another word as it is written, or none."""

    value: Fraction
    unit: str = ""
    decimals: int | None = None  # it is written with; None where it is a fraction

    @property
    def kind(self) -> str:
        """What its unit measures; empty where nobody knows."""
        area = self.unit.endswith("²")
        known = _UNITS.get(self.unit.removesuffix("²"))
        return "" if known is None else f"{known[0]}{'²' * area}"

    @property
    def size(self) -> Fraction:
        """What it is worth in the first unit of its kind."""
        known = _UNITS.get(self.unit.removesuffix("²"))
        if known is None:
            return self.value
        return self.value * (known[1] ** 2 if self.unit.endswith("²") else known[1])


def unit_of(word: str) -> str:
    """A unit by its plainest name, the same for all spellings; empty where it is none that is known.

    >>> unit_of("Metres"), unit_of("square feet"), unit_of("bags")
    ('m', 'ft²', '')
    """
    plain = " ".join(word.casefold().split()).rstrip(".")
    area = _AREA.match(plain)
    plain = (area[1] or area[2]) if area else plain
    name = next((form for form in (plain, plain.removesuffix("s")) if form in _UNITS), "")
    return f"{_same(name)}{'²' * bool(area)}" if name else ""


def _same(name: str) -> str:
    """The first of the names of one size: centimetre is cm."""
    kind, worth = _UNITS[name]
    return next(other for other, known in _UNITS.items() if known == (kind, worth))


def measured_amount(text: str) -> MeasuredAmount | None:
    """The amount a short text consists of; None where it is more than one number with a unit.

    >>> measured_amount("x = 2 1/2 metres"), measured_amount("$4.50").value, measured_amount("3 or 4")
    (MeasuredAmount(value=Fraction(5, 2), unit='m', decimals=None), Fraction(9, 2), None)
    """
    if len(text) > _LONGEST:
        return None
    plain = re.sub(r"^\s*[a-zA-Z]\s*=\s*(?=\S)", "", plain_maths(text))
    found = _ONE.fullmatch(plain)
    if found is None or re.search(r"\d\s+\d(?!\d*/)", found["number"]):
        return None
    if any(token.kind in {"word", "other"} for token in tokens_of(found["number"])):
        return None
    try:
        value = evaluate(found["number"])
    except (FormulaError, FormulaFault, OverflowError):
        return None
    if not isinstance(value, Fraction):
        return None
    if _OTHER_WORTH.search(found["unit"] or ""):
        return None
    written = found["unit"] or {"$": "$", "€": "€"}.get(found["money"], "")
    unit = unit_of(written) or written.casefold()
    plain_number = re.fullmatch(r"[\d,]*(?:\.(\d+))?", found["number"])
    decimals = len(plain_number[1] or "") if plain_number else None
    return MeasuredAmount(-value if found["sign"] else value, unit, decimals)


def converted(value: Fraction, unit: str, into: str) -> Fraction | None:
    """A number of one unit in another of the same kind; None where they measure different things.

    >>> str(converted(Fraction("2.4"), "m", "cm")), converted(Fraction(1), "m", "kg")
    ('240', None)
    """
    one, two = MeasuredAmount(value, unit), MeasuredAmount(Fraction(1), into)
    return one.size / two.size if one.kind and one.kind == two.kind else None


UNIT_WORD = r"(?:square\s)?[^\W\d_]{1,12}(?:²|\^2)?"
"""What a unit may look like, for patterns: `unit_of` says whether it is one."""
