"""The Namespace: one context as scorers see it, with everything derived from it computed at most once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from rubrica.errors import FormulaFault, PatternError
from rubrica.model.context import Context
from rubrica.model.evidence import LONGEST_QUOTE, Field, Span
from rubrica.text import text_features
from rubrica.text.patterns import Scan
from rubrica.text.texts import Texts
from rubrica.text.truncation import SHORT

from .pattern_table import PatternSlot, PatternTable
from .pictures import PICTURE_COUNTS

CONTEXT_COUNTS: Mapping[str, tuple[str, Callable[[Context], float]]] = {
    "image_count": ("pictures that belong to the response", lambda context: float(len(context.images))),
    "image_alt_count": (
        "pictures that have an alternative text",
        lambda c: float(sum(bool(i.alt) for i in c.images)),
    ),
    "round_count": ("earlier rounds in the history", lambda context: float(len(context.round_history))),
    "message_count": ("turns of the conversation", lambda context: float(len(context.messages))),
    **PICTURE_COUNTS,
}
"""Numbers that can be read off a context apart from its texts."""
MOST_MATCHES = 10_000
"""Matches of one pattern that are counted in one text."""
MOST_SPANS = 20
"""Matches of one pattern that are kept as evidence."""


@dataclass(frozen=True, slots=True)
class NameSources:
    """Where the names in one rubric's formulas come from."""

    lexicon: PatternTable
    metrics: tuple[str, ...]  # the names that only a context can give
    defaults: Mapping[str, float | None]  # of context names that need not be given


class Namespace(dict[str, object]):
    """A context as formulas read it, by name; features and patterns are worked out on first use."""

    __slots__ = ("_scans", "_sources", "_texts", "context", "in_full")

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

    def __missing__(self, name: str) -> object:
        value = self[name] = self._read(name)
        return value

    @property
    def texts(self) -> Texts:
        """The texts that features read."""
        if self._texts is None:
            context = self.context
            self._texts = Texts(context.prompt, context.response, context.history, context.asked)
            self.in_full = not self._texts.parts
        return self._texts

    def scan(self, field: Field) -> Scan:
        """The rubric's patterns that are found in a field."""
        found = self._scans.get(field)
        if found is None:
            short = field == "response" and len(self.context.response) <= SHORT
            text = self.context.response if short else self.texts.of(field)
            found = self._scans[field] = self._sources.lexicon.sets[field].scan(text)
        return found

    def know_scan(self, field: Field, scan: Scan) -> None:
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
                spans.extend(quote(slot.field, self.texts.of(slot.field), self._shown(slot), name))
            elif (feature := text_features().get(name)) is not None and feature.evidence is not None:
                spans.extend(list(feature.evidence(self.texts))[:MOST_SPANS])
        return tuple(spans) if self.in_full else self.texts.in_whole(spans)

    def _shown(self, slot: PatternSlot) -> list[tuple[int, int]]:
        try:
            return self.places(slot, MOST_SPANS)
        except PatternError:
            return []  # that they cannot be found is told where they are counted

    def _read(self, name: str) -> object:
        slot = self._sources.lexicon.named.get(name)
        if slot is not None:
            try:
                return float(len(self.places(slot, MOST_MATCHES)))
            except PatternError as error:
                raise FormulaFault(str(error)) from None
        if (feature := text_features().get(name)) is not None:
            return feature.compute(self.texts)
        if name in CONTEXT_COUNTS:
            return CONTEXT_COUNTS[name][1](self.context)
        value = self.context.lookup(name)
        return self._sources.defaults[name] if value is None else value  # a KeyError where there is no default either


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
