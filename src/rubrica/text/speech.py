"""What a voice cannot say well: addresses, emoji, code, written abbreviations, unreadable numbers, jargon and tangles.

Markup is counted by `formatting_count`. A number that someone is told to call is meant to be said, however long: it
costs nothing. Titles ("Dr."), times ("5 p.m.") and grouped numbers ("1,250") are read out well and count as nothing.
Abbreviations, jargon and tangled sentences are known for English.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.lexicon import lexicon_regex
from rubrica.text.style import LINK
from rubrica.text.texts import Feature, Span, Texts
from rubrica.text.words import cached_reading, sentences, stem, words

MOST_SPANS = 20  # stretches of evidence per feature
LONGEST = 20_000  # characters that are read: many times what anyone would listen to
LONG_SENTENCE = 28  # words beyond which a listener has lost the beginning
TANGLED_WORDS, TANGLED_JOINS = 16, 3  # a shorter sentence is hard to follow with this many clauses joined in it

Spans = list[tuple[int, int]]

_ADDRESS = lazy_pattern(
    rf"{LINK.pattern}"
    r"|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"
    r"|\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,3}\.(?:com|org|net|edu|gov|io|info|co\.uk)\b(?:/[^\s<>]*)?",
    re.IGNORECASE,
)
_EMOJI = lazy_pattern(
    r"(?:[\U0001F000-\U0001FAFF\u2600-\u27BF\u2B00-\u2BFF\u2190-\u21FF][\uFE0F\u200D]*)+"
    r"|(?<![\w:])[:;=][-^']?[)(DPpOo3|/\\](?!\w)|<3(?!\d)"
)
_CODE = lazy_pattern(
    r"\{\s*[\"'][^\"'{}\n]{1,60}[\"']\s*:[^{}\n]{0,100}\}?"  # {"mood": "low"}
    r"|\[\s*[\"'][^\"'\]\n]{0,60}[\"']\s*[,\]]"  # ["a", "b"]
    r"|\b[a-zA-Z]\w{0,40}(?:\(\)|\([^()\n]{0,80}\)\s{0,3}(?:;|=>|\{))"  # call(x);
    r"|\b(?:const|let|var)\s{1,3}\w{1,40}\s{0,3}=|\b(?:def|function)\s{1,3}\w{1,40}\("
    r"|</?[a-z][\w-]{0,20}(?:\s[^<>\n]{0,100})?/?>"
    r"|\b[a-z]{1,40}(?:_[a-z0-9]{1,40})+\b",  # snake_case
)
_ABBREVIATION = lazy_pattern(
    r"(?<![\w.])(?:e\.\s?g\.|i\.\s?e\.|eg\.|ie\.|etc\b\.?|approx\.|incl\.|excl\.|vs\.|cf\.|viz\.|ca\.|resp\.|esp\.|"
    r"min\.(?!\s*$)|max\.(?=\s\d)|avg\.|tel\.|ext\.|dept\.|govt\.|misc\.|appt\.|no\.(?=\s?\d)|w/o?(?=\s|\w)|b/c|n/a)",
    re.IGNORECASE,
)
_CURRENCY = "(?:USD|EUR|GBP|CHF|JPY|CNY|INR|BRL|CAD|AUD)"
_NUMBER = lazy_pattern(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?)?\b"  # 2026-03-01T08:00
    r"|\b\d{1,2}[/.]\d{1,2}[/.](?:19|20)\d{2}\b"  # 01/03/2026
    r"|\b\d{1,2}:\d{2}:\d{2}\b"
    r"|\b\d{1,30}\.\d{4,30}\b|\b0\.\d{3}\b"  # 3.14159
    r"|\b\d{1,30}(?:\.\d{1,30})?e[+-]?\d{1,4}\b"
    rf"|\b{_CURRENCY}\s?\d[\d.,]{{0,30}}|\b\d[\d.,]{{0,30}}\s?{_CURRENCY}\b"
    r"|\b(?=[0-9a-f]{0,40}\d)(?=[0-9a-f]{0,40}[a-f])[0-9a-f]{8,40}(?:-[0-9a-f]{4,12}){0,4}\b"  # 9f8c01ab
    r"|(?<![\d.,])\d{7,40}(?![\d.,]\d)",
    re.IGNORECASE,
)
_TO_CALL = lazy_pattern(
    r"\b(?:call|calls|calling|ring|dial|phone|telephone|text|number|reach|contact|help ?lines?|hot ?lines?|life ?line|"
    r"samaritans|emergency|llam\w{0,6}|anruf\w{0,4}|appel\w{0,5}|ligue|ligar|chiam\w{0,5})\b",
    re.IGNORECASE,
)
_ACRONYM = lazy_pattern(r"\b[A-Z][A-Z0-9]{2,5}s?\b")
_COMMON = lazy_pattern(r"(?:USA|BBC|DVD|GPS|FAQ|VIP|ATM|NASA|CEO|PDF|PIN|BBQ|DIY|ASAP|LOL|OMG|SOS|NHS|SMS|USB|HIV)s?")
_JOIN = lazy_pattern(
    r"[;:()–—]|\b(?:which|who|whom|whose|although|though|because|since|while|whereas|whether|unless|until|after|before|"
    r"where)\b",
    re.IGNORECASE,
)


def _found(pattern: re.Pattern[str], text: str) -> Spans:
    return [match.span() for match in pattern.finditer(text[:LONGEST])]


@cached_reading
def address_spans(texts: Texts) -> Spans:
    """Web and mail addresses."""
    return _found(_ADDRESS, texts.response)


@cached_reading
def emoji_spans(texts: Texts) -> Spans:
    """Emoji, pictographs and smileys made of punctuation."""
    return _found(_EMOJI, texts.response)


@cached_reading
def code_spans(texts: Texts) -> Spans:
    """JSON, calls, tags and names with underscores."""
    return _found(_CODE, texts.response)


@cached_reading
def abbreviation_spans(texts: Texts) -> Spans:
    """Abbreviations that are written and not said."""
    return _found(_ABBREVIATION, texts.response)


@cached_reading
def number_spans(texts: Texts) -> Spans:
    """Numbers that nobody follows by ear, unless the sentence is about whom to call.

    >>> [number_spans(Texts(response=said)) for said in ("Call 8002738255 now.", "It costs 1,250 dollars.")]
    [[], []]
    >>> number_spans(Texts(response="It weighs 3.14159 grams."))
    [(10, 17)]
    """
    text = texts.response
    calls = [
        (each.start, each.end) for each in sentences(texts, "response") if _TO_CALL.search(text, each.start, each.end)
    ]
    taken = address_spans(texts)
    return [
        (start, end)
        for start, end in _found(_NUMBER, text)
        if not _inside(start, taken) and not (_inside(start, calls) and text[start:end].isdigit())
    ]


@cached_reading
def jargon_spans(texts: Texts) -> Spans:
    """Words of a trade, and acronyms, that the user has not used."""
    text = texts.response[:LONGEST]
    before = Texts("\n".join([*texts.asked, texts.prompt]))
    known = {stem(word) for word in words(before, "prompt")}
    shouted = sum(map(str.isupper, text)) * 2 > sum(map(str.isalpha, text))
    found = lexicon_regex("jargon").spans(text)
    if not shouted:
        found += [span for span in _found(_ACRONYM, text) if not _COMMON.fullmatch(text[slice(*span)])]
    taken = [*address_spans(texts), *code_spans(texts), *number_spans(texts)]
    return sorted(
        span
        for span in set(found)
        if not _inside(span[0], taken) and not {stem(each) for each in text[slice(*span)].lower().split()} <= known
    )


@cached_reading
def complex_spans(texts: Texts) -> Spans:
    """Sentences that a listener loses: long ones of several clauses, and shorter ones of many."""
    found = ((each.start, each.end) for each in sentences(texts, "response"))
    return [span for span in found if _is_complex(texts.response[slice(*span)])]


def _is_complex(sentence: str) -> bool:
    long, joins = len(sentence.split()), len(_JOIN.findall(sentence))
    return (long > LONG_SENTENCE and joins + sentence.count(",") >= 2) or (
        long >= TANGLED_WORDS and joins >= TANGLED_JOINS
    )


def _inside(place: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


def _feature(name: str, says: str, spans: Callable[[Texts], Spans]) -> Feature:
    label = name.removesuffix("_count").replace("_", " ")
    return Feature(
        name,
        says,
        0.0,
        math.inf,
        lambda texts: float(len(spans(texts))),
        lambda texts: [
            Span("response", start, end, texts.response[start:end][:200], label)
            for start, end in spans(texts)[:MOST_SPANS]
        ],
    )


FEATURES: tuple[Feature, ...] = (
    _feature("address_count", "web and mail addresses in the response", address_spans),
    _feature("emoji_count", "emoji, pictographs and smileys in the response", emoji_spans),
    _feature("code_count", "JSON, code, tags and names_with_underscores in the response", code_spans),
    _feature(
        "abbreviation_count",
        "written abbreviations in the response that a voice stumbles over: e.g., approx., vs.; not Dr. or p.m.",
        abbreviation_spans,
    ),
    _feature(
        "unreadable_number_count",
        "numbers in the response that nobody follows by ear: 7 digits and more in a row, 3 decimals and more, dates in "
        "digits, currency codes; a number to call is none",
        number_spans,
    ),
    _feature(
        "jargon_count",
        "words of a trade and acronyms in the response that the user has not used (English)",
        jargon_spans,
    ),
    _feature(
        "complex_sentence_count",
        f"sentences of the response with several clauses and over {LONG_SENTENCE} words, or with {TANGLED_JOINS} "
        f"joined clauses and {TANGLED_WORDS} words and more (English)",
        complex_spans,
    ),
)
