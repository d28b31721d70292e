"""Patterns that authors write, matched in linear time with google-re2.

One `PatternSet` tells in a single pass which of many patterns occur in a text; stretches are looked up only
for those. What was found out about re2, and what is done about it:

- ``re2.Set`` answers an empty list both for "nothing matches" and for "out of memory". Every set here carries
  one more, always matching pattern, so an answer without it is a failure, and the patterns are then searched
  one at a time.
- A set never gives up when its states do not fit in memory: it rebuilds them, which takes about 17 ns for each
  step and byte. A single pattern falls back to a slower but steady method instead, of about 8 ns for each step
  and byte. So a pattern may cost `MAX_STEPS` a character and `TEXT_STEPS` a text: it reads all of a text that costs no
  more, and head and tail of a longer one. Texts of more than `SET_STEPS` for all patterns of a set are searched one
  pattern at a time.
- Finding *all* matches can scan the rest of the text once per match (``.*c|a`` in a text of a's). That may take
  `SEARCH_SECONDS`; past it the pattern fails with a reason, rather than run on or give a wrong count.
- ``\\b``, ``\\d``, ``\\w`` and ``\\s`` of re2 know ASCII only; ``\\pL``, ``\\pN`` know every script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import thread_time
from typing import Any

import msgspec
import re2

from rubrica.errors import PatternError
from rubrica.text.encoded import EncodedPart, SearchClock, encoded, encoded_part, in_characters, without_surrogates
from rubrica.text.pattern_cost import steps_per_character
from rubrica.text.regexsource import (
    Edges,
    KeywordMatch,
    escapes_of,
    explain,
    keyword_edges,
    keyword_source,
    without_edges,
)
from rubrica.text.truncation import JUDGED_BYTES, SHORT, Excerpt

MAX_REGEX = 2_000  # characters in one author pattern
MAX_KEYWORDS = 2_000  # keywords in one list
MAX_KEYWORD = 200  # characters in one keyword
MAX_LIST = 40_000  # characters in one list, of which each gap between words counts for `GAP_CHARACTERS`
GAP_CHARACTERS = 10
MAX_STEPS = 90  # a character, of one pattern
TEXT_STEPS = MAX_STEPS * JUDGED_BYTES  # of one pattern in one text, times its bytes: under 50 ms
MOST_BYTES = 4_000_000  # of one text that any pattern reads: twice what a server takes
FEW_STEPS = 5  # a character, of a pattern whose states fit in memory whatever the text: there it costs one
LIST_SPEED = 5  # how many steps of a list of keywords take the time of one of a regular expression
PATTERN_MEMORY = 2 << 20  # bytes; bounds the program of one pattern, so that refusing takes ~10 ms
KEYWORD_STEP = 1_000  # instructions of a list of keywords that count as one step
SET_MEMORY = 64 << 20  # bytes; a ceiling, taken only as texts call for it
SET_PROGRAM = 200_000  # instructions of all patterns of a set together; past it they are searched one at a time
SET_STEPS = 3_000_000  # steps of a set times bytes of a text; past it patterns are searched one at a time: 50 ms
# Several times what honest patterns need: a busy machine must not refuse what an idle one reads.
SEARCH_SECONDS = 0.2  # of processor time, that finding all matches of one pattern in a text may take ...
MATCH_SECONDS = 1e-5  # ... and for each match
SCAN_SECONDS = 1.0  # the same for all patterns of a set
_UNTIMED = 2_000  # bytes of a text in which every match is found, whatever the time

_SPAN_GROUP = "span"
_PROBES = (b"", b"a", b" ", b"a ", b" a", b"\n", b"a\na", "é".encode())  # contexts in which anchors can match nothing
_UNANCHORED = getattr(getattr(re2, "_Anchor", None), "UNANCHORED", None)


@dataclass(frozen=True, slots=True)
class Regex:
    """One compiled pattern and the text it was written as.

    >>> compile_regex(r"\\b197[0-9]\\b").spans("born in 1974, moved in 1979")
    [(8, 12), (23, 27)]
    """

    source: str
    ignore_case: bool = False
    steps: int = field(default=1, repr=False)  # a character, at most
    groups: tuple[int, ...] = field(default=(), repr=False)  # groups named span…: the stretch is theirs
    keywords: tuple[str, ...] = ()  # what was asked for, where that was a list of keywords
    edges: Edges | None = field(default=None, repr=False)  # boundaries that are in each match, and no evidence
    compiled: Any = field(default=None, repr=False, compare=False)

    @property
    def set_source(self) -> str:
        """The pattern as a set must be given it: a set has one case rule for all its patterns."""
        return f"(?i:{self.source})" if self.ignore_case else self.source

    @property
    def may_mark_nothing(self) -> bool:
        """Whether a match may be no evidence, as with an author's group ``(?P<span>x?)``: it then does not count."""
        return bool(self.groups) and not self.keywords

    @property
    def cost(self) -> float:
        """What a byte costs, in steps of a regular expression."""
        if self.keywords:
            return self.steps / LIST_SPEED
        return 1.0 if self.steps <= FEW_STEPS else float(self.steps)

    @property
    def longest(self) -> int:
        """Bytes of the longest text that is read in full; of a longer one, as much of its head and tail."""
        return max(JUDGED_BYTES, min(MOST_BYTES, int(TEXT_STEPS / self.cost)))

    def spans(self, text: str, limit: int | None = None) -> list[tuple[int, int]]:
        """Where it occurs in what is read of a text, without overlaps, in characters; at most `limit`."""
        if len(text) <= SHORT:  # as nearly all are: every pattern reads all of it
            data = encoded(text)
            found = self.byte_spans(data, limit)
            return found if len(data) == len(text) else in_characters(data, found)
        part = encoded_part(text, self.longest)
        return part.places(self.byte_spans(part.data, limit))

    def count(self, text: str, limit: int | None = None) -> int:
        """How often it occurs in what is read of a text, without overlaps; counting stops at `limit`."""
        return len(self.spans(text, limit))

    def byte_spans(self, data: bytes, limit: int | None, seconds: float = SEARCH_SECONDS) -> list[tuple[int, int]]:
        """Where it occurs in UTF-8, without overlaps, in bytes; a PatternError if that takes too long to find out."""
        size = len(data)
        # The binding under re2's Python class takes half the time on a short text.
        direct = getattr(self.compiled, "_regexp", None)
        search = direct.Match if direct is not None else partial(_search, self.compiled)
        left = size + 1 if limit is None else limit
        timed = size > _UNTIMED
        end_of_time = thread_time() + seconds if timed else 0.0
        found: list[tuple[int, int]] = []
        position = 0
        while len(found) < left and position <= size:
            stretches = search(_UNANCHORED, data, position, size)
            start, end = stretches[0]
            if start < 0:
                break
            if self.edges is not None:
                start, end = without_edges(data, start, end, self.edges)
            for group in self.groups:
                if stretches[group][0] >= 0:
                    start, end = stretches[group]
                    break
            position = max(end, position + 1)
            if end > start:
                found.append((start, end))
            if timed and len(found) < left and thread_time() > end_of_time + len(found) * MATCH_SECONDS:
                raise PatternError(
                    f"pattern {quote_pattern(self.source)} has {len(found):,} or more matches in a text of {size:,} "
                    "bytes, and finding them all takes longer than allowed (set a limit, or write the pattern "
                    "without open-ended repetition: {0,50} in place of *)"
                )
        return found


