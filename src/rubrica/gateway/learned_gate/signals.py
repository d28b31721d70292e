"""What the learned gate reads of a question and of an answer: a few numbers, never their words.

They are cheap to compute, mean the same for any traffic, and are kept with the requests that are compared, so that the
gate can be learnt where no text is kept.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from rubrica.model.judge import QuestionClass
from rubrica.text.cut_off import cut_off
from rubrica.text.maths.worked_sum import is_worked_sum, wrong_sum_risk
from rubrica.text.overlap import prompt_overlap
from rubrica.text.question_type import TYPES, by_words
from rubrica.text.style import reading_grade, refusal_spans, repeated_trigram_share
from rubrica.text.texts import Texts

from ..chat import Chat
from ..classifier import question_of
from ..upstream import Completion

READ = 4_000
"""Characters of a text that are read."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CODE = re.compile(r"```|\bdef |\bclass |[;{}]\s*$|=>|</\w+>", re.MULTILINE)
_HEDGE = re.compile(r"\b(?:not (?:sure|certain)|i think|perhaps|maybe|probably|it depends|unclear)\b", re.IGNORECASE)
_LIST = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s", re.MULTILINE)

QUESTION_SIGNALS = (
    "length",
    "conversation",
    "turns",
    "numbers",
    "lines",
    "questions",
    "code",
    "foreign letters",
    "reading grade",
    "told what it is",
    "tools",
    "pictures",
    *(f"is {name}" for name in TYPES),
)
ANSWER_SIGNALS = (
    "answer length",
    "length by question",
    "answer numbers",
    "answer code",
    "list",
    "hedges",
    "refuses",
    "repeats",
    "cut off",
    "words of the question",
    "worked sum",
    "risk of a wrong sum",
)


@dataclass(frozen=True, slots=True)
class QuestionSignals:
    """What a question shows before anybody is asked, and its type as the offline classifier sees it."""

    values: tuple[float, ...]
    classified: QuestionClass


def question_signals(chat: Chat) -> QuestionSignals:
    """The signals of a request, in the order of `QUESTION_SIGNALS`. Takes a millisecond."""
    asked = question_of(chat)
    text = asked.text[:READ]
    chances = by_words(asked.in_full[:READ]).chances if asked.text else {}
    body: dict[str, Any] = chat.body
    values = (
        math.log1p(len(asked.text)),
        math.log1p(sum(len(turn.text) for turn in chat.turns)),
        math.log1p(len(chat.turns)),
        math.log1p(len(_NUMBER.findall(text))),
        math.log1p(text.count("\n")),
        math.log1p(text.count("?")),
        float(_CODE.search(text) is not None),
        sum(letter > "\u024f" for letter in text) / max(1, len(text)),
        min(reading_grade(Texts(prompt=text), "prompt"), 20.0) / 20,
        float(any(turn.role in ("system", "developer") for turn in chat.turns)),
        float(bool(body.get("tools"))),
        float(bool(chat.images)),
        *(chances.get(name, 0.0) for name in TYPES),
    )
    kind, chance = next(iter(chances.items()), ("ANALYTICAL", 0.0))
    return QuestionSignals(_rounded(values), QuestionClass(kind, chance, "offline", "for the learned gate"))


def answer_signals(chat: Chat, answer: Completion) -> tuple[float, ...]:
    """The signals of tier-0's answer, in the order of `ANSWER_SIGNALS`."""
    text = answer.text[:READ]
    texts = Texts(prompt=chat.question[:READ], response=text)
    worked = is_worked_sum(texts)
    return _rounded(
        (
            math.log1p(len(answer.text)),
            math.log((1 + len(answer.text)) / (1 + len(chat.question))),
            math.log1p(len(_NUMBER.findall(text))),
            float(_CODE.search(text) is not None),
            math.log1p(len(_LIST.findall(text))),
            math.log1p(len(_HEDGE.findall(text))),
            float(bool(refusal_spans(texts, "response"))),
            repeated_trigram_share(texts, "response"),
            float(answer.finish == "length" or cut_off(texts)),
            prompt_overlap(texts),
            float(worked),
            wrong_sum_risk(texts) if worked else 0.0,
        )
    )


def _rounded(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(round(value, 4) for value in values)
