"""What anybody who reads a rubric can write for it: its criteria, and the words that earn points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rubrica.engine.compile import compile_rubric
from rubrica.engine.outline import outline
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis, Recipe
from rubrica.model.rubric import Rubric
from rubrica.model.rules import PatternDetection

MOST_CRITERIA = 40
MOST_KEYWORDS = 60
PLAIN = "It depends on what is asked."
"""An answer that earns next to nothing, to try words on."""


def criteria_of(rubric: Rubric, context: Context) -> tuple[str, ...]:
    """What judges are asked, in the rubric and in the case."""
    own = [axis.asks or axis.title for axis in _axes(rubric.dimensions)]
    given = [one if isinstance(one, str) else _text_of(one) for one in getattr(context, "criteria", None) or ()]
    return tuple(dict.fromkeys(text for text in (*own, *given) if text))[:MOST_CRITERIA]


def earning_keywords(rubric: Rubric, context: Context) -> tuple[str, ...]:
    """Keywords that a rule pays for, and those of named patterns that raise the score of a plain answer to a case."""
    axes = list(_axes(rubric.dimensions))
    recipes: list[Recipe] = [*axes, *(axis.offline for axis in axes if axis.offline is not None)]
    rules = [rule for recipe in recipes for rule in recipe.rules if isinstance(rule, PatternDetection)]
    paid = [word for rule in rules for pattern in rule.patterns if pattern.score > 0 for word in _answer_words(pattern)]
    found = [*paid]
    for pattern in rubric.patterns.values():
        words = _answer_words(pattern)
        if words and _raises(rubric, context, words):
            found += words
    return tuple(dict.fromkeys(found))[:MOST_KEYWORDS]


def _answer_words(pattern: Any) -> tuple[str, ...]:
    return pattern.keywords if pattern.field == "response" else ()


def _raises(rubric: Rubric, context: Context, words: Iterable[str]) -> bool:
    plan = compile_rubric(rubric)
    try:
        before, after = (
            outline(plan, context.model_copy(update={"response": text, "messages": ()})).score
            for text in (PLAIN, f"{PLAIN} {', '.join(words)}.")
        )
    except ContextError:
        return False
    return before is not None and after is not None and after > before


def _axes(axes: Mapping[str, Axis]) -> Iterator[Axis]:
    for axis in axes.values():
        yield axis
        yield from _axes(getattr(axis, "parts", {}))


def _text_of(criterion: Any) -> str:
    found = criterion.get("criterion") if isinstance(criterion, Mapping) else getattr(criterion, "criterion", "")
    return str(found or "")
