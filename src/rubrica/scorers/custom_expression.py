"""custom_expression: points by a formula over the context."""

from __future__ import annotations

from dataclasses import dataclass

from rubrica.errors import FormulaFault
from rubrica.formula import Formula
from rubrica.model.evaluation import RuleHit
from rubrica.model.rules import CustomExpression

from .namespace import Namespace
from .rule import Reach


@dataclass(frozen=True, slots=True)
class ExpressionRule:
    """A compiled custom_expression."""

    label: str
    formula: Formula
    required: tuple[str, ...]

    @property
    def reach(self) -> Reach:
        found = self.formula.interval({})
        return min(found.lo, 0.0), max(found.hi, 0.0)

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


def compile_expression(rule: CustomExpression, formula: Formula) -> ExpressionRule:
    return ExpressionRule(rule.name or rule.expression, formula, rule.required_context)
