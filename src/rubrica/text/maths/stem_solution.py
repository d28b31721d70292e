"""Questions that can be solved from their own words: sums, equations, conversions, averages, areas, roundings.

A question is solved only where its whole form is understood: a word too many, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.linear_equation import solve_linear
from rubrica.text.maths.number_tasks import worked_number
from rubrica.text.maths.plane_figures import figure_size
from rubrica.text.maths.units import UNIT_WORD, MeasuredAmount, converted, measured_amount, unit_of
from rubrica.text.maths.worked_words import worked_value

LONGEST = 240  # characters of a question that is solved


class StemSolution(msgspec.Struct, frozen=True):
    """What a question comes to, in which unit, and what was worked out."""

    value: Fraction
    unit: str = ""  # as `unit_of` names it; empty where the question names none
    how: str = ""  # "the calculation", "the equation"
    unknown: str = ""  # the letter it is the value of
    is_ratio: bool = False  # its value is the first number over the second

    def agrees(self, written: str) -> bool | None:
        """Whether an answer is this one, rounding allowed; None where it cannot be read as one amount.

        >>> found = solve_stem("How many centimetres are in 2.4 metres?")
        >>> [found.agrees(text) for text in ("240", "2.4 m", "24 cm", "a lot")]
        [True, True, False, None]
        """
        if self.is_ratio:
            pair = _RATIO.fullmatch(written.strip(" .$"))
            return None if pair is None or not int(pair[2]) else Fraction(int(pair[1]), int(pair[2])) == self.value
        amount = measured_amount(written)
        if amount is None:
            return None
        own = MeasuredAmount(self.value, self.unit)
        if own.kind and amount.kind and own.kind != amount.kind:
            return False if own.kind.removesuffix("²") == amount.kind.removesuffix("²") else None
        wanted = own.size / MeasuredAmount(Fraction(1), amount.unit).size if own.kind and amount.kind else self.value
        if (
            "%" in (self.unit, amount.unit)
            and self.unit != amount.unit
            and 100
            in (
                self.value and amount.value / self.value,
                amount.value and self.value / amount.value,
            )
        ):
            return True
        return wanted == amount.value or (None if _may_be_rounded(wanted, amount) else False)


def _may_be_rounded(value: Fraction, amount: MeasuredAmount) -> bool:
    """Whether an answer may be a broken value with fewer places, up or down."""
    if amount.decimals is None or value.denominator == 1:
        return False
    return abs(value - amount.value) < Fraction(1, 10**amount.decimals)


def solve_stem(stem: str) -> StemSolution | None:
    """The solution of a question whose form is understood from the first word to the last.

    >>> [str(solve_stem(text).value) for text in ("Find the median of 7, 3, 12, 5, 9.", "If 3n - 8 = 13, what is n?")]
    ['7', '7']
    >>> solve_stem("Tom has 3 apples and buys 4. How many are red?") is None
    True
    """
    text = " ".join(plain_maths(stem[: 2 * LONGEST]).split())
    if not text or len(text) > LONGEST:
        return None
    for solve in _FORMS:
        found = solve(text)
        if found is not None:
            return found
    return None


_RATIO = lazy_pattern(r"(\d{1,6})\s?(?::|to)\s?(\d{1,6})", re.IGNORECASE)
_ASKS = r"(?:what\s+is|what's|how\s+much\s+is|calculate|compute|evaluate|find|work\s+out|determine|solve|simplify)"
_END = r"\s*(?:=\s*)?(?:\?|_{2,})?\s*[.?!:]?\s*"
_SUM = lazy_pattern(
    rf"(?:{_ASKS}\b(?:\s+the\s+(?:value\s+of|sum:|difference:|product:|quotient:)|\s+each)?\s*:?)?\s*(?P<sum>\S.{{1,118}}?)"
    rf"(?:,?\s+in\s+(?:its\s+)?(?:simplest|lowest)\s+(?:form|terms))?{_END}",
    re.IGNORECASE,
)
_MORE = lazy_pattern(r"(?:what|which)\s+number\s+is\s+(?P<sum>[^?]{3,60}?)\s*\?", re.IGNORECASE)
_EQUATIONS = tuple(
    lazy_pattern(
        form.replace("EQ", r"(?P<equation>[^?=]{1,60}=[^?=]{1,60}?)").replace("X", r"(?P<unknown>[a-zA-Z])"), re.I
    )
    for form in (
        r"solve(?:\s+the\s+equation)?(?:\s+for\s+X)?\s*:?\s*EQ(?:\s+for\s+(?P<too>[a-zA-Z]))?\s*[.?]?",
        r"(?:if|when|given(?:\s+that)?)\s+EQ,?\s+(?:then\s+)?(?:what\s+is|find|what\s+does)\s+(?:the\s+value\s+of\s+)?X(?:\s+equal)?\s*[.?]",
        r"(?:what\s+is|find)\s+(?:the\s+value\s+of\s+)?X\s+(?:if|when|in|given(?:\s+that)?)\s+(?:the\s+equation\s+)?EQ\s*[.?]?",
        r"(?:what|which)\s+(?:value|number)\s+(?:of|for)\s+X\s+(?:makes|solves|satisfies)\s+(?:the\s+equation\s+)?EQ(?:\s+true)?\s*[.?]?",
        r"EQ[.,;]?\s+(?:what\s+is|find)\s+(?:the\s+value\s+of\s+)?X\s*[.?]",
        r"EQ[.,;]?\s+X\s*=\s*(?:\?|_{2,})\s*\.?",
    )
)
_VALUE_AT = lazy_pattern(
    r"(?:evaluate|find\s+the\s+value\s+of|what\s+is(?:\s+the\s+value\s+of)?)\s+(?P<term>[^=?]{2,60}?)\s+(?:when|if|for)\s+"
    r"(?P<unknown>[a-zA-Z])\s*=\s*(?P<value>[-−]?[\d./]{1,12}?)\s*[.?]?",
    re.IGNORECASE,
)
_GAP = lazy_pattern(r"_{2,}|□|\[\s*\]")
_GAPPED = lazy_pattern(
    r"(?:(?:(?:what|which)\s+number\s+(?:makes?|completes?|goes|belongs)[^?:.=]{0,40}|(?:find|what\s+is)\s+the\s+missing\s+number"
    r"|fill\s+in\s+the\s+(?:blank|gap)|complete(?:\s+the\s+equation)?)\s*[?:.]\s*)?(?P<equation>[^?=a-wyz]{1,60}=[^?=a-wyz]{1,60}?)\s*\.?",
    re.IGNORECASE,
)
_AMOUNT = rf"(?P<amount>\d[\d.,/\s]*?\s?{UNIT_WORD}(?:\s(?:and\s)?\d[\d.,]*\s?{UNIT_WORD})?)"
_CONVERSIONS = tuple(
    lazy_pattern(form.replace("AMOUNT", _AMOUNT).replace("UNIT", rf"(?P<unit>{UNIT_WORD})"), re.IGNORECASE)
    for form in (
        r"how\s+many\s+UNIT\s+(?:are|is)(?:\s+there)?(?:\s+in)?\s+AMOUNT\s*\?",
        r"how\s+many\s+UNIT\s+(?:make(?:\s+up)?|do)\s+AMOUNT(?:\s+(?:have|make|equal))?\s*\?",
        r"(?:convert|change|express|write)\s+AMOUNT\s+(?:to|into|in|as)\s+UNIT\s*\.?",
        r"what\s+is\s+AMOUNT\s+in\s+UNIT\s*\?",
        r"AMOUNT\s+(?:=|is|are|equals?)\s+(?:\?|_{2,})\s?UNIT\s*\.?",
    )
)
_SIMPLER = lazy_pattern(
    r"(?:simplify|reduce)\s+(?:the\s+ratio\s+)?(\d{1,6})\s?(?::|to)\s?(\d{1,6})(?:\s+(?:to|in)\s+(?:its\s+)?(?:simplest|lowest)\s+(?:form|terms))?\s*\.?"
    r"|(?:what\s+is|write|express)\s+(?:the\s+ratio\s+)?(\d{1,6})\s?:\s?(\d{1,6})\s+in\s+(?:its\s+)?(?:simplest|lowest)\s+(?:form|terms)\s*[.?]",
    re.IGNORECASE,
)


def _sum(text: str) -> StemSolution | None:
    found = _MORE.fullmatch(text) or _SUM.fullmatch(text)
    asked = found["sum"] if found else ""
    if not found or not re.search(r"\d", asked) or "=" in asked:
        return None
    alone = re.fullmatch(r"[\s\d.,/()%$]*", asked) is not None  # a number that nothing is done with
    value = None if alone else worked_value(asked)
    return None if value is None else StemSolution(value, how="the calculation")


def _equation(text: str) -> StemSolution | None:
    for form in _EQUATIONS:
        found = form.fullmatch(text)
        if found is None:
            continue
        solved = solve_linear(found["equation"].strip(" .,"))
        asked = {found[name] for name in ("unknown", "too") if name in form.groupindex and found[name]}
        if solved is not None and asked <= {solved.unknown}:
            return StemSolution(solved.solution, how="the equation", unknown=solved.unknown)
    return None


def _gap(text: str) -> StemSolution | None:
    """A gap in an equation, or the value of a term: both are an equation with one unknown."""
    at = _VALUE_AT.fullmatch(text)
    if at is not None:
        letters = set(re.findall(r"[a-zA-Z]+", at["term"]))
        value = _worth(at["term"], at["value"].replace("−", "-")) if letters == {at["unknown"]} else None
        return None if value is None else StemSolution(value, how="the term")
    found = _GAPPED.fullmatch(text)
    if found is None or len(_GAP.findall(found["equation"])) != 1:
        return None
    solved = solve_linear(_GAP.sub("n", re.sub(r"(?<=[\d_\]])\s+[xX]\s+(?=[\d_\[])", " × ", found["equation"])))
    return None if solved is None else StemSolution(solved.solution, how="the equation")


def _worth(term: str, value: str) -> Fraction | None:
    """The value of a term with a number for its letter: 4x + 9 with 5 for x."""
    filled = re.sub(r"(?<=[\d)])(?=[a-zA-Z])", "*", term)
    unclear = re.search(r"[a-zA-Z]\(|/\s*[\d.]+\*", filled)  # f(x), and 1/2x, which is read both ways
    return None if unclear else worked_value(re.sub(r"[a-zA-Z]", f"({value})", filled))


def _conversion(text: str) -> StemSolution | None:
    for form in _CONVERSIONS:
        found = form.fullmatch(text)
        unit = unit_of(found["unit"]) if found else ""
        if found is None or not unit:
            continue
        parts = re.findall(rf"(\d[\d.,/\s]*?)\s?({UNIT_WORD})(?=\s|$)", found["amount"])
        total = Fraction(0)
        for number, word in parts:
            amount = measured_amount(number)
            worth = None if amount is None else converted(amount.value, unit_of(word), unit)
            if worth is None:
                return None
            total += worth
        return StemSolution(total, unit, "the conversion") if parts else None
    return None


def _number(text: str) -> StemSolution | None:
    found = worked_number(text)
    return None if found is None else StemSolution(found.value, found.unit, "the task")


def _figure(text: str) -> StemSolution | None:
    found = figure_size(text)
    return None if found is None else StemSolution(found.value, found.unit, "the size of the figure")


def _ratio(text: str) -> StemSolution | None:
    found = _SIMPLER.fullmatch(text)
    numbers = [int(part) for part in found.groups() if part] if found else []
    if len(numbers) != 2 or not numbers[1]:
        return None
    return StemSolution(Fraction(numbers[0], numbers[1]), how="the ratio", is_ratio=True)


_FORMS: tuple[Callable[[str], StemSolution | None], ...] = (
    _ratio, _number, _conversion, _figure, _gap, _equation, _sum,
)  # fmt: skip
