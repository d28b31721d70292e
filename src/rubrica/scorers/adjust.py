"""adjust: points added or taken when a condition holds."""

from __future__ import annotations

from dataclasses import dataclass

from rubrica.errors import FormulaFault
from rubrica.formula import Formula
from rubrica.model.evaluation import RuleHit
from rubrica.model.rules import Adjust

from .namespace import Namespace
from .rule import Reach, with_nothing


@dataclass(frozen=True, slots=True)
class AdjustRule:
    """A compiled adjust."""

    label: str
    because: str
    when: Formula
    add: Formula | float

    @property
    def reach(self) -> Reach:
        if isinstance(self.add, Formula):
            found = self.add.interval({})
            return with_nothing((found.lo, found.hi))
        return with_nothing((self.add, self.add))

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        try:
            if not self.when.holds(namespace):
                return []
            points = self.add.value(namespace) if isinstance(self.add, Formula) else self.add
        except FormulaFault as fault:
            return [RuleHit(self.label, "adjust", 0.0, error=str(fault))]
        return [
            RuleHit(
                self.label,
                "adjust",
                points,
                self.because or self.when.text,
                spans=namespace.evidence(self.when.names),
            )
        ]


def compile_adjust(rule: Adjust, when: Formula, add: Formula | float) -> AdjustRule:
    return AdjustRule(rule.name or rule.because or rule.when, rule.because, when, add)
