"""What an explanation arrives at: the letter it names, and the amounts it ends on. In doubt it does not say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rubrica.text.amounts import Amount, amounts_of

_LONG = 600  # characters of the last line that are looked at
_SAYS_LETTER = re.compile(
    r"(?i:answer|option|choice|ans)\b[^\w\n]{0,5}(?i:is\b|will\s+be\b|key\b|should\s+be\b)?[^\w\n]{0,5}"
    r"(?i:option\b|choice\b|letter\b)?[^\w\n]{0,3}"
    r"([A-H])(?=\s*(?:[).,;:!*=]|$)|\s+(?:because|since|as)\b|\s+[$£€]?\d[\d,.]*\s*$)"
    r"|\b([A-H])\)?\s+is\s+(?:the\s+)?(?:correct|right|answer|best)\b"
    r"|(?:=|→|⇒|=>|->|\b(?:(?i:hence|thus|therefore|so|choose|pick|select|imo)))[,:]?\s{0,2}\(?([A-H])\)?[.!]?\s*$",
    re.MULTILINE,
)
_LETTER_LINE = re.compile(r"\W{0,4}([A-H])\W{0,4}")
_ANSWER_WORD = re.compile(r"answer|ans\b", re.IGNORECASE)
_LABEL_LINE = re.compile(
    r"\W*(?i:(?:so|hence|thus|therefore)\W+)?(?i:the\s+)?(?i:correct\s+|right\s+|final\s+)?(?i:answer|ans|option|choice)"
    r"\b[^\n\d]{0,25}|\W{0,4}[A-H]\W{0,4}|\W*[A-H]\s+is\s+(?:the\s+)?(?:correct|right|answer|best)[^\n\d]{0,20}"
)
_ONLY_AMOUNT = re.compile(r"[^\w\n]{0,4}(?:Rs\.?\s?)?[-$£€]?\d[^\n]{0,25}")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z\"“(])")
_ASIDE = re.compile(
    r"\b(?:check|verif\w+|note|remember|if|wrong|incorrect\w*|mistake\w*|forg[eo]t\w*|instead|not|never|avoid|picked"
    r"|chose|chosen|distractors?|tempting|common|confus\w+|\d{1,3}(?:st|nd|rd|th)?\s+options?)\b",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"[=≈⇒→]|\b(?:so|thus|hence|therefore|answer|ans|result|total|must be|should be|will be|would be|left with"
    r"|altogether|comes? to|equals?)\b",
    re.IGNORECASE,
)
_CALCULATES = re.compile(r"[=≈]\s{0,3}[^\w\n=]{0,6}(?:Rs\.?\s?)?-?\d|\d\s{0,3}[=≈]")
_RESULT = re.compile(
    r"(?:[=≈:⇒→>]|\b(?:is|be|are|was|were|equals?|answer|gives?|gets?|becomes?|needs?))[^\w\n]{0,4}"
    r"(?:Rs\.?\s?|only\s|about\s)?[-−$£€(\s]{0,4}$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"\s{0,2}(?:[*+×÷·∙⋅^!/∗]|x\b|[-−–]\s?[\d(]|\()|[a-zA-Z](?![a-zA-Z])\s?[-+*/=]")
_EQUALS = re.compile(r"(?:[=≈]|\b(?:is|be|are|equals?))\s{0,3}(?:Rs\.?\s?)?[-−$£€(\s]{0,4}$", re.IGNORECASE)
_SO = re.compile(r"\W*(?:so|thus|hence|therefore|then|in total|altogether)\b", re.IGNORECASE)
_UNIT = re.compile(r"[^\d=]{0,25}")
_LOST_BARS = re.compile(r"(?:^|(?<=[\s=(]))(\d{1,6})=(\d{1,6})(?=ths?\b|[\s.,)]|$)")  # 3=5 was 3/5 once
_SAYS_NUMBER = re.compile(
    r"\b(?:answer|result|ans)\s*(?:is|=|:|equals|would be|will be)\s*[^\w\n]{0,3}(?:Rs\.?\s?)?(?=-?\d)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Closing:
    """The last statement of an explanation that names an amount."""

    text: str
    amounts: tuple[Amount, ...]
    concludes: bool  # it says so: "so", "=", "in total"

    @property
    def last(self) -> Amount:
        return self.amounts[-1]

    @property
    def results(self) -> tuple[Amount, ...]:
        return results(self.text)

    @property
    def shown(self) -> str:
        return self.text[-80:].strip()


def stated_letter(explanation: str) -> tuple[str, str] | None:
    """The letter the explanation names as the answer, and the words; None if it names none, or several.

    >>> stated_letter("Six cows have 24 legs. So the answer is C."), stated_letter("It is 24.\\nC")
    (('C', 'answer is C'), ('C', 'C'))
    """
    text = explanation.rstrip()
    found = [
        (match[1] or match[2] or match[3], match[0].strip())
        for match in _SAYS_LETTER.finditer(text)
        if match[2] or (match[1] and _ANSWER_WORD.search(match[0])) or match.end() >= len(text) - 3
    ]
    last = text.rpartition("\n")[2]
    alone = _LETTER_LINE.fullmatch(last)
    if alone and "\n" in text:
        found.append((alone[1], last.strip()))
    return found[-1] if len({letter for letter, _ in found}) == 1 else None


def stated_value(explanation: str, words: str) -> tuple[Amount, ...]:
    """The amounts that stand right after the words that name the letter: 24 of "Answer: C) 24".

    >>> [int(amount.value) for amount in stated_value("It is 20 + 4.\\nAnswer: C) 24", "Answer: C")]
    [24]
    """
    rest = explanation[explanation.rfind(words) + len(words) :].partition("\n")[0]
    return tuple(amounts_of(rest)) if _ONLY_AMOUNT.fullmatch(rest) else ()


def closing(explanation: str) -> Closing | None:
    """The last statement with an amount; None if the explanation ends in an aside, or in several lines without any.

    >>> closing("The shorter is 6, the longer 18. So the total length is 24.\\nAnswer: C").text
    'So the total length is 24.'
    """
    lines = [line for line in explanation.strip().splitlines() if line.strip()]
    while lines and _LABEL_LINE.fullmatch(lines[-1].strip()):
        lines.pop()
    for line in reversed(lines[-2:]):
        for sentence in reversed(_SENTENCE.split(line[-_LONG:])):
            if _LABEL_LINE.fullmatch(sentence.strip()):
                continue
            if _ASIDE.search(sentence):
                return None
            amounts = tuple(amounts_of(sentence))
            if amounts:
                return Closing(sentence, amounts, _CONCLUDES.search(sentence) is not None)
    return None


def results(explanation: str) -> tuple[Amount, ...]:
    """The amounts that the explanation comes to on its way, rather than starts from.

    >>> [int(amount.value) for amount in results("Of 8 cows we count the legs: 8 × 4 = 32, and the answer is 32.")]
    [32, 32]
    """
    return tuple(
        amount
        for amount in amounts_of(explanation)
        if _RESULT.search(explanation, max(0, amount.start - 25), amount.start)
        and not _GOES_ON.match(explanation, amount.end)
    )


def ends_on(end: Closing) -> bool:
    """Whether the closing statement has its last amount as its result: "x = 24 cm", "so it takes her 24 hours"."""
    if len(end.amounts) == 1 and _SO.match(end.text):
        return True
    return (
        _EQUALS.search(end.text, max(0, end.last.start - 25), end.last.start) is not None
        and _UNIT.fullmatch(end.text, end.last.end) is not None
    )


def calculates(explanation: str) -> bool:
    """Whether the explanation comes to numbers by reckoning, rather than tell of some."""
    if any(int(match[1]) != int(match[2]) for match in _LOST_BARS.finditer(explanation)):
        return False
    return _CALCULATES.search(explanation) is not None or _SAYS_NUMBER.search(explanation) is not None
