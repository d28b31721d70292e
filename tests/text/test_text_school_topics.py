"""Whether a question fits a skill is read by meaning; without the means to compare them nothing is claimed."""

from __future__ import annotations

import json

import pytest

from rubrica.text import FEATURES
from rubrica.text.questions import topic
from rubrica.text.texts import Texts

ROLLS = "A baker puts 8 rolls on each tray and fills 6 trays. How many rolls are there?"
MULTIPLY = "Use multiplication within 100 to solve problems with equal groups"
SHAPES = "Identify and classify two-dimensional shapes by their sides and angles"


def match(asked: str, question: str = ROLLS) -> tuple[float, float, float]:
    texts = Texts(asked, json.dumps({"question": question}))
    known, value, clear = (FEATURES[f"topic_{name}"].compute(texts) for name in ("match_known", "match", "clear"))
    return known, value, clear


def test_a_story_fits_its_skill_though_it_shares_no_word_with_it() -> None:
    texts = Texts(MULTIPLY, json.dumps({"question": ROLLS}))
    assert FEATURES["topic_overlap"].compute(texts) == 0
    known, value, _ = match(MULTIPLY)
    assert known == 1
    assert value > 0.05


@pytest.mark.parametrize("skill", [SHAPES, "Describe the causes of the Second World War"])
def test_another_topic_is_clearly_another(skill: str) -> None:
    known, value, clear = match(skill)
    assert (known, clear) == (1, 1)
    assert value < -0.3


@pytest.mark.parametrize("skill", ["Word problems", "Grade 3 math", "Solve real-world problems", "Chapter 4 quiz"])
def test_a_skill_at_large_covers_all_questions_of_its_subject(skill: str) -> None:
    assert match(skill)[1] > -0.1


def test_an_order_around_the_topic_does_not_matter() -> None:
    plain, ordered = (
        match("equal groups"),
        match("Write an easy multiple-choice question about equal groups for grade 3."),
    )
    assert ordered == plain


def test_other_languages_and_missing_models_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert match("Multiplicación con grupos iguales de objetos")[0] == 0
    assert match(MULTIPLY, "Un panadero pone 8 panes en cada bandeja. ¿Cuántos panes hay en 6 bandejas?")[0] == 0
    monkeypatch.setattr(topic, "sentence_model", lambda: None)
    assert match(SHAPES) == (0, 0, 0)


def test_what_the_texts_read_like_is_told() -> None:
    texts = Texts(SHAPES, json.dumps({"question": ROLLS}))
    evidence = FEATURES["topic_match"].evidence
    assert evidence is not None
    (span,) = evidence(texts)
    assert span.text == ROLLS
    assert span.label == "it reads like multiplying and dividing; asked for: shapes"
