"""A rule type: everything that documents, plans, pages and forms need to know about it, in one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rubrica.formula import Formula
from rubrica.model.rules import RuleDocument, RuleShape
from rubrica.phrases import Phrase

from .pattern_table import PatternTable
from .rule import CompiledRule
from .rule_form import FormRow

D = TypeVar("D", bound=RuleDocument)


class RuleReader(Protocol):
    """What a rule is compiled with. `key` is a place within the rule, so that a problem is reported with its line."""

    @property
    def patterns(self) -> PatternTable:
        """The patterns of the whole rubric, which are matched together."""
        ...

    def formula(self, text: str, *key: str | int) -> Formula:
        """A formula with its names checked; a problem is reported, and 0 used instead."""
        ...

    def report(self, message: str, *key: str | int) -> None: ...


def _nothing(rule: Any) -> Iterable[str]:  # noqa: ARG001
    return ()


@dataclass(frozen=True)
class RuleType(RuleShape, Generic[D]):
    """One type of rule. `examples/plugin` has a small example."""

    document: type[D]
    title: str  # in menus: "Points by a formula"
    says: str  # what it is for, as part of a sentence
    begins: Mapping[str, Any]  # a new rule, for its form to be filled in
    compile: Callable[[D, RuleReader], CompiledRule | None]  # None where a problem was reported
    phrases: Callable[[D], Iterable[Phrase]]  # the rule in words, a line for each thing it looks at
    summary: Callable[[Mapping[str, Any]], str]  # a draft of it in a few words, whatever state it is in
    form: tuple[FormRow, ...] = ()  # how fields are arranged; fields it does not name are drawn after it
    formulas: Callable[[D], Iterable[str]] = _nothing  # the formulas and names that it reads, for the glossary
    context_names: Callable[[D], Iterable[str]] = _nothing  # names that only a context can give it
    finds_patterns: bool = False  # its hits count matches of patterns
    reads_rounds: bool = False  # it looks at earlier rounds
    parts: Mapping[str, type[Any]] | None = None  # models within the document, by their title in the reference
