"""Cues: what a user or a reply says between the lines, such as distress, danger, warmth or a dismissal, from 0 to 1.

Where the sentence model is installed, a reader looks for each cue of `cues.yaml` in a sentence or two at a time, so
that no word of a list is needed ("My cat has a tumour" is sad), and what only sounds like a danger is told from one ("I
want to live"). It learnt both from near twins that were written for it. Without the model, and in other languages than
English, phrases decide, sentence by sentence and in the clauses of long ones. The highest chance of any part of the
text is the value; 0.5 is as likely as not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from itertools import chain, pairwise
from math import exp
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rubrica.errors import StoredError
from rubrica.lru_cache import LruCache
from rubrica.text.abroad import LETTER, PhrasesAbroad
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.patterns import Regex, compile_regex
from rubrica.text.sentence_model import sentence_model
from rubrica.text.texts import Feature, Field, Span, Texts
from rubrica.text.word_files import read_words
from rubrica.text.words import cached_reading, sentences

if TYPE_CHECKING:
    from .cue_reader import CueReader
    from .minilm import MiniLm

FILE = "cues.weights"
LONGEST = 300  # characters of a sentence that are read
MOST_SENTENCES = 24  # of a text: two thirds from its beginning, one third from its end
LONG_SENTENCE = 12  # words beyond which clauses are read by themselves, too
CLAUSE_WORDS = 3  # of the shortest clause
LIKELY = 0.5  # from here on the sentences are shown as evidence
_KEPT: LruCache[str, tuple[float, ...]] = LruCache(4_096)
_CLAUSE_END = lazy_pattern(r"[,;:–—]\s+|\s+(?=(?:but|because|so|although)\b)")
_YOU = lazy_pattern(r"\b(?:you|your|yours|yourself|u|ur)\b", re.IGNORECASE)
_ME = lazy_pattern(r"\b(?:i|me|my|mine|myself)\b", re.IGNORECASE)


class CuePassage(NamedTuple):
    """A sentence or a clause of a text: ``text[start:end]``."""

    start: int
    end: int
    text: str  # with straight apostrophes, cut where it is very long


class CueWeights(msgspec.Struct, frozen=True):
    """What the signs of a cue count for; the chance is the logistic function of their sum."""

    shape: tuple[float, ...]  # as `shape_of` gives them
    bias: float

    def chance(self, shape: Sequence[float]) -> float:
        """How likely a sentence of this shape has the cue."""
        return _logistic(self.bias + sum(one * other for one, other in zip(self.shape, shape, strict=True)))


class CueModel(msgspec.Struct, frozen=True):
    """Which columns of the reader's scores are which cue, and what phrases count for where it is not installed."""

    made_from: str
    columns: tuple[str, ...]
    by_phrase: dict[str, CueWeights]


class CueReading(NamedTuple):
    """A part of a text, and how likely it has a cue."""

    passage: CuePassage
    chance: float


