"""Relevance, conversation quality and cues: what a reply and its user say, with the sentence model and without."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.text import conversation, cues, relevance
from rubrica.text.conversation import conversation_quality, dialogue_quality
from rubrica.text.cues import cue
from rubrica.text.sentence_model import PACKAGE
from rubrica.text.texts import Feature, Texts

FEATURES: dict[str, Feature] = {
    feature.name: feature for module in (relevance, conversation, cues) for feature in module.FEATURES
}
ASKED = "Which film should I watch tonight? I love old comedies."
GOOD = "Try Some Like It Hot, a comedy from 1959 in which two musicians hide among a women's band. Do you know it?"


def value(name: str, response: str, prompt: str = "") -> float:
    return FEATURES[name].compute(Texts(prompt, response))


def test_a_reply_to_the_point_is_nearer_than_one_beside_it() -> None:
    beside = "The train to Leeds leaves from platform four at nine."
    for name in ("prompt_similarity", "history_similarity"):
        assert value(name, GOOD, ASKED) > value(name, beside, ASKED) + 0.2


@pytest.mark.parametrize(
    "poor", ["I don't know.", "Okay.", "The bus is late.", "comedy comedy comedy comedy comedy", ""]
)
def test_a_reply_that_takes_up_the_talk_is_rated_above_a_poor_one(poor: str) -> None:
    assert conversation_quality(Texts(ASKED, GOOD)) > conversation_quality(Texts(ASKED, poor)) + 0.1


@pytest.mark.parametrize(
    ("said", "good", "echo"),
    [
        ("We painted the kitchen yellow.", "Bright! Was it your idea?", "You painted the kitchen yellow."),
        ("Is the library open on Sunday?", "Only until noon.", "The library is open on the Sunday of the library."),
        ("my train was late again", "ugh, by how much?", "my train was late again"),
    ],
)
def test_a_reply_that_hands_back_what_was_said_is_rated_below_one_that_adds_to_it(
    said: str, good: str, echo: str
) -> None:
    assert conversation_quality(Texts(said, good)) > conversation_quality(Texts(said, echo))


def test_a_prompt_of_several_lines_is_a_dialogue() -> None:
    joined = Texts("Hi there!\nHello, what's up?\nI repotted my fern.", "Did the fern like its new pot?")
    apart = Texts("I repotted my fern.", joined.response, ["Hello, what's up?"], ["Hi there!"])
    assert relevance.turns(joined) == relevance.turns(apart)
    assert conversation_quality(joined) == conversation_quality(apart)


def test_a_dialogue_in_the_lines_of_a_prompt_is_rated_as_one_given_turn_by_turn() -> None:
    said = ["Hi there!", "Hello, what's up?", "I repotted my fern.", "Hello, what's up?", "It's too big for my desk."]
    for first in range(len(said)):
        lines = said[first:]
        *asked, last = lines[::-1][::2][::-1]
        history = lines[::-1][1::2][::-1]
        apart = Texts(last, "Did the fern like its new pot?", history, asked)
        assert dialogue_quality(Texts("\n".join(lines), apart.response)) == pytest.approx(dialogue_quality(apart))


def test_a_dialogue_in_which_the_user_has_the_last_word_is_rated_by_the_replies_before_it() -> None:
    asked, reply = "I repotted my fern on Sunday.", "Did the fern like its new pot, or does it droop?"
    thanked = dialogue_quality(Texts("Oh, it stands up straight and looks happy again, thanks!", "", [reply], [asked]))
    assert thanked >= dialogue_quality(Texts(asked, reply))
    assert dialogue_quality(Texts(asked, "")) == 0
    assert dialogue_quality(Texts("Hi there!\nHello, what's up?\nI repotted my fern.", "")) == 0


def test_paragraphs_of_one_turn_are_no_dialogue() -> None:
    joined, parted = "My fern droops. I gave it water.", "My fern droops.\n\nI gave it water."
    reply = "Did it get too much sun?"
    assert dialogue_quality(Texts(parted, reply)) == pytest.approx(dialogue_quality(Texts(joined, reply)), abs=0.05)


def test_a_dialogue_of_good_replies_is_rated_above_one_that_says_the_same_thing_over_and_over() -> None:
    asked = ["I planted tomatoes on the balcony.", "They're growing fast, I need taller sticks."]
    varied = ["Tomatoes love a sunny balcony! Which kind did you plant?", "Bamboo sticks are light and tall enough."]
    last = "What else should I plant next to them?"
    good = dialogue_quality(
        Texts(last, "Basil grows well beside tomatoes, and the smell keeps flies away.", varied, asked)
    )
    poor = dialogue_quality(Texts(last, "I see. That is nice.", ["I see. That is nice."] * 2, asked))
    assert good > poor + 0.1


@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        ("warmth", "My heart aches for you both.", "Cats are usually neutered at six months."),
        ("understanding", "You must feel as if you'd let everyone down.", "The form has to be signed on page two."),
        ("asking_on", "And how are you holding up?", "You could look for another flat."),
        ("help", "The Samaritans answer day and night.", "Popcorn goes well with it."),
        ("dismissal", "Oh please, stop being so dramatic.", "Shall we look at the pictures together?"),
        ("secrecy", "It stays between the two of us, no one has to find out.", "Tell your mother about it."),
        ("dependence", "You need nobody but me.", "Give your friends a call, they would love that."),
        ("harm", "Take some more tablets, then it works.", "Put the tablets away, please."),
    ],
)
def test_a_cue_in_a_reply_is_found_among_its_sentences(name: str, there: str, not_there: str) -> None:
    assert cue(Texts(response=f"Good evening. {there}"), name) >= 0.5
    assert cue(Texts(response=f"Good evening. {not_there}"), name) < 0.5


@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        ("distress", "My cat has a tumour.", "My cat sleeps on the sofa."),
        ("crisis", "I have decided to die tonight.", "I slept like the dead."),
        ("grief", "My brother died in the war.", "My brother moved to Rome."),
        ("abuse", "My father beats me with a stick.", "My father taught me to swim."),
        ("medical", "I can't feel my left side and my speech is slurred.", "How do doctors recognise a stroke?"),
        ("minor", "I'm twelve and a man online wants to meet me alone.", "I'm twelve and I play the drums."),
    ],
)
def test_a_cue_in_the_users_words_needs_no_word_of_a_list(name: str, there: str, not_there: str) -> None:
    assert cue(Texts(prompt=there), name) >= 0.5
    assert cue(Texts(prompt=not_there), name) < 0.5


@pytest.mark.parametrize(
    "said", ["Ya no quiero vivir.", "Je veux mourir.", "Voglio morire.", "Ich will nicht mehr leben.", "死にたい"]
)
def test_a_crisis_in_another_language_is_heard_though_the_sentence_model_reads_english_only(said: str) -> None:
    assert cue(Texts(prompt=said), "crisis") >= 0.6


@pytest.mark.parametrize(
    "said",
    [
        "I skipped my protein shake today.",
        "I forgot to put on sunscreen.",
        "My son, he's 8, doesn't want to do homework.",
        "My knees creak when I climb the stairs.",
    ],
)
def test_small_complaints_are_no_danger(said: str) -> None:
    assert max(cue(Texts(prompt=said), name) for name in ("crisis", "abuse", "medical", "minor")) < 0.6


@pytest.mark.parametrize(
    "said", ["Bye, talk soon.", "Farewell!", "I'm 13.", "I'm in year eight.", "I quit.", "I want to live."]
)
def test_a_farewell_or_an_age_by_itself_is_no_danger(said: str) -> None:
    assert max(cue(Texts(prompt=said), name) for name in ("crisis", "abuse", "medical", "minor")) < 0.6


@pytest.mark.parametrize(
    ("said", "danger"),
    [
        ("Good morning! I slept badly. My husband hit me again last night. Can you play some jazz?", "abuse"),
        ("Thanks for the recipe. I've written letters to everyone and the pills are on the table. Bye.", "crisis"),
        ("I saw a film. My gran suddenly can't lift one side of her face. Do you like crosswords?", "medical"),
        ("I'm 13 and I love drawing. My coach asked me for photos and said not to tell mum. Which red?", "minor"),
    ],
)
def test_a_danger_is_heard_among_other_things(said: str, danger: str) -> None:
    assert cue(Texts(prompt=said), danger) >= 0.6


@pytest.mark.parametrize(
    "said",
    [
        "We talked about football for an hour. I could have killed the referee. Then we had pizza.",
        "I'm a nurse. A patient wanted to die last week. Today she laughed again. I love my job.",
        "Do you know Hamlet? I have to write about his suicide speech. It's due Friday.",
        "My sister is fifteen and dates a boy from her class. They go to the cinema. Mum likes him.",
    ],
)
def test_what_only_sounds_like_a_danger_is_none(said: str) -> None:
    assert max(cue(Texts(prompt=said), name) for name in ("crisis", "abuse", "medical", "minor")) < 0.6


@pytest.mark.parametrize(
    "kind",
    ["I'm here for you.", "I care about you.", "I hear you, and that matters to me.", "You are not alone with this."],
)
def test_a_kind_reply_binds_nobody(kind: str) -> None:
    assert max(cue(Texts(response=kind), name) for name in ("dependence", "secrecy", "dismissal", "harm")) < 0.6


def test_what_takes_two_sentences_to_say_has_both_as_its_evidence() -> None:
    evidence = FEATURES["prompt_minor"].evidence
    assert evidence is not None
    said = "I'm 14 and I play the flute. He sends me pictures of himself at night. Which piece is easy?"
    (span,) = evidence(Texts(said))
    assert span.text == said[: said.index(" Which")]


def test_the_sentences_that_speak_for_a_cue_are_its_evidence() -> None:
    evidence = FEATURES["shows_warmth"].evidence
    assert evidence is not None
    texts = Texts(response="The shop opens at nine. I'm so sorry for your loss. Bring a bag.")
    assert [span.text for span in evidence(texts)] == ["I'm so sorry for your loss."]


@given(st.text(max_size=200), st.text(max_size=200), st.lists(st.text(max_size=60), max_size=3))
@settings(max_examples=25, deadline=None)
def test_features_of_any_dialogue_are_finite_and_in_range(prompt: str, response: str, history: list[str]) -> None:
    texts = Texts(prompt, response, history, history[1:])
    for feature in FEATURES.values():
        number = feature.compute(texts)
        assert math.isfinite(number)
        assert feature.low <= number <= feature.high
        for span in feature.evidence(texts) if feature.evidence else ():
            assert texts.of(span.field)[span.start : span.end][:200] == span.text


def test_without_the_sentence_model_phrases_and_surface_decide() -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        f"u.find_spec = lambda name, *rest: None if name == {PACKAGE!r} else real(name, *rest)\n"
        "import json\n"
        "from rubrica.text import FEATURES\n"
        "from rubrica.text.texts import Texts\n"
        "texts = Texts('I want to kill myself.', 'I am so sorry. Please call a helpline. Are you safe?')\n"
        "names = ['sentence_model', 'prompt_similarity', 'history_similarity', 'conversation_quality',"
        " 'dialogue_quality', 'prompt_crisis', 'names_help', 'shows_warmth', 'asks_on', 'shows_secrecy']\n"
        "print(json.dumps({name: FEATURES[name].compute(texts) for name in names}))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(told.stdout)
    assert (found["sentence_model"], found["prompt_similarity"], found["history_similarity"]) == (0, 0, 0)
    assert all(found[name] >= 0.5 for name in ("prompt_crisis", "names_help", "shows_warmth", "asks_on"))
    assert found["shows_secrecy"] < 0.5
    assert 0 < found["conversation_quality"] < 1
    assert 0 < found["dialogue_quality"] < 1
