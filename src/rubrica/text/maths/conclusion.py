"""What an explanation arrives at: the letter it names, and the amounts it ends on. In doubt it does not say."""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import Amount, amounts_of

_LONG = 600  # characters of the last line that are looked at
_SAYS_LETTER = lazy_pattern(
    r"(?i:answer|option|choice|ans)\b[^\w\n]{0,5}(?i:is\b|will\s+be\b|key\b|should\s+be\b)?[^\w\n]{0,5}"
    r"(?i:option\b|choice\b|letter\b)?[^\w\n]{0,3}"
    r"([A-H])(?=\s*(?:[).,;:!*=]|$)|\s+(?:because|since|as)\b|\s+[$£€]?\d[\d,.]*\s*$)"
    r"|\b([A-H])\)?\s+is\s+(?:the\s+)?(?:correct|right|answer|best)\b"
    r"|(?:=|→|⇒|=>|->|\b(?:(?i:hence|thus|therefore|so|choose|pick|select|imo)))[,:]?\s{0,2}\(?([A-H])\)?[.!]?\s*$",
    re.MULTILINE,
)
_MOST_ASIDES = 2  # sentences after a conclusion that speak of mistakes and other options
_LETTER_LINE = lazy_pattern(r"\W{0,4}([A-H])\W{0,4}")
_LETTER_END = lazy_pattern(r"(?:(?<=[\w)%°²³][.!])\s+|(?<=[a-z\d)%°²³]),\s)\(?([A-H])\)?[.!]?$")  # "so 8 miles, C"
_ANSWER_WORD = lazy_pattern(r"answer|ans\b", re.IGNORECASE)
_LABEL_LINE = lazy_pattern(
    r"\W*(?i:(?:so|hence|thus|therefore)\W+)?(?i:the\s+)?(?i:correct\s+|right\s+|final\s+)?(?i:answer|ans|option|choice)"
    r"\b[^\n\d]{0,25}|\W{0,4}(?:(?:[Ss]o|[Hh]ence|[Tt]hus|[Tt]herefore|[Cc]hoice|[Ii]\.e\.)[,:]?\s)?[A-H]\W{0,4}|\W*[A-H]\s+is\s+(?:the\s+)?(?:correct|right|answer|best)[^\n\d]{0,20}"
)
_ONLY_AMOUNT = lazy_pattern(r"[^\w\n]{0,4}(?:Rs\.?\s?)?[-$£€]?\d[^\n]{0,25}")
SENTENCE = lazy_pattern(
    r"(?<=[.!?;])\s+(?=[A-Z\"“(])|(?<=[a-z]{3}[.!?;])\s+(?=[\d$£€])"
    r"|(?<=\s\.)\s+|(?<=\d[.;])\s+(?=[a-z]{2})|(?<=[\w)%²³][.;])\s+(?=(?:so|hence|thus|therefore)\b)"
)
_ASIDE = lazy_pattern(
    r"\b(?:check|verif\w+|note|remember|wrong|incorrect\w*|mistake\w*|forg[eo]t\w*|instead|never|avoid|picked"
    r"|chose|chosen|distractors?|tempting|common(?!\s+(?:denominator|factor|multiple|divisor|difference|ratio|term))|confus\w+|\d{1,3}(?:st|nd|rd|th)?\s+options?|what\s+(?:you|one)\s+gets?|not\s+\d+|if\s+(?:you|one|someone|an?\s+(?:student|learner)|students|learners))\b",
    re.IGNORECASE,
)
_IN_BRACKETS = lazy_pattern(r"\s*\([^()]*(?:\([^()]*\)[^()]*){0,9}\)\W*")
_OTHERWISE = lazy_pattern(r"^\W*(?:with|without|had|doing|using|taking|if)\b[^\n]*\bwould\b", re.IGNORECASE)
_DISMISSES = lazy_pattern(
    r"\b(?:wrong|incorrect|not\s(?:correct|right)|mistakes?|errors?|traps?|tempting)\b", re.IGNORECASE
)
_FORGETS = lazy_pattern(r"\b(?:forg[eo]t\w*|misread\w*|would)\b", re.IGNORECASE)
_SAYS_ANSWER = lazy_pattern(r"\b(?:so|thus|hence|therefore|answer|result)\b", re.IGNORECASE)
BRACKETED = lazy_pattern(r"\s\([^()\n]{0,120}\b(?:is|are|was|were|would|not|isn['’]t)\b[^()\n]{0,120}\)")
_IMAGINES = lazy_pattern(r"^(?!\W*(?:so|thus|hence|therefore)\b)[^\n]*\bwould\b", re.IGNORECASE)
_SUPPOSES = lazy_pattern(r"\b(?:if|not)\b", re.IGNORECASE)  # an aside, unless a calculation ends it
_CONCLUDES = lazy_pattern(
    r"[=≈⇒→]|#{3,}|\\boxed|\b(?:so|thus|hence|therefore|answer|ans|result|total|must be|should be|will be|would be"
    r"|left with|altogether|comes? to|equals?)\b",
    re.IGNORECASE,
)
_CALCULATES = lazy_pattern(r"[=≈]\s{0,3}[^\w\n=]{0,6}(?:Rs\.?\s?)?-?\d|\d\s{0,3}[=≈]")
_RESULT = lazy_pattern(
    r"(?:[=≈:⇒→>]|\b(?:is|be|are|was|were|equals?|answer|gives?|gets?|becomes?|needs?))[^\w\n]{0,4}"
    r"(?:Rs\.?\s?|only\s|about\s)?[-−$£€(\s]{0,4}$",
    re.IGNORECASE,
)
_GOES_ON = lazy_pattern(r"\)?\s{0,2}(?:[*+×÷·∙⋅^!/∗]|x\b|[-−–]\s?[$£€]?[\d(]|\()|[a-zA-Z](?![a-zA-Z])\s?[-+*/=]")
_EQUALS = lazy_pattern(
    r"(?:[=≈→]|[-=]>|\b(?:that['’]s|(?:to|we|you)\s(?:get|obtain|give|make)|is|be|are|equals?|makes?|gives?|leaves?|leaving|making|giving"
    r"|(?:brings|comes?|adds\sup)(?:\s\w{2,5})?\sto))\s{0,3}(?:Rs\.?\s?)?[-−$£€(\s]{0,4}$",
    re.IGNORECASE,
)
_CLAUSE = lazy_pattern(
    r"(?:[,;\d)%°²³]|\b\w{1,12})\s(?P<so>(?:so|thus|hence|therefore)\b(?!\s+(?:that|far|on|many|much|long)\b))",
    re.IGNORECASE,
)
_SO = lazy_pattern(r"\W*(?:so|thus|hence|therefore|then|in total|(?:al)?together)\b", re.IGNORECASE)
_MARKED = lazy_pattern(  # a result that is marked as such and stands alone: "#### 24", "The answer is $24."
    r"\W*(?:#{3,}|\\boxed|(?:(?:so|hence|thus|therefore)\W+)?(?:the\s+)?(?:correct\s+|right\s+|final\s+)?(?:answer|result)\b)"
    r"(?:\s*(?:is|=|:|equals|would be|will be)){0,2}[^\w\n]{0,8}\d[^\n]{0,40}",
    re.IGNORECASE,
)
_CHECKS = lazy_pattern(  # from here on, a result that was found is tried out
    r"^\s*[✓✔☑✅]|^\W*(?:verification|verify(?:ing)?|check(?:ing)?|proof"
    r"|(?:to|let['’]?s|let us|we can|you can)\s+(?:\w+\s+)?(?:check|verify))\b",
    re.IGNORECASE | re.MULTILINE,
)
_UNIT = lazy_pattern(
    r"[^\d=]{0,25}|[^\d=,;()]{0,25},?\s(?:since|because|as)\s[^\d=]{0,90}|[^\d=,;()]{0,60}"
    r"(?:\b(?:in|per|for|of|after|on|with|by|to|from|out of)\s\$?[\d,]{1,9}[^\d=,;()]{0,30})?"
)
_LOST_BARS = lazy_pattern(r"(?:^|(?<=[\s=(]))(\d{1,6})=(\d{1,6})(?=ths?\b|[\s.,)]|$)")  # 3=5 was 3/5 once
_SAYS_NUMBER = lazy_pattern(
    r"\b(?:answer|result|ans)\s*(?:is|=|:|equals|would be|will be)\s*[^\w\n]{0,3}(?:Rs\.?\s?)?(?=-?\d)", re.IGNORECASE
)


