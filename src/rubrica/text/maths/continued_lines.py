"""Equations that go on in the next line: "Volume = 35 * 4", and below it "= 140", or "Volume = 140"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.arithmetic import Equation, find_equations

_SIGN = lazy_pattern(r"(?<![<>!=:≠])=(?![=<>~])")
_SAYS = lazy_pattern(r"[=\d]")
_WORKS = lazy_pattern(r"[-+*/×÷^−–]")
_LETTER = lazy_pattern(r"[^\W\d_]")
MOST_LINES = 200  # looked at in one text
_LONGEST = 150  # characters of a side


def continued_equations(text: str) -> Iterator[tuple[Equation, str]]:
    """The equations between the end of a line and the next one, where that goes on with it; each with the second line.

    >>> for found, line in continued_equations("Area = 5 * 7\\nArea = 36\\n24 / 4\\n= 6 cm"):
    ...     print(found.text, found.holds, line)
    5 * 7 = 36 False Area = 36
    24 / 4 = 6 True = 6 cm
    """
    lines = [line.strip() for line in text[: MOST_LINES * _LONGEST].splitlines() if _SAYS.search(line)]
    for before, line in islice(pairwise(lines), MOST_LINES):
        *names, left = _SIGN.split(before)
        name, *sides = _SIGN.split(line)
        named = bool(_LETTER.search(name)) and [each.strip() for each in names[:1]] == [name.strip()]
        if not sides or not (named or not name.strip()) or max(len(left), len(sides[0])) > _LONGEST:
            continue
        for found in find_equations(f"{left.strip()} = {sides[0].strip()}"):
            if not named or not _WORKS.search(found.right, 1):  # "Cost = 5 * 3 = 15", then "Cost = 4 * 2 = 8"
                yield found, line
