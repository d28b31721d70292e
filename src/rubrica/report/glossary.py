"""What the names in a rubric's formulas mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rubrica.errors import FormulaError
from rubrica.formula import parse
from rubrica.model.dimensions import Recipe
from rubrica.model.judge_options import ContextName
from rubrica.model.rubric import Rubric
from rubrica.phrases import Code, Phrase
from rubrica.scorers.patterns import pattern_phrase
from rubrica.scorers.rule_table import type_of
from rubrica.text import text_features

from .figures import figure
from .prose import Block, Heading, Paragraph, TableBlock
from .wording import setting_value


def glossary_blocks(rubric: Rubric) -> Iterator[Block]:
    """Settings, context names, named patterns, and the text features that some formula reads."""
    if rubric.settings:
        yield Heading(2, "Settings")
        yield Paragraph(("Numbers that formulas read, and that can be changed without touching a rule.",))
        yield TableBlock(
            ("Setting", "Value"), tuple(_setting(*item) for item in rubric.settings.items()), frozenset({1})
        )
    if rubric.context:
        yield Heading(2, "What the context may tell")
        rows = ((_name(name), (spec.says or "—",), (_when_missing(spec),)) for name, spec in rubric.context.items())
        yield TableBlock(("Name", "Meaning", "If it is not given"), tuple(rows))
    if rubric.patterns:
        yield Heading(2, "Named patterns")
        yield Paragraph(("In a formula, the name of a pattern is the number of its matches.",))
        found = ((_name(name), (spec.field,), pattern_phrase(spec)) for name, spec in rubric.patterns.items())
        yield TableBlock(("Name", "Looks in the", "For"), tuple(found))
    if features := _features_read(rubric):
        yield Heading(2, "Numbers read off the texts")
        yield TableBlock(("Name", "What it is"), tuple((_name(name), (says,)) for name, says in features.items()))


def _name(name: str) -> Phrase:
    return (Code(name),)


def _setting(name: str, value: float | bool) -> tuple[Phrase, ...]:
    return _name(name), (setting_value(value),)


def _when_missing(spec: ContextName) -> str:
    if spec.default is not None:
        return f"{figure(spec.default)} is assumed"
    return "it is left out" if spec.optional else "what reads it cannot be worked out"


def _features_read(rubric: Rubric) -> Mapping[str, str]:
    """The text features that some formula of the rubric names, with what each one counts."""
    names: set[str] = set()
    for text in _formulas(rubric):
        try:
            names |= parse(text).names
        except FormulaError:
            continue  # a rubric that was never compiled: its page still shows the formula as written
    return {name: text_features()[name].says for name in sorted(names) if name in text_features()}


def _formulas(rubric: Rubric) -> Iterator[str]:
    for name, dimension in rubric.dimensions.items():
        yield from [dimension.applies] if dimension.applies is not None else []
        for _, axis in dimension.every(name):
            for recipe in (axis, axis.offline):
                if recipe is not None:
                    yield from _recipe_formulas(recipe)
    for gate in rubric.gates:
        yield gate.when
        yield from (amount for amount in (gate.cap, gate.floor) if isinstance(amount, str))
    yield from (verdict.when for verdict in rubric.verdicts if verdict.when is not None)


def _recipe_formulas(recipe: Recipe) -> Iterator[str]:
    yield from [recipe.formula] if recipe.formula is not None else []
    yield from (check.that for check in recipe.checks)
    for rule in recipe.rules:
        yield from type_of(rule).formulas(rule)
