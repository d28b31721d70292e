"""Reads scores out of a judge's prose: ``Score: 7``, ``**Rating**: 8/10``, ``[[7.5]]``, ``Warmth: 2 Relief: 8``.

Words for numbers are not read. What stands in quotation marks, or quotes the judged text, is not the judge's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from rubrica.text.lazy_pattern import lazy_pattern

from .fence import JudgedTexts

LABELS = ("score", "rating", "grade")
_LABELS_ABROAD = (
    *("bewertung", "wertung", "punktzahl", "puntuación", "puntaje", "calificación", "valutazione", "punteggio"),
    *(
        "pontuação",
        "avaliação",
        "beoordeling",
        "оценка",
        "балл",
        "评分",
        "得分",
        "分数",
        "打分",
        "スコア",
        "評価",
        "点数",
    ),
)
"""What judges who answer in the language of the text call a score; other words of theirs may mean a remark."""
NOTHING_QUOTED = JudgedTexts()
LONGEST_LIST = 4_000
"""Characters at the end of a reply in which lists are looked for."""
LONGEST_LINE = 2_000
"""Characters before a place in which the beginning of a quotation is looked for."""

_NUMBER = r"[-+−]?\d+(?:\.\d+)?"
VALUE = r"[-+−]?\d+(?:\.\d+|,\d{1,2}(?![\d,]))?"  # 7,5 as Germans write it; 1,000 is something else
_NEXT_LABEL = r"[A-Za-z][A-Za-z_ -]{0,30}[:=]\s?[-+−]?\d"
END = (
    rf"(?!\d|[.,]\d|(?!{_NEXT_LABEL}|[分点점])\w)"  # not in the middle of a longer number or a word; ``7Depth: 6`` is 7
)
_RANGE = (  # 7-8 is no score, nor is 7 or 8, 7 → 8, or 7, 8
    r"(?!(?:\s?%)?(?:\s?(?:-|–|—|→|->|~|…|\.\.)\s?|\s(?:to|or|and)\s)\d)"
    r"(?!\s?(?:→|->)[^\n]{0,80}\d)"  # 4 → after reconsidering: 5
    r"(?!,\s?\d+(?:\.\d+)?(?!\w|[.)]\s?[\w*_]|\s[A-Za-z]))"
)
_OUT_OF_ABROAD = (  # 8 von 10 Punkten, and not 3 von 10 Fakten
    r"(?:von|van|sur|de|su|из)(?=\s\d+\s*(?:[.,;!)\n]|\Z|\s(?:punkt|stern|punten|point|étoile|punto|estrella|punti|stell|балл)))"
)
OUT_OF = (
    rf"(?:(?:\s(?:stars?|points?|marks?))?\s?(?:/|out of|{_OUT_OF_ABROAD})"
    r"\s?(?P<top>\d+(?:\.\d+)?)(?![\d.]*\d|\s?/\s?\d)|\s?(?P<percent>%)"
    r"|\s?\(?(?:on|of) an? (?P<points>\d+)[- ]point scale)?"
)
_GOES_ON = (
    r"(?:because|since|as|for|due|given|but|although|though|while|however|despite|overall|out|and|with|on|is|stars?|"
    r"marks?|points?)\b"
)
"""Words behind a score that it does not count."""
_NO_OTHER = (  # what a number counts is no score: 2 tips, 3 of 5 steps, 8 if …, 10 minus 3, 8 for this, 2 for that
    r"(?!\s?[?×]|\s(?!\s{0,3}\d{1,2}[.)]\s?[*_A-Za-z])[x*+−-]?\s?\d"
    r"|\s\(?for\s[^.\n]{0,60}\b\d+(?:\s?/\s?\d+)?\s\(?for\b"
    r"|\spoints?\s(?:below|above|less|more|off|lost)\b"
    r"|\s?/\s?\d|,?\s(?:minus|plus|less)\s\d"
    rf"|[^\S\n](?!{_GOES_ON}|{_NEXT_LABEL}|[a-z][a-z -]{{0,30}}\s\d+\s?/)(?-i:[a-z]))"
)
DECORATION = r"[\s#*_•|+-]{0,12}(?:\d{1,2}[.)]\s)?[*_`]{0,3}"
_OTHER_SCORES = (
    r"(?:[*_`]{0,3}[A-Za-z][A-Za-z_ -]{0,30}[*_`]{0,3}(?: ?\([^()\n]{1,30}\))?[*_`]{0,3}"
    rf"(?:\s?[:=][*_` ]{{0,4}}\[{{0,2}}{VALUE}(?:\s?[-–]\s?\d+)?(?:\s?/\s?\d+|\s?%)?|\s{VALUE}\s?/\s?\d+)"
    r"\]{0,2}[*_`]{0,3}[ \t,;|&—–]{0,3}(?:and )?[*_`]{0,3}){0,20}"
)
"""Scores under other labels that stand before one on its line: ``Warmth: 2 Relief: 8``."""
_BRACKETED = lazy_pattern(rf"\[\[\s?(?P<value>{_NUMBER})\s?\]\]")
_BARE = lazy_pattern(rf"[\s*_`\"]*(?P<value>{VALUE}){END}{OUT_OF}[\s*_`\".]*")
_PAIR_LINE = lazy_pattern(rf"[\s*_`(]*({_NUMBER})(?:\s*,\s*|\s+)({_NUMBER})[\s*_`).]*")
_TUPLE = lazy_pattern(rf"\(\s?({_NUMBER})\s?,\s?({_NUMBER})\s?\)")
_ANNOUNCED = lazy_pattern(r"\b(?:rate|score|grade)\b[^\n.\"“`]{0,80} follows: ?[\"“`](?:\w+: ?)?$", re.I)
_OPENS_QUOTE, _CLOSES_QUOTE = re.compile(r"(?<![\w)\]\"])'(?=\w)"), re.compile(r"(?<=[\w.,!?%)])'(?!\w)")
_RATED = lazy_pattern(
    r"\bI(?:['’]d| would| will)? (?:rate|score|grade|give|assign|award|say)\b[^.\n\"]{0,60}? (?:an? )?"
    rf"(?P<value>{VALUE})\s?(?:/|out of)\s?(?P<top>\d+)\b(?![\d.]*\d)"
    rf"(?!\s(?!{_GOES_ON}|(?:in|to|at|here|by|from|mainly|mostly|simply|largely|based)\b)(?-i:[a-z]))",
    re.I,
)
_ON_SCALE = lazy_pattern(
    r"\bon (?:a|the) (?:scale (?:of|from) )?\d+\s?(?:to|-|–)\s?(?P<points>\d+)(?: scale)?\b[^.\d\n\"]{0,40}[ :]"
    rf"(?P<value>{VALUE}){END}(?!\s?(?:-|–|to|or)\s?\d)",
    re.I,
)
_ASSIGNED = lazy_pattern(
    r"\bI(?:['’]d| would| will)? (?:therefore |thus |hence |then )?(?:rate|score|grade|give|assign|award) "
    r"(?:(?:it|this|that|(?:the|this) (?:response|answer|reply|text|output)) )?"
    rf"an? (?:final |overall )?(?:score|rating|grade) of (?P<value>{VALUE}){END}{OUT_OF}(?=[\s*_]{{0,4}}(?:[.!;]|$))",
    re.I | re.M,
)
_SUPPOSED = lazy_pattern(r"\b(?:if|had|were|unless|otherwise|normally|usually|without|should|once)\b|^\W*with\b", re.I)
"""Words before a score in its sentence that make it the score of another text."""
_OF_ANOTHER = lazy_pattern(r"\b(?:weight(?:s|ed)?|ideal\w*|perfect|reference|baseline|example|instance)\b", re.I)
"""Words before a list of numbers that are not the scores of the judged text."""
_BOUND = lazy_pattern(
    r"\b(?:more than|less than|at (?:least|most)|under|below|above|over|up to|maximum|minimum)\b", re.I
)
"""Words within a sentence that name the least or the most."""
_SENTENCE_END = lazy_pattern(r"[.!?]\s|\n")
_SHARE = lazy_pattern(r"(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)\s?(?:/|out of)\s?\d")
_FORM = lazy_pattern(r"\b(?:out of|max\.?|/)\s?(\d+)|\b\d+\s?(?:-|–|to)\s?(\d+)", re.I)
_TAGGED = lazy_pattern(
    rf"(?:<(?P<tag>score|rating|grade)>|\\boxed\{{)\s?(?P<value>{VALUE}){END}{OUT_OF}\s?(?:</(?P=tag)>|\}})", re.I
)
_HEADED = lazy_pattern(
    rf"^[#*_ \t]{{0,8}}(?:(?:final|overall|my) )?(?:score|rating|grade)[*_: \t]{{0,6}}\n\s*"
    rf"(?P<value>{VALUE}){END}{OUT_OF}[ \t*_.]*$",
    re.I | re.M,
)
"""A heading with a number alone below it."""
_REVISION = lazy_pattern(
    r"\b(?:(?:lower|rais|reduc|revis|chang|adjust|correct|drop|cut|mov|go|went|downgrad|upgrad)\w*\b[^.\d\n\"]{0,30}\bto|"
    r"(?:my|final|actual|revised|adjusted|corrected|real|true|new|overall) (?:score|rating|grade)\b[^.\d\n\"]{0,20}|"
    r"(?:on (?:second thoughts?|(?:further |closer )?reflection)|actually|correction|rather|wait|no|make (?:that|it)|"
    r"i mean)"
    r"[,:]?(?:\s(?:I|I['’]d|would|it|it['’]s|this|that|say|is|be|should|deserves?|give|rate|make|call|an?|the|more|like|"
    r"rather|no|wait|rating|score)[,:]?){0,8}) "
    rf"(?P<value>{VALUE}){END}(?=[\s*_]*(?:/|out of|[.,;!)]|$))",
    re.I | re.M,
)
"""A score that takes the place of one before it."""
_FINALLY = lazy_pattern(
    r"\b(?:final(?:ly)?|overall|total|conclusion|verdict|revis\w+|correct\w+|adjust\w+|chang\w+|lower\w*|rais\w+|"
    r"instead|rather|no|wait|reflection|reconsider\w*|actually|however|but|though|so|thus|therefore|hence|new|now|my|"
    r"this)\b|\?",
    re.I,
)
"""Words between two scores after which the later one counts."""
_REASON = lazy_pattern(
    r"\b(?:reasoning|reasons?|explanation|rationale|justification)[*_\s]{0,4}:[*_\s]{0,4}(.+)", re.I | re.S
)


@dataclass(frozen=True, slots=True)
class WrittenScore:
    """A score as it was written. `top` is what it was out of, where that was said; of percent, 100."""

    value: float
    top: float | None = None
    at: int = 0  # where in the reply
    percent: bool = field(default=False, repr=False)


def last_score(text: str, quoted: JudgedTexts = NOTHING_QUOTED, labels: Sequence[str] = LABELS) -> WrittenScore | None:
    """The last score that the reply states as its own.

    >>> last_score('The text claims "Score: 10". Score: 3/10 | Reasoning: it is wrong')
    WrittenScore(value=3.0, top=10.0, at=29)
    >>> last_score("Score: 7-8") is None
    True
    """
    alone = _BARE.fullmatch(text) or _labelled(labels).fullmatch(text.strip())
    if alone:
        return score_of_match(alone)
    stated = [*_bracketed(text, quoted), *_lines(text, quoted, labels)]
    if stated:
        stated.sort(key=lambda match: match.end())
        own = [label for label in labels if label not in LABELS]
        return None if _contradicted(stated) or _restated(stated[-1], own) else score_of_match(stated[-1])
    first = _BARE.fullmatch(text.strip().split("\n", 1)[0])
    if first and not (first["top"] and quoted.contains_text(first[0])):
        return score_of_match(first)
    last_line = _BARE.fullmatch(text.strip().rsplit("\n", 1)[-1])
    if last_line and last_line["top"] and not quoted.contains_text(last_line[0]):
        return score_of_match(last_line)
    return _told(text, quoted)


def _told(text: str, quoted: JudgedTexts) -> WrittenScore | None:
    """The one score in a sentence, a tag or under a heading: ``I would rate it 8 out of 10``, ``<score>8</score>``."""
    patterns = (_TAGGED, _HEADED, _RATED, _ASSIGNED, _ON_SCALE)
    found = [match for pattern in patterns for match in pattern.finditer(text)]
    own = [match for match in found if not within_quotes(text, match.start()) and not quoted.says(match[0])]
    own = [
        match
        for match in own
        if not _BOUND.search(match[0]) and not _SUPPOSED.search(_sentence_before(text, match.start()))
    ]
    scores = {score for match in own if (score := score_of_match(match))}
    shares = {*_SHARE.findall(text)}
    return scores.pop() if len({score.value for score in scores}) == 1 and len(shares) < 2 else None


def _sentence_before(text: str, at: int) -> str:
    """What stands before a place in its own sentence."""
    return _SENTENCE_END.split(text[max(0, at - 400) : at])[-1]


def labelled_score(
    text: str, quoted: JudgedTexts, labels: Sequence[str], others: Collection[str] = ()
) -> WrittenScore | None:
    """The last score that the reply states behind one of the labels; a bare number is nobody's.

    Nor is one that stands behind the names of `others` as well: ``Warmth, relief: 2, 8``.

    >>> labelled_score("Response A: 7/10\\nResponse B: 4", JudgedTexts(), ("Response B",))
    WrittenScore(value=4.0, top=None, at=17)
    """
    stated = list(_lines(text, quoted, labels)) or list(_lines(text[-LONGEST_LIST:], quoted, labels, listed=True))
    if not stated:
        return _tagged(text[-LONGEST_LIST:], quoted, labels)
    if _names_another(stated[-1], others) or _several_cells(stated[-1]) or _contradicted(stated):
        return None
    if _restated(stated[-1], labels):
        return None
    return score_of_match(stated[-1])


def _tagged(text: str, quoted: JudgedTexts, labels: Sequence[str]) -> WrittenScore | None:
    """The one score between tags of a label's name: ``<warmth>7</warmth>``."""
    names = "|".join(re.escape(label) for label in labels)
    tags = re.finditer(rf"<(?P<tag>{names})>\s?(?P<value>{VALUE}){END}{OUT_OF}\s?</(?P=tag)>", text, re.I)
    own = [match for match in tags if not within_quotes(text, match.start()) and not quoted.says(match[0])]
    return score_of_match(own[0]) if len(own) == 1 else None


