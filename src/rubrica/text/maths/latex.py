r"""Mathematics written in LaTeX, as plain text that arithmetic can be read off: \frac{3}{4} is (3/4)."""

from __future__ import annotations

import re

from rubrica.text.lazy_pattern import lazy_pattern

MOST_NESTED = 8  # fractions and roots inside each other
_LONGEST = 50_000  # characters of a text that are looked at; a longer one stays as it is

_MATHS = lazy_pattern(r"(?<![\\\d])\$(?=[^\s$])([^$\n]{0,200}[^\s$\\])\$(?!\d)")
_FENCES = lazy_pattern(r"\\[()\[\]]")
_FRACTION = lazy_pattern(r"\\[dtc]?frac\s*\{([^{}]{1,80})\}\s*\{([^{}]{1,80})\}")
_MIXED = lazy_pattern(r"(?<=\d)\s*\\[dtc]?frac\s*\{(\d{1,4})\}\s*\{(\d{1,4})\}")
_SHORT_FRACTION = lazy_pattern(r"\\[dtc]?frac\s*(\d)\s*(\d)(?!\d)")
_ROOT = lazy_pattern(r"\\sqrt\s*\{([^{}]{1,80})\}")
_POWER = lazy_pattern(r"\^\s*\{([^{}]{1,20})\}")
_WORDS = lazy_pattern(r"\\(?:text|mathrm|textbf|mathbf|operatorname)\s*\{([^{}]{0,80})\}")
_SYMBOLS = {
    r"\times": "×", r"\cdot": "·", r"\div": "÷", r"\pm": "±", r"\leq": "≤", r"\le": "≤", r"\geq": "≥", r"\ge": "≥",
    r"\neq": "≠", r"\ne": "≠", r"\approx": "≈", r"\implies": "⇒", r"\Rightarrow": "⇒", r"\Longrightarrow": "⇒",
    r"\to": "→", r"\rightarrow": "→", r"\iff": "⇔", r"\pi": "π", r"\left": "", r"\right": "", r"\quad": " ", r"\,": " ",
    r"\;": " ", r"\!": "", r"\ ": " ", r"\%": "%", r"\$": "$", r"\*": "*", r"^\circ": "°", r"^{\circ}": "°",
    r"{,}": ",",
}  # fmt: skip
_SYMBOL = lazy_pattern("|".join(re.escape(name) + r"(?![a-z])" * name[-1].isalpha() for name in _SYMBOLS))


def plain_maths(text: str) -> str:
    r"""A text without LaTeX: fractions in brackets, mixed numbers with a space, signs as signs.

    >>> plain_maths(r"What is $2\frac{1}{2} \times \sqrt{9}$?"), plain_maths("It costs $5, or $4 in a sale.")
    ('What is 2 1/2 × √(9)?', 'It costs $5, or $4 in a sale.')
    """
    if len(text) > _LONGEST or ("\\" not in text and "$" not in text):
        return text
    text = _MATHS.sub(lambda match: match[1] if _is_maths(match[1]) else match[0], text)
    if "\\" not in text:
        return text
    text = _SYMBOL.sub(lambda match: _SYMBOLS[match[0]], _FENCES.sub("", text))
    text = _WORDS.sub(lambda match: match[1], text)
    for _ in range(MOST_NESTED):
        before = text
        text = _MIXED.sub(r" \1/\2", text)
        text = _SHORT_FRACTION.sub(r"(\1/\2)", text)
        text = _ROOT.sub(r"√(\1)", _POWER.sub(r"^(\1)", text))
        text = _FRACTION.sub(_divided, text)
        if text == before:
            break
    return text


def _is_maths(between: str) -> bool:
    r"""Whether what stands between two dollar signs is a formula rather than a price and some words."""
    return "\\" in between or not re.search(r"[^\W\d_]{2,}", between)


def _divided(fraction: re.Match[str]) -> str:
    over, under = (part if re.fullmatch(r"\s*\w+\s*", part) else f"({part})" for part in fraction.groups())
    return f"({over}/{under})"
