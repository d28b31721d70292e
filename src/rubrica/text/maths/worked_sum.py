"""How likely the worked answer to a sum is wrong, by signs that can be read off it: nothing here solves the sum.

A logistic regression over few signs, learnt on recorded answers of one model to school mathematics in English. It knows
sums and nothing else: where the prompt asks for no number, or gives fewer than two, there is no risk to tell and the
feature is 0. `training/routing.py` makes the weights and says how often answers were right at which risk.
"""

from __future__ import annotations

import re
from functools import cache
from math import log1p

from rubrica.text.cut_off import cut_off
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.solution import (
    asks_for_number,
    gives_numbers,
    lacks_result,
    missing_steps,
    odd_result_spans,
    result_of,
    steps,
    uneven_result,
    unused_spans,
    wrong_steps,
)
from rubrica.text.sign_weights import SignWeights, read_sign_weights
from rubrica.text.texts import Feature, Texts
from rubrica.text.words import cached_reading, spaced_words

_RELATIONS = lazy_pattern(
    r"\b(?:more|less|fewer|older|younger|longer|times|twice|half|third|quarter|remaining|rest|left)\b", re.IGNORECASE
)
_TURNS = lazy_pattern(r"\b(?:but|however|since|because|instead|although|note)\b", re.IGNORECASE)
_BLAMES = lazy_pattern(
    r"(?:cannot|can't|impossible to|not possible to) (?:be )?determine|not enough information|no valid solution"
    r"|(?:mistake|error) in the (?:problem|question)|(?:does not|doesn't) make sense",
    re.IGNORECASE,
)
_NUMBER = lazy_pattern(r"\d[\d,]*(?:\.\d+)?")


@cache
def sum_weights() -> SignWeights:
    """The trained weights, read when they are first needed."""
    return read_sign_weights("maths/worked_sums.json")


def is_worked_sum(texts: Texts) -> bool:
    """Whether a sum is asked for, with what it takes, and something is answered."""
    return asks_for_number(texts) and gives_numbers(texts) and bool(spaced_words(texts, "response"))


def signs_of(texts: Texts) -> dict[str, float]:
    """What the regression reads, by name; each is bounded, so that no single one can shout."""
    shown = steps(texts)
    never_ends = cut_off(texts) or lacks_result(texts) or _BLAMES.search(texts.response) is not None
    return {
        "wrong_steps": float(min(len(wrong_steps(texts)), 2)),
        "unused_quantities": float(min(len(unused_spans(texts)), 2)),
        "missing_steps": float(min(missing_steps(texts), 3)),
        "odd_result": float(bool(odd_result_spans(texts)) or uneven_result(texts)),
        "never_ends": float(never_ends),
        "prompt_words": log1p(min(len(spaced_words(texts, "prompt")), 1000)),
        "words": log1p(min(len(spaced_words(texts, "response")), 1000)),
        "steps": log1p(min(len(shown), 50)),
        "result_shown": float(_is_shown(texts)),
        "relations": float(min(len(_RELATIONS.findall(texts.prompt)), 4)),
        "turns": float(min(len(_TURNS.findall(texts.response)), 3)),
    }


def _is_shown(texts: Texts) -> bool:
    """Whether the number that the response comes to is the result of one of its steps."""
    result = result_of(texts)
    if result is None:
        return False
    values = (number[0].replace(",", "") for step in steps(texts) for number in _NUMBER.finditer(step.right))
    return any(float(value) == float(result.value) for value in values)


@cached_reading
def wrong_sum_risk(texts: Texts) -> float:
    """How likely a worked answer is wrong; 0 where no sum is asked for."""
    return sum_weights().chance(signs_of(texts)) if is_worked_sum(texts) else 0.0


FEATURES: tuple[Feature, ...] = (
    Feature(
        "wrong_sum_risk",
        "how likely the worked answer to a sum is wrong, 0 to 1 (learnt; English);"
        " 0 where the prompt asks for no number or gives fewer than two",
        0,
        1,
        wrong_sum_risk,
    ),
)
