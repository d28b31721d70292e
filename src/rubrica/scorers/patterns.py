"""pattern_detection and penalty: points given or taken for patterns found in a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rubrica.errors import PatternError
from rubrica.model.evaluation import RuleHit
from rubrica.model.evidence import Field
from rubrica.model.rules import PatternDetection, PenalisedPattern, Penalty, ScoredPattern
from rubrica.text.patterns import Scan

from .lexicon import Lexicon
from .rule import Reach, both, with_nothing
from .situation import MOST_MATCHES, MOST_SPANS, Situation, quote


@dataclass(frozen=True, slots=True)
class PatternPoints:
    """One pattern and what it is worth."""

    label: str
    points: float
    reason: str
    category: str
    limit: int  # matches that count

    @property
    def reach(self) -> Reach:
        times = math.inf if self.limit == MOST_MATCHES else self.limit
        return with_nothing((self.points * times, self.points * times)) if self.points else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PatternRule:
    """A compiled pattern_detection or penalty."""

    type: Literal["pattern_detection", "penalty"]
    by_field: Mapping[Field, Mapping[int, PatternPoints]]

    @property
    def reach(self) -> Reach:
        return both([points.reach for table in self.by_field.values() for points in table.values()])

    def __call__(self, situation: Situation) -> list[RuleHit]:
        hits = []
        for field, table in self.by_field.items():
            scan = situation.scan(field)
            for index in scan.found:
                worth = table.get(index)
                if worth is not None:
                    hits.append(self._hit(field, scan, index, worth))
        return hits

    def _hit(self, field: Field, scan: Scan, index: int, worth: PatternPoints) -> RuleHit:
        try:
            places = scan.spans(index, worth.limit)
        except PatternError as error:
            return RuleHit(worth.label, self.type, 0.0, category=worth.category, error=str(error))
        count = len(places)
        spans = quote(field, scan.text, places[:MOST_SPANS], worth.label)
        return RuleHit(worth.label, self.type, worth.points * count, worth.reason, worth.category, count, spans)


def compile_patterns(rule: PatternDetection | Penalty, lexicon: Lexicon) -> PatternRule:
    """Give every pattern of a rule its slot; a PatternError says why one cannot be used."""
    tables: dict[Field, dict[int, PatternPoints]] = {}
    for pattern in rule.patterns:
        slot = lexicon.add(pattern)
        tables.setdefault(slot.field, {})[slot.index] = _worth(pattern, rule.name)
    return PatternRule(rule.type, tables)


def _worth(pattern: ScoredPattern | PenalisedPattern, rule_name: str) -> PatternPoints:
    label = pattern.name or rule_name or pattern.regex or ", ".join(pattern.keywords[:4])
    limit = 1 if pattern.count == "once" else pattern.at_most or MOST_MATCHES
    if isinstance(pattern, ScoredPattern):
        return PatternPoints(label, pattern.score, f"found {label}", pattern.category, limit)
    return PatternPoints(label, pattern.penalty, pattern.reason or f"found {label}", pattern.category, limit)
