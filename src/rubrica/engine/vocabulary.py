"""Which names a formula may read where, and the reader that parses formulas and collects what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from rubrica.errors import FormulaError, Problem
from rubrica.formula import FUNCTIONS, Formula, composed, name_hint, never_a_name, parse
from rubrica.model.answers import label_name
from rubrica.model.context import Metadata
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.scorers.namespace import CONTEXT_COUNTS
from rubrica.scoring.decision_plan import points_names, share_name
from rubrica.text import text_features

from .document import Path

Scope = Literal["context", "reliability", "score", "gates", "section"]
"""context: before anything is scored. reliability: the offline value of one dimension too. score: dimensions too.
gates: the score too. section: a section's score too."""

DECLARE = "declare it under `context`"
OFFLINE_VALUE = "offline_value"
RESERVED = frozenset({"score", "threshold", "section", OFFLINE_VALUE})
LONGEST_TOGETHER = 60_000
"""Characters of all formulas of a rubric: more take seconds to read."""
_NOTHING = parse("0")


@dataclass
class Vocabulary:
    """The names of one rubric, and the problems found while reading its formulas."""

    rubric: Rubric | None = None
    problems: list[Problem] = field(default_factory=list)
    extra: frozenset[str] = frozenset()  # context names that rules declare as required
    dropped: frozenset[Path] = frozenset()  # pieces of the document that could not be read
    names: set[str] = field(default_factory=set)  # all that was read
    characters: int = 0  # of all formulas read
    composable: bool = True  # whether the score could be put together from the dimensions

    def is_unreadable(self, name: str) -> bool:
        """Whether a name is missing only because its definition could not be read: that was told already."""
        return any(name in path for path in self.dropped)

    def compose(self, text: str, path: Path) -> Formula:
        """Parse a score formula that was put together from the dimensions, and check its names."""
        return self._checked(composed, text, path, "score")

    def read(self, text: str, path: Path, scope: Scope = "context") -> Formula:
        """Parse a formula and check its names; what is wrong is collected, and 0 stands in for the formula."""
        if self.characters > LONGEST_TOGETHER:
            return _NOTHING
        self.characters += len(text)
        if self.characters > LONGEST_TOGETHER:
            message = f"the formulas up to here have more than {LONGEST_TOGETHER:,} characters together"
            self.report(message, path, "make them shorter, or split the rubric")
            return _NOTHING
        return self._checked(parse, text, path, scope)

    def _checked(self, parsed: Callable[[str], Formula], text: str, path: Path, scope: Scope) -> Formula:
        try:
            formula = parsed(text)
        except FormulaError as error:
            if parsed is composed and self.problems:  # nobody wrote it, and what is wrong with its pieces was told
                self.composable = False
                return _NOTHING
            self.problems.append(
                Problem(
                    f"in the formula {_short(text)!r}, {error.message} at column {error.column}",
                    path,
                    fix=error.fix,
                )
            )
            return _NOTHING
        for name in sorted(formula.names):
            self._check(name, text, path, scope)
        self.names |= formula.names
        return formula

    def metrics(self) -> tuple[str, ...]:
        """The names read so far that only a context can give."""
        others = {*text_features(), *CONTEXT_COUNTS, *RESERVED, *self.scored}
        if self.rubric is not None:
            others |= {*self.rubric.settings, *self.rubric.patterns}
        return tuple(sorted(self.names - others))

    def report(self, message: str, path: Path, fix: str = "") -> None:
        self.problems.append(Problem(message, path, fix=fix))

    @cached_property
    def scored(self) -> frozenset[str]:
        """Dimensions, their parts and their shares, and the answers to them."""
        if self.rubric is None:
            return frozenset()
        dimensions = self.rubric.dimensions
        every = {name for _, name, _ in axes_of(self.rubric)}
        answers = {name for _, name in answer_names(self.rubric)}
        counted = {own for name, spec in dimensions.items() if spec.filled_from for own in points_names(name)}
        return frozenset(every) | {share_name(name) for name in dimensions} | answers | counted

    def _check(self, name: str, text: str, path: Path, scope: Scope) -> None:
        if self.is_unreadable(name) or self._known(name, scope):
            return
        where = f"in the formula {_short(text)!r}"
        if name in self.scored:
            fix = (
                "gates after scoring may; drop `before`"
                if path[:1] == ("gates",)
                else "only score, gates and verdicts may"
            )
            self.report(f"{where}, {name!r} is a score, which cannot be read before scoring", path, fix)
            return
        if name in RESERVED:
            self.report(
                f"{where}, {name!r} has no value here",
                path,
                "give a threshold" if name == "threshold" else "",
            )
            return
        open_context = self.rubric is None or self.rubric.context is None
        if open_context and not never_a_name(name):
            return  # the rubric does not declare its context: the name may be there at run time
        hint = name_hint(name, self._offered(scope))
        fix = hint if never_a_name(name) else f"{hint} otherwise declare it under `context`" if hint else DECLARE
        self.report(f"{where}, the name {name!r} is not known", path, fix)

    def _known(self, name: str, scope: Scope) -> bool:
        if name in text_features() or name in CONTEXT_COUNTS or name in self.extra or name in Metadata.model_fields:
            return True
        if self.rubric is None:
            return False
        rubric = self.rubric
        if name in rubric.settings or name in rubric.patterns or name in (rubric.context or ()):
            return True
        if name == "threshold":
            profiles = rubric.profiles.named.values() if rubric.profiles else ()
            return rubric.threshold is not None or (bool(profiles) and all(p.threshold is not None for p in profiles))
        if scope in ("context", "reliability"):
            return scope == "reliability" and name == OFFLINE_VALUE
        if name in self.scored or (name == "score" and scope in ("gates", "section")):
            return True
        return name == "section" and scope == "section"

    def _offered(self, scope: Scope) -> Collection[str]:
        rubric = self.rubric
        names = set(text_features()) | set(CONTEXT_COUNTS) | self.extra
        if rubric is not None:
            names |= set(rubric.settings) | set(rubric.patterns) | set(rubric.context or ())
            names |= self.scored if scope not in ("context", "reliability") else set()
            names |= {word for word in RESERVED if self._known(word, scope)}
        return names


