"""The text features: numbers that formulas read by name.

A feature of one text exists twice: ``question_count`` reads the response, ``prompt_question_count`` the
prompt. Features of several texts, at the end, exist once. All are pure and lazy, finite for every text, and
0 for an empty one (``is_empty`` is 1).
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from functools import partial
from re import Pattern

import msgspec

from rubrica.text import overlap, style
from rubrica.text.lexicon import Lexicon
from rubrica.text.texts import Feature, Field, Span, Texts
from rubrica.text.words import (
    lexicon_spans,
    pattern_spans,
    sentence_lengths,
    sentences,
    spaced_words,
    whole_lexicon_spans,
    whole_lexicon_unread,
    word_counts,
    words,
)

MOST_SPANS = 20  # stretches of evidence per feature
SPAN_TEXT = 200  # characters of each
_SMALL_LETTERS = string.ascii_lowercase.encode()
_NO_LETTERS = bytes(set(range(128)) - set(string.ascii_letters.encode()))

Spans = Sequence[tuple[int, int]]


class TextMeasure(msgspec.Struct, frozen=True):
    """A number read off one text; `says` has {text} where the text is named."""

    name: str
    says: str
    value: Callable[[Texts, Field], float]
    high: float = math.inf
    low: float = 0.0
    spans: Callable[[Texts, Field], Spans] | None = None
    unread: Callable[[Texts, Field], int] | None = None  # of a feature that looks for something in the whole text

    def of(self, field: Field, prefix: str) -> Feature:
        """The feature of one field."""
        value, spans, label = self.value, self.spans, self.name.removesuffix("_count").replace("_", " ")
        return Feature(
            name=prefix + self.name,
            says=self.says.format(text=field),
            low=self.low,
            high=self.high,
            compute=partial(_value, value, field),
            evidence=None if spans is None else partial(_evidence, spans, field, label, self.unread is not None),
            unread=None if self.unread is None else partial(_unread, self.unread, field),
        )


def _value(value: Callable[[Texts, Field], float], field: Field, texts: Texts) -> float:
    return float(value(texts, field))


def _unread(unread: Callable[[Texts, Field], int], field: Field, texts: Texts) -> int:
    return unread(texts, field)


def _evidence(
    spans: Callable[[Texts, Field], Spans], field: Field, label: str, whole: bool, texts: Texts
) -> list[Span]:
    text = texts.whole(field) if whole else texts.of(field)
    return [
        Span(field, start, end, text[start : min(end, start + SPAN_TEXT)], label)
        for start, end in spans(texts, field)[:MOST_SPANS]
    ]


def _count_measure(name: str, says: str, spans: Callable[[Texts, Field], Spans]) -> TextMeasure:
    return TextMeasure(name, says, lambda texts, field: len(spans(texts, field)), spans=spans)


def _lexicon_measure(name: str, says: str, which: Lexicon) -> TextMeasure:
    return _count_measure(name, says, lambda texts, field: lexicon_spans(texts, field, which))


def _whole_lexicon_measure(name: str, says: str, which: Lexicon) -> TextMeasure:
    return TextMeasure(
        name,
        says,
        lambda texts, field: len(whole_lexicon_spans(texts, field, which)),
        spans=lambda texts, field: whole_lexicon_spans(texts, field, which),
        unread=lambda texts, field: whole_lexicon_unread(texts, field, which),
    )


def _pattern_measure(name: str, says: str, pattern: Pattern[str]) -> TextMeasure:
    return _count_measure(name, says, lambda texts, field: pattern_spans(texts, field, pattern))


def _share(name: str, says: str, value: Callable[[Texts, Field], float]) -> TextMeasure:
    return TextMeasure(name, says, value, high=1.0)


def _emotions(texts: Texts, field: Field) -> Spans:
    return sorted({*lexicon_spans(texts, field, "distress"), *lexicon_spans(texts, field, "joy")})


def _average_sentence_words(texts: Texts, field: Field) -> float:
    lengths = sentence_lengths(texts, field)
    return sum(lengths) / len(lengths) if lengths else 0.0


def _unique_word_share(texts: Texts, field: Field) -> float:
    total = len(words(texts, field))
    return len(word_counts(texts, field)) / total if total else 0.0


def _uppercase_share(texts: Texts, field: Field) -> float:
    text = texts.of(field)
    if text.isascii():  # a hundredth of the time
        kept = text.encode().translate(None, _NO_LETTERS)
        return len(kept.translate(None, _SMALL_LETTERS)) / len(kept) if kept else 0.0
    letters = sum(map(str.isalpha, text))
    return sum(map(str.isupper, filter(str.isalpha, text))) / letters if letters else 0.0


def _length_ratio(texts: Texts) -> float:
    asked = len(spaced_words(texts, "prompt"))
    return len(spaced_words(texts, "response")) / asked if asked else 0.0


MEASURES: tuple[TextMeasure, ...] = (
    TextMeasure("word_count", "words in the {text}, split at white space", lambda t, f: len(spaced_words(t, f))),
    TextMeasure("character_count", "characters in the {text}", lambda t, f: len(t.of(f))),
    TextMeasure("sentence_count", "sentences in the {text}", lambda t, f: len(sentences(t, f))),
    _count_measure("question_count", "sentences of the {text} that end in a question mark", style.question_spans),
    _count_measure(
        "exclamation_count",
        "sentences of the {text} that end in an exclamation mark",
        style.exclamation_spans,
    ),
    _pattern_measure(
        "pronoun_count",
        "personal pronouns in the {text}: I, you, we, he, she, they and their forms",
        style.PRONOUN,
    ),
    _count_measure("second_person_count", "you, your, yours, yourself in the {text}", style.second_person_spans),
    _count_measure(
        "contraction_count", "contractions in the {text}: don't, we'll, it's, gonna", style.contraction_spans
    ),
    _pattern_measure(
        "formatting_count",
        "stretches of markup in the {text} that cannot be spoken: emphasis, code, headings, hashtags, "
        "list items, tables, quotes, links, tags",
        style.FORMATTING,
    ),
    TextMeasure("line_break_count", "line breaks in the {text}", lambda t, f: t.of(f).count("\n")),
    _pattern_measure("list_item_count", "lines of the {text} that are list items", style.LIST_ITEM),
    _count_measure("code_block_count", "fenced code blocks in the {text}", style.code_block_spans),
    _pattern_measure("heading_count", "headings in the {text}: lines that begin with # to ######", style.HEADING),
    _pattern_measure("number_count", "numbers written in digits in the {text}", style.NUMBER),
    _pattern_measure("link_count", "web addresses in the {text}", style.LINK),
    _lexicon_measure("hedge_count", "hedges in the {text}: maybe, perhaps, I think", "hedges"),
    _lexicon_measure("filler_count", "fillers in the {text}: um, you know, basically", "fillers"),
    _lexicon_measure(
        "transition_count",
        "connecting words in the {text}: first, because, however, therefore",
        "transitions",
    ),
    _lexicon_measure(
        "example_count", "phrases in the {text} that introduce an example: for instance, such as", "examples"
    ),
    _whole_lexicon_measure("profanity_count", "offensive or abusive words in the {text}", "profanity"),
    _count_measure("emotion_count", "words of distress or joy in the {text}, negated or not", _emotions),
    _count_measure(
        "distress_count",
        "words of distress in the {text}; 'not happy' is one, 'not sad' is none",
        lambda t, f: style.emotion_spans(t, f, "distress"),
    ),
    _count_measure(
        "joy_count",
        "words of joy in the {text}, 'not happy' is none",
        lambda t, f: style.emotion_spans(t, f, "joy"),
    ),
    _share("unique_word_share", "distinct words among all words of the {text}, 0 to 1", _unique_word_share),
    TextMeasure("average_sentence_words", "words per sentence of the {text}, on average", _average_sentence_words),
    TextMeasure("longest_sentence_words", "words in the longest sentence of the {text}", style.longest_sentence),
    _share(
        "long_word_share",
        "words of seven letters and more among all words of the {text}, 0 to 1",
        style.long_word_share,
    ),
    TextMeasure(
        "reading_grade",
        "school grade needed to read the {text} (Flesch-Kincaid, English), 0 to 20",
        style.reading_grade,
        high=20.0,
    ),
    _share("formality", "how formal the {text} is, 0 casual to 1 formal", style.formality),
    TextMeasure("sentiment", "feeling of the {text}, -1 negative to 1 positive", style.sentiment, high=1.0, low=-1.0),
    _share("uppercase_share", "capitals among all letters of the {text}, 0 to 1", _uppercase_share),
    _share(
        "repeated_sentence_share",
        "repeated sentences among all sentences of the {text}, 0 to 1",
        style.repeated_sentence_share,
    ),
    _share(
        "repeated_trigram_share",
        "repeated runs of three words among all such runs of the {text}, 0 to 1",
        style.repeated_trigram_share,
    ),
    TextMeasure(
        "refusal",
        "1 when the {text} mainly refuses to help, else 0",
        lambda t, f: len(style.refusal_spans(t, f)),
        high=1.0,
        spans=style.refusal_spans,
    ),
    TextMeasure("is_empty", "1 when the {text} has no words, else 0", lambda t, f: not spaced_words(t, f), high=1.0),
)

TOGETHER: tuple[Feature, ...] = (
    Feature(
        "prompt_overlap",
        "content words of the prompt that the response takes up, as a share, 0 to 1",
        0.0,
        1.0,
        overlap.prompt_overlap,
    ),
    Feature(
        "shared_word_count",
        "distinct words that prompt and response share, small words included",
        0.0,
        math.inf,
        lambda texts: float(len(overlap.shared_words(texts))),
        partial(overlap.shared_word_spans, most=MOST_SPANS),
    ),
    Feature(
        "prompt_echo",
        "longest run of words copied from the prompt, as a share of the response's words, 0 to 1",
        0.0,
        1.0,
        overlap.prompt_echo,
    ),
    Feature(
        "history_overlap",
        "content words of the response that earlier rounds had too, as a share, 0 to 1",
        0.0,
        1.0,
        overlap.history_overlap,
    ),
    Feature("history_length", "earlier rounds", 0.0, math.inf, lambda texts: float(len(texts.history))),
    Feature(
        "length_ratio",
        "words of the response per word of the prompt; 0 without a prompt",
        0.0,
        math.inf,
        _length_ratio,
    ),
)

FEATURES: tuple[Feature, ...] = (
    *(measure.of("response", "") for measure in MEASURES),
    *(measure.of("prompt", "prompt_") for measure in MEASURES),
    *TOGETHER,
)
"""Every feature of this module, each name once."""
