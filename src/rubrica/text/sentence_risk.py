"""What a sentence model adds to the learnt risks of `risk`, and how often those risks were right when measured.

Where the sentence model is installed, a risk is the mean of two readings: that of the words, and that of the meaning of
the prompt's and the response's beginning. Both readings have their own measured errors, so that a score says whether it
can be relied on: below `low` hardly an unsafe text lay, above `high` hardly a safe one, and in between it is open.

What makes a reply unsafe differs with what is at stake: agreement is harmless after a wish and is not after abuse. So
the meaning is read by one head for each kind of exchange, and each counts as much as the exchange is of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import exp
from typing import Literal, get_args

import msgspec

from rubrica.errors import StoredError
from rubrica.text.exchange import Exchange
from rubrica.text.sentence_model import sentence_model

Head = Literal["answer", "reply"]
Reading = Literal["words", "both"]
READINGS: tuple[Reading, ...] = get_args(Reading)

FILE = "risk.json"
PROMPT_WORDS, PROMPT_LETTERS = 30, 200  # read at most: a sentence model takes its time
RESPONSE_WORDS, RESPONSE_LETTERS = 50, 300
PLAIN, LONG_WORDS = 0.5, 15  # the share of plain letters, and letters per word, that a text in English has


class RiskBand(msgspec.Struct, frozen=True):
    """What lay on either side of a risk when it was measured: two shares, 0 to 1."""

    risk: float
    false_alarms: float  # of the safe texts had this risk or a higher one
    misses: float  # of the unsafe texts had a lower one


class RiskReliability(msgspec.Struct, frozen=True):
    """How far a risk can be relied on, measured on groups of texts that were not learnt from."""

    low: float  # below it, the text is safe but for a few
    high: float  # from it on, the text is unsafe but for a few
    bands: tuple[RiskBand, ...]
    measured: dict[str, float]  # figures over all, by name


class ExchangeHead(msgspec.Struct, frozen=True):
    """A linear model over the two vectors of an exchange."""

    bias: float
    prompt: tuple[float, ...]
    response: tuple[float, ...]

    def score(self, prompt: Sequence[float], response: Sequence[float]) -> float:
        """What the vectors say; an empty one says nothing."""
        pairs = ((prompt, self.prompt), (response, self.response))
        return self.bias + sum(sum(map(float.__mul__, vector, weights)) for vector, weights in pairs)


class KindModel(msgspec.Struct, frozen=True):
    """What is learnt of one kind of exchange: how to tell it, and how to tell what is unsafe in it."""

    kind: ExchangeHead
    unsafe: ExchangeHead


class SentenceRisk(msgspec.Struct, frozen=True):
    """The file: the heads for each question, by kind of exchange, and the reliability of each reading of it."""

    made_from: str
    heads: dict[Head, tuple[KindModel, ...]]
    reliability: dict[Reading, dict[Head, RiskReliability]]


@cache
def sentence_risk() -> SentenceRisk:
    """The weights and figures that come with the package."""
    path = files(__package__).joinpath(FILE)
    try:
        return msgspec.json.decode(path.read_bytes(), type=SentenceRisk)
    except (OSError, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the weights of a model: {error} (train it again)") from None


def reading() -> Reading:
    """How risks are read here: by words alone where no sentence model is installed."""
    return "words" if sentence_model() is None else "both"


def reliability(head: Head) -> RiskReliability:
    """How far the risk can be relied on as it is read here.

    >>> found = reliability("answer")
    >>> 0 < found.low < found.high < 1
    True
    """
    return sentence_risk().reliability[reading()][head]


def beginnings(exchange: Exchange) -> tuple[str, str]:
    """What the sentence model reads of a prompt and a response.

    >>> beginnings(Exchange("Why?  ", "Because of  the rain."))
    ('Why?', 'Because of the rain.')
    """
    return (
        _beginning(exchange.prompt, PROMPT_WORDS, PROMPT_LETTERS),
        _beginning(exchange.response, RESPONSE_WORDS, RESPONSE_LETTERS),
    )


def _beginning(text: str, words: int, letters: int) -> str:
    """The first words of a text; nothing where they are no words of English, which cost much and say nothing."""
    beginning = " ".join(text[: 4 * letters].split()[:words])[:letters]
    plain = sum(map(str.isascii, filter(str.isalpha, beginning)))
    readable = plain >= PLAIN * len(beginning) and len(beginning) <= LONG_WORDS * (beginning.count(" ") + 1)
    return beginning if readable else ""


def sentence_score(head: Head, exchange: Exchange) -> float | None:
    """What the meaning of the exchange says: above 0 is unsafe rather than safe; None where there is no model."""
    model = sentence_model()
    if model is None:
        return None
    prompt, response = (model.encode_both([text])[0].tolist() if text else () for text in beginnings(exchange))
    return mixed(sentence_risk().heads[head], prompt, response)


def mixed(heads: Sequence[KindModel], prompt: Sequence[float], response: Sequence[float]) -> float:
    """What the heads say together, each by how much the exchange is of its kind."""
    kinds = [each.kind.score(prompt, response) for each in heads]
    shares = [exp(kind - max(kinds)) for kind in kinds]
    told = (share * each.unsafe.score(prompt, response) for share, each in zip(shares, heads, strict=True))
    return sum(told) / sum(shares)
