"""Named things and years in a text: what a player's story brings up again in later rounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.lexicon import lexicon
from rubrica.text.words import WORD

LONGEST_NAME = 6  # words
ACRONYM = 5  # letters; longer words in capitals are shouting
SHOUTED_WORDS = 3  # words in capitals in a row
_OPENING = lazy_pattern(r"[.!?…:;\n\"“«。！？*#|•]")
_YEAR = lazy_pattern(r"(?<![\w.,$€£¥#])(?:1[0-9]{3}|20[0-9]{2})(?=s?\b)(?!['’]?\w\w)(?![.,][0-9])(?!\s?%)")


class _Word(msgspec.Struct, frozen=True):
    text: str
    opens: bool  # begins a sentence, a line or a quotation
    joins: bool  # only a space, or an honorific's full stop, stands between it and the word before

    @property
    def capital(self) -> bool:
        return self.text[0].isupper()


def entity_mentions(text: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """The distinct named things of a text, in lower case, in order of first mention.

    A name is a run of capitalised words; ``of``, ``de``, ``van`` and the like may stand inside. Honorifics
    and a possessive 's are dropped. At the start of a sentence, where every word has a capital, a single word
    counts only if it is also capitalised inside a sentence, or is in `known` (names of earlier rounds); small
    words and words that the text also writes in lower case are cut off the front of a longer run. Acronyms of
    two to five capitals count; longer words and runs of three or more words in capitals are shouting. I,
    weekdays and months alone do not count.

    >>> entity_mentions("The podiatrist, Dr. Gerald Fitzwilliam, worked for NASA. His moth came on Monday.")
    ('gerald fitzwilliam', 'nasa')
    """
    runs: list[list[_Word]] = []
    lowered: set[str] = set()
    for run in _runs(text):
        if run[0].capital:
            runs.append(run)
        else:
            lowered.add(run[0].text)
    inner = {_base(word.text) for run in runs for word in run[1 if run[0].opens else 0 :]}
    found: dict[str, None] = {}
    for run in runs:
        if sum(len(word.text) > 1 and word.text.isupper() for word in run) >= SHOUTED_WORDS:
            continue
        kept = _without_front(run, lowered) if run[0].opens else run
        name = _name(kept)
        if name is None:
            continue
        doubtful = kept[0].opens and len(kept) == 1 and not _is_acronym(kept[0].text)
        if not doubtful or name in inner or name in known:
            found.setdefault(name)
    return tuple(found)


def recurring_mentions(earlier: Iterable[str], now: Sequence[str]) -> tuple[str, ...]:
    """The names of `now` that came up before, in full or in part: "gerald" recalls "gerald fitzwilliam".

    >>> recurring_mentions(["gerald fitzwilliam", "nasa"], ["gerald", "new york"])
    ('gerald',)
    """
    before = [frozenset(name.split()) for name in earlier]
    return tuple(name for name in now if any(_same(frozenset(name.split()), other) for other in before))


def year_mentions(text: str) -> tuple[int, ...]:
    """The distinct years from 1000 to 2099, in order of first mention; "1970s" counts as 1970.

    Numbers with a currency sign, a percent sign, separators or further digits are not years.

    >>> year_mentions("In 1974, not 1,974 or $1974, the 1980s were far off.")
    (1974, 1980)
    """
    return tuple(dict.fromkeys(int(match.group()) for match in _YEAR.finditer(text)))


def _runs(text: str) -> Iterator[list[_Word]]:
    """Runs of capitalised words, and each other word alone."""
    run: list[_Word] = []
    bridge: list[_Word] = []
    for word in _marked_words(text):
        if word.capital and run and word.joins and len(run) + len(bridge) < LONGEST_NAME:
            run += [*bridge, word]
            bridge = []
        elif run and not bridge and word.joins and word.text in lexicon("connectors"):
            bridge = [word]
        else:
            if run:
                yield run
            yield from ([each] for each in bridge)
            run, bridge = ([word], []) if word.capital else ([], [])
            if not word.capital:
                yield [word]
    if run:
        yield run


def _marked_words(text: str) -> Iterator[_Word]:
    end, last = 0, ""
    for match in WORD.finditer(text):
        between = text[end : match.start()]
        honorific = last.lower() in lexicon("short honorifics") and between == ". "
        opens = not last or (not honorific and _OPENING.search(between) is not None)
        joins = bool(last) and (between == " " or honorific) and not last.endswith(("'s", "’s"))
        yield _Word(match.group(), opens, joins)
        end, last = match.end(), match.group()


def _without_front(run: list[_Word], lowered: set[str]) -> list[_Word]:
    """A run at the start of a sentence without the words that have a capital only for that reason."""
    at = 0
    while at < len(run) and ((word := run[at].text.lower()) in _front() or word in lowered):
        at += 1
    return run[at:]


def _name(run: Sequence[_Word]) -> str | None:
    """The run as a name in lower case, or None where it names nothing."""
    parts = [_base(word.text) for word in run]
    titled = bool(parts) and parts[0] in lexicon("honorifics")
    while parts and (parts[0] in lexicon("honorifics") or (not titled and parts[0] in _small())):
        parts = parts[1:]
    if not parts or (not titled and all(part in _small() or part in _words_never_names() for part in parts)):
        return None
    last = run[-1].text
    if len(parts) == 1 and (len(parts[0]) == 1 or (last.isupper() and not _is_acronym(last))):
        return None
    return " ".join(parts)


def _base(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s").lower()


@cache
def _small() -> frozenset[str]:
    return lexicon("stopwords") | lexicon("connectors")


@cache
def _front() -> frozenset[str]:
    return _small() | lexicon("openers")


@cache
def _words_never_names() -> frozenset[str]:
    return lexicon("dates") | lexicon("never names")


def _is_acronym(word: str) -> bool:
    return 2 <= len(word) <= ACRONYM and word.isupper()


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    return one <= other or other <= one