def answer_names(rubric: Rubric) -> list[tuple[Path, str]]:
    """The names that formulas read answers by, and where each answer stands."""
    return [
        ((*path, "answers", label), label_name(name, label))
        for path, name, axis in axes_of(rubric)
        if axis.answer_set is not None
        for label in axis.answers
    ]


def axes_of(rubric: Rubric, *dimensions: str) -> Iterator[tuple[Path, str, Axis]]:
    """Every dimension and every part of one, however deep, with its place and its name; or those of some dimensions."""
    for dimension in dimensions or rubric.dimensions:
        for names, axis in rubric.dimensions[dimension].every(dimension):
            yield ("dimensions", names[0], *(step for name in names[1:] for step in ("parts", name))), names[-1], axis


def name_clashes(rubric: Rubric) -> list[Problem]:
    """Names that two things would share in a formula."""
    problems = []
    taken: dict[str, str] = dict.fromkeys(FUNCTIONS, "a function")
    taken |= dict.fromkeys((*text_features(), *CONTEXT_COUNTS), "a text feature")
    taken |= dict.fromkeys(RESERVED, "a word of formulas")
    declared: list[tuple[Path, str, str]] = [(("dimensions", n), n, "a dimension") for n in rubric.dimensions]
    declared += [(path, name, "a part") for path, name, _ in axes_of(rubric) if len(path) > 2]
    declared += [(path, name, "an answer") for path, name in answer_names(rubric)]
    declared += [(("settings", n), n, "a setting") for n in rubric.settings]
    declared += [(("patterns", n), n, "a named pattern") for n in rubric.patterns]
    declared += [(("context", n), n, "a context name") for n in rubric.context or ()]
    for path, name, what in declared:
        if name in taken and not (what == "a context name" and taken[name] == what):
            problems.append(Problem(f"the name {name!r} is already {taken[name]}", path, fix="choose another name"))
        taken.setdefault(name, what)
    return problems


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
