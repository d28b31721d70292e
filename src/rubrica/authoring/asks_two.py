"""Criteria that ask two things: where the second one begins, and both of them as criteria of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rubrica.text.texts import Texts
from rubrica.text.words import sentences

from .criterion_words import criterion_words, third_person

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[?.,;:!/()]")
_PHRASES = ("as well as", "along with", "in addition to", "together with", "and also", "but also", "while also")
_END = ("", ".", "?", "!")
_ARTICLES = ("the", "a", "an", "its", "their")
_ENUMERATED = re.compile(r"(?:^|\s)\(?(?:1|a|i)[.)]\s.*\s\(?(?:2|b|ii)[.)]\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TwoQuestions:
    """Where a criterion turns to a second thing, and the two wordings, where they can be told."""

    joint: str  # the words between the two
    first: str = ""
    second: str = ""
    instead: str = ""  # one wording, where there is a better one than two

    @property
    def wording(self) -> str:
        """Two criteria in place of one."""
        return f"{self.first} | {self.second}" if self.first and self.second else self.instead


@dataclass(frozen=True, slots=True)
class _Word:
    text: str  # in lower case
    start: int
    end: int


def two_questions(text: str) -> TwoQuestions | None:
    """The second thing a criterion asks, where it asks one.

    >>> found = two_questions("States the usual dose and warns about alcohol.")
    >>> found.first, found.second
    ('States the usual dose.', 'Warns about alcohol.')
    >>> two_questions("Compares the costs of petrol and electric cars.") is None
    True
    """
    found = _two_sentences(text)
    if found is not None:
        return found
    if _ENUMERATED.search(text):
        return TwoQuestions("a numbered list")
    for sentence in sentences(Texts(response=text), "response"):
        found = _in_sentence(_Sentence(text[sentence.start : sentence.end]))
        if found is not None:
            return found
    return None


def _two_sentences(text: str) -> TwoQuestions | None:
    """Two questions, or two things that the response does, one after the other."""
    verbs = criterion_words().third_persons
    asking = []
    for sentence in sentences(Texts(response=text), "response"):
        said = text[sentence.start : sentence.end]
        first = said.split(None, 1)[0].strip(",;:").lower() if said.split() else ""
        if said.endswith("?") or first in verbs:
            asking.append(said)
    return TwoQuestions("a second sentence", asking[0], asking[1]) if len(asking) > 1 else None


class _Sentence:
    """One sentence of a criterion, word by word, without its conditions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = _without_conditions([_Word(m[0].lower(), m.start(), m.end()) for m in _TOKEN.finditer(text)])
        self.asks = bool(self.words) and self.words[0].text in criterion_words().auxiliaries

    def word(self, at: int) -> str:
        return self.words[at].text if 0 <= at < len(self.words) else ""

    def any_before(self, at: int, wanted: frozenset[str]) -> bool:
        return any(word.text in wanted for word in self.words[:at])

    @property
    def is_relation(self) -> bool:
        """Whether two things are what the criterion is about, as in a comparison."""
        return any(word.text in criterion_words().relations for word in self.words)

    def first_verb(self, before: int) -> int | None:
        """Where the response begins to do something."""
        verbs = criterion_words().all_verbs
        begin = 1 if self.asks else 0
        found = [at for at in range(begin, before) if self.word(at) in verbs]
        clear = [at for at in found if self.word(at - 1) not in criterion_words().determiners]
        return clear[0] if clear else None

    def halves(self, joint: int, second: int, keep: int) -> TwoQuestions:
        """The two criteria: up to the joint, and the beginning (`keep` words) with what follows it."""
        said = " ".join(word.text for word in self.words[joint:second]).strip(" ,")
        mark = "?" if self.text.rstrip().endswith("?") else "."
        begin = self.text[: self.words[keep - 1].end] if keep else ""
        first = self.text[: self.words[joint].start].rstrip(" ,;") + mark
        rest = self.text[self.words[second].start :].strip()
        other = f"{begin} {rest}" if begin else rest[:1].upper() + rest[1:]
        return TwoQuestions(said, first, other if other.endswith((".", "?", "!")) else other + mark)


def _in_sentence(sentence: _Sentence) -> TwoQuestions | None:
    found = _by_phrase(sentence)
    if found is not None:
        return found
    for at in range(1, len(sentence.words)):
        if sentence.word(at) not in ("and", "but", ";") or _is_fixed(sentence, at):
            continue
        second = at + 1
        while sentence.word(second) in (",", "also", "then") or sentence.word(second).endswith("ly"):
            second += 1
        joint = at - 1 if sentence.word(at - 1) == "," else at
        found = _second_clause(sentence, joint, second) or _two_qualities(sentence, joint, at + 1)
        if found is None and sentence.word(at) == "and":
            found = _second_object(sentence, joint, second)
        if found is not None:
            return found
    return None


def _by_phrase(sentence: _Sentence) -> TwoQuestions | None:
    """Words that join two things, whatever the things are."""
    low = sentence.text.lower()
    if "and/or" in low:
        return TwoQuestions("and/or", instead=sentence.text.replace("and/or", "or"))
    for phrase in _PHRASES:
        size = len(phrase.split())
        for at in range(1, len(sentence.words) - size):
            if [word.text for word in sentence.words[at : at + size]] != phrase.split():
                continue
            if sentence.word(at + size) == "possible" or sentence.is_relation:
                continue
            verb = sentence.first_verb(at)
            if verb is not None and sentence.word(at + size) in criterion_words().third_persons:
                return sentence.halves(at, at + size, verb)  # it does something else
            return sentence.halves(at, at + size, (verb + 1) if verb is not None else _subject(sentence))
    for at in range(1, len(sentence.words) - 1):
        if sentence.word(at) == "while" and sentence.word(at + 1).endswith("ing"):
            return _while_doing(sentence, at)
        if sentence.word(at) == "both" and not sentence.is_relation:
            joint = next((j for j in range(at + 2, len(sentence.words) - 1) if sentence.word(j) == "and"), None)
            if joint is not None and not _is_fixed(sentence, joint):
                found = sentence.halves(joint, joint + 1, at)
                return TwoQuestions("both … and", found.first.replace("both ", "", 1), found.second)
    return None


