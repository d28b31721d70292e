"""How a text is written: formatting, formality, sentiment, refusal, by small documented rules for English."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Literal

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.lexicon import lexicon
from rubrica.text.patterns import Regex, compile_keywords, compile_regex
from rubrica.text.texts import Field, Texts
from rubrica.text.words import (
    EXCLAMATION_MARKS,
    QUESTION_MARKS,
    cached_reading,
    lexicon_spans,
    pattern_spans,
    sentence_lengths,
    sentences,
    spaced_words,
    syllable_count,
    word_counts,
    words,
)

# Inner stretches are bounded (200 characters) so that an unclosed mark costs a bounded look ahead.
FENCE = lazy_pattern(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
HEADING = lazy_pattern(r"^ {0,3}#{1,6}[ \t]+\S[^\n]{0,200}", re.MULTILINE)
LIST_ITEM = lazy_pattern(r"^[ \t]*(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+(?=\S)", re.MULTILINE)
LINK = lazy_pattern(r"\b(?:https?://|www\.)[^\s<>]+", re.IGNORECASE)
NUMBER = lazy_pattern(r"\d+(?:[.,]\d+)*")
FORMATTING = lazy_pattern(
    r"(?<![\w*])\*{1,3}(?=[^\s*])[^*\n]{1,200}(?<=\S)\*{1,3}(?![\w*])"  # *italics*, **bold**; not 3 * 4
    r"|\*\*(?=\w)"  # bold that never closes
    r"|(?<![\w_])_{1,3}(?=[^\s_])[^_\n]{1,200}(?<=\S)_{1,3}(?![\w_])"  # _italics_; not snake_case
    r"|~~(?=\S)[^~\n]{1,200}~~"
    r"|`{3,}|`[^`\n]{1,200}`"
    r"|(?<![\w&#])#(?=[^\W\d_])\w{1,100}"  # #hashtag; not C# or #1
    r"|!?\[[^\]\[\n]{1,200}\]\([^()\s]{1,500}\)"  # [text](address)
    r"|</?(?:b|i|u|em|strong|p|br|hr|ul|ol|li|div|span|a|code|pre|h[1-6]|table|tr|td|th|img|sub|sup)\b[^<>\n]{0,200}>"
    r"|^ {0,3}#{1,6}[ \t]+(?=\S)|^[ \t]*(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+(?=\S)"  # headings and list items
    r"|^[ \t]*>+[ \t]|^[ \t]*\|[^\n]{0,300}|^[ \t]*(?:---+|\*\*\*+|___+)[ \t]*$",  # quotes, table rows, rules
    re.MULTILINE | re.IGNORECASE,
)
PRONOUN = lazy_pattern(
    r"(?<![\w.])(?!(?-i:US)\b)(?:i(?!\.\w)|me|my|mine|myself|you|your|yours|yourself|yourselves|we|us|our|ours|ourselves"
    r"|he|him|his|himself|she|her|hers|herself|they|them|their|theirs|themselves)(?!\w)",
    re.IGNORECASE,
)
_NOT_ABLE = (
    r"(?:can(?:no|['’])?t|can not|won['’]t(?: be able to)?|will not|could(?: not|n['’]t)|"
    r"(?:am|['’]m|are|['’]re) (?:not able|unable|not allowed|not permitted) to|"
    r"(?:do not|don['’]t) feel comfortable)"
)
_MOVED = (  # "I can't help noticing …": nothing is refused
    r"(?:but|it|myself|ourselves|(?:notic|feel|think|wonder|smil|laugh|grin|chuckl|giggl|admir|lov|lik|worry|cry|imagin|"
    r"remember|hop|be|agree|ask|see|observ|point|fall)\w{0,2}ing)\b"
)
_REFUSED = (
    rf"(?:help(?! {_MOVED})|assist|provid|support (?:that|this)|do (?:that|this)|answer|comply|fulfil|share|creat|"
    r"generat|writ|produc|offer|discuss|engag|continu|participat|facilitat|respond|"
    r"give (?:you )?(?:instruction|advice|information|that)|"
    r"complet|accommodat|with (?:that|this))"
)
REFUSAL = lazy_pattern(
    rf"\b(?:i|we) ?{_NOT_ABLE},? (?:(?:\w+ly|just|also|in good conscience) ){{0,2}}{_REFUSED}"
    r"|\b(?:i|we) (?:must|have to|will|need to|['’]ll) (?:respectfully |politely )?(?:decline|refuse)"
    rf"|\bi(?:['’]m| am) (?:sorry|afraid),? (?:but )?(?:i|we) (?:can(?:no|['’])?t|won['’]t)\b(?! help {_MOVED})"
    r"|\bas an ai\b[^.!?\n]{0,60}\b(?:cannot|can['’]t|unable|not able|won['’]t|don['’]t have|do not have)\b"
    r"|\bnot something (?:i|we) can (?:help|do|assist|provide)"
    r"|\b(?:against|violates?) (?:my|our) (?:guidelines|polic(?:y|ies)|programming|principles)",
    re.IGNORECASE,
)
REFUSAL_WORDS = 150  # a longer text does more than refuse


@cache
def _second_person() -> Regex:
    return compile_keywords(["you", "your", "yours", "yourself", "yourselves"])


@cache
def _contraction() -> Regex:
    return compile_regex(  # by re2: looking back from an apostrophe costs the standard library a retry per word
        r"\b(?:\w{1,20}n['’]t|\w{1,20}['’](?:re|ve|ll|d|m)|"
        r"(?:it|that|what|who|where|there|here|how|he|she|let|when)['’]s"
        r"|gonna|wanna|gotta|y['’]all)\b",
        ignore_case=True,
    )


def second_person_spans(texts: Texts, name: Field) -> list[tuple[int, int]]:
    return pattern_spans(texts, name, _second_person())


def contraction_spans(texts: Texts, name: Field) -> list[tuple[int, int]]:
    return pattern_spans(texts, name, _contraction())


def has_fence(text: str) -> bool:
    """Whether a text may hold a fence of code: most have none of its marks, which is seen at once."""
    return "```" in text or "~~~" in text


def question_spans(texts: Texts, name: Field) -> list[tuple[int, int]]:
    """The sentences that end in a question mark of any script."""
    return [(s.start, s.end) for s in sentences(texts, name) if not QUESTION_MARKS.isdisjoint(s.marks)]


def exclamation_spans(texts: Texts, name: Field) -> list[tuple[int, int]]:
    """The sentences that end in an exclamation mark."""
    return [(s.start, s.end) for s in sentences(texts, name) if not EXCLAMATION_MARKS.isdisjoint(s.marks)]


@cached_reading
def emotion_spans(texts: Texts, name: Field, which: Literal["distress", "joy"]) -> list[tuple[int, int]]:
    """Words of distress or joy. Negated joy ("not happy") is distress; negated distress is neither."""
    text = texts.of(name)
    distress, joy = lexicon_spans(texts, name, "distress"), lexicon_spans(texts, name, "joy")
    unhappy = {span for span in joy if _negated_before(text, span[0])}
    if which == "joy":
        return [span for span in joy if span not in unhappy]
    return sorted([span for span in distress if not _negated_before(text, span[0])] + sorted(unhappy))


def reading_grade(texts: Texts, name: Field) -> float:
    """Flesch-Kincaid grade: 0.39 words per sentence + 11.8 syllables per word - 15.59, within 0 and 20."""
    total, number = len(words(texts, name)), len(sentences(texts, name))
    if not total:
        return 0.0
    grade = 0.39 * total / max(1, number) + 11.8 * syllable_count(texts, name) / total - 15.59
    return min(20.0, max(0.0, grade))


def formality(texts: Texts, name: Field) -> float:
    """How formal a text is, from 0, casual, to 1, formal; 0 without words.

    With f formal markers, c casual ones (contractions and exclamations too) and s sentences it is
    0.25 + 0.45 min(1, f/s) + 0.6 max(0, long word share - 0.15) + (0.1 if c = 0) - 0.35 min(1, c/s).
    """
    total = len(words(texts, name))
    if not total:
        return 0.0
    number = max(1, len(sentences(texts, name)))
    formal = len(lexicon_spans(texts, name, "formal"))
    casual = (
        len(lexicon_spans(texts, name, "casual"))
        + len(contraction_spans(texts, name))
        + len(exclamation_spans(texts, name))
    )
    value = 0.25 + 0.45 * min(1.0, formal / number) + 0.6 * max(0.0, long_word_share(texts, name) - 0.15)
    value += 0.1 if casual == 0 else -0.35 * min(1.0, casual / number)
    return min(1.0, max(0.0, value))


def long_word_share(texts: Texts, name: Field) -> float:
    """Words of seven letters and more, among all words."""
    counts = word_counts(texts, name)
    total = len(words(texts, name))
    return sum(number for word, number in counts.items() if len(word) >= 7) / total if total else 0.0


@cached_reading
def sentiment(texts: Texts, name: Field) -> float:
    """(p - n) / (p + n + 1) over positive and negative words; one after a strong word ("very") weighs 1.5.

    A negator within the three words before turns a word round; "n't" is one too.
    """
    good, bad = lexicon("positive"), lexicon("negative")
    plus = minus = 0.0
    negated_until = -1
    previous = ""
    for at, word in enumerate(words(texts, name)):
        if word in lexicon("negators") or word.endswith("n't"):
            negated_until = at + 3
        elif word in good or word in bad:
            weight = 1.5 if previous in lexicon("intensifiers") else 1.0
            if (word in good) != (at <= negated_until):
                plus += weight
            else:
                minus += weight
        previous = word
    return (plus - minus) / (plus + minus + 1.0)


def refusal_spans(texts: Texts, name: Field) -> list[tuple[int, int]]:
    """The refusing words, where the text mainly refuses.

    It does when one of its first two sentences refuses, and it has at most 150 words, no code and under three
    list items.
    """
    opening = sentences(texts, name)[:2]
    if not opening or len(spaced_words(texts, name)) > REFUSAL_WORDS:
        return []
    text = texts.of(name)
    match = REFUSAL.search(text, 0, opening[-1].end)
    if match is None or (has_fence(text) and FENCE.search(text)) or len(pattern_spans(texts, name, LIST_ITEM)) >= 3:
        return []
    return [match.span()]


def code_block_spans(texts: Texts, name: Field) -> list[tuple[int, int]]:
    """Fenced code blocks: every opening fence with its closing one, or with the end of the text."""
    if not has_fence(texts.of(name)):
        return []
    fences = [start for start, _ in pattern_spans(texts, name, FENCE)]
    ends = [end for _, end in pattern_spans(texts, name, FENCE)]
    closed = [*ends, len(texts.of(name))]
    return [(fences[at], closed[at + 1]) for at in range(0, len(fences), 2)]


def repeated_sentence_share(texts: Texts, name: Field) -> float:
    """Sentences that were already said, word for word but for case and spacing, among all sentences."""
    text = texts.of(name)
    said = [" ".join(text[s.start : s.end].lower().split()) for s in sentences(texts, name)]
    return 1.0 - len(set(said)) / len(said) if said else 0.0


def repeated_trigram_share(texts: Texts, name: Field) -> float:
    """Runs of three words that occurred before, among all runs of three words."""
    found = words(texts, name)
    if len(found) < 3:
        return 0.0
    runs = [(a, b, c) for (a, b), (_, c) in pairwise(pairwise(found))]
    return 1.0 - len(set(runs)) / len(runs)


def longest_sentence(texts: Texts, name: Field) -> int:
    """The most words in one sentence."""
    return max(sentence_lengths(texts, name), default=0)


_JUST_NEGATED = lazy_pattern(
    r"(?:\b(?:not|never|no longer|hardly|without)|n['’]t)"
    r"(?:\s+(?:very|really|so|too|that|all that|feeling|feel|been|exactly))?\s+\Z",
    re.IGNORECASE,
)


def _negated_before(text: str, at: int) -> bool:
    return _JUST_NEGATED.search(text[max(0, at - 30) : at]) is not None
