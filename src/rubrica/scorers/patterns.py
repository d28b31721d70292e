"""pattern_detection and penalty: points given or taken for patterns found in a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from rubrica.errors import PatternError
from rubrica.model.evaluation import RuleHit
from rubrica.model.evidence import Field, Span, spans_on_demand
from rubrica.model.rules import Pattern, PatternDetection, PenalisedPattern, Penalty, ScoredPattern
from rubrica.phrases import Code, Phrase, Strong, phrase, signed
from rubrica.text.patterns import Regex, Scan

from .namespace import MOST_MATCHES, MOST_SPANS, Namespace, quote
from .pattern_table import PatternTable
from .rule import Reach, reach_with_zero, total_reach
from .rule_form import NAME, FormField, form_row
from .rule_type import RuleReader, RuleType

KEYWORDS_SHOWN = 40
MATCH_WORDS = {"word": "as whole words", "prefix": "as the beginning of words", "substring": "anywhere"}


class PatternPoints(msgspec.Struct, frozen=True):
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
        return reach_with_zero((self.points * times, self.points * times)) if self.points else (0.0, 0.0)

    def spans_in(self, text: str) -> tuple[Span, ...]:
        """The matches that count, as evidence; none where finding them takes too long."""
        try:
            places = self.regex.spans(text, min(self.limit, MOST_SPANS))
        except PatternError:
            return ()
        return quote(self.field, text, places, self.label)


class PatternRule(msgspec.Struct, frozen=True):
    """A compiled pattern_detection or penalty."""

    type: Literal["pattern_detection", "penalty"]
    by_field: Mapping[Field, Mapping[int, PatternPoints]]

    @property
    def reach(self) -> Reach:
        return total_reach([points.reach for table in self.by_field.values() for points in table.values()])

    @property
    def names(self) -> frozenset[str]:
        return frozenset()

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        hits = []
        for field, table in self.by_field.items():
            scan = namespace.scan(field)
            partial = scan.parts
            for index in scan.found:
                worth = table.get(index)
                if worth is None:
                    continue
                if worth.counted or (partial is not None and index in partial):
                    hits.append(self._counted(worth, scan, index))
                else:
                    spans = spans_on_demand(worth, scan.text)
                    hits.append(RuleHit(worth.label, self.type, worth.points, worth.reason, worth.category, 1, spans))
            if partial is None:
                continue
            for index, read in partial.items():
                worth = table.get(index)
                if worth is not None and worth.points:
                    namespace.note_partial_search(worth.label, field, read.excerpt)
        return hits

    def between(self, namespace: Namespace) -> Reach:
        """The least and the most it gives where texts were read in part."""
        found = []
        for field, table in self.by_field.items():
            scan = namespace.scan(field)
            for index, worth in table.items():
                points = self._counted(worth, scan, index).points if index in scan.found else 0.0
                partial = scan.parts is not None and index in scan.parts
                most = worth.reach if partial else (points, points)
                found.append((min(most[0], points), points) if worth.points < 0 else (points, max(most[1], points)))
        return total_reach(found)

    def _counted(self, worth: PatternPoints, scan: Scan, index: int) -> RuleHit:
        try:
            count = scan.count(index, worth.limit)
        except PatternError as error:
            return RuleHit(worth.label, self.type, 0.0, category=worth.category, error=str(error))
        spans: tuple[Span, ...] = ()
        if count:
            spans = spans_on_demand(worth, scan.text)
        return RuleHit(worth.label, self.type, worth.points * count, worth.reason, worth.category, count, spans)


def compile_patterns(rule: PatternDetection | Penalty, reader: RuleReader) -> PatternRule | None:
    """Give every pattern of a rule its slot, once all of them are known to be of use."""
    trial = PatternTable(steps=reader.patterns.steps)
    faulty = False
    for i, pattern in enumerate(rule.patterns):  # each on its own, so that every bad pattern is named
        if trial.full:  # told already
            break
        try:
            trial.add(pattern)
        except PatternError as error:
            faulty = True
            reader.report(str(error), "patterns", i, "regex" if pattern.regex is not None else "keywords")
    if faulty or trial.full:
        reader.patterns.steps = trial.steps
        return None
    tables: dict[Field, dict[int, PatternPoints]] = {}
    for pattern in rule.patterns:
        slot = reader.patterns.add(pattern)
        regex = reader.patterns.regexes[slot.field][slot.index]
        tables.setdefault(slot.field, {})[slot.index] = _worth(pattern, rule.name, regex)
    return PatternRule(rule.type, tables)


def _worth(pattern: ScoredPattern | PenalisedPattern, rule_name: str, regex: Regex) -> PatternPoints:
    label = pattern.name or rule_name or pattern.regex or ", ".join(pattern.keywords[:4])
    limit = 1 if pattern.count == "once" else pattern.at_most or MOST_MATCHES
    points, reason = (pattern.score, "") if isinstance(pattern, ScoredPattern) else (pattern.penalty, pattern.reason)
    counted = limit > 1 or regex.may_mark_nothing
    category, field = pattern.category, pattern.field
    return PatternPoints(label, points, reason or f"found {label}", category, limit, counted, field, regex)


def _pattern_points(pattern: ScoredPattern | PenalisedPattern) -> Phrase:
    points = pattern.score if isinstance(pattern, ScoredPattern) else pattern.penalty
    match pattern.count:
        case "once":
            often = ""
        case "each":
            often = " for each match"
        case "capped":
            often = f" for each match, {pattern.at_most} at most"
    reason = pattern.reason if isinstance(pattern, PenalisedPattern) else ""
    name = pattern.name.replace("_", " ")
    note = "; ".join(part for part in (name, reason) if part)
    return phrase(
        Strong(signed(points)),
        f"{often} when the {pattern.field} has ",
        pattern_phrase(pattern),
        f" ({note})." if note else ".",
    )


def pattern_phrase(pattern: Pattern) -> Phrase:
    """What a pattern looks for."""
    if pattern.regex is not None:
        return phrase("a match of ", Code(pattern.regex), ", in capitals or not" if pattern.ignore_case else "")
    shown = ", ".join(f"“{word}”" for word in pattern.keywords[:KEYWORDS_SHOWN])
    more = f" and {len(pattern.keywords) - KEYWORDS_SHOWN} more" if len(pattern.keywords) > KEYWORDS_SHOWN else ""
    if len(pattern.keywords) == 1:
        return (f"{shown} {MATCH_WORDS[pattern.match].replace('words', 'word')}",)
    return (f"any of {shown}{more} ({MATCH_WORDS[pattern.match]})",)


def _phrases(rule: PatternDetection | Penalty) -> Iterator[Phrase]:
    return map(_pattern_points, rule.patterns)


def _summary(draft: Mapping[str, Any]) -> str:
    patterns = draft.get("patterns")
    found = [one for one in patterns if isinstance(one, Mapping)] if isinstance(patterns, list) else []
    return "; ".join(filter(None, map(_looked_for, found)))


def _looked_for(pattern: Mapping[str, Any]) -> str:
    keywords = pattern.get("keywords")
    words = keywords[:6] if isinstance(keywords, list) else []
    return str(pattern.get("regex") or "") or ", ".join(map(str, words))


PATTERN_DETECTION = RuleType(
    "pattern_detection",
    PatternDetection,
    title="Points for what is found",
    says="words or patterns that earn points",
    begins={"type": "pattern_detection", "patterns": [{"keywords": [], "score": 1}]},
    form=(form_row(NAME), form_row(FormField("patterns", "patterns"))),
    compile=compile_patterns,
    phrases=_phrases,
    summary=_summary,
    finds_patterns=True,
    parts={"A pattern of `pattern_detection`": ScoredPattern},
)
PENALTY = RuleType(
    "penalty",
    Penalty,
    title="Points taken for what is found",
    says="words or patterns that cost points, with a reason",
    begins={"type": "penalty", "patterns": [{"keywords": [], "penalty": -1, "reason": ""}]},
    form=(form_row(NAME), form_row(FormField("patterns", "patterns"))),
    compile=compile_patterns,
    phrases=_phrases,
    summary=_summary,
    finds_patterns=True,
    parts={"A pattern of `penalty`": PenalisedPattern},
)