def _while_doing(sentence: _Sentence, at: int) -> TwoQuestions:
    """What is done beside something else: ``while keeping a friendly tone``."""
    halves = sentence.halves(at, at + 1, 0)
    ending = sentence.word(at + 1)
    bases = (ending[:-3], ending[:-3] + "e", ending[:-4])
    verb = next((base for base in bases if base in criterion_words().all_verbs), None)
    if verb is None or sentence.asks:
        return TwoQuestions("while")
    rest = sentence.text[sentence.words[at + 1].end :]
    return TwoQuestions("while", halves.first, third_person(verb).capitalize() + rest)


def _second_clause(sentence: _Sentence, joint: int, second: int) -> TwoQuestions | None:
    """Something else that the response does, or a second question."""
    words = criterion_words()
    word, following = sentence.word(second), sentence.word(second + 1)
    in_relative = sentence.any_before(joint, words.relatives)
    if word in words.auxiliaries:
        if sentence.asks and not in_relative:
            return sentence.halves(joint, second, 0)
        if not sentence.asks and not in_relative and word in ("is", "are", "has", "have", "does", "do"):
            return sentence.halves(joint, second, _subject(sentence))
        return None
    is_verb = following in words.openers if word in words.noun_verbs else word in words.verbs and following != "of"
    if not is_verb or sentence.word(second - 1) in words.determiners:
        return None
    if sentence.asks == (word.endswith("s") and not word.endswith("ss")):
        return None  # the form of another subject: "the reader understands"
    verb = sentence.first_verb(joint)
    if verb is None and sentence.asks:
        return None
    told = (sentence.word(at) == "to" and sentence.word(at + 1) in words.all_verbs for at in range(joint))
    if sentence.asks and any(told):
        return None  # what the reader is told to do
    keep = (verb or 0) if sentence.asks else (verb if verb is not None else _subject(sentence))
    return sentence.halves(joint, second, keep)


def _two_qualities(sentence: _Sentence, joint: int, second: int) -> TwoQuestions | None:
    """Two adjectives, or two adverbs, that do not mean the same."""
    qualities = criterion_words().qualities
    while sentence.word(second) in ("also", "very", "not", "too"):
        second += 1
    before, after, following = sentence.word(joint - 1), sentence.word(second), sentence.word(second + 1)
    if before.endswith("ly") and after.endswith("ly") and following in _END:
        if qualities.get(before[:-2], before) == qualities.get(after[:-2], after):
            return None
        return sentence.halves(joint, second, joint - 1)
    opposed = sentence.word(second - 1) == "but" and following in _END and after.isalpha()  # whatever it sets apart
    if before not in qualities or (after not in qualities and not opposed):
        return None
    if qualities[before] == qualities.get(after):
        return None
    is_said_of_it = following in (*_END, ",", "to", "for", "in", "enough") or after == "free"
    if not is_said_of_it or not sentence.any_before(joint, criterion_words().linking):
        return None
    return sentence.halves(joint, second, joint - 1)


def _second_object(sentence: _Sentence, joint: int, second: int) -> TwoQuestions | None:
    """A second thing to say: ``the year and the place``, ``the dose and how often``."""
    verb = sentence.first_verb(joint)
    if verb is None:
        verb = next((at for at in range(1, joint) if sentence.word(at) in ("has", "have")), None)
    if verb is None or sentence.is_relation:
        return None
    word, before = sentence.word(second), sentence.word(joint - 1)
    if word in criterion_words().asking and before not in criterion_words().asking:
        return sentence.halves(joint, second, verb + 1)
    if word == "that" and sentence.word(verb + 1) == "that":
        return sentence.halves(joint, second, verb + 1)
    if word in ("a", "an") and joint - verb <= 6:
        return sentence.halves(joint, second, verb + 1)
    if word in _ARTICLES and sentence.word(verb + 1) in _ARTICLES and joint - verb <= 5:
        return sentence.halves(joint, second, verb + 1)
    return None


def _is_fixed(sentence: _Sentence, at: int) -> bool:
    """Whether the words around a joint are one thing, as pros and cons are, or a name."""
    around = f"{sentence.word(at - 1)} {sentence.word(at)} {sentence.word(at + 1)}"
    if around in criterion_words().fixed_pairs:
        return True
    if sentence.word(at) == "but" and sentence.any_before(at, criterion_words().before_but):
        return True
    return _is_name(sentence, at - 1) and _is_name(sentence, at + 1)


def _is_name(sentence: _Sentence, at: int) -> bool:
    if not 0 < at < len(sentence.words):
        return False
    return sentence.text[sentence.words[at].start].isupper()


def _subject(sentence: _Sentence) -> int:
    """How many words stand for who does it: ``the code``, ``it``."""
    return 2 if sentence.word(0) in criterion_words().determiners else 1


def _without_conditions(words: list[_Word]) -> list[_Word]:
    """The words without clauses that say when, if or why, which may name two things."""
    kept: list[_Word] = []
    skipping = False
    for at, word in enumerate(words):
        if not skipping and word.text in criterion_words().clauses and at > 0 and words[at - 1].text != "and":
            skipping = True
        elif skipping and word.text in (",", ";", ".", "?"):
            skipping = False
        elif not skipping:
            kept.append(word)
    return kept
