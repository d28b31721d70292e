"""The Namespace: one context as scorers see it, with everything derived from it computed at most once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeGuard

import msgspec

from rubrica.errors import FormulaFault, PatternError
from rubrica.formula import Formula, Interval
from rubrica.model.bounds import LARGEST_NUMBER
from rubrica.model.context import Context
from rubrica.model.evidence import LONGEST_QUOTE, Field, Span
from rubrica.text import text_features
from rubrica.text.patterns import Scan
from rubrica.text.texts import Feature, Texts
from rubrica.text.truncation import SHORT, Excerpt

from .pattern_table import PatternSlot, PatternTable
from .pictures import PICTURE_COUNTS
from .reference_checks import REFERENCE_CHECKS

CONTEXT_COUNTS: Mapping[str, tuple[str, Callable[[Context], float]]] = {
    "image_count": ("pictures that belong to the response", lambda context: float(len(context.images))),
    "image_alt_count": (
        "pictures that have an alternative text",
        lambda c: float(sum(bool(i.alt) for i in c.images)),
    ),
    "round_count": ("earlier rounds in the history", lambda context: float(len(context.round_history))),
    "message_count": ("turns of the conversation", lambda context: float(len(context.messages))),
    **PICTURE_COUNTS,
    **REFERENCE_CHECKS,
}
"""Numbers that can be read off a context apart from its texts."""
MOST_MATCHES = 10_000
"""Matches of one pattern that are counted in one text."""
MOST_SPANS = 20
"""Matches of one pattern that are kept as evidence."""


class NameSources(msgspec.Struct, frozen=True):
    """Where the names in one rubric's formulas come from."""

    lexicon: PatternTable
    metrics: tuple[str, ...]  # the names that only a context can give
    defaults: Mapping[str, float | None]  # of context names that need not be given
    expected: frozenset[str] = frozenset()  # metrics that can be any number where they are missing, instead of a fault


class PartialCount(NamedTuple):
    """What is known of a number that was counted in a part of a text."""

    found: float  # the least it can be
    interval: Interval
    reason: str


