"""pattern_detection and penalty: points given or taken for patterns found in a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rubrica.errors import PatternError
from rubrica.model.evaluation import RuleHit
from rubrica.model.evidence import Field, Span, spans_on_demand
from rubrica.model.rules import PatternDetection, PenalisedPattern, Penalty, ScoredPattern
from rubrica.text.patterns import Regex, Scan

from .namespace import MOST_MATCHES, MOST_SPANS, Namespace, quote
from .pattern_table import PatternTable
from .rule import Reach, both, with_nothing


@dataclass(frozen=True, slots=True)
class PatternPoints:
    """One pattern and what it is worth."""

    label: str
    points: float
    reason: str
    category: str
    limit: int  # matches that count
    counted: bool  # whether its matches must be found to know how many count, not only that there is one
    field: Field
    regex: Regex

    @property
    def reach(self) -> Reach:
        times = math.inf if self.limit == MOST_MATCHES else self.limit
        return with_nothing((self.points * times, self.points * times)) if self.points else (0.0, 0.0)

    def spans_in(self, text: str) -> tuple[Span, ...]:
        """The matches that count, as evidence; none where finding them takes too long."""
        try:
            places = self.regex.spans(text, min(self.limit, MOST_SPANS))
        except PatternError:
            return ()
        return quote(self.field, text, places, self.label)


@dataclass(frozen=True, slots=True)
class PatternRule:
    """A compiled pattern_detection or penalty."""

    type: Literal["pattern_detection", "penalty"]
    by_field: Mapping[Field, Mapping[int, PatternPoints]]

    @property
    def reach(self) -> Reach:
        return both([points.reach for table in self.by_field.values() for points in table.values()])

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        hits = []
        for field, table in self.by_field.items():
            scan = namespace.scan(field)
            for index in scan.found:
                worth = table.get(index)
                if worth is None:
                    continue
                if worth.counted:
                    hits.append(self._counted(worth, namespace, scan, index))
                else:
                    text = scan.text
                    spans = spans_on_demand(worth, text) if namespace.in_full else _in_whole(worth, namespace, text)
                    hits.append(RuleHit(worth.label, self.type, worth.points, worth.reason, worth.category, 1, spans))
        return hits

    def _counted(self, worth: PatternPoints, namespace: Namespace, scan: Scan, index: int) -> RuleHit:
        try:
            count = scan.count(index, worth.limit)
        except PatternError as error:
            return RuleHit(worth.label, self.type, 0.0, category=worth.category, error=str(error))
        spans: tuple[Span, ...] = ()
        if count:
            text = scan.text
            spans = spans_on_demand(worth, text) if namespace.in_full else _in_whole(worth, namespace, text)
        return RuleHit(worth.label, self.type, worth.points * count, worth.reason, worth.category, count, spans)


def _in_whole(worth: PatternPoints, namespace: Namespace, text: str) -> tuple[Span, ...]:
    """The matches that count, as evidence in the whole text, of which a part was read."""
    return namespace.texts.in_whole(worth.spans_in(text))


def compile_patterns(rule: PatternDetection | Penalty, lexicon: PatternTable) -> PatternRule:
    """Give every pattern of a rule its slot; a PatternError says why one cannot be used."""
    tables: dict[Field, dict[int, PatternPoints]] = {}
    for pattern in rule.patterns:
        slot = lexicon.add(pattern)
        regex = lexicon.regexes[slot.field][slot.index]
        tables.setdefault(slot.field, {})[slot.index] = _worth(pattern, rule.name, regex)
    return PatternRule(rule.type, tables)


def _worth(pattern: ScoredPattern | PenalisedPattern, rule_name: str, regex: Regex) -> PatternPoints:
    label = pattern.name or rule_name or pattern.regex or ", ".join(pattern.keywords[:4])
    limit = 1 if pattern.count == "once" else pattern.at_most or MOST_MATCHES
    points, reason = (pattern.score, "") if isinstance(pattern, ScoredPattern) else (pattern.penalty, pattern.reason)
    counted = limit > 1 or regex.may_mark_nothing
    category, field = pattern.category, pattern.field
    return PatternPoints(label, points, reason or f"found {label}", category, limit, counted, field, regex)