def _several_cells(match: re.Match[str]) -> bool:
    """Whether the score is one of several numbers in a row of a table: the most that can be had, or the weight."""
    line = match.string[match.start("stated") :].split("\n", 1)[0]
    cells = [cell.strip(" *_`") for cell in line.split("|")[1:]]
    return "|" in match["stated"] and sum(_BARE.fullmatch(cell) is not None for cell in cells if cell) > 1


def _names_another(match: re.Match[str], others: Collection[str]) -> bool:
    """Whether another label stands right before this one, without a score of its own."""
    names = "|".join(re.escape(other) for other in others)
    before = match.string[: match.start("stated")].rsplit("\n", 1)[-1]
    return bool(names and re.search(rf"\b(?:{names})[*_`\s]{{0,4}}(?:[,/&+]|\band\b)[*_`\s]{{0,4}}$", before, re.I))


def _contradicted(stated: Sequence[re.Match[str]]) -> bool:
    """Whether scores of one thing differ, and nothing says that the last one counts; or another one comes later."""
    last, value = stated[-1], _number(stated[-1]["value"])
    later = (_number(found["value"]) for found in _REVISION.finditer(last.string, last.end("value")))
    if any(other != value for other in later):
        return True
    before = [match for match in stated if _number(match["value"]) != value]
    return bool(before) and not settles(last.string[before[-1].end("value") : last.start("value")])


