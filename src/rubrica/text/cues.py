"""Cues: what a user or a reply says between the lines, such as distress, danger, warmth or a dismissal, from 0 to 1.

Each cue of `cues.yaml` is looked for in every sentence of its text, and in the clauses of long ones: by its phrases, by
the shape of the sentence and, where the sentence model is installed, by its meaning, so that no word of a list is
needed: "My cat has a tumour" is sad. What each of them counts for was learnt from examples written for it. The highest
chance of any sentence is the value; 0.5 is as likely as not. Without the model the phrases alone decide, in English
and, for a crisis, a few other languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from math import exp
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rubrica.errors import StoredError
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.patterns import Regex, compile_regex
from rubrica.text.sentence_model import sentence_model
from rubrica.text.texts import Feature, Field, Span, Texts
from rubrica.text.word_files import read_words
from rubrica.text.words import cached_reading, sentences

if TYPE_CHECKING:
    from rubrica.text.minilm import Floats

FILE = "cues.weights"
LONGEST = 300  # characters of a sentence that are read
MOST_SENTENCES = 24  # of a text: two thirds from its beginning, one third from its end
LONG_SENTENCE = 12  # words beyond which clauses are read by themselves, too
CLAUSE_WORDS = 3  # of the shortest clause
LIKELY = 0.5  # from here on the sentences are shown as evidence
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
    vector: tuple[float, ...] = ()  # one for each number of the sentence model's vector; none: read without it

    def chance(self, shape: Sequence[float], meaning: float = 0.0) -> float:
        """How likely a sentence of this shape has the cue."""
        score = self.bias + meaning + sum(one * other for one, other in zip(self.shape, shape, strict=True))
        return 1 / (1 + exp(-score)) if score >= 0 else exp(score) / (1 + exp(score))


class CueModel(msgspec.Struct, frozen=True):
    """The weights of every cue, with the sentence model and without it."""

    made_from: str
    by_meaning: dict[str, CueWeights]
    by_phrase: dict[str, CueWeights]


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
def patterns(name: str) -> tuple[Regex, ...]:
    """The phrases of a cue, compiled."""
    return (*_bounded(cues()[name].phrases), *patterns_abroad(name))


@cache
def patterns_abroad(name: str) -> tuple[Regex, ...]:
    """Those of other languages than English."""
    cue = cues()[name]
    return (*_bounded(cue.abroad), *map(compile_regex, cue.anywhere))


def _bounded(phrases: Sequence[str]) -> Iterator[Regex]:
    for phrase in phrases:
        yield compile_regex(rf"(?:^|[^\pL])(?P<span>{phrase})(?:$|[^\pL])", ignore_case=True)


@cache
def weights() -> CueModel:
    """The weights that come with the package."""
    path = files(__package__).joinpath(FILE)
    try:
        return msgspec.json.decode(path.read_bytes(), type=CueModel)
    except (OSError, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the weights of the cues: {error} (run training.cues again)") from None


# --- reading ------------------------------------------------------------------------------------------------


@cached_reading
def passages(texts: Texts, field: Field) -> list[CuePassage]:
    """The sentences of a text and the clauses of long ones.

    >>> [passage.text for passage in passages(Texts(response="I'm sorry. It hurts."), "response")]
    ["I'm sorry.", 'It hurts.']
    """
    whole, found = texts.of(field), sentences(texts, field)
    if len(found) > MOST_SENTENCES:
        found = found[: MOST_SENTENCES * 2 // 3] + found[-(MOST_SENTENCES // 3) :]
    read: list[CuePassage] = []
    for sentence in found:
        own = _passage(whole, sentence.start, sentence.end)
        read.append(own)
        if len(own.text.split()) > LONG_SENTENCE and len(read) < 2 * MOST_SENTENCES:
            read += _clauses(whole, own)
    return read


def _clauses(whole: str, sentence: CuePassage) -> list[CuePassage]:
    edges = [0, *(place for match in _CLAUSE_END.finditer(sentence.text) for place in match.span()), len(sentence.text)]
    parts = [(sentence.start + start, sentence.start + end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    return [_passage(whole, start, end) for start, end in parts if len(whole[start:end].split()) >= CLAUSE_WORDS][:4]


def _passage(whole: str, start: int, end: int) -> CuePassage:
    return CuePassage(start, end, whole[start : min(end, start + LONGEST)].replace("’", "'"))


def shape_of(name: str, sentence: str) -> tuple[float, ...]:
    """What a sentence shows without its meaning: a phrase of the cue, a question, "you", "I", a question with "you".

    >>> shape_of("asking_on", "How are you feeling?")
    (1.0, 1.0, 1.0, 0.0, 1.0)
    """
    phrase = any(pattern.count(sentence, 1) for pattern in patterns(name))
    asks, you, me = "?" in sentence, bool(_YOU.search(sentence)), bool(_ME.search(sentence))
    return tuple(map(float, (phrase, asks, you, me, asks and you)))


@cached_reading
def vectors(texts: Texts, field: Field) -> Floats | None:
    """A vector for each passage; None without the sentence model."""
    model = sentence_model()
    return None if model is None else model.encode([passage.text for passage in passages(texts, field)])


@cached_reading
def chances(texts: Texts, name: str) -> list[float]:
    """How likely each passage of the cue's text has the cue."""
    field = cues()[name].field
    read, meant = passages(texts, field), vectors(texts, field)
    shapes = [shape_of(name, passage.text) for passage in read]
    if meant is None:
        alone = weights().by_phrase[name]
        return [alone.chance(shape) for shape in shapes]
    own = weights().by_meaning[name]
    meanings = (meant @ list(own.vector)).tolist() if read else []
    found = [own.chance(shape, meaning) for shape, meaning in zip(shapes, meanings, strict=True)]
    for place, passage in enumerate(read):  # in other languages the phrase knows more than the model
        if any(pattern.count(passage.text, 1) for pattern in patterns_abroad(name)):
            found[place] = max(found[place], weights().by_phrase[name].chance(shapes[place]))
    return found


def cue(texts: Texts, name: str) -> float:
    """How likely the cue's text has the cue, 0 to 1: the highest chance of its passages.

    >>> cue(Texts(prompt="I want to kill myself."), "crisis") > 0.5
    True
    """
    return max(chances(texts, name), default=0.0)


# --- features -----------------------------------------------------------------------------------------------


def _evidence(texts: Texts, name: str) -> list[Span]:
    """The sentences that speak for the cue; a clause is not shown beside its sentence."""
    field = cues()[name].field
    likely = [
        passage
        for passage, chance in zip(passages(texts, field), chances(texts, name), strict=True)
        if chance >= LIKELY
    ]
    spans: list[Span] = []
    for start, end, _ in likely:
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