class Closing(msgspec.Struct, frozen=True):
    """The last statement of an explanation that names an amount."""

    text: str
    amounts: tuple[Amount, ...]
    concludes: bool  # it says so: "so", "=", "in total"
    asides: str = ""  # what stands after it: mistakes, other options

    @property
    def last(self) -> Amount:
        """What it comes to: what stands after its last equals sign or "is", else its last amount."""
        return (self.results or self.amounts)[-1] if "=" in self.text else self.amounts[-1]

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
    alone = _LETTER_LINE.fullmatch(last) if "\n" in text else None
    alone = alone or _LETTER_END.search(text, max(0, len(text) - 40))
    if alone:
        found.append((alone[1], alone[0].strip()))
    return found[-1] if len({letter for letter, _ in found}) == 1 else None


def stated_value(explanation: str, words: str) -> tuple[Amount, ...]:
    """The amounts that stand right after the words that name the letter: 24 of "Answer: C) 24".

    >>> [int(amount.value) for amount in stated_value("It is 20 + 4.\\nAnswer: C) 24", "Answer: C")]
    [24]
    """
    rest = explanation[explanation.rfind(words) + len(words) :].partition("\n")[0]
    return tuple(amounts_of(rest)) if _ONLY_AMOUNT.fullmatch(rest) else ()


