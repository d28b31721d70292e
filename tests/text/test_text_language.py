"""Languages are told by script and common words; what measures English is not used on other languages."""

from __future__ import annotations

import json

import pytest

from rubrica.text import FEATURES
from rubrica.text.language import STEP, is_read_as_english, language_of
from rubrica.text.texts import Texts


def value(name: str, **fields: object) -> float:
    return FEATURES[name].compute(Texts(response=json.dumps({"question": "?", **fields}, ensure_ascii=False)))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Marta tiene 12 lápices y pierde 5. ¿Cuántos lápices le quedan?", "Spanish"),
        ("Il y a 24 élèves dans la classe. Combien de groupes de 6 peut-on former ?", "French"),
        ("In einem Korb sind 12 Birnen. Wie viele Birnen sind es in drei Körben?", "German"),
        ("Quantos dias há em três semanas? Escolha a resposta certa para o aluno.", "Portuguese"),
        ("كم عدد أيام الأسبوع؟", "Arabic"),
        ("一个长方形的长是5厘米，宽是3厘米，面积是多少？", "Chinese"),
        ("Which of these shapes has no corners?", "English"),
        ("Solve for y: 4y - 9 = 23", ""),
        ("H2 + O2 → H2O", ""),
        ("", ""),
    ],
)
def test_a_language_is_told_or_left_open(text: str, language: str) -> None:
    assert language_of(text) == language
    assert is_read_as_english(text) is (language in ("", "English"))


@pytest.mark.parametrize(
    "explanation",
    [
        "Step 1: add. Step 2: check.",
        "Paso 1: sumamos. Paso 2: comprobamos.",
        "Primero sumamos los lápices. Después restamos.",
        "Étape 1 : on compte.\nÉtape 2 : on divise.",
        "D'abord, on compte. Ensuite, on divise.",
        "Schritt 1: addieren.\nSchritt 2: prüfen.",
        "Zuerst zählen wir. Danach teilen wir.",
        "Passo 1: somar. Passo 2: verificar.",
        "الخطوة الأولى: نجمع. الخطوة الثانية: نطرح.",
        "第一步：相加。第二步：检查。",
        "首先数一数。然后相乘。",
    ],
)
def test_steps_are_seen_in_seven_languages(explanation: str) -> None:
    assert value("explanation_step_count", explanation=explanation) == 2
    assert len(STEP.findall(explanation)) == 2


def test_a_word_that_begins_like_a_step_is_none() -> None:
    assert STEP.findall("Thenceforth it holds. Nextdoor lives Ann.") == []


def test_no_reading_grade_is_given_to_other_languages() -> None:
    german = (
        "Berechne die Durchschnittsgeschwindigkeit des Personenzuges auf der Gesamtstrecke und begründe die Antwort."
    )
    english = "Calculate the instantaneous acceleration of the locomotive considering gravitational resistance."
    assert (value("question_reading_grade", question=german), value("question_in_english", question=german)) == (0, 0)
    assert value("question_reading_grade", question=english) > 12


def test_words_of_chinese_are_counted_though_nothing_sets_them_apart() -> None:
    assert value("explanation_word_count", explanation="每个盘子有八个面包，所以用乘法") == 7
