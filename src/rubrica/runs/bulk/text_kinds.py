"""Which patterns of a rubric occur in each of many texts of one field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rubrica.engine.plan import Plan
from rubrica.errors import PatternError
from rubrica.model.evidence import Field
from rubrica.scorers.namespace import MOST_MATCHES
from rubrica.scorers.patterns import PatternRule
from rubrica.scorers.recipe import RuleScorer
from rubrica.text.patterns import PatternSet, Scan

from .indices import places_of
from .result_tables import ResultTable, TextKind, rules_of, scorer_of

MOST_BYTES = 4
"""Of a character in UTF-8."""


class TextKinds:
    """Tells the kinds of texts apart, by what is found in them."""

    def __init__(self, patterns: PatternSet, limits: Mapping[int, int]) -> None:
        """`limits` are the patterns whose matches must be counted, and how many count."""
        self.patterns = patterns
        self._limits = limits
        self._seen: ResultTable[TextKind] = ResultTable(self._kind, TextKind((), {}))
        self._counting: dict[int, tuple[int, ...]] = {}  # the patterns to count, by kind
        self._counted: dict[tuple[int, tuple[int, ...]], int] = {}

    def __len__(self) -> int:
        return len(self._seen.results)

    def kind(self, place: int) -> TextKind:
        return self._seen.results[place]

    def scan(self, kind: TextKind, index: int | None) -> Scan:
        """What is found in texts of a kind, as if there were one pattern or none."""
        return Scan("", kind.sample, self.patterns.patterns, [] if index is None else [index])

    def places(self, texts: Sequence[str], odd: set[int]) -> pl.Series:
        """The kind of each text; what can only be told one at a time is added to `odd`."""
        match = self.patterns.matcher
        seen = self._seen
        if match is None:
            odd.update(range(len(texts)))
            return places_of([0] * len(texts))
        longest = self.patterns.longest
        if max(map(len, texts), default=0) * MOST_BYTES > longest:
            long = {row for row, text in enumerate(texts) if len(text.encode()) > longest}
            odd.update(long)
            texts = ["" if row in long else text for row, text in enumerate(texts)]
        places = list(map(seen.__getitem__, map(tuple, map(match, map(str.encode, texts)))))
        if () in seen:
            failed = seen[()]
            odd.update(row for row, place in enumerate(places) if place == failed)
        if self._counting:
            self._count(texts, places, odd)
        return places_of(places)

    def _kind(self, found: tuple[int, ...]) -> TextKind:
        ordered = tuple(sorted(found)[:-1])  # without the always matching pattern, added last
        if self._limits and (count := tuple([index for index in ordered if index in self._limits])):
            self._counting[len(self._seen.results)] = count
        return TextKind(ordered, {})

    def _count(self, texts: Sequence[str], places: list[int], odd: set[int]) -> None:
        """Tell texts apart by how often those patterns occur whose number matters."""
        counting, patterns, limits = self._counting, self.patterns.patterns, self._limits
        for row, place in enumerate(places):
            if place not in counting:
                continue
            indexes, text = counting[place], texts[row].encode()
            try:
                counts = tuple([len(patterns[index].byte_spans(text, limits[index])) for index in indexes])
            except PatternError:  # told by whoever applies the rule
                odd.add(row)
                continue
            known = self._counted.get((place, counts))
            if known is None:
                known = self._counted[place, counts] = len(self._seen.results)
                found = self._seen.results[place].found
                self._seen.results.append(TextKind(found, dict(zip(indexes, counts, strict=True)), text))
            places[row] = known


def limits_of(plan: Plan) -> dict[Field, dict[int, int]]:
    """By field and pattern, how many matches count, of the patterns whose matches must be counted."""
    found: dict[Field, dict[int, int]] = {}
    for slot in plan.sources.lexicon.named.values():
        found.setdefault(slot.field, {})[slot.index] = MOST_MATCHES
    for axis in plan.axes:
        scorer = scorer_of(axis)
        for rule in rules_of(scorer) if isinstance(scorer, RuleScorer) else ():
            if isinstance(rule, PatternRule):
                for field, table in rule.by_field.items():
                    counted = {index: worth.limit for index, worth in table.items() if worth.counted}
                    found.setdefault(field, {}).update(counted)
    return found
