"""All patterns of one rubric, compiled together so that a text is scanned once however many there are."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from rubrica.errors import PatternError
from rubrica.model.evidence import Field
from rubrica.model.rules import Pattern
from rubrica.text.patterns import MOST_BYTES, PatternSet, Regex, compile_keywords, compile_regex
from rubrica.text.truncation import JUDGED_BYTES

MAX_RUBRIC_STEPS = 2_000
"""Steps a character that the patterns of a rubric may cost together: about a second for any text."""
SCAN_STEPS = MAX_RUBRIC_STEPS * JUDGED_BYTES
"""Steps times bytes that they may take together: where it would be more, each reads less of a long text."""
FAULTY_STEPS = 50
"""What a pattern counts that cannot be used: telling why takes its time too."""


class PatternSlot(msgspec.Struct, frozen=True):
    """Where a pattern lives: the field it reads and its index in that field's set."""

    field: Field
    index: int


@dataclass
class PatternTable:
    """Collects patterns at compile time; `sets` are then built once and only read."""

    regexes: dict[Field, list[Regex]] = field(default_factory=dict)
    named: dict[str, PatternSlot] = field(default_factory=dict)  # the patterns that formulas read by name
    sets: dict[Field, PatternSet] = field(default_factory=dict)
    steps: int = 0  # a character, of all patterns together

    @property
    def full(self) -> bool:
        """Whether there is no room for another pattern."""
        return self.steps > MAX_RUBRIC_STEPS

    def add(self, pattern: Pattern) -> PatternSlot:
        """Compile a pattern and give it a slot; a PatternError says why one cannot be used."""
        before = self.steps
        self.steps += FAULTY_STEPS
        if pattern.regex is not None:
            regex = compile_regex(pattern.regex, ignore_case=pattern.ignore_case)
        else:
            regex = compile_keywords(pattern.keywords, pattern.match)
        self.steps = before + regex.steps
        if self.full:
            raise PatternError(
                f"the patterns up to this one cost {self.steps:,} steps a character together, the most for a rubric is "
                f"{MAX_RUBRIC_STEPS:,} (shorten counted repetitions, or judge with several rubrics)"
            )
        known = self.regexes.setdefault(pattern.field, [])
        known.append(regex)
        return PatternSlot(pattern.field, len(known) - 1)

    def build(self) -> None:
        """One set per field; all of them share the time."""
        every = [regex for regexes in self.regexes.values() for regex in regexes]
        each = MOST_BYTES
        while each > JUDGED_BYTES and sum(one.cost * min(one.longest, each) for one in every) > SCAN_STEPS:
            each = max(JUDGED_BYTES, each // 2)
        self.sets = {name: PatternSet(regexes, each) for name, regexes in self.regexes.items()}