def closing(explanation: str) -> Closing | None:
    """The last statement with an amount, asides and checks left out; None if there is none in the last lines.

    >>> closing("The shorter is 6, the longer 18. So the total length is 24.\\nAnswer: C").text
    'So the total length is 24.'
    """
    explanation = without_checks(explanation)
    lines = [line for line in explanation.strip().splitlines() if line.strip()]
    while lines and _LABEL_LINE.fullmatch(lines[-1].strip()):
        lines.pop()
    asides: list[str] = []
    for line in reversed(lines[-2:]):
        for sentence in reversed(SENTENCE.split(line[-_LONG:])):
            if _LABEL_LINE.fullmatch(sentence.strip()):
                continue
            sentence = _last_clause(BRACKETED.sub("", sentence))
            amounts = tuple(amounts_of(sentence))
            end = Closing(sentence, amounts, _CONCLUDES.search(sentence) is not None) if amounts else None
            if _is_aside(sentence, end):
                asides.append(sentence)
                if len(asides) > _MOST_ASIDES:
                    return None
            elif end is not None:
                if asides and not ends_on(end):
                    return None  # what stands before an aside is the conclusion only where it says so
                concludes = end.concludes or _repeats(explanation, end)
                return replace(end, concludes=concludes, asides="\n".join(asides))
    return None


def _last_clause(sentence: str) -> str:
    """What follows the last "so" or "hence" of a sentence, where that has an amount of its own."""
    starts = [clause.start("so") for clause in _CLAUSE.finditer(sentence)]
    rest = sentence[starts[-1] :] if starts else ""
    return rest if amounts_of(rest) else sentence


def without_checks(explanation: str) -> str:
    """An explanation up to where the result that was found is tried out."""
    checks = _CHECKS.search(explanation, 1)
    return explanation[: checks.start()] if checks else explanation


def is_check(sentence: str) -> bool:
    """Whether a sentence tries out a result that was found, as "Check: 15 + 35 = 50" does."""
    return _CHECKS.match(sentence) is not None


def is_label(sentence: str) -> bool:
    """Whether a sentence only names the letter of the answer: "Answer: C", "So B."."""
    return _LABEL_LINE.fullmatch(sentence) is not None


def is_remark(sentence: str) -> bool:
    """Whether a sentence speaks of mistakes and other options rather than of the way to the answer."""
    return _ASIDE.search(sentence) is not None


def is_beside(sentence: str) -> bool:
    """Whether a sentence stands beside the way to the answer: a remark, what is put in brackets, or what would be."""
    if is_remark(sentence) or _IN_BRACKETS.fullmatch(sentence) or _OTHERWISE.match(sentence):
        return True
    return _IMAGINES.search(sentence) is not None and not calculates(sentence)


def is_dismissed(sentence: str) -> bool:
    """Whether a sentence calls its numbers a mistake, what would be otherwise, or puts them in brackets.

    >>> is_dismissed("Adding gives the tempting 12."), is_dismissed("Note that 4 × 3 = 12.")
    (True, False)
    """
    if _DISMISSES.search(sentence) or _OTHERWISE.match(sentence):
        return True
    if _IN_BRACKETS.fullmatch(sentence):
        return _SAYS_ANSWER.search(sentence) is None
    return _FORGETS.search(sentence) is not None and not calculates(sentence)


def statement(text: str, begin: int, stop: int) -> str:
    """The sentence or line that a place of a text stands in.

    >>> statement("Add 2. Then divide 12 by 3.\\nSo 4.", 19, 21)
    'Then divide 12 by 3.'
    """
    start = text.rfind("\n", 0, begin) + 1
    end = text.find("\n", stop)
    end = len(text) if end < 0 else end
    for sentence in SENTENCE.finditer(text, start, end):
        if sentence.start() >= stop:
            return text[start : sentence.start()]
        start = sentence.end()
    return text[start:end]


def _is_aside(sentence: str, end: Closing | None) -> bool:
    if is_beside(sentence):
        return True
    return _SUPPOSES.search(sentence) is not None and not (end and ends_on(end) and calculates(sentence))


def _repeats(explanation: str, end: Closing) -> bool:
    """Whether the closing statement has one amount, and it is what the last equation before came to."""
    before = results(explanation[: explanation.rfind(end.text)])
    return len(end.amounts) == 1 and bool(before) and before[-1].value == end.last.value


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
    if len(end.amounts) == 1 and (_SO.match(end.text) or _MARKED.fullmatch(end.text.rstrip())):
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