class Cue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cue as `cues.yaml` has it."""

    field: Field
    says: str
    phrases: tuple[str, ...]
    examples: tuple[str, ...]
    abroad: tuple[str, ...] = ()  # phrases of other languages, which the sentence model does not read
    anywhere: tuple[str, ...] = ()  # phrases of scripts that are written without spaces


@cache
def cues() -> Mapping[str, Cue]:
    """Every cue by its name."""
    return msgspec.convert(read_words("cues.yaml"), dict[str, Cue])


@cache
def patterns(name: str) -> tuple[Regex | PhrasesAbroad, ...]:
    """The phrases of a cue, compiled."""
    return (*_bounded(cues()[name].phrases), *patterns_abroad(name))


@cache
def patterns_abroad(name: str) -> tuple[PhrasesAbroad, ...]:
    """Those of other languages than English, if there are any."""
    cue = cues()[name]
    return (PhrasesAbroad(cue.abroad, cue.anywhere),) if cue.abroad or cue.anywhere else ()


def _bounded(phrases: Sequence[str]) -> Iterator[Regex]:
    for phrase in phrases:
        yield compile_regex(f"(?:^|[^{LETTER}])(?P<span>{phrase})(?:$|[^{LETTER}])", ignore_case=True)


@cache
def weights() -> CueModel:
    """The weights that come with the package."""
    path = files(__package__).joinpath(FILE)
    try:
        return msgspec.json.decode(path.read_bytes(), type=CueModel)
    except (OSError, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the weights of the cues: {error} (run training.cues again)") from None


def _logistic(score: float) -> float:
    return 1 / (1 + exp(-score)) if score >= 0 else exp(score) / (1 + exp(score))


@cache
def _reader(model: MiniLm) -> CueReader:
    from .adapted_layers import stored_adapters  # numpy, which is only there with the model
    from .cue_reader import FILE as ADAPTERS_FILE
    from .cue_reader import CueReader

    return CueReader(model, stored_adapters(ADAPTERS_FILE))


# --- reading ------------------------------------------------------------------------------------------------


@cached_reading
def passages(texts: Texts, field: Field) -> list[CuePassage]:
    """The sentences of a text and the clauses of long ones.

    >>> [passage.text for passage in passages(Texts(response="I'm sorry. It hurts."), "response")]
    ["I'm sorry.", 'It hurts.']
    """
    whole, read = texts.of(field), []
    for own in chain(*_parts(texts, field)):
        read.append(own)
        if len(own.text.split()) > LONG_SENTENCE and len(read) < 2 * MOST_SENTENCES:
            read += _clauses(whole, own)
    return read


def _parts(texts: Texts, field: Field) -> list[list[CuePassage]]:
    """The sentences that are read: of a long text those of its beginning and those of its end."""
    whole = texts.of(field)
    found = [_passage(whole, each.start, each.end) for each in sentences(texts, field)]
    if len(found) <= MOST_SENTENCES:
        return [found]
    return [found[: MOST_SENTENCES * 2 // 3], found[-(MOST_SENTENCES // 3) :]]


def _clauses(whole: str, sentence: CuePassage) -> list[CuePassage]:
    edges = [0, *(place for match in _CLAUSE_END.finditer(sentence.text) for place in match.span()), len(sentence.text)]
    parts = [(sentence.start + start, sentence.start + end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    return [_passage(whole, start, end) for start, end in parts if len(whole[start:end].split()) >= CLAUSE_WORDS][:4]


def _passage(whole: str, start: int, end: int) -> CuePassage:
    return CuePassage(start, end, whole[start : min(end, start + LONGEST)].replace("’", "'"))


def windows(texts: Texts, field: Field) -> list[list[CuePassage]]:
    """What is read at a time: each sentence, and of what a user says each with the next one, which may explain it.

    More at a time would hide a danger among other things.

    >>> talk = Texts("It hurts. It hurts a lot. Bye.", "I see. Call a doctor.")
    >>> [len(windows(talk, field)) for field in ("prompt", "response")]
    [5, 2]
    """
    found = []
    for part in _parts(texts, field):
        found += [[sentence] for sentence in part]
        if field == "prompt":
            found += map(list, pairwise(part))
    return found


def shape_of(name: str, sentence: str) -> tuple[float, ...]:
    """What a sentence shows without its meaning: a phrase of the cue, a question, "you", "I", a question with "you".

    >>> shape_of("asking_on", "How are you feeling?")
    (1.0, 1.0, 1.0, 0.0, 1.0)
    """
    phrase = any(pattern.count(sentence, 1) for pattern in patterns(name))
    asks, you, me = "?" in sentence, bool(_YOU.search(sentence)), bool(_ME.search(sentence))
    return tuple(map(float, (phrase, asks, you, me, asks and you)))


@cached_reading
def readings(texts: Texts, name: str) -> list[CueReading]:
    """How likely each part of the cue's text has the cue."""
    field, by_phrase = cues()[name].field, weights().by_phrase[name]
    chances = _window_chances(texts, field)
    abroad = patterns_abroad(name)
    found = []
    if chances is not None:
        column = weights().columns.index(name)
        runs = (CuePassage(window[0].start, window[-1].end, "") for window in windows(texts, field))
        found = [CueReading(run, own[column]) for run, own in zip(runs, chances, strict=True)]
    for passage in passages(texts, field):  # in other languages phrases know more than the reader
        if chances is None or any(pattern.count(passage.text, 1) for pattern in abroad):
            found.append(CueReading(passage, by_phrase.chance(shape_of(name, passage.text))))
    return found


@cached_reading
def _window_chances(texts: Texts, field: Field) -> list[tuple[float, ...]] | None:
    """What the reader says of each window, by column; None without it. What was read lately is not read again."""
    model = sentence_model()
    if model is None:
        return None
    parts = [" ".join(each.text for each in window) for window in windows(texts, field)]
    known = {part: chances for part in parts if (chances := _KEPT.get(part)) is not None}
    if new := [part for part in dict.fromkeys(parts) if part not in known]:
        for part, scores in zip(new, _reader(model).scores(new).tolist(), strict=True):
            known[part] = tuple(map(_logistic, scores))
            _KEPT.put(part, known[part])
    return [known[part] for part in parts]


def cue(texts: Texts, name: str) -> float:
    """How likely the cue's text has the cue, 0 to 1: the highest chance of its parts.

    >>> cue(Texts(prompt="I want to kill myself."), "crisis") > 0.5
    True
    """
    return max((reading.chance for reading in readings(texts, name)), default=0.0)


# --- features -----------------------------------------------------------------------------------------------


def _evidence(texts: Texts, name: str) -> list[Span]:
    """The sentences that speak for the cue, and where neither of two does by itself, both."""
    field = cues()[name].field
    likely = {(each.passage.start, each.passage.end) for each in readings(texts, name) if each.chance >= LIKELY}
    for window in windows(texts, field):
        if any((each.start, each.end) in likely for each in window) and len(window) > 1:
            likely.discard((window[0].start, window[-1].end))
    spans: list[Span] = []
    for start, end in sorted(likely):
        if not spans or start >= spans[-1].end:
            spans.append(Span(field, start, end, texts.of(field)[start:end][:200], name.replace("_", " ")))
    return spans


_NAMES: Mapping[str, str] = {"asking_on": "asks_on", "help": "names_help", "harm": "encourages_harm"}


def feature_name(name: str) -> str:
    """What formulas call a cue: plain words such as warmth are left to the dimensions of rubrics.

    >>> feature_name("distress"), feature_name("warmth"), feature_name("help")
    ('prompt_distress', 'shows_warmth', 'names_help')
    """
    return _NAMES.get(name) or ("prompt_" if cues()[name].field == "prompt" else "shows_") + name


FEATURES: tuple[Feature, ...] = tuple(
    Feature(
        feature_name(name),
        f"how likely {each.says}, 0 to 1 (learnt; English)",
        0.0,
        1.0,
        partial(cue, name=name),
        partial(_evidence, name=name),
    )
    for name, each in cues().items()
)
