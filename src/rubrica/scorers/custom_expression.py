"""custom_expression: points by a formula over the context."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula
from rubrica.model.evaluation import RuleHit
from rubrica.model.rules import CustomExpression
from rubrica.phrases import Code, Phrase, Strong, listed, phrase

from .namespace import Namespace
from .rule import Reach
from .rule_form import NAME, FormField, form_row
from .rule_type import RuleReader, RuleType


class ExpressionRule(msgspec.Struct, frozen=True):
    """A compiled custom_expression."""

    label: str
    formula: Formula
    required: tuple[str, ...]

    @property
    def reach(self) -> Reach:
        found = self.formula.interval({})
        return min(found.lo, 0.0), max(found.hi, 0.0)

    def between(self, namespace: Namespace) -> Reach:
        """The least and the most it gives where texts were read in part."""
        found = namespace.interval(self.formula)
        return (found.lo, found.hi) if found.sure else (min(found.lo, 0.0), max(found.hi, 0.0))

    @property
    def names(self) -> frozenset[str]:
        return self.formula.names.union(self.required)

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        try:
            for name in self.required:
                namespace[name]
            points = self.formula.value(namespace)
        except KeyError as missing:
            return [self._failed(f"the context lacks {missing.args[0]}")]
        except FormulaFault as fault:
            return [self._failed(str(fault))]
        return [RuleHit(self.label, "custom_expression", points, self.formula.text)]

    def _failed(self, error: str) -> RuleHit:
        return RuleHit(self.label, "custom_expression", 0.0, error=error)


def _compile(rule: CustomExpression, reader: RuleReader) -> ExpressionRule:
    formula = reader.formula(rule.expression, "expression")
    return ExpressionRule(rule.name or rule.expression, formula, rule.required_context)


def _phrases(rule: CustomExpression) -> Iterator[Phrase]:
    needs = phrase(" (needs ", listed([Code(name) for name in rule.required_context]), ")")
    points = phrase(": as many points as ", Code(rule.expression), needs if rule.required_context else "", ".")
    yield phrase(Strong(rule.name or "Formula"), points)


CUSTOM_EXPRESSION = RuleType(
    "custom_expression",
    CustomExpression,
    title="Points by a formula",
    says="a formula over the context gives the points",
    begins={"type": "custom_expression", "expression": "1 if word_count < 50 else 0"},
    form=(
        form_row(NAME),
        form_row(FormField("expression")),
    ),
    compile=_compile,
    phrases=_phrases,
    summary=lambda draft: str(draft.get("expression", "")),
    formulas=lambda rule: (rule.expression,),
    context_names=lambda rule: rule.required_context,
)
