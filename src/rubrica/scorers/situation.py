"""The Situation: one context as scorers see it, with everything derived from it computed at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rubrica.errors import FormulaFault, PatternError
from rubrica.model.context import Context
from rubrica.model.evidence import LONGEST_QUOTE, Field, Span
from rubrica.text import FEATURES
from rubrica.text.patterns import Scan
from rubrica.text.reading import Texts

from .lexicon import Lexicon, Slot

CONTEXT_COUNTS: Mapping[str, tuple[str, Callable[[Context], float]]] = {
    "image_count": ("pictures that belong to the response", lambda context: float(len(context.images))),
    "image_alt_count": (
        "pictures that have an alternative text",
        lambda c: float(sum(bool(i.alt) for i in c.images)),
    ),
    "round_count": ("earlier rounds in the history", lambda context: float(len(context.round_history))),
    "message_count": ("turns of the conversation", lambda context: float(len(context.messages))),
}
"""Numbers that can be read off a context apart from its texts."""
MOST_MATCHES = 10_000
"""Matches of one pattern that are counted in one text."""
MOST_SPANS = 20
"""Matches of one pattern that are kept as evidence."""


class Names(dict[str, object]):
    """What formulas read: known values, and features, patterns and metrics that are worked out on first use."""

    __slots__ = ("_resolve",)

    def __init__(self, known: Mapping[str, object], resolve: Callable[[str], object]) -> None:
        super().__init__(known)
        self._resolve = resolve

    def __missing__(self, name: str) -> object:
        value = self[name] = self._resolve(name)
        return value


class Situation:
    """One context under one rubric's patterns, named patterns and settings."""

    __slots__ = ("_defaults", "_lexicon", "_named", "_scans", "context", "names", "texts")

    def __init__(
        self,
        context: Context,
        lexicon: Lexicon,
        named: Mapping[str, Slot],
        known: Mapping[str, object],
        defaults: Mapping[str, float | None],
    ) -> None:
        self.context = context
        earlier = context.history if context.round_history or context.messages else ()
        self.texts = Texts(context.prompt, context.response, earlier)
        self.names = Names(known, self._resolve)
        self._lexicon = lexicon
        self._named = named
        self._defaults = defaults  # of context names; None: absent when not given
        self._scans: dict[Field, Scan] = {}

    def scan(self, field: Field) -> Scan:
        """The rubric's patterns that are found in a field."""
        found = self._scans.get(field)
        if found is None:
            found = self._scans[field] = self._lexicon.sets[field].scan(self.texts.of(field))
        return found

    def places(self, slot: Slot, limit: int) -> list[tuple[int, int]]:
        """Where a pattern is found, if it is, at most `limit` times."""
        scan = self.scan(slot.field)
        return scan.spans(slot.index, limit) if slot.index in scan.found else []

    def evidence(self, names: frozenset[str]) -> tuple[Span, ...]:
        """The stretches of text behind the named patterns and features among some names."""
        spans: list[Span] = []
        for name in sorted(names):
            if name in self._named:
                slot = self._named[name]
                spans.extend(quote(slot.field, self.texts.of(slot.field), self.places(slot, MOST_SPANS), name))
            elif (feature := FEATURES.get(name)) is not None and feature.evidence is not None:
                spans.extend(list(feature.evidence(self.texts))[:MOST_SPANS])
        return tuple(spans)

    def _resolve(self, name: str) -> object:
        if name in self._named:
            try:
                return float(len(self.places(self._named[name], MOST_MATCHES)))
            except PatternError as error:
                raise FormulaFault(str(error)) from None
        if name in FEATURES:
            return FEATURES[name].compute(self.texts)
        if name in CONTEXT_COUNTS:
            return CONTEXT_COUNTS[name][1](self.context)
        value = self.context.lookup(name)
        return self._defaults[name] if value is None else value  # a KeyError where there is no default either


def quote(field: Field, text: str, places: list[tuple[int, int]], label: str) -> tuple[Span, ...]:
    """The stretches of text at some places, as evidence."""
    return tuple(
        [Span(field, start, end, text[start : min(end, start + LONGEST_QUOTE)], label) for start, end in places]
    )
