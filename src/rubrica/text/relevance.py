"""How near a reply is in meaning to what it answers: to the user's last turn and to the dialogue so far.

All of it needs the sentence model; without it `sentence_model` is 0, which a rule asks for first, and so is the rest.
"""

from __future__ import annotations

from itertools import zip_longest

from rubrica.text.sentence_model import sentence_model
from rubrica.text.texts import Feature, Texts
from rubrica.text.words import cached_reading

LONGEST = 600  # characters: of a turn its beginning, of a dialogue its end; the model reads about as much


@cached_reading
def turns(texts: Texts) -> list[str]:
    """What was said before the response, in order, the user's last turn at the end.

    A prompt of several lines without a history is taken for a dialogue, a turn for each line.

    >>> turns(Texts("And now?", "Rest.", history=["Walk on."], asked=["Where to?"]))
    ['Where to?', 'Walk on.', 'And now?']
    """
    if not texts.history and not texts.asked:
        return [line.strip() for line in texts.prompt.split("\n") if line.strip()]
    pairs = list(zip_longest(reversed(texts.asked), reversed(texts.history), fillvalue=""))
    before = [turn for pair in reversed(pairs) for turn in pair if turn.strip()]
    return [*before, texts.prompt] if texts.prompt.strip() else before


def nearness(one: str, other: str) -> float:
    """How near two texts are in meaning, 0 to 1; 0 where either is empty, and without the model."""
    model = sentence_model()
    if model is None or not one.strip() or not other.strip():
        return 0.0
    return max(0.0, model.similarity(one[:LONGEST], other[:LONGEST]))


def nearness_to_last(response: str, before: list[str]) -> float:
    """How near a reply is to the turn before it."""
    return nearness(response, before[-1]) if before else 0.0


def nearness_to_dialogue(response: str, before: list[str]) -> float:
    """How near a reply is to all that was said before it, as far as the model reads back."""
    return nearness(response, " ".join(before)[-LONGEST:])


FEATURES: tuple[Feature, ...] = (
    Feature(
        "sentence_model",
        "1 where the sentence model is installed, which nearness in meaning needs, else 0",
        0.0,
        1.0,
        lambda _texts: float(sentence_model() is not None),
    ),
    Feature(
        "prompt_similarity",
        "how near the response is in meaning to the user's last turn, 0 to 1; 0 without the sentence model",
        0.0,
        1.0,
        lambda texts: nearness_to_last(texts.response, turns(texts)),
    ),
    Feature(
        "history_similarity",
        "how near the response is in meaning to the dialogue so far, 0 to 1; 0 without the sentence model",
        0.0,
        1.0,
        lambda texts: nearness_to_dialogue(texts.response, turns(texts)),
    ),
)
