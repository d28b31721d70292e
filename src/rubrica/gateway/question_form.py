"""When two questions are the same question: they differ in nothing that could change the answer.

Likeness of letters or of meaning is no proof: "increase" and "decrease", buyer and seller, valid and invalid are near
in both. So only what carries no meaning is taken away: white space, the marks at the end, the shape of quotation marks,
contractions, greetings and requests around the question, and capitals where they do not make another word. What
remains must be equal, word for word and in order.
"""

from __future__ import annotations

import re

LONGEST = 4_000
"""Characters of a question that has a form; a longer one is the same only if all of it is equal."""

_GREETINGS = ("hi there", "hello there", "hey there", "hi", "hello", "hey", "good morning", "good evening")
_REQUESTS = (
    "can you please tell me", "could you please tell me", "would you please tell me", "can you tell me",
    "could you tell me", "would you tell me", "please tell me", "please, tell me", "tell me", "please",
    "i would like to know", "i want to know",
)  # fmt: skip
_THANKS = ("please", "thanks", "many thanks", "thank you", "thank you very much")
_MARKS = " ,.!?…"
_FIXED = (
    (re.compile(r"\b(what|who|where|when|how|that|there|it)'s (?=(?:the|an?|it|this|that|in|on|my|your) )"), r"\1 is "),
    (re.compile(r"\b(what|who|where|how|you|we|they)'re\b"), r"\1 are"),
    (re.compile(r"\bcan(?:'t|not)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|has|have|had|would|should|could|must)n't\b"), r"\1 not"),
    (re.compile(r"\bi'm\b"), "i am"),
)  # fmt: skip
"""Contractions that stand for one thing only."""
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "’": "'", "‘": "'", "`": "'", "\u00a0": " "})
_WORD = re.compile(r"[^\W\d_]+")
_BY_CASE = frozenset({
    "aids", "amazon", "apple", "august", "bath", "bill", "cat", "china", "christian", "drew", "excel", "frank",
    "gates", "go", "grace", "it", "java", "job", "jobs", "joy", "lance", "lead", "march", "mark", "may", "meta",
    "miles", "nice", "oracle", "outlook", "pet", "polish", "python", "ram", "reading", "red", "rich", "rose",
    "rust", "sat", "shell", "slack", "snap", "swift", "target", "teams", "turkey", "us", "visa", "who", "will",
    "windows", "word", "zoom",
})  # fmt: skip
"""Words that become others with a capital letter."""


def question_form(question: str) -> tuple[str, tuple[str, ...]] | None:
    """What two questions must share to be the same one: their bare words, and those that capitals could change.

    >>> question_form("What's the capital of France?") == question_form("hi, what is the capital of  france")
    True
    >>> question_form("Who leads us?") == question_form("Who leads US?")
    False
    """
    if len(question) > LONGEST:
        return None
    text = " ".join(question.translate(_QUOTES).split())
    bare = _between(text.casefold())
    for contraction, whole in _FIXED:
        bare = contraction.sub(whole, bare)
    return bare, _capitals(text)


def _between(text: str) -> str:
    """A question without the greeting and the request before it, and the thanks after it."""
    for openings in (_GREETINGS, _REQUESTS):
        opening = next((each for each in openings if text.startswith((f"{each} ", f"{each},", f"{each}!"))), "")
        text = text[len(opening) :].lstrip(_MARKS) if opening else text
    text = text.rstrip(_MARKS)
    ending = next((each for each in _THANKS if text.endswith((f" {each}", f",{each}", f"?{each}"))), "")
    return text[: len(text) - len(ending)].rstrip(_MARKS)


def _capitals(text: str) -> tuple[str, ...]:
    """Words as they are written, of which capitals could make others."""
    words = _WORD.findall(text)
    shouted = text.isupper()
    return tuple(
        word if word.casefold() in _BY_CASE and place else word.casefold()
        for place, word in enumerate(words)
        if word.casefold() in _BY_CASE or (len(word) > 1 and word.isupper() and not shouted)
    )
