"""adjust: points added or taken when a condition holds."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula
from rubrica.model.evaluation import RuleHit
from rubrica.model.rules import Adjust
from rubrica.phrases import Code, Phrase, Strong, phrase, signed

from .namespace import Namespace
from .rule import Reach, reach_with_zero
from .rule_form import FormField, form_row
from .rule_type import RuleReader, RuleType


class AdjustRule(msgspec.Struct, frozen=True):
    """A compiled adjust."""

    label: str
    because: str
    when: Formula
    add: Formula | float

    @property
    def reach(self) -> Reach:
        if isinstance(self.add, Formula):
            found = self.add.interval({})
            return reach_with_zero((found.lo, found.hi))
        return reach_with_zero((self.add, self.add))

    def between(self, namespace: Namespace) -> Reach:
        """The least and the most it gives where texts were read in part."""
        when = namespace.interval(self.when)
        if when.is_false:
            return 0.0, 0.0
        if not isinstance(self.add, Formula):
            return (self.add, self.add) if when.is_true else reach_with_zero((self.add, self.add))
        add = namespace.interval(self.add)
        return (add.lo, add.hi) if when.is_true and add.sure else reach_with_zero((add.lo, add.hi))

    @property
    def names(self) -> frozenset[str]:
        return self.when.names | (self.add.names if isinstance(self.add, Formula) else frozenset())

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        try:
            if self.when.value(namespace) == 0:  # it does not hold
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


def _compile(rule: Adjust, reader: RuleReader) -> AdjustRule:
    add = reader.formula(rule.add, "add") if isinstance(rule.add, str) else rule.add
    when = reader.formula(rule.when, "when")
    return AdjustRule(rule.name or rule.because or rule.when, rule.because, when, add)


def _phrases(rule: Adjust) -> Iterator[Phrase]:
    amount = phrase("Add ", Code(rule.add)) if isinstance(rule.add, str) else (Strong(signed(rule.add)),)
    condition = phrase("when ", Code(rule.when)) if rule.when != "True" else ("always",)
    ending = phrase(f": {rule.because} (", condition, ").") if rule.because else phrase(" ", condition, ".")
    yield phrase(amount, ending)


def _formulas(rule: Adjust) -> tuple[str, ...]:
    return (rule.when, rule.add) if isinstance(rule.add, str) else (rule.when,)


ADJUST = RuleType(
    "adjust",
    Adjust,
    title="Add or take when",
    says="points added or taken when a condition holds",
    begins={"when": "word_count > 100", "add": -1, "because": ""},
    form=(
        form_row(FormField("when"), FormField("add")),
        form_row(FormField("because", "line")),
    ),
    compile=_compile,
    phrases=_phrases,
    summary=lambda draft: f"{draft.get('add', '')} when {draft.get('when', 'always')}",
    formulas=_formulas,
)
