"""A prompt that is itself a sum, an equation or a conversion, worked out and held against a short response.

It says something only where the whole form of the prompt is understood and the response ends in one amount.
"""

from __future__ import annotations

import re

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.stem_solution import LONGEST, StemSolution, solve_stem
from rubrica.text.maths.units import measured_amount
from rubrica.text.texts import Feature, Texts
from rubrica.text.words import cached_reading

LONGEST_RESPONSE = 200  # characters: a longer one is an explanation, whose end may speak of anything
_RESULT = lazy_pattern(r"(?:[=≈:]|\b(?:is|are|equals|makes|get|gives|it's|that's))\s*([^=≈:]{1,40})\Z", re.IGNORECASE)
_STRONG = lazy_pattern(r"\*\*([^\s*][^*\n]{0,80})\*\*(?![\w*])")
_PERCENT = lazy_pattern(r"\s?(?:%|per\s?cent)\Z", re.IGNORECASE)


@cached_reading
def sum_agrees(texts: Texts) -> bool | None:
    """Whether the response is what the prompt comes to; None where either is not understood.

    A noun behind the number is taken as it is ("144 apples"), percent is not: 25% is no 25.

    >>> [sum_agrees(Texts("What is 12 times 12?", text)) for text in ("**144**", "It is 148.", "Many.", "144%")]
    [True, False, None, False]
    """
    if len(texts.response) > LONGEST_RESPONSE or len(texts.prompt) > LONGEST or not re.search(r"\d", texts.response):
        return None
    solution = solve_stem(texts.prompt)
    if solution is None:
        return None
    written = _STRONG.sub(r"\1", plain_maths(texts.response)).strip().rstrip(" .!")
    if (whole := _agrees(solution, written, texts.prompt)) is not None:
        return whole
    closing = _RESULT.search(written)
    return _agrees(solution, closing[1], texts.prompt) if closing else None


def _agrees(solution: StemSolution, written: str, prompt: str) -> bool | None:
    """Whether an amount is the result; one in percent only as a share, unless percent was asked for."""
    amount = _PERCENT.sub("%", written)
    agrees = solution.agrees(amount)
    if not agrees or solution.unit == "%" or not amount.endswith("%"):
        return agrees
    found = measured_amount(amount)
    if found is None or abs(found.value - solution.value) >= abs(found.value - 100 * solution.value):
        return True  # 25% for 0.25
    return None if re.search(r"%|per\s?cent", prompt, re.IGNORECASE) else False


FEATURES: tuple[Feature, ...] = (
    Feature(
        "sum_right",
        "1 when the prompt is a sum, an equation or a conversion, and the short response is its result, else 0",
        0.0,
        1.0,
        lambda texts: float(sum_agrees(texts) is True),
    ),
    Feature(
        "sum_wrong",
        "1 when the prompt is a sum, an equation or a conversion, and the short response has another result, else 0",
        0.0,
        1.0,
        lambda texts: float(sum_agrees(texts) is False),
    ),
)
