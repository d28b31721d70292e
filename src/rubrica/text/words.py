"""Words, sentences and syllables of a text, computed at most once per context.

Every reader takes the texts and the name of a field, and keeps its result in ``texts.derived``. All are
linear: each pattern below either consumes what it looks at or looks ahead a bounded way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from operator import mul
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.lexicon import Lexicon, lexicon, lexicon_regex
from rubrica.text.patterns import Regex
from rubrica.text.texts import Field, Texts
from rubrica.text.truncation import judged_part

P = ParamSpec("P")
T = TypeVar("T")

# Letters and digits of any script with the marks that combine with them, joined by inner apostrophes and
# hyphens.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u200c\u200d"
)
WORD = lazy_pattern(rf"[^\W_][\w{_MARKS}]*(?:['’ʼ‐-][^\W_][\w{_MARKS}]*)*")
_SENTENCE_END = lazy_pattern(
    r"""(?P<mark>[.!?…⁇⁈⁉‽]+)(?P<close>["'”’»)\]*_~`]*)"""  # Latin marks: what follows decides
    r"""|(?P<full>[。！？｡؟۔।॥։።\u037e]+)[」』”’»）)\]"]*"""  # marks that need no space after them
    r"""|\n(?=[ \t]*(?:\n|[-*+•>#|]|\d{1,3}[.)][ \t]))"""  # a blank line; a list item or heading next
)
QUESTION_MARKS = frozenset("?？؟⁇⁈⁉‽\u037e")
EXCLAMATION_MARKS = frozenset("!！⁈⁉")
_VOWELS = lazy_pattern("[aeiouyàáâäãåæèéêëìíîïòóôöõøùúûüýœ]+")
_ENDINGS = (("ies", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", ""), ("e", ""))
_SILENT = lazy_pattern(r"(?:[^laeiouy]e|[^td]ed|[^sxzcgh]es)$")


class Sentence(NamedTuple):
    """A stretch of a text that ends in a mark, a blank line or the text's end: ``text[start:end]``."""

    start: int
    end: int
    marks: str  # the marks it ends in, "" where it just stops


_UNREAD = object()


def cached_reading(read: Callable[Concatenate[Texts, P], T]) -> Callable[Concatenate[Texts, P], T]:
    """A reading of the texts that is done at most once for each context and arguments."""

    @wraps(read)
    def reader(texts: Texts, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (read, args, *kwargs.items()) if kwargs else (read, args)
        found = texts.derived.get(key, _UNREAD)
        if found is _UNREAD:
            found = texts.derived[key] = read(texts, *args, **kwargs)
        return cast("T", found)

    return reader


@cached_reading
def words(texts: Texts, name: Field) -> list[str]:
    """The words, in lower case, with straight apostrophes.

    >>> words(Texts(response="Don’t re-use it: 3 times!"), "response")
    ["don't", 're-use', 'it', '3', 'times']
    """
    plain = texts.of(name).lower().replace("’", "'").replace("ʼ", "'").replace("_", " ")
    return WORD.findall(plain)


@cached_reading
def word_counts(texts: Texts, name: Field) -> Counter[str]:
    """How often each word occurs."""
    return Counter(words(texts, name))


@cached_reading
def spaced_words(texts: Texts, name: Field) -> list[str]:
    """The text split at white space, as `str.split` does: the meaning of every word count."""
    return texts.of(name).split()


@cached_reading
def sentences(texts: Texts, name: Field) -> list[Sentence]:
    """The sentences: each holds a word, or is a lone question or exclamation mark.

    >>> [s.marks for s in sentences(Texts(response="Dr. Who? Yes! It costs 3.50 now"), "response")]
    ['?', '!', '']
    """
    return list(_split_sentences(texts.of(name)))


@cached_reading
def sentence_lengths(texts: Texts, name: Field) -> list[int]:
    """The words of each sentence, split at white space."""
    text = texts.of(name)
    return [len(text[sentence.start : sentence.end].split()) for sentence in sentences(texts, name)]


@cached_reading
def syllable_count(texts: Texts, name: Field) -> int:
    """The syllables of all words, by the rule of thumb of `syllables`."""
    counts = word_counts(texts, name)
    return sum(map(mul, map(syllables, counts), counts.values()))


@lru_cache(maxsize=20_000)
def syllables(word: str) -> int:
    """Vowel groups, without a silent last e, at least one: a rule of thumb for English.

    >>> [syllables(word) for word in ("cat", "table", "made", "wanted", "beautiful", "boxes")]
    [1, 2, 1, 2, 3, 2]
    """
    groups = sum(1 for _ in _VOWELS.finditer(word))
    return max(1, groups - (1 if groups > 1 and _SILENT.search(word[-3:]) else 0))


@cached_reading
def stems(texts: Texts, name: Field) -> frozenset[str]:
    """The distinct content words, without stop words, cut to a light stem.

    >>> sorted(stems(Texts(prompt="The cats were chasing a cat"), "prompt"))
    ['cat', 'chas']
    """
    return frozenset(filter(None, map(_content_stem, word_counts(texts, name))))


@lru_cache(maxsize=20_000)
def _content_stem(word: str) -> str | None:
    """The stem of a word that says what a text is about; None for the others."""
    return stem(word) if word not in lexicon("stopwords") and (len(word) > 1 or word.isdigit()) else None


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """A word without its common English endings, never under three letters."""
    word = word.removesuffix("'s")
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + instead
    return word


@cached_reading
def lexicon_spans(texts: Texts, name: Field, which: Lexicon) -> list[tuple[int, int]]:
    """Where the entries of a word list occur in a field, in characters."""
    return lexicon_regex(which).spans(texts.of(name))


@cached_reading
def whole_lexicon_spans(texts: Texts, name: Field, which: Lexicon) -> list[tuple[int, int]]:
    """The same in the whole text, as far as the list can be looked for in it."""
    return lexicon_regex(which).spans(texts.whole(name))


def whole_lexicon_unread(texts: Texts, name: Field, which: Lexicon) -> int:
    """Characters of the whole text in which a list was not looked for."""
    return judged_part(texts.whole(name), lexicon_regex(which).longest).left_out


@cached_reading
def pattern_spans(texts: Texts, name: Field, pattern: re.Pattern[str] | Regex) -> list[tuple[int, int]]:
    """Where one of our own fixed patterns occurs in a field."""
    if isinstance(pattern, Regex):
        return pattern.spans(texts.of(name))
    return [match.span() for match in pattern.finditer(texts.of(name))]


def _split_sentences(text: str) -> Iterator[Sentence]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        at, end = match.span()
        marks = match["mark"]
        if marks is None:
            marks = match["full"] or ""
        elif not _ends_here(text, at, end, marks):
            continue
        sentence = _trimmed(text, start, end, marks)
        if sentence is not None:
            yield sentence
        start = end
    sentence = _trimmed(text, start, len(text), "")
    if sentence is not None:
        yield sentence


def _ends_here(text: str, at: int, after: int, marks: str) -> bool:
    """Whether Latin closing marks end a sentence: 3.5, e.g. and J. Smith do not."""
    following = text[after : after + 3]
    if marks == ".":
        if not following:
            return True
        if following[0].isascii() and not following[0].isspace():
            return False
        before = text[max(0, at - 8) : at].rsplit(None, 1)
        last = before[-1].strip("(\"'“‘[").lower() if before else ""
        return not (last in lexicon("abbreviations") or (len(last) == 1 and last.isalpha() and last != "i"))
    if not following or following[0].isspace():
        continued = set(marks) <= {".", "…"} and following.lstrip()[:1].islower()
        return not continued
    next_one = following[0]
    asks_or_calls = not EXCLAMATION_MARKS.isdisjoint(marks[-1]) or not QUESTION_MARKS.isdisjoint(marks[-1])
    return asks_or_calls and (next_one.isupper() or not (next_one.isascii() or next_one.isalnum()))


def _trimmed(text: str, start: int, end: int, marks: str) -> Sentence | None:
    body = text[start:end]
    left = len(body) - len(body.lstrip())
    body = body.strip()
    if WORD.search(body) is None and QUESTION_MARKS.isdisjoint(marks) and EXCLAMATION_MARKS.isdisjoint(marks):
        return None
    return Sentence(start + left, start + left + len(body), marks)
