"""What anybody who reads a rubric can write for it: its criteria, and the words that earn points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rubrica.engine.compile import compile_rubric
from rubrica.engine.outline import outline
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis, Recipe
from rubrica.model.rubric import Rubric
from rubrica.model.rules import Pattern, ScoredPattern

MOST_CRITERIA = 40
MOST_KEYWORDS = 60
PLAIN = "It depends on what is asked."
"""An answer that earns next to nothing, to try words on."""


def criteria_of(rubric: Rubric, context: Context) -> tuple[str, ...]:
    """What judges are asked, in the rubric and in the case, but for what costs points."""
    own = [axis.asks or axis.title for axis in _axes(rubric) if (axis.points or 1.0) > 0]
    given = [one.criterion for one in context.criteria if one.points > 0]
    return tuple(dict.fromkeys(text for text in (*own, *given) if text))[:MOST_CRITERIA]


def earning_keywords(rubric: Rubric, context: Context) -> tuple[str, ...]:
    """Keywords that a rule pays for, and those of named patterns that raise the score of a plain answer to a case."""
    axes = list(_axes(rubric))
    recipes: list[Recipe] = [*axes, *(axis.offline for axis in axes if axis.offline is not None)]
    patterns = [pattern for recipe in recipes for rule in recipe.rules for pattern in getattr(rule, "patterns", ())]
    paid = [one for one in patterns if isinstance(one, ScoredPattern) and one.score > 0]
    found = [word for pattern in paid for word in _answer_words(pattern)]
    for pattern in rubric.patterns.values():
        words = _answer_words(pattern)
        if words and _raises(rubric, context, words):
            found += words
    return tuple(dict.fromkeys(found))[:MOST_KEYWORDS]


def _answer_words(pattern: Pattern) -> tuple[str, ...]:
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


def _axes(rubric: Rubric) -> Iterator[Axis]:
    for name, dimension in rubric.dimensions.items():
        for _, axis in dimension.every(name):
            yield axis
