"""How likely people prefer an answer to a middling one, by six signs that can be counted; none knows what is true.

A logistic regression over the differences of two answers to one request, learnt on people's choices between answers of
language models to everyday requests in English. `training/preferences.py` makes the weights and says how often they put
the preferred answer first.
"""

from __future__ import annotations

from functools import cache
from math import log1p

from rubrica.text.cut_off import cut_off
from rubrica.text.overlap import new_words
from rubrica.text.sign_weights import SignWeights, read_sign_weights
from rubrica.text.style import repeated_sentence_share
from rubrica.text.texts import Feature, Texts
from rubrica.text.words import cached_reading, lexicon_spans, spaced_words

FILE = "answer_preference.json"


@cache
def preference_weights() -> SignWeights:
    """The trained weights, read when they are first needed."""
    return read_sign_weights(FILE)


def signs_of(texts: Texts) -> dict[str, float]:
    """What the regression reads, by name. Counts are logarithms: the tenth word counts more than the hundredth."""
    return {
        "new_words": log1p(new_words(texts)),
        "words": log1p(len(spaced_words(texts, "response"))),
        "repeated_sentences": repeated_sentence_share(texts, "response"),
        "fillers": log1p(len(lexicon_spans(texts, "response", "fillers"))),
        "line_breaks": log1p(texts.response.count("\n")),
        "breaks_off": float(cut_off(texts)),
    }


@cached_reading
def answer_preference(texts: Texts) -> float:
    """The chance that people prefer the response to a middling one; 0 where there is no response.

    >>> asked = "How can I sleep better?"
    >>> tips = "Go to bed at the same hour, keep the room dark and cool, and leave the phone in the kitchen."
    >>> answer_preference(Texts(asked, tips)) > answer_preference(Texts(asked, "Sleep well. Sleep well. Sleep well."))
    True
    """
    return preference_weights().chance(signs_of(texts)) if spaced_words(texts, "response") else 0.0


FEATURES: tuple[Feature, ...] = (
    Feature(
        "answer_preference",
        "how likely people prefer the response to a middling one, 0 to 1, by its own words, length, layout, fillers and"
        " repetition (learnt; English)",
        0,
        1,
        answer_preference,
    ),
)
