"""Dangers that are put into words in other languages than English, and what only sounds like them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from rubrica.text.abroad import PhrasesAbroad, plain_letters
from rubrica.text.cues import cue, cues, patterns_abroad, weights
from rubrica.text.patterns import compile_regex
from rubrica.text.texts import Texts

DANGERS = ("crisis", "grief", "abuse", "medical")
HEARD = (*DANGERS, "distress")
Said = Mapping[str, Mapping[str, Sequence[str]]]
SAID: Said = yaml.safe_load(Path(__file__).with_name("cues_abroad.yaml").read_text(encoding="utf-8"))


def has(name: str, text: str) -> bool:
    return any(pattern.count(text, 1) for pattern in patterns_abroad(name))


def test_every_language_has_dangers_of_each_kind_and_look_alikes() -> None:
    assert len(SAID) == 23
    for language, said in SAID.items():
        assert [name for name in (*HEARD, "none") if len(said[name]) < 3] == [], language


def test_dangers_are_heard_in_every_language_with_and_without_accents() -> None:
    missed = [
        (language, name, written)
        for language, said in SAID.items()
        for name in HEARD
        for text in said[name]
        for written in (text, text.upper(), plain_letters(text), unicodedata.normalize("NFD", text))
        if not has(name, written)
    ]
    assert missed == []


def test_figures_of_speech_games_films_and_questions_are_no_danger() -> None:
    taken = [
        (language, name, text)
        for language, said in SAID.items()
        for text in said["none"]
        for name in HEARD
        if has(name, text)
    ]
    assert taken == []


def test_a_phrase_of_another_language_is_enough_to_hear_a_cue() -> None:
    assert {name for name in HEARD if weights().by_phrase[name].chance((1.0, 0.0, 0.0, 0.0, 0.0)) < 0.8} == set()
    missed = [
        (language, name, said[name][0])
        for place, (language, said) in enumerate(SAID.items())
        for name in (DANGERS[place % len(DANGERS)],)
        if cue(Texts(prompt=f"Hello. {said[name][0]}"), name) <= 0.5
    ]
    assert missed == []


def test_an_umlaut_is_no_reason_to_miss_a_phrase_and_a_longer_word_is_another_one() -> None:
    phrases = PhrasesAbroad(["würgt mich", "śmierć taty"], ["死にたい"])
    for text in ("Er wurgt mich!", "Er WÜRGT MICH", "smierc taty", "もう死にたい"):
        assert phrases.count(text) == 1, text
    for text in ("Er erwürgt mich", "Er würgt michä", "死んだ", ""):
        assert phrases.count(text) == 0, text


def test_each_phrase_abroad_is_one_that_an_author_could_write() -> None:
    for name in HEARD:
        for phrase in (*cues()[name].abroad, *cues()[name].anywhere):
            pattern = compile_regex(phrase, ignore_case=True)  # refuses what is dear, or matches nothing at all
            assert pattern.count("", 1) == 0