def _restated(stated: re.Match[str], labels: Sequence[str]) -> bool:
    """Whether a later sentence gives the label another score: ``On reflection, warmth should be 5``."""
    if not labels:
        return False
    names = "|".join(re.escape(label) for label in labels)
    later = re.compile(
        rf"\b(?:{names})\b[*_`]{{0,3}}(?: (?:score|rating))?\s?(?:[:=]|(?:should|would|ought to|must) (?:rather )?be)"
        rf"[\s*_`]{{0,4}}(?P<value>{VALUE}){END}{_RANGE}{OUT_OF}{_NO_OTHER}",
        re.IGNORECASE,
    )
    text, value = stated.string, _number(stated["value"])
    return any(
        _number(found["value"]) != value and not within_quotes(text, found.start())
        for found in later.finditer(text, stated.end("value"))
    )


def settles(words: str) -> bool:
    """Whether words between two scores say that the later one counts.

    >>> settles(" On reflection, "), settles(" and the other one: ")
    (True, False)
    """
    return _FINALLY.search(words) is not None


def last_pair(text: str, labels: tuple[str, str] = ("Assistant 1", "Assistant 2")) -> tuple[float, float] | None:
    """The scores of two answers: alone on the first line, behind their names, or in brackets.

    >>> last_pair("9 8.5\\nThe first is more detailed."), last_pair("Assistant 1: 4/10\\nAssistant 2: 7 (better)")
    ((9.0, 8.5), (4.0, 7.0))
    """
    pair = _pair_of(text, labels)
    return pair if pair is not None and all(map(math.isfinite, pair)) else None


