"""What a sentence model adds to the learnt risks of `risk`, and how often those risks were right when measured.

Where the sentence model is installed, two readings make a risk: the words count a third, and a model that reads prompt
and response together (`exchange_reader`) counts the rest. With words alone and with both, errors were measured, so that
a score says whether it can be relied on: below `low` hardly an unsafe text lay, above `high` hardly a safe one, and in
between it is open.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import msgspec

from rubrica.errors import StoredError
from rubrica.extras import requires
from rubrica.text.exchange import Exchange
from rubrica.text.sentence_model import sentence_model

if TYPE_CHECKING:
    from .exchange_reader import ExchangeReader
    from .minilm import MiniLm

Head = Literal["answer", "reply"]
Reading = Literal["words", "both"]
READINGS: tuple[Reading, ...] = get_args(Reading)

FILE = "risk.json"
WORDS_SHARE = 1 / 3  # what the words count beside the reader
LETTERS = 300  # of a text that are looked at to see whether it is English
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


class Glance(msgspec.Struct, frozen=True):
    """What single words of response and prompt say of the score of all words, and where they leave no doubt."""

    response: float
    prompt: float
    base: float
    no_doubt: float  # the score below which hardly an unsafe answer lies


class SentenceRisk(msgspec.Struct, frozen=True):
    """The file: what is added to the reader's scores, and the reliability of each reading, for each question."""

    made_from: str
    glance: Glance
    offsets: dict[Head, float]  # so that both readings together are above 0 where they pass their own limit
    reliability: dict[Reading, dict[Head, RiskReliability]]


class ReaderScores(NamedTuple):
    """What the reader says of an exchange, for each question: above 0 is unsafe rather than safe."""

    answer: float
    reply: float


@cache
def sentence_risk() -> SentenceRisk:
    """The limits and figures that come with the package."""
    path = files(__package__).joinpath(FILE)
    try:
        return msgspec.json.decode(path.read_bytes(), type=SentenceRisk)
    except (OSError, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the figures of a model: {error} (train it again)") from None


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


def sentence_scores(exchange: Exchange) -> ReaderScores | None:
    """What prompt and response mean together; None where there is no model, or no English to read."""
    model = sentence_model()
    if model is None or not is_english(exchange.response):
        return None
    if not is_english(exchange.prompt):
        exchange = exchange._replace(prompt="")
    answer, reply = _reader(model).scores([exchange])[0].tolist()
    offsets = sentence_risk().offsets
    return ReaderScores(answer + offsets["answer"], reply + offsets["reply"])


@cache
def _reader(model: MiniLm) -> ExchangeReader:
    with requires("local", "the sentence model"):
        from .adapted_layers import stored_adapters
        from .exchange_reader import FILE as ADAPTERS_FILE
        from .exchange_reader import ExchangeReader
    return ExchangeReader(model, stored_adapters(ADAPTERS_FILE))


def is_english(text: str) -> bool:
    """Whether a text may be English; others cost much and say nothing.

    >>> is_english("Why does it rain?"), is_english("なぜ雨が降るのですか"), is_english("x" * 99)
    (True, False, False)
    """
    beginning = " ".join(text[: 4 * LETTERS].split())[:LETTERS]
    plain = sum(map(str.isascii, filter(str.isalpha, beginning)))
    return plain >= PLAIN * len(beginning) and len(beginning) <= LONG_WORDS * (beginning.count(" ") + 1)
