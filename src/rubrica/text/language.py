"""Which language a text is in: by its script, or by its commonest words. And how some languages mark steps.

English, Spanish, French, German, Portuguese, Italian and Dutch are told apart by words; other scripts are named.
What is too short to tell, or in none of them, has no language rather than a guess.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.word_files import read_words

ENGLISH = "English"
READ = 4_000  # characters that are looked at
_FEWEST = 2  # common words that a language must have
_LETTERS = lazy_pattern(r"[^\W\d_]+")

_MARKS = {"Spanish": "ñ¿¡", "French": "œèêûç", "German": "ßäöü", "Portuguese": "ãõç"}
"""Letters and marks that count as a common word where they occur."""
_SCRIPTS = {
    "ARABIC": "Arabic",
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "CYRILLIC": "a Cyrillic script",
    "GREEK": "Greek",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "a Devanagari script",
    "BENGALI": "Bengali",
    "THAI": "Thai",
}

HAN = lazy_pattern("[\u3400-\u9fff]")
"""A sign of Chinese script, which sets no words apart."""

STEP = lazy_pattern(
    r"^\s*(?:[-*•]\s|[0-9٠-٩]{1,2}[.)、]\s?|(?:step|paso|étape|etape|schritt|passo|الخطوة|خطوة)\s*\S|第\s?[0-9一二三四五六七八九十]+\s?步)"
    r"|(?:^|(?<=[.!?؟。！？:]\s)|(?<=[.!?؟。！？]))(?:"
    r"first|second|third|next|then|finally|lastly"
    r"|primero|segundo|tercero|luego|después|entonces|a continuación|por último|finalmente"
    r"|d'abord|d’abord|premièrement|deuxièmement|ensuite|puis|après|enfin|finalement"
    r"|zuerst|zunächst|erstens|zweitens|drittens|dann|danach|anschließend|zuletzt|schließlich"
    r"|primeiro|depois|em seguida|então|por fim|(?:paso|étape|schritt|passo|step) \d"
    r"|أولاً|أولا|ثانياً|ثانيا|ثالثاً|ثالثا|ثم|بعد ذلك|أخيراً|أخيرا|(?:الخطوة|خطوة)(?= )"
    r"|首先|其次|然后|接着|再|最后|第\s?[0-9一二三四五六七八九十]+\s?步)(?![a-zà-ÿء-ي])",
    re.IGNORECASE | re.MULTILINE,
)
"""Where an explanation begins a step, in the languages above: a number, a bullet, or a word such as "next"."""


@cache
def common_words() -> Mapping[str, frozenset[str]]:
    """The commonest words of each language that is told by them."""
    written = read_words("language_words.yaml")
    return {name: frozenset(words.split()) for name, words in written.items()}


def language_of(text: str) -> str:
    """The name of the language of a text, in English; empty where it cannot be told.

    >>> language_of("¿Cuántas manzanas quedan en la caja?"), language_of("Wie viele Äpfel sind in der Kiste?")
    ('Spanish', 'German')
    >>> language_of("一共有多少个苹果？"), language_of("How many apples are in the box?"), language_of("3 + 4 = ?")
    ('Chinese', 'English', '')
    """
    text = text[:READ]
    words = _LETTERS.findall(text.lower())
    letters = sum(map(len, words))
    if not letters:
        return ""
    scripts = _scripts("".join(words))
    script, number = scripts.most_common(1)[0] if scripts else ("", 0)
    if scripts["Japanese"]:
        script = "Japanese"
    if number * 3 > letters:  # signs of Latin script stand in formulas and names of any language
        return script
    counts = {name: sum(word in common for word in words) for name, common in common_words().items()}
    for name, marks in _MARKS.items():
        counts[name] += sum(mark in text for mark in marks)
    best = max(counts, key=lambda name: (counts[name], name == ENGLISH))
    return best if counts[best] >= _FEWEST and counts[best] * 10 >= len(words) else ""


def is_read_as_english(text: str) -> bool:
    """Whether measures for English may be used: it is in English, or says too little to tell, in plain letters."""
    found = language_of(text)
    return found == ENGLISH or (not found and "".join(_LETTERS.findall(text[:READ])).isascii())


def _scripts(letters: str) -> Counter[str]:
    """How many letters are of each script but Latin."""
    found: Counter[str] = Counter()
    for letter, number in Counter(letters).items():
        if not letter.isascii():
            name = _SCRIPTS.get(unicodedata.name(letter, "").split(" ", 1)[0].split("-", 1)[0])
            if name is not None:
                found[name] += number
    return found
