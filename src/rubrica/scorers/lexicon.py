"""All patterns of one rubric, compiled together so that a text is scanned once however many there are."""

from __future__ import annotations

from dataclasses import dataclass, field

from rubrica.model.evidence import Field
from rubrica.model.rules import Pattern
from rubrica.text.patterns import PatternSet, Regex, compile_keywords, compile_regex


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a pattern lives: the field it reads and its index in that field's set."""

    field: Field
    index: int


@dataclass
class Lexicon:
    """Collects patterns at compile time; `sets` are then built once and only read."""

    regexes: dict[Field, list[Regex]] = field(default_factory=dict)
    named: dict[str, Slot] = field(default_factory=dict)  # the patterns that formulas read by name
    sets: dict[Field, PatternSet] = field(default_factory=dict)

    def add(self, pattern: Pattern) -> Slot:
        """Compile a pattern and give it a slot; a PatternError says why one cannot be used."""
        if pattern.regex is not None:
            regex = compile_regex(pattern.regex, ignore_case=pattern.ignore_case)
        else:
            regex = compile_keywords(pattern.keywords, pattern.match)
        known = self.regexes.setdefault(pattern.field, [])
        known.append(regex)
        return Slot(pattern.field, len(known) - 1)

    def build(self) -> None:
        """One set per field."""
        self.sets = {name: PatternSet(regexes) for name, regexes in self.regexes.items()}