class Namespace(dict[str, object]):
    """A context as formulas read it, by name; features and patterns are worked out on first use.

    A number that could only be counted in a part of a long text is read as what was found there, and `doubt` then
    tells whoever reads it to ask for the interval instead.
    """

    __slots__ = ("_excerpted", "_partial", "_reasons", "_scans", "_sources", "_texts", "context", "doubt", "in_full")

    def __init__(self, context: Context, sources: NameSources, known: Mapping[str, object]) -> None:
        dict.__init__(self, known)
        given = context.custom_metrics
        for name in sources.metrics:  # fetched at once: a name that is missing when it is read costs several times this
            value = given.get(name)
            if value is not None:
                self[name] = value
        self.context = context
        self._sources = sources
        self._texts: Texts | None = None
        self._scans: dict[Field, Scan] = {}
        self.in_full = True  # no text that was read was too long
        self.doubt = False  # something was read since this was last set to False that is only known as an interval

    def __missing__(self, name: str) -> object:
        value = self._read(name)
        if self.in_full or name not in self._partial:
            self[name] = value
        else:
            self.doubt = True
        return value

    @property
    def texts(self) -> Texts:
        """The texts that features read, of long ones an excerpt."""
        found = self._read_texts()
        if found.parts:
            self._leave_unread()
            self._excerpted = True
        return found

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why some numbers are only known as intervals."""
        return () if self.in_full else tuple(self._reasons)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which texts were not read in full, and what was read of them."""
        if self.in_full:
            return ()
        notes = self._read_texts().notes if self._excerpted else ()
        return (*notes, *self.reasons)

    def holds(self, formula: Formula) -> bool | None:
        """Whether a condition holds; None where that hangs on what was not read of a text."""
        if self.in_full:
            found = formula.holds(self)
            if self.in_full:
                return found
        self.doubt = False
        try:
            found = formula.holds(self)
        except FormulaFault:
            if not self.doubt:
                raise
        if not self.doubt:
            return found
        known = self.interval(formula)
        return True if known.is_true else False if known.is_false else None

    def interval(self, formula: Formula) -> Interval:
        """What a formula can give, whatever stands in the parts of texts that were not read."""
        known: dict[str, Interval | None] = {}
        for name in formula.names:
            try:
                value = self[name]
            except (KeyError, FormulaFault):
                continue
            if value is None:
                known[name] = None
            elif isinstance(value, int | float) and abs(value) <= sys.float_info.max:
                known[name] = self.interval_of(name, float(value))
        return formula.interval(known)

    def interval_of(self, name: str, value: float) -> Interval:
        """What a number can be that was read by its name."""
        partial = None if self.in_full else self._partial.get(name)
        return Interval.point(value) if partial is None else partial.interval

    def partial_counts(self, names: Iterable[str]) -> dict[str, PartialCount]:
        """Those among some names that could only be counted in a part of a text."""
        if self.in_full and not self._is_long():
            return {}
        for name in names:
            try:
                self[name]
            except (KeyError, FormulaFault):  # told by whoever reads it
                continue
        return {} if self.in_full else {name: self._partial[name] for name in names if name in self._partial}

    def note_partial_search(self, label: str, field: Field, part: Excerpt) -> str:
        """Take note that a pattern was looked for in a part of a text, and say so."""
        self._leave_unread()
        self.doubt = True
        reason = f"{part.note(field)} for {label} (judge the text in parts, or write a cheaper pattern)"
        self._reasons[reason] = None
        return reason

    def scan(self, field: Field) -> Scan:
        """The rubric's patterns that are found in a field."""
        found = self._scans.get(field)
        if found is None:
            context = self.context
            text = context.response if field == "response" else context.prompt if field == "prompt" else None
            if text is None:
                text = "\n".join(context.history)
            found = self._scans[field] = self._sources.lexicon.sets[field].scan(text)
        return found

    def set_scan(self, field: Field, scan: Scan) -> None:
        """Take what is found in a field as known: its text is not scanned."""
        self._scans[field] = scan

    def places(self, slot: PatternSlot, limit: int) -> list[tuple[int, int]]:
        """Where a pattern is found, if it is, at most `limit` times."""
        scan = self.scan(slot.field)
        return scan.spans(slot.index, limit) if slot.index in scan.found else []

    def evidence(self, names: frozenset[str]) -> tuple[Span, ...]:
        """The stretches of text behind the named patterns and features among some names."""
        spans: list[Span] = []
        for name in sorted(names):
            slot = self._sources.lexicon.named.get(name)
            if slot is not None:
                spans.extend(quote(slot.field, self.scan(slot.field).text, self._shown(slot), name))
            elif (feature := text_features().get(name)) is not None and feature.evidence is not None:
                spans.extend(self._feature_evidence(feature))
        return tuple(spans)

    def _shown(self, slot: PatternSlot) -> list[tuple[int, int]]:
        try:
            return self.places(slot, MOST_SPANS)
        except PatternError:
            return []  # that they cannot be found is told where they are counted

    def _is_long(self) -> bool:
        """Whether some text may be too long to be read in full."""
        context = self.context
        return (
            len(context.response) > SHORT
            or len(context.prompt) > SHORT
            or ("history" in self._sources.lexicon.sets and sum(map(len, context.history)) > SHORT)
        )

    def _feature_evidence(self, feature: Feature) -> list[Span]:
        if feature.evidence is None:
            return []
        if feature.unread is not None:
            return list(feature.evidence(self._read_texts()))[:MOST_SPANS]
        texts = self.texts
        return list(texts.in_whole(list(feature.evidence(texts))[:MOST_SPANS]))

    def _read_texts(self) -> Texts:
        if self._texts is None:
            context = self.context
            self._texts = Texts(context.prompt, context.response, context.history, context.asked)
        return self._texts

    def _leave_unread(self) -> None:
        """From now on, some text was not read in full."""
        if self.in_full:
            self.in_full = False
            self._excerpted = False
            self._partial: dict[str, PartialCount] = {}
            self._reasons: dict[str, None] = {}  # in order

    def _read(self, name: str) -> object:
        if not self.in_full and name in self._partial:
            return self._partial[name].found
        slot = self._sources.lexicon.named.get(name)
        if slot is not None:
            return self._count(name, slot)
        if (feature := text_features().get(name)) is not None:
            if feature.unread is not None:
                return self._look_for(feature)
            texts = self._texts  # a call less where there is no excerpt to take note of
            return feature.compute(self.texts if texts is None or texts.parts else texts)
        if name in CONTEXT_COUNTS:
            return CONTEXT_COUNTS[name][1](self.context)
        value = self.context.lookup(name)
        if value is not None:
            return value
        if name in self._sources.expected and name not in self._sources.defaults:
            return self._leave_open(name)
        return self._sources.defaults[name]  # a KeyError where there is no default either

    def unreported(self, names: Iterable[str]) -> list[str]:
        """Those among some names that were to be reported, were read, and are not there."""
        if self.in_full:
            return []
        return sorted(name for name in names if name in self._partial and name in self._sources.expected)

    def _leave_open(self, name: str) -> float:
        """Take note that a metric may be any number."""
        self._leave_unread()
        reason = f"{name} was not reported"
        self._partial[name] = PartialCount(0.0, Interval.of(-LARGEST_NUMBER, LARGEST_NUMBER), reason)
        self._reasons[reason] = None
        return 0.0

    def _count(self, name: str, slot: PatternSlot) -> float:
        scan = self.scan(slot.field)
        if scan.parts is None and slot.index not in scan.found:
            return 0.0
        try:
            found = float(len(self.places(slot, MOST_MATCHES)))
        except PatternError as error:
            raise FormulaFault(str(error)) from None
        if scan.parts is not None and (part := scan.excerpt(slot.index)) is not None and found < MOST_MATCHES:
            reason = self.note_partial_search(name, slot.field, part)
            self._partial[name] = PartialCount(found, Interval.of(found, MOST_MATCHES), reason)
        return found

    def _look_for(self, feature: Feature) -> float:
        """The value of a feature that looks for something everywhere, as far as it could."""
        texts = self._read_texts()
        value = feature.compute(texts)
        unread = feature.unread(texts) if texts.parts and feature.unread is not None else 0
        if unread:
            self._leave_unread()
            most = max(value, min(feature.high, float(len(texts.whole_prompt) + len(texts.whole_response))))
            reason = f"{feature.name} has not looked at {unread:,} characters of a long text (judge the text in parts)"
            self._partial[feature.name] = PartialCount(value, Interval.of(value, most), reason)
            self._reasons[reason] = None
        return value


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value can be reckoned with: finite, no truth value, and no integer beyond what a float holds.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"), 10**400)]
    [True, True, False, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def quote(field: Field, text: str, places: list[tuple[int, int]], label: str) -> tuple[Span, ...]:
    """The stretches of text at some places, as evidence."""
    return tuple(
        [Span(field, start, end, text[start : min(end, start + LONGEST_QUOTE)], label) for start, end in places]
    )