def _pair_of(text: str, labels: tuple[str, str]) -> tuple[float, float] | None:
    alone = _PAIR_LINE.fullmatch(text.strip().split("\n", 1)[0])
    if alone:
        return _number(alone[1]), _number(alone[2])
    named = [labelled_score(text, NOTHING_QUOTED, (label,)) for label in labels]
    if named[0] and named[1]:
        return named[0].value, named[1].value
    tuples = _TUPLE.findall(text)
    return (_number(tuples[-1][0]), _number(tuples[-1][1])) if tuples else None


def bare_score(text: str) -> WrittenScore | None:
    """A text that is a score and nothing else, as a cell of a table is.

    >>> bare_score("**8/10**").value, bare_score("8 tips")
    (8.0, None)
    """
    match = _BARE.fullmatch(text)
    return score_of_match(match) if match else None


def reason_in(text: str) -> str:
    """The reasons a reply states behind a label, or all of it.

    >>> reason_in("Score: 0.8 | Reasoning: warm and honest")
    'warm and honest'
    """
    stated = _REASON.search(text)
    return (stated[1] if stated else text).strip()


def _labelled(labels: Sequence[str], *, listed: bool = False) -> re.Pattern[str]:
    """``Final **score** (1-10): 7/10``: the label and its number at the start of a line or a sentence.

    `listed`: also in a list or a table, behind a lead-in or in brackets: ``Scores: (Warmth 2, Relief 8)``.
    """
    names = "|".join(re.escape(label) for label in (*labels, *(_LABELS_ABROAD if LABELS[0] in labels else ())))
    begins = r"^|(?<=[.!?;|,:→—–]\s)|(?<=[(,|])" if listed else r"^|(?<=[.!?;|]\s)"
    noun = r"(?: (?:score|rating|grade))?" if listed else ""
    joint = r"[:=：]|[-–—]\s|is\b(?: an?\b)?"
    if listed:
        joint += rf"|\||(?=[\s*_`]{{1,4}}{VALUE}\s?(?:/|(?:/\s?\d+\s?)?(?:[,;|)]|$)))"
    return re.compile(
        rf"(?:{begins}){DECORATION}{_OTHER_SCORES}"
        rf"(?P<stated>(?:(?:my|the|final|overall|total) ){{0,3}}(?:{names}){noun}"
        r"(?: (?:for|of) (?:this|the) (?:response|answer|reply|text))?"
        rf"[*_`]{{0,3}}(?:\s?\((?P<form>[^()\n]{{1,30}})\))?[*_`]{{0,3}}\s?(?:{joint})"
        rf"(?![^\S\n]*\n\s*\d{{1,2}}[.)]\s)[\s*_`]{{0,5}}(?:[★☆⭐✩✰]{{1,10}}\s?\(?(?=\d{{1,2}}(?:\.\d)?\s?/))?\[{{0,2}}"
        rf"(?P<value>{VALUE}){END}(?P<range>{_RANGE})?){OUT_OF}(?P<plain>{_RANGE}{_NO_OTHER})?"
        rf"(?P<rest>[\s*_`\].]{{0,6}})",
        re.IGNORECASE | re.MULTILINE,
    )


