"""How good a reply is as a turn of a conversation, and how good the conversation is, as people would rate them.

A reply is read by a few signs that mean the same in any conversation: whether it is near to what was said, how much it
says, whether it is one of those that fit everywhere, whether it asks, whether it repeats itself or the dialogue, and
how much of it was said before. What they count for was learnt from ratings of replies; without the sentence model a
second set of weights does with those that need none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import log
from statistics import fmean

import msgspec

from rubrica.errors import StoredError
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.lexicon import lexicon
from rubrica.text.relevance import nearness, nearness_to_dialogue, nearness_to_last, turns
from rubrica.text.sentence_model import sentence_model
from rubrica.text.texts import Feature, Texts
from rubrica.text.words import WORD, cached_reading

FILE = "conversation.weights"
MOST_REPLIES = 12  # of a dialogue that are rated, the last ones
MOST_CONTENT = 20  # distinct content words beyond which saying more adds nothing
MOST_GENERIC, MOST_NEAR = 0.5, 0.8  # nearness beyond which a reply is no more generic, or no more to the point
MOST_WORDS = 400  # of a turn that are read
ENGAGED_WORDS = 12  # of a user's turn, on average: a user who says as much is taken up with the talk
TURNS, VARIETY, ENGAGEMENT = 0.75, 0.10, 0.15  # what they count for in a dialogue
GENERIC = (
    "I don't know.",
    "I'm not sure about that.",
    "That's cool.",
    "That is interesting.",
    "Yes, I agree.",
    "Oh, okay.",
    "I see.",
    "Really? I didn't know that.",
    "Yeah, me too.",
    "Haha, that's funny.",
    "Nice to talk to you.",
    "What do you mean?",
    "Sorry, I don't understand.",
    "Let's talk about something else.",
)
"""Replies that fit everywhere, and so say nothing."""

_QUESTION = lazy_pattern(r"[?？؟]")


class Sign(msgspec.Struct, frozen=True):
    """What a sign of a good reply counts for: `weight` for each `spread` that it is above `middle`."""

    middle: float
    spread: float
    weight: float


class ReplyRater(msgspec.Struct, frozen=True):
    """A linear rating of replies, 0 to 1, and how far off it was on replies it had not met."""

    base: float
    signs: dict[str, Sign]
    errors: dict[str, float]  # people's rating minus this one: its quantiles
    agreement: float  # rank correlation with people, on the same replies
    replies: int

    def rating(self, found: Mapping[str, float]) -> float:
        """The rating by the signs that are known."""
        known = ((sign, found[name]) for name, sign in self.signs.items() if name in found)
        total = self.base + sum(sign.weight * (value - sign.middle) / sign.spread for sign, value in known)
        return min(max(total, 0.0), 1.0)


class ConversationModel(msgspec.Struct, frozen=True):
    """Two ratings: with the sentence model, and without it."""

    made_from: str
    by_meaning: ReplyRater
    by_surface: ReplyRater


@cache
def weights() -> ConversationModel:
    """The weights that come with the package."""
    path = files(__package__).joinpath(FILE)
    try:
        return msgspec.json.decode(path.read_bytes(), type=ConversationModel)
    except (OSError, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the weights of conversations: {error} (run training.conversation)") from None


def signs(response: str, before: list[str]) -> dict[str, float]:
    """The signs of a good reply after what was said before; those that need what is not there are left out.

    >>> found = signs("We went to the lake. Do you swim?", ["How was your trip to the lake?"])
    >>> found["asks"], found["taken_up"] > 0
    (1.0, True)
    """
    said = _words(response)
    own = _content(said)
    found = {
        "says": log(1 + min(len(own), MOST_CONTENT)),
        "asks": float(_QUESTION.search(response) is not None),
        "varies": len(set(said)) / len(said) if said else 0.0,
    }
    if before:
        earlier = [_words(turn) for turn in before]
        runs = {run for turn in earlier for run in _runs(turn)}
        repeated = [run in runs for run in _runs(said)]
        found["repeats"] = sum(repeated) / len(repeated) if repeated else 0.0
        shared = own & _content([word for turn in earlier for word in turn])
        found["taken_up"] = log(1 + len(shared))
        found["copies"] = len(shared) / len(own) if own else 0.0
    if sentence_model() is not None and response.strip():
        found["generic"] = min(MOST_GENERIC, max(nearness(response, each) for each in GENERIC))
        if before:
            found["near_last"] = min(MOST_NEAR, nearness_to_last(response, before))
            found["near_dialogue"] = min(MOST_NEAR, nearness_to_dialogue(response, before))
    return found


def reply_rating(response: str, before: list[str]) -> float:
    """How good a reply is after what was said before, 0 to 1; an empty one is 0."""
    if not response.strip():
        return 0.0
    model = weights()
    rater = model.by_surface if sentence_model() is None else model.by_meaning
    return rater.rating(signs(response, before))


@cached_reading
def conversation_quality(texts: Texts) -> float:
    """The rating of the response."""
    return reply_rating(texts.response, turns(texts))


@cached_reading
def dialogue_quality(texts: Texts) -> float:
    """How good the speaker's part of the dialogue is, the response included, 0 to 1.

    Mostly the mean rating of its replies; a little how far they differ from each other, and how much the user says.
    Where the user has the last word, the replies before it are rated.
    """
    texts = _in_turns(texts)
    replies = [*texts.history, texts.response]
    asked = [*texts.asked, texts.prompt]
    ratings = [conversation_quality(texts)]
    for back in range(1, min(len(replies), MOST_REPLIES)):
        before = turns(
            Texts(asked[-back - 1] if back < len(asked) else "", "", replies[: -back - 1], asked[: -back - 1])
        )
        ratings.append(reply_rating(replies[-back - 1], before))
    if len(ratings) > 1 and not texts.response.strip():
        del ratings[0]
    recent = [reply for reply in replies[-MOST_REPLIES:] if reply.strip()]
    if not recent:
        return 0.0
    later = asked[1:] or asked  # the first turn comes before anything could engage the user
    engagement = fmean(min(1.0, len(turn.split()) / ENGAGED_WORDS) for turn in later)
    return TURNS * fmean(ratings) + VARIETY * _variety(recent) + ENGAGEMENT * engagement


def _in_turns(texts: Texts) -> Texts:
    """The texts with the lines of a dialogue that stands in the prompt as the turns of its two sides.

    Blank lines part the paragraphs of one turn.
    """
    said = turns(texts)
    if texts.history or texts.asked or not texts.response.strip():
        return texts
    if len(said) < 2 or len(said) < len(texts.prompt.strip().split("\n")):
        return texts
    return Texts(said[-1], texts.response, said[-2::-2][::-1], said[-3::-2][::-1])


def _variety(replies: Sequence[str]) -> float:
    """How far replies are from those before them: 1 where none repeats another, and for a single one."""
    if len(replies) < 2:
        return 1.0
    return 1 - fmean(max(_alike(one, other) for other in replies[:at]) for at, one in enumerate(replies) if at)


def _alike(one: str, other: str) -> float:
    if sentence_model() is not None:
        return nearness(one, other)
    first, second = set(_words(one)), set(_words(other))
    return len(first & second) / max(1, len(first | second))


def _words(text: str) -> list[str]:
    return WORD.findall(text[: 20 * MOST_WORDS].lower().replace("’", "'"))[:MOST_WORDS]


def _content(words: Sequence[str]) -> set[str]:
    stop = lexicon("stopwords")
    return {word for word in words if len(word) > 2 and word not in stop}


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(words, words[1:], words[2:], strict=False))


FEATURES: tuple[Feature, ...] = (
    Feature(
        "conversation_quality",
        "how good the response is as a turn of the conversation, as people rate them, 0 to 1 (learnt; English)",
        0.0,
        1.0,
        conversation_quality,
    ),
    Feature(
        "dialogue_quality",
        "how good the speaker's replies are over the dialogue so far, the response included, 0 to 1 (learnt; English)",
        0.0,
        1.0,
        dialogue_quality,
    ),
)
