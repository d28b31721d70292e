"""Compiles the code-scored half of a rubric: rules, formulas and checklists."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rubrica.formula import Formula
from rubrica.model.dimensions import Offline, Recipe
from rubrica.model.rules import RuleDocument
from rubrica.model.scale import Scale
from rubrica.scorers.pattern_table import PatternTable
from rubrica.scorers.recipe import Checklist, FormulaScorer, GuardedScorer, RuleScorer, Scorer
from rubrica.scorers.rule import CompiledRule, Reach, total_reach
from rubrica.scorers.rule_table import type_of

from .document import Path
from .vocabulary import Vocabulary


class RecipeCompiler(msgspec.Struct, frozen=True):
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

    def offline_scorer(self, offline: Offline, scale: Scale, path: Path) -> Scorer:
        """The recipe that stands in for a judge, silent where it says that it cannot tell."""
        scorer = self.scorer(offline, scale, path, offline=True)
        guards = tuple(
            (guard, self.vocabulary.read(guard.when, (*path, "unscored", i, "when")))
            for i, guard in enumerate(offline.unscored)
        )
        return GuardedScorer(guards, scorer).__call__ if guards else scorer

    def rules(self, rules: Iterable[RuleDocument], path: Path) -> tuple[CompiledRule, ...]:
        compiled = [
            type_of(rule).compile(rule, RuleSource(self.vocabulary, self.lexicon, (*path, "rules", i)))
            for i, rule in enumerate(rules)
        ]
        found = tuple(rule for rule in compiled if rule is not None)
        self.vocabulary.names.update(*(rule.names or () for rule in found))  # some are read outside of any formula
        return found

    def _possible(self, recipe: Recipe, rules: tuple[CompiledRule, ...], path: Path) -> float:
        most = recipe.start + reach_of(rules)[1]
        if 0 < most < float("inf"):
            return most
        self.vocabulary.report("how many points are possible cannot be told from the rules", path, "add `possible: N`")
        return 1.0


class RuleSource(msgspec.Struct, frozen=True):
    """One rule of a document, as it is compiled: what is found within it is told with its place."""

    vocabulary: Vocabulary
    patterns: PatternTable
    path: Path

    def formula(self, text: str, *key: str | int) -> Formula:
        return self.vocabulary.read(text, (*self.path, *key))

    def report(self, message: str, *key: str | int) -> None:
        self.vocabulary.report(message, (*self.path, *key))


def reach_of(rules: Iterable[CompiledRule]) -> Reach:
    """The least and the most points that rules can give together."""
    return total_reach([rule.reach for rule in rules])