def _lines(text: str, quoted: JudgedTexts, labels: Sequence[str], *, listed: bool = False) -> Iterator[re.Match[str]]:
    for match in _labelled(labels, listed=listed).finditer(text):
        if listed and _OF_ANOTHER.search(_sentence_before(text, match.start("stated"))):
            continue
        if not within_quotes(text, match.start("stated")) and not quoted.says(match["stated"]):
            yield match


def _bracketed(text: str, quoted: JudgedTexts) -> Iterator[re.Match[str]]:
    for match in _BRACKETED.finditer(text):
        if not within_quotes(text, match.start()) and not quoted.contains_text(match[0]):
            yield match


def within_quotes(text: str, at: int) -> bool:
    """Whether a place is inside quotation marks or backticks opened on its line, or on a quoted line (``> …``).

    Judges that announce their own score may quote themselves: ``I would rate it as follows: "Rating: [[9]]"``. Of a
    line without end only the last part before the place is looked at: a long reply costs no more than its length.
    """
    line = text[max(text.rfind("\n", 0, at) + 1, at - LONGEST_LINE) : at]
    if _ANNOUNCED.search(line):
        return False
    return (
        line.lstrip().startswith(">")
        or line.count('"') % 2 == 1
        or line.count("`") % 2 == 1
        or line.count("“") > line.count("”")
        or line.count("«") > line.count("»")
        or line.count("‘") > line.count("’")
        or len(_OPENS_QUOTE.findall(line)) > len(_CLOSES_QUOTE.findall(line))
    )


def score_of_match(match: re.Match[str]) -> WrittenScore | None:
    """The score of a match with a group `value`, and perhaps `top`; None of a range."""
    groups = match.groupdict()
    if "range" in groups and (groups["range"] is None or groups["plain"] is None):
        return None
    form = _FORM.search(groups.get("form") or "")
    top = groups.get("top") or groups.get("points") or (form and (form[1] or form[2]))
    percent = bool(groups.get("percent"))
    out_of = 100.0 if percent else float(top) if top else None
    return WrittenScore(_number(groups["value"]), out_of, match.start(), percent)


def _number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "."))
