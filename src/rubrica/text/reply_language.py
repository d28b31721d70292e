"""Whether a reply is in the user's language, units and money.

The language is told by its script or, in Latin script, by small words that only it has; a text of a few words tells
nothing, and then nothing differs. Units and money are compared where both sides name some.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from rubrica.text.language import ENGLISH
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.texts import Feature, Span, Texts
from rubrica.text.words import WORD, cached_reading

LEAST_WORDS = 5  # of a text in Latin script whose language can be told
LEAST_SHARE = 0.2  # of them that are small words of its language
LEAD = 2  # small words that it has more than any other language
READ = 2_000  # characters of each side that are read
SHOWN = 60  # of a reply in another language, as evidence

_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "Japanese": lazy_pattern(r"[\u3040-\u30ff]"),
    "Chinese": lazy_pattern(r"[\u4e00-\u9fff]"),
    "Korean": lazy_pattern(r"[\uac00-\ud7af\u1100-\u11ff]"),
    "Arabic": lazy_pattern(r"[\u0600-\u06ff]"),
    "Cyrillic": lazy_pattern(r"[\u0400-\u04ff]"),
    "Greek": lazy_pattern(r"[\u0370-\u03ff]"),
    "Hebrew": lazy_pattern(r"[\u0590-\u05ff]"),
    "Devanagari": lazy_pattern(r"[\u0900-\u097f]"),
    "Thai": lazy_pattern(r"[\u0e00-\u0e7f]"),
}
_SMALL_WORDS: Mapping[str, str] = {
    "English": """the a an and is are am be you your i me my it it's i'm that this of to for with what have was not do
        don't how but they we he she would can if so on in at there yes about just when""",
    "German": """der die das und ist nicht ich du mir mich dir ein eine zu mit auf für was wie auch noch mehr bin bist
        war sich es sie wir aber wenn dass hat habe kann den dem""",
    "French": """le la les de et est pas je tu vous nous un une des que qui dans pour avec sur mais ce cette mon ma ton
        ta il elle on suis es j'ai c'est au du plus""",
    "Spanish": """el de la los las y es no yo tú que un una por para con pero mi tu se lo en del al más muy está estoy
        eres qué cómo como ya te me""",
    "Portuguese": """o de a os as e é não eu você que um uma por para com mas meu minha seu sua se no na do da em mais
        muito está estou isso como te me""",
    "Italian": """il lo la gli le e è non io tu che un una per con ma mio mia tuo tua si di da del della in più molto
        sono sei come cosa ti mi ho""",
    "Dutch": """de het een en is niet ik jij je mijn dat die van voor met op maar wat hoe ook nog ben bent heb kan zijn
        er te""",
}
_UNITS: Mapping[str, re.Pattern[str]] = {
    "metric": lazy_pattern(
        r"\d[\d.,]{0,12}\s?(?:km|kilomet(?:er|re)s?|met(?:er|re)s|cm|centimet(?:er|re)s|kg|kilos?|kilograms?|grams|°c|celsius|"
        r"degrees celsius|lit(?:er|re)s?)\b",
        re.IGNORECASE,
    ),
    "imperial": lazy_pattern(
        r"\d[\d.,]{0,12}\s?(?:miles?|mph|feet|foot|ft|inch(?:es)?|yards?|lbs?|stone|°f|fahrenheit|"
        r"degrees fahrenheit|gallons?|ounces?|oz)\b",
        re.IGNORECASE,
    ),
}
_MONEY: Mapping[str, re.Pattern[str]] = {
    "$": lazy_pattern(r"\$\s?\d|\b(?:dollars?|bucks)\b", re.IGNORECASE),
    "€": lazy_pattern(r"€|\beuros?\b", re.IGNORECASE),
    "£": lazy_pattern(r"£|\b(?:quid|pence|pounds sterling)\b", re.IGNORECASE),
    "¥": lazy_pattern(r"[¥￥]|\byen\b", re.IGNORECASE),
    "₹": lazy_pattern(r"₹|\brupees?\b", re.IGNORECASE),
}


@cache
def _small_words() -> dict[str, frozenset[str]]:
    return {name: frozenset(written.split()) for name, written in _SMALL_WORDS.items()}


def language(text: str) -> str:
    """The language or script of a text; "" where it cannot be told.

    >>> language("Wie geht es dir heute, mein Freund?"), language("How are you?"), language("今日は疲れました")
    ('German', '', 'Japanese')
    """
    text = text[:READ]
    letters = sum(map(str.isalpha, text))
    for name, pattern in _SCRIPTS.items():
        if 3 * len(pattern.findall(text)) > letters > 0:
            return name
    found = [word.lower() for word in WORD.findall(text)]
    if len(found) < LEAST_WORDS:
        return ""
    counts = {name: sum(word in small for word in found) for name, small in _small_words().items()}
    (best, most), (_, second) = sorted(counts.items(), key=lambda each: -each[1])[:2]
    return best if most >= second + LEAD and most >= LEAST_SHARE * len(found) else ""


@cached_reading
def other_language(texts: Texts) -> float:
    """1 where both languages can be told and differ.

    >>> other_language(Texts("Ich bin heute so müde von der Arbeit.", "That sounds like a long day for you."))
    1.0
    """
    said, reply = language(texts.prompt), language(texts.response)
    return float(bool(said and reply and said != reply))


@cached_reading
def both_english(texts: Texts) -> float:
    """1 where the response is in English, and the prompt in no other language.

    >>> [both_english(Texts("Why is it so?", text)) for text in ("It is so because of the rain.", "Weil es so ist.")]
    [1.0, 0.0]
    """
    return float(language(texts.response) == ENGLISH and language(texts.prompt) in ("", ENGLISH))


@cached_reading
def other_units(texts: Texts) -> float:
    """1 where the user counts in one system of units, or one money, and the response only in another.

    >>> other_units(Texts("It's 5 miles to my gran's.", "So 8 km on foot!")), other_units(Texts("5 miles!", "Five?"))
    (1.0, 0.0)
    """
    user = "\n".join([*texts.asked, texts.prompt])[-READ:]
    return float(any(_only_another(user, texts.response[:READ], kinds) for kinds in (_UNITS, _MONEY)))


def _only_another(user: str, reply: str, kinds: Mapping[str, re.Pattern[str]]) -> bool:
    used, said = ({name for name, pattern in kinds.items() if pattern.search(text)} for text in (user, reply))
    return bool(used and said) and not used & said


def _evidence_of_language(texts: Texts) -> list[Span]:
    if not other_language(texts):
        return []
    label = f"{language(texts.response)}; the user: {language(texts.prompt)}"
    return [Span("response", 0, min(len(texts.response), SHOWN), texts.response[:SHOWN], label)]


def _evidence_of_units(texts: Texts) -> list[Span]:
    if not other_units(texts):
        return []
    found = (pattern.search(texts.response[:READ]) for kinds in (_UNITS, _MONEY) for pattern in kinds.values())
    return [Span("response", *match.span(), match.group(), "units") for match in found if match is not None]


FEATURES: tuple[Feature, ...] = (
    Feature(
        "both_english",
        "1 when the response is in English, and the prompt in no other language that can be told, else 0",
        0.0,
        1.0,
        both_english,
    ),
    Feature(
        "other_language",
        "1 when the response is in another language than the prompt, where both can be told, else 0",
        0.0,
        1.0,
        other_language,
        _evidence_of_language,
    ),
    Feature(
        "other_units",
        "1 when the response counts only in units or money that the user does not use, else 0",
        0.0,
        1.0,
        other_units,
        _evidence_of_units,
    ),
)
