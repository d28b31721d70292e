"""Instructions of a question that code can check, such as "as JSON" or "at most 50 words", and who breaks them.

Only what is asked for in plain English words is checked, and only what can be counted: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rubrica.jsontext import json_values, unwrap_json
from rubrica.text.texts import Texts
from rubrica.text.words import sentences

LONGEST = 20_000  # characters of a question that are looked at
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = rf"(?P<count>\d{{1,5}}|{'|'.join(_NUMBERS)})"
_LIMIT = r"(?:at most|no more than|not more than|up to|within|a maximum of|max\.?|maximum|limited to)"
_UNDER = r"(?:under|fewer than|less than|below)"
_WORDS_AT_MOST = re.compile(
    rf"\b{_LIMIT} {_COUNT} words?\b|\b(?:in|use) {_COUNT.replace('count', 'fewer')} words? or (?:less|fewer)\b", re.I
)
_WORDS_UNDER = re.compile(rf"\b{_UNDER} {_COUNT} words?\b", re.I)
_ONE_WORD = re.compile(
    r"\b(?:answer|reply|respond)\b[^.?!\n]{0,30}\b(?:a single|one|a one)[ -]word\b|\bin one word\b", re.I
)
_SENTENCES = re.compile(
    rf"\b(?:in|use|write|answer in|{_LIMIT}) (?:(?:exactly|only|just) )?{_COUNT} sentences?\b", re.I
)
_POINTS = re.compile(
    rf"\b(?:in|as|with|give|list|write|use) (?:me )?(?:exactly )?{_COUNT} (?:bullet points?|bullets)\b", re.I
)
_JSON = re.compile(
    r"\b(?:answer|reply|respond|output|return|give|write|format)\b[^.?!\n]{0,60}"
    r"\b(?:as|in|with|valid|a) (?:\w+ )?json\b"
    r"|\bjson (?:only|object only)\b|\bonly (?:valid )?json\b",
    re.I,
)
_YES_NO = re.compile(
    r"\b(?:answer|reply|respond)\b[^.?!\n]{0,30}\b(?:yes or no|yes/no)\b|\byes or no(?:\?|\.| only| answer)", re.I
)
_ITEM = re.compile(r"^\s{0,8}(?:[-*•–]|\d{1,2}[.)])\s+\S", re.M)
_SAYS = re.compile(r"\W*(?:yes|no)\b", re.I)


def broken_instructions(question: str, answer: str) -> tuple[str, ...]:
    """What an answer breaks of what its question asks for.

    >>> broken_instructions("Name a fruit. Answer in JSON.", "An apple.")
    ('JSON was asked for, and it is none',)
    >>> broken_instructions("Why? Use at most 5 words.", "Because of the way the light is scattered.")
    ('at most 5 words were asked for, and it has 8',)
    >>> broken_instructions("Is it safe? Answer yes or no.", "Yes."), broken_instructions("Why?", "So.")
    ((), ())
    """
    return tuple(_broken(question[:LONGEST], answer))


def _broken(question: str, answer: str) -> Iterator[str]:
    words = len(answer.split())
    if _JSON.search(question) and not _holds_json(answer):
        yield "JSON was asked for, and it is none"
    if (match := _WORDS_AT_MOST.search(question)) and words > (most := _number(match["count"] or match["fewer"])):
        yield f"at most {most} words were asked for, and it has {words}"
    elif (match := _WORDS_UNDER.search(question)) and words >= (most := _number(match["count"])):
        yield f"fewer than {most} words were asked for, and it has {words}"
    elif _ONE_WORD.search(question) and words > 1:
        yield f"one word was asked for, and it has {words}"
    if match := _SENTENCES.search(question):
        said, most = len(sentences(Texts(response=answer), "response")), _number(match["count"])
        if said > most:
            yield f"{most} sentence{'s' * (most != 1)} {'were' if most != 1 else 'was'} asked for, and it has {said}"
    if match := _POINTS.search(question):
        items, wanted = len(_ITEM.findall(answer)), _number(match["count"])
        if items != wanted:
            yield f"{wanted} bullet points were asked for, and it has {items}"
    if _YES_NO.search(question) and not _SAYS.match(answer):
        yield "yes or no was asked for, and it begins with neither"


def _holds_json(answer: str) -> bool:
    _, data = unwrap_json(answer)
    if data is not None or answer.strip() == "null":
        return True
    fenced = re.search(r"```(?:json)?\s*(?P<inside>[\s\S]*?)```", answer)
    return fenced is not None and any(True for _ in json_values(fenced["inside"], most=1))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.index(text.lower()) + 1