class Scan(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One text, and which patterns of a set occur in it."""

    text: str
    data: bytes  # the text in UTF-8
    patterns: Sequence[Regex]
    found: list[int]  # indexes, in order

    clock: SearchClock | None = None  # for a text in which looking for matches is timed
    parts: Mapping[int, EncodedPart] | None = None  # what was read, by pattern, where that is not all of the text

    def excerpt(self, index: int) -> Excerpt | None:
        """What the pattern at `index` read of the text; None where that is all of it."""
        return self.parts[index].excerpt if self.parts is not None and index in self.parts else None

    def spans(self, index: int, limit: int | None = None) -> list[tuple[int, int]]:
        """Where the pattern at `index` occurs, without overlaps, in characters."""
        places = self._byte_spans(index, limit)
        if self.parts is not None and index in self.parts:
            return self.parts[index].places(places)
        return places if len(self.data) == len(self.text) else in_characters(self.data, places)

    def count(self, index: int, limit: int | None = None) -> int:
        """How often the pattern at `index` occurs, without overlaps; counting stops at `limit`."""
        return len(self.spans(index, limit) if self.parts is not None else self._byte_spans(index, limit))

    def _byte_spans(self, index: int, limit: int | None) -> list[tuple[int, int]]:
        pattern = self.patterns[index]
        if self.clock is None:
            return pattern.byte_spans(self.data, limit)
        data = self.parts[index].data if self.parts is not None and index in self.parts else self.data
        with self.clock:
            return pattern.byte_spans(data, limit, min(SEARCH_SECONDS, self.clock.left))


class PatternSet:
    """Many patterns, one pass: which of them occur in a text.

    >>> patterns = PatternSet([compile_regex("[0-9]+%"), compile_keywords(["doctor", "physician"])])
    >>> patterns.matching("The doctor said so."), patterns.spans(1, "The doctor said so.")
    ([1], [(4, 10)])
    """

    __slots__ = ("_each", "_match", "_reads", "longest", "patterns")

    def __init__(self, patterns: Sequence[Regex], each: int = MOST_BYTES) -> None:
        """`each` are the bytes of a text that one pattern reads at most, where many share the time."""
        self.patterns = tuple(patterns)
        self._match = _set_match(self.patterns)
        self._each = each
        self._reads = tuple(min(pattern.longest, self._each) for pattern in patterns)
        steps = sum(pattern.steps for pattern in patterns) + 1
        self.longest = -1 if self._match is None else min(JUDGED_BYTES, SET_STEPS // steps)
        """Bytes of the longest text that goes through the set."""

    def __reduce__(self) -> tuple[type[PatternSet], tuple[tuple[Regex, ...], int]]:
        return PatternSet, (self.patterns, self._each)  # a compiled set cannot be sent to another process

    def __len__(self) -> int:
        return len(self.patterns)

    @property
    def matcher(self) -> Callable[[bytes], list[int]] | None:
        """For texts by the million, of `longest` bytes each at most: which patterns occur, in any order, and one that
        always does. An empty answer is a failure: use `scan`. None where patterns are searched one at a time.
        """
        match: Callable[[bytes], list[int]] | None = self._match
        return match

    def scan(self, text: str) -> Scan:
        """Find the patterns that occur in a text, in one pass where it is short enough."""
        if len(text) > JUDGED_BYTES:
            return self._scan_long(text)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = encoded(text)
        found: list[int] | None = self._match(data) if len(data) <= self.longest else None
        if found:
            found.sort()
            found.pop()  # the always matching pattern, added last
        elif len(data) > JUDGED_BYTES:
            return self._scan_long(text)
        else:
            found = [index for index, pattern in enumerate(self.patterns) if pattern.compiled.search(data) is not None]
        return Scan(text, data, self.patterns, found, SearchClock(SCAN_SECONDS) if len(data) > _UNTIMED else None)

    def _scan_long(self, text: str) -> Scan:
        """The same one pattern after the other, each in as much of the text as it may read."""
        whole = encoded_part(text, max(self._reads, default=JUDGED_BYTES))
        by_limit: dict[int, EncodedPart] = {}
        parts: dict[int, EncodedPart] = {}
        found = []
        for index, (pattern, limit) in enumerate(zip(self.patterns, self._reads, strict=True)):
            part = whole
            if whole.excerpt.left_out or len(whole.data) > limit:
                size = JUDGED_BYTES << (limit // JUDGED_BYTES).bit_length() - 1  # few sizes, which many share
                part = by_limit.get(size) or by_limit.setdefault(size, encoded_part(text, size))
                parts[index] = part
            if pattern.compiled.search(part.data) is not None:
                found.append(index)
        return Scan(text, whole.data, self.patterns, found, SearchClock(SCAN_SECONDS), parts or None)

    def matching(self, text: str) -> list[int]:
        """The indexes of the patterns that occur in the text, in order."""
        return self.scan(text).found

    def spans(self, index: int, text: str, limit: int | None = None) -> list[tuple[int, int]]:
        """Where the pattern at `index` occurs, without overlaps, in characters."""
        return self.patterns[index].spans(text, limit)

    def count(self, index: int, text: str, limit: int | None = None) -> int:
        """How often the pattern at `index` occurs, without overlaps."""
        return self.patterns[index].count(text, limit)


def compile_regex(regex: str, *, ignore_case: bool = False) -> Regex:
    """An author's pattern, or a `PatternError` that names the construct and the way out.

    A group named ``span`` marks which part of the match is the evidence; without one it is the whole match.

    >>> compile_regex("(?=x)")
    Traceback (most recent call last):
    rubrica.errors.PatternError: pattern '(?=x)': re2 has no lookahead, so that matching stays linear-time...
    """
    if not regex:
        raise PatternError("the pattern is empty (write what should be found)")
    if len(regex) > MAX_REGEX:
        raise PatternError(
            f"pattern {quote_pattern(regex)} has {len(regex):,} characters, the most is {MAX_REGEX:,} "
            "(split it, or use a list of keywords)"
        )
    compiled = _compiled(regex, ignore_case=ignore_case, captures=f"<{_SPAN_GROUP}" in regex)
    steps = steps_per_character(regex)
    if steps > MAX_STEPS:
        raise PatternError(
            f"pattern {quote_pattern(regex)} costs {steps:,} steps a character, the most is {MAX_STEPS} "
            "(shorten its counted repetitions, as {0,40} for {0,400}, or leave them open, as *)"
        )
    if r"\C" in escapes_of(regex):
        raise PatternError(f"pattern {quote_pattern(regex)}: \\C matches half a character (write . or (?s:.) instead)")
    if any(match.start() == match.end() for probe in _PROBES for match in compiled.finditer(probe)):
        raise PatternError(
            f"pattern {quote_pattern(regex)} matches the empty string, so it would match everywhere "
            "(make one part of it required: + in place of *, and no lone ^, $ or \\b)"
        )
    return Regex(regex, ignore_case, steps, _span_groups(compiled), compiled=compiled)


def keyword_regex(keywords: Sequence[str], match: KeywordMatch = "word") -> str:
    """The pattern that finds any of the keywords, in any case; it can be shown to an author and compiled.

    ``word`` finds whole words and phrases, ``prefix`` words that begin so, ``substring`` anything. White
    space in a keyword stands for any run of white space; straight and curly apostrophes are the same. An edge
    of a keyword that is punctuation, or of a script written without spaces, needs no word boundary.

    >>> compile_keywords(["sad"], "prefix").spans("The ambassador was sadder")
    [(19, 22)]
    """
    if isinstance(keywords, str):
        raise PatternError(f"keywords must be a list, got the text {quote_pattern(keywords)} (write [{keywords[:20]}])")
    if not keywords:
        raise PatternError("the list of keywords is empty (give at least one)")
    if len(keywords) > MAX_KEYWORDS:
        raise PatternError(f"{len(keywords):,} keywords, the most is {MAX_KEYWORDS:,} (split the list)")
    for number, keyword in enumerate(keywords):
        if not keyword.strip():
            raise PatternError(f"keyword {number + 1} is blank, so it would match everywhere (remove it)")
        if len(keyword) > MAX_KEYWORD:
            raise PatternError(f"keyword {quote_pattern(keyword)} is longer than {MAX_KEYWORD} characters (shorten it)")
    total = sum(len(keyword) + GAP_CHARACTERS * (len(keyword.split()) - 1) for keyword in keywords)
    if total > MAX_LIST:
        raise PatternError(
            f"the keywords have {total:,} characters together, the most is {MAX_LIST:,}, where a gap between words "
            f"counts for {GAP_CHARACTERS} (split the list)"
        )
    return keyword_source([without_surrogates(keyword) for keyword in keywords], match, _SPAN_GROUP)


def compile_keywords(keywords: Sequence[str], match: KeywordMatch = "word") -> Regex:
    """`keyword_regex`, compiled; lists may be longer than an author's pattern.

    >>> compile_keywords(["don't", "new york"]).spans("Don’t go to New\\n York")
    [(0, 5), (12, 21)]
    """
    source = keyword_regex(keywords, match)
    edges = keyword_edges(keywords, match)
    if edges is not None:  # the same for all: without the group, which costs a second, slower pass over each match
        source = source.replace(f"(?P<{_SPAN_GROUP}>", "(?:", 1)
    compiled = _compiled(source, ignore_case=False, captures=edges is None, memory=SET_MEMORY)
    steps = 1 + compiled.programsize // KEYWORD_STEP  # few are alive at once, but building them takes its time
    return Regex(source, False, steps, _span_groups(compiled), tuple(keywords), edges, compiled)


def _search(compiled: Any, _anchor: object, data: bytes, position: int, _size: int) -> list[tuple[int, int]]:
    """What the binding's Match gives: the stretch of the next match and of its groups, (-1, -1) for none."""
    match = compiled.search(data, position)
    return [(-1, -1)] if match is None else [match.span(group) for group in range(compiled.groups + 1)]


def quote_pattern(source: str) -> str:
    """A pattern as errors quote it: short."""
    return repr(source if len(source) <= 60 else source[:57] + "...")


def _compiled(source: str, *, ignore_case: bool, captures: bool, memory: int = PATTERN_MEMORY) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    options.case_sensitive = not ignore_case
    options.never_capture = not captures  # groups nobody reads cost a second, slower pass over each match
    try:
        return re2.compile(source, options)
    except re2.error as error:
        message = error.args[0] if error.args else b"not a pattern"
        reason = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        raise PatternError(f"pattern {quote_pattern(source)}: {explain(reason)}") from None
    except UnicodeEncodeError:
        raise PatternError(f"pattern {quote_pattern(source)} holds half of a surrogate pair (remove it)") from None


def _span_groups(compiled: Any) -> tuple[int, ...]:
    return tuple(sorted(index for name, index in compiled.groupindex.items() if name.startswith(_SPAN_GROUP)))


def _set_match(patterns: Sequence[Regex]) -> Any:
    """The set's matching function, or None where the patterns are better searched one at a time."""
    if sum(pattern.compiled.programsize for pattern in patterns) > SET_PROGRAM:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = SET_MEMORY
    options.never_capture = True
    together = re2.Set.SearchSet(options)
    try:
        for pattern in patterns:
            together.Add(pattern.set_source)
        together.Add(r"\z")  # found at the very end only: the empty pattern would make every step a match
        together.Compile()
    except re2.error:
        return None
    # The binding under re2's Python class takes bytes alone, and spares a quarter of the time on a short
    # text.
    return getattr(together, "_set", together).Match
