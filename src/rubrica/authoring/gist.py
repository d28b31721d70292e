"""What a criterion is about, in a form that can be compared: its words, whether it denies, and its bounds."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise

from rubrica.text.lexicon import lexicon
from rubrica.text.words import WORD, stem

from .criterion_words import criterion_words

_NEGATIONS = frozenset(["not", "no", "never", "without", "nor", "cannot"])
_LEFT_OUT = re.compile(r"\bfree (?:of|from)\b|\bleaves?(?= [^.?]*\bout\b)|\bkeeps?(?= [^.?]*\bout of\b)")
_NUMBERS = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
    )
}
_NUMBER = rf"(?P<number>\d+(?:\.\d+)?|{'|'.join(_NUMBERS)})"
_BOUND = re.compile(
    rf"\b(?:(?P<low>at least|no (?:fewer|less) than|a minimum of)|(?P<above>(?:more|longer|larger) than|over|above)"
    rf"|(?P<high>at most|no more than|up to|a maximum of|not more than|limited to)"
    rf"|(?P<below>(?:fewer|less|shorter|smaller) than|under|below)"
    rf"|(?P<exact>exactly)) {_NUMBER} (?P<unit>[^\W\d_]+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Bound:
    """How many of something there may be, both ends included."""

    unit: str
    low: float
    high: float

    def excludes(self, other: Bound) -> bool:
        return self.unit == other.unit and (self.low > other.high or other.low > self.high)


@dataclass(frozen=True, slots=True)
class Gist:
    """What is left of a criterion without the words that make no difference."""

    words: frozenset[str]  # stems
    denies: bool = False
    says: bool = False  # it asks that something is said, not how
    bounds: tuple[Bound, ...] = ()
    order: tuple[str, ...] = ()  # the same words as they stand there
    language: str = ""  # in which something is written

    @classmethod
    def of(cls, text: str) -> Gist:
        """The gist of a criterion.

        >>> found = Gist.of("Does not mention the price of the ticket.")
        >>> sorted(found.words), found.denies
        (['pric', 'ticket'], True)
        """
        lists = criterion_words()
        ignored = lists.saying | lists.withholding | lists.actors
        dropped = lexicon("stopwords") | _NEGATIONS
        bounds = tuple(map(_bound, _BOUND.finditer(text)))
        rest = _BOUND.sub(lambda match: f" {match['unit']} ", text).lower().replace("’", "'")
        rest = _LEFT_OUT.sub(" without ", rest)
        words = [word.removesuffix("n't") if word.endswith("n't") else word for word in WORD.findall(rest)]
        stems = [stem(word) for word in words]
        denials = sum(word in _NEGATIONS for word in words) + rest.count("n't")
        denials += sum(one in lists.withholding for one in stems)
        kept = tuple(one for one, word in zip(stems, words, strict=True) if word not in dropped and one not in ignored)
        says = any(one in lists.saying for one in stems[:6])
        named = {after for word, after in pairwise(words) if word == "in" and after in lists.languages}
        language = named.pop() if len(named) == 1 else ""
        return cls(frozenset(kept), denials % 2 == 1, says, bounds, kept, language)

    def denies_all_of(self, other: Gist) -> bool:
        """Whether what it wants left out is what the other wants a certain kind of: any diagnosis, a firm diagnosis."""
        if not self.denies or other.denies or not self.words or not self.words < other.words:
            return False
        kinds = other.words - self.words
        return (
            other.says
            and len(kinds) == 1
            and any(before in kinds and after in self.words for before, after in pairwise(other.order))
        )

    def shared(self, other: Gist) -> float:
        """The share of all their words that both have, 0 to 1."""
        union = self.words | other.words
        return len(self.words & other.words) / len(union) if union else 0.0


def _bound(match: re.Match[str]) -> Bound:
    said = match["number"].lower()
    number = float(_NUMBERS.get(said, 0) or said)
    unit = stem(match["unit"].lower())
    if match["low"]:
        return Bound(unit, number, math.inf)
    if match["above"]:
        return Bound(unit, math.nextafter(number, math.inf), math.inf)
    if match["high"]:
        return Bound(unit, -math.inf, number)
    if match["below"]:
        return Bound(unit, -math.inf, math.nextafter(number, -math.inf))
    return Bound(unit, number, number)
