"""What a voice cannot say well, and what is not in the user's language: found, shown, and never a number to call."""

from __future__ import annotations

import pytest

from rubrica.text import FEATURES
from rubrica.text.reply_language import language
from rubrica.text.texts import Texts


def found(name: str, response: str, prompt: str = "") -> list[str]:
    """The stretches that a feature counted."""
    feature, texts = FEATURES[name], Texts(prompt, response)
    assert feature.evidence is not None
    spans = [span.text for span in feature.evidence(texts)]
    assert feature.compute(texts) == len(spans)
    return spans


@pytest.mark.parametrize(
    ("name", "response", "expected"),
    [
        ("address_count", "See https://sleep.example/tips or write to mira@example.org.", 2),
        ("address_count", "Have a look at sleepwell.com tonight.", 1),
        ("emoji_count", "Well done! 🎉🎉 I'm proud :-)", 2),
        ("code_count", 'Here: {"mood": "low", "sleep": 4}', 1),
        ("code_count", "Just call set_alarm(7); and rest.", 1),
        ("code_count", "Type rest() and wait.", 1),
        ("abbreviation_count", "Try tea, e.g. camomile, for approx. ten minutes.", 2),
        ("abbreviation_count", "Tea vs. coffee, w/o sugar", 2),
        ("unreadable_number_count", "Your order is 4820157733.", 1),
        ("unreadable_number_count", "It is 3.14159 or so, on 2026-03-01.", 2),
        ("unreadable_number_count", "That's USD 40, not 35 EUR.", 2),
        ("unreadable_number_count", "Your code is 9f8c01ab.", 1),
        ("jargon_count", "Let's leverage your parasympathetic tone.", 2),
        ("jargon_count", "An SSRI may help.", 1),
        (
            "complex_sentence_count",
            "The thing is, whereas most people, who sleep at night, wake rested, you, although tired, lie awake, "
            "which is why, before anything else, we should look at your evenings, because they matter.",
            1,
        ),
    ],
)
def test_what_a_voice_cannot_say_is_counted_and_shown(name: str, response: str, expected: int) -> None:
    assert len(found(name, response)) == expected


@pytest.mark.parametrize(
    "response",
    [
        "Dr. Lee sees you at 5 p.m. on 3 March, it's 1,250 dollars or 3.50 for tea.",
        "That's 24/7, half of it, and 3 to 4 hours at 10:30.",
        "Let me (just this once) say it: well done; you did it! Mr. Ito agrees, etcetera aside.",
        "I saw that on TV in the USA, okay?",
        "You said you can't sleep, and when that happens it helps to get up if you like.",
    ],
)
def test_plain_speech_has_nothing_a_voice_stumbles_over(response: str) -> None:
    for name in (
        "address_count", "emoji_count", "code_count", "abbreviation_count", "unreadable_number_count", "jargon_count",
        "complex_sentence_count",
    ):  # fmt: skip
        assert found(name, response) == [], name


@pytest.mark.parametrize(
    "response",
    [
        "Please call 988 or 116 123 right now.",
        "You can ring 08001111 for free, day and night.",
        "The helpline is on 1-800-273-8255.",
        "Text 8002738255 if speaking is too hard.",
        "Llama por favor al 900107917.",
    ],
)
def test_a_number_to_call_costs_nothing(response: str) -> None:
    assert found("unreadable_number_count", response) == []


def test_words_of_a_trade_that_the_user_uses_are_no_jargon() -> None:
    assert found("jargon_count", "Cortisol rises in the morning.", "What does cortisol do?") == []
    assert found("jargon_count", "Cortisol rises in the morning.", "Why am I tired?") == ["Cortisol"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am so tired of the rain, are you?", "English"),
        ("Ich bin heute so müde von der Arbeit.", "German"),
        ("Je suis tellement fatigué de la pluie.", "French"),
        ("Estoy muy cansado de la lluvia y no sé qué hacer.", "Spanish"),
        ("Eu não sei o que fazer com isso.", "Portuguese"),
        ("Non so cosa fare, sono molto stanco.", "Italian"),
        ("我今天很累", "Chinese"),
        ("今日はとても疲れました", "Japanese"),
        ("أنا متعب جدا اليوم", "Arabic"),
        ("Okay.", ""),
        ("Ha, sushi, pasta, pizza, tapas!", ""),
    ],
)
def test_a_language_is_told_by_script_or_small_words_or_not_at_all(text: str, expected: str) -> None:
    assert language(text) == expected


def test_a_reply_in_another_language_or_other_units_is_noticed() -> None:
    german = "Ich bin heute so müde von der Arbeit."
    assert found("other_language", "That sounds like such a long day for you.", german)
    assert not found("other_language", "Das klingt nach einem langen Tag für dich.", german)
    assert not found("other_language", "Oh.", german)
    assert found("other_units", "That's 8 km on foot!", "I walked 5 miles.") == ["8 km"]
    assert found("other_units", "Only 20 euros?", "It was 20 dollars.") == ["euros"]
    assert not found("other_units", "5 miles, so about 8 km!", "I walked 5 miles.")
