"""Compiles the code-scored half of a rubric: rules, formulas and checklists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from rubrica.errors import PatternError
from rubrica.model.rubric import Recipe
from rubrica.model.rules import (
    Adjust,
    CrossRoundAnalysis,
    CustomExpression,
    MetricThreshold,
    PatternDetection,
    Penalty,
    Rule,
)
from rubrica.model.scale import Scale
from rubrica.scorers.adjust import compile_adjust
from rubrica.scorers.cross_round import CrossRoundRule
from rubrica.scorers.custom_expression import compile_expression
from rubrica.scorers.metric_threshold import compile_metric
from rubrica.scorers.pattern_table import PatternTable
from rubrica.scorers.patterns import compile_patterns
from rubrica.scorers.recipe import Checklist, FormulaScorer, RuleScorer, Scorer
from rubrica.scorers.rule import CompiledRule, Reach, both

from .document import Path
from .vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class RecipeCompiler:
    """Compiles recipes with one vocabulary and one lexicon, so that their patterns are matched together."""

    vocabulary: Vocabulary
    lexicon: PatternTable

    def scorer(self, recipe: Recipe, scale: Scale, path: Path, *, offline: bool = False) -> Scorer:
        """The one way of scoring that a recipe holds.

        Scorers and rules are kept as functions, by their `__call__`: calling the objects would take twice the time.
        """
        if recipe.formula is not None:
            formula = self.vocabulary.read(recipe.formula, (*path, "formula"))
            return FormulaScorer(formula, scale.ends, recipe.confidence, offline).__call__
        if recipe.checks:
            checks = tuple(
                (check, self.vocabulary.read(check.that, (*path, "checks", i, "that")))
                for i, check in enumerate(recipe.checks)
            )
            return Checklist(checks, scale.ends, recipe.confidence, offline).__call__
        rules = self.rules(recipe.rules, path)
        mark = recipe.win_at
        if recipe.scoring == "proportional":
            mark = recipe.possible if recipe.possible is not None else self._possible(recipe, rules, path)
        calls = tuple(rule.__call__ for rule in rules)
        return RuleScorer(calls, recipe.start, scale.ends, recipe.scoring, mark, recipe.confidence, offline).__call__

    def rules(self, rules: Iterable[Rule], path: Path) -> tuple[CompiledRule, ...]:
        compiled = (self._rule(rule, (*path, "rules", i)) for i, rule in enumerate(rules))
        return tuple(rule for rule in compiled if rule is not None)

    def _possible(self, recipe: Recipe, rules: tuple[CompiledRule, ...], path: Path) -> float:
        most = recipe.start + reach_of(rules)[1]
        if 0 < most < float("inf"):
            return most
        self.vocabulary.report("how many points are possible cannot be told from the rules", path, "add `possible: N`")
        return 1.0

    def _rule(self, rule: Rule, path: Path) -> CompiledRule | None:
        vocabulary = self.vocabulary
        match rule:
            case PatternDetection() | Penalty():
                return self._patterns(rule, path)
            case MetricThreshold():
                return compile_metric(rule, lambda text, key: vocabulary.read(text, (*path, *_steps(key))))
            case CrossRoundAnalysis():
                return CrossRoundRule(rule)
            case CustomExpression():
                return compile_expression(rule, vocabulary.read(rule.expression, (*path, "expression")))
            case Adjust():
                add = vocabulary.read(rule.add, (*path, "add")) if isinstance(rule.add, str) else rule.add
                return compile_adjust(rule, vocabulary.read(rule.when, (*path, "when")), add)
            case _:
                assert_never(rule)

    def _patterns(self, rule: PatternDetection | Penalty, path: Path) -> CompiledRule | None:
        trial = PatternTable(steps=self.lexicon.steps)
        faulty = False
        for i, pattern in enumerate(rule.patterns):  # each on its own, so that every bad pattern is named
            if trial.full:  # told already
                break
            try:
                trial.add(pattern)
            except PatternError as error:
                faulty = True
                key = "regex" if pattern.regex is not None else "keywords"
                self.vocabulary.report(str(error), (*path, "patterns", i, key))
        if faulty or trial.full:
            self.lexicon.steps = trial.steps
            return None
        return compile_patterns(rule, self.lexicon)


def reach_of(rules: Iterable[CompiledRule]) -> Reach:
    """The least and the most points that rules can give together."""
    return both([rule.reach for rule in rules])


def _steps(key: str) -> Path:
    return tuple(int(step) if step.isdigit() else step for step in key.split("."))
