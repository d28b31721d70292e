"""Reads which of several responses a judge calls better: JSON, ``[[A]]``, ``B > A``, ``Output (b) is better``, 1 to 7.

What comes out is a rank for every response, 1 being best, equal where the judge calls them equal. Where a reply names
different winners in the same binding way, or leaves responses out, it is not read: nobody guesses what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rubrica.jsontext import json_values
from rubrica.model.scale import Scale

from .fence import JudgedTexts
from .reply import (
    COPIED,
    LONGEST_REPLY,
    MOST_LISTS,
    UNREADABLE,
    NoScore,
    ReplyScore,
    answers,
    confidence_in,
    reason_of,
    value_of,
)
from .scoreline import LONGEST_LIST, last_pair, last_score, reason_in, within_quotes

GRADES = Scale(min=1, max=7)
"""How far one of two is better: 1 the first by far, 4 neither, 7 the second by far."""

TIE_WORDS = ("tie", "tied", "both", "equal", "equally", "neither", "draw", "same", "none")
AMBIGUOUS = NoScore("the reply names more than one winner")

_CHOICE_KEYS = ("choice", "winner", "preference", "preferred", "better", "best", "verdict", "answer", "decision")
_ORDER_KEYS = ("order", "ranking", "rankings", "ranks", "rank")
_NAME_KEYS = ("model", "response", "label", "name", "output", "answer", "id")
_NOUN = r"(?:output|response|answer|assistant|option|model|candidate|text|summary|reply)"
_STATED = (
    r"(?:final |overall |my )?(?:choice|winner|preference|preferred(?: response)?|better(?: response| output| answer)?|"
    r"best(?: response| output| answer)?|verdict|decision|answer|ranking|order)"
)
_PYTHON_RANK = re.compile(
    r"['\"](?:model|response|label|name)['\"]\s?:\s?['\"]([^'\"\n]{1,40})['\"]\s?,\s?['\"]rank['\"]\s?:\s?(\d+)"
)
_TIE = re.compile(
    r"\b(?:it(?:'s| is) a (?:tie|draw)|both (?:\w+ )?(?:are|is) (?:equal|equally|about as)\b|(?:are|is) equally \w+|"
    r"neither (?:\w+ ){0,3}is better)\b",
    re.I,
)

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
"""What responses are called by their place."""
_GRADE_KEYS = ("preference", "grade", "score", "rating", "answer")
_BETTER = r"(?:better|best|preferred|preferable|superior|stronger)"
_NOT = r"(?:not|no|never|hardly|neither)\b"
_ARROWS = re.compile(r"\s?(?:→|->|≻|\bthen\b|\bfollowed by\b)\s?", re.I)

Ranks = Mapping[str, float]


class ReplyOrder(msgspec.Struct, frozen=True):
    """Every response's rank as a judge gave it, 1 being best."""

    ranks: Ranks
    reason: str = ""
    confidence: float = 0.5

    @property
    def marks(self) -> dict[str, ReplyScore]:
        return {label: ReplyScore(rank, self.reason, self.confidence) for label, rank in self.ranks.items()}


def read_order(text: str, labels: Sequence[str], quoted: JudgedTexts, *, graded: bool = False) -> ReplyOrder | NoScore:
    """The order a reply gives to the labelled responses. `graded`: two of them were to be compared by a grade, 1 to 7.

    >>> read_order("(a) is short. Therefore, Output (b) is better.", "ab", JudgedTexts()).ranks
    {'a': 2.0, 'b': 1.0}
    >>> read_order("[[A=B]]", "AB", JudgedTexts()).ranks, read_order("C > A > B", "ABC", JudgedTexts()).ranks
    ({'A': 1.5, 'B': 1.5}, {'A': 2.0, 'B': 3.0, 'C': 1.0})
    >>> read_order("Both are fine.", "AB", JudgedTexts())
    NoScore(reason='the reply could not be read', final=False, label='')
    """
    text = text[-LONGEST_REPLY:]
    names = _Names(labels)
    if quoted.copies(text):
        return COPIED
    for found in answers(text, quoted):
        ranks = _grade_in(found, labels) if graded else None
        ranks = ranks or _from_object(found, names)
        if ranks is not None:
            return ReplyOrder(ranks, reason_of(found), confidence_in(found))
    for source, rows in reversed(list(json_values(text[-LONGEST_LIST:], most=MOST_LISTS))):
        if isinstance(rows, list) and not quoted.says(source) and (ranks := _from_list(rows, names)):
            return ReplyOrder(ranks, reason_in(text))
    read = _graded(text, labels, quoted) if graded else _from_prose(text, names, quoted)
    return ReplyOrder(read, reason_in(text)) if isinstance(read, dict) else read


class _Names:
    """What the responses are called in a reply: ``B``, ``(b)``, ``Response B``, ``Output (b)``."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self.exact = len({label.lower() for label in labels}) < len(labels)  # m and M differ by case alone
        self.pattern = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
        self.flags = 0 if self.exact else re.IGNORECASE

    def label(self, answer: object) -> str | None:
        """Which response is meant; None where it is none of them."""
        if isinstance(answer, int) and not isinstance(answer, bool):
            answer = str(answer)
        if not isinstance(answer, str):
            return None
        named = rf"\s*(?i:{_NOUN}[\s_-]?)?[\[(]{{0,2}}({self.pattern})[\])]{{0,2}}[\s.]*"
        found = re.fullmatch(named, answer, self.flags)
        return self.own(found[1]) if found else None

    @property
    def written(self) -> str:
        """Labels that cannot be taken for words of a sentence: ``A``, and neither ``a`` nor ``first``."""
        plain = [label for label in self.labels if label.isupper() or label.isdigit()]
        return "|".join(map(re.escape, plain)) or "(?!)"

    def at(self, ordinal: str) -> str | None:
        """The response that was shown first, second and so on."""
        place = ORDINALS.index(ordinal.lower())
        return self.labels[place] if place < len(self.labels) else None

    def own(self, answer: str) -> str:
        return answer if self.exact else next(label for label in self.labels if label.lower() == answer.lower())

    def best(self, label: str | None) -> dict[str, float] | None:
        """The ranks of two where one is better, or neither."""
        if len(self.labels) != 2:
            return None
        if label is None:
            return dict.fromkeys(self.labels, 1.5)
        return {own: 1.0 if own == label else 2.0 for own in self.labels}

    def ranked(self, groups: Sequence[Sequence[str]]) -> dict[str, float] | None:
        """Ranks from groups of equals, best first; None unless each response is in one of them, once."""
        answer = [label for group in groups for label in group]
        if sorted(answer) != sorted(self.labels):
            return None
        ranks: dict[str, float] = {}
        for group in groups:
            place = len(ranks) + (len(group) + 1) / 2
            ranks |= dict.fromkeys(group, place)
        return {label: ranks[label] for label in self.labels}

    def by_number(self, given: Mapping[str, float]) -> dict[str, float] | None:
        """Ranks from places, which may be shared or left out."""
        groups = [[label for label in given if given[label] == place] for place in sorted(set(given.values()))]
        return self.ranked(groups)


def _from_object(found: Mapping[str, Any], names: _Names) -> dict[str, float] | None:
    for key in _ORDER_KEYS:
        if key in found and (ranks := _from_value(found[key], names)):
            return ranks
    for key in _CHOICE_KEYS:
        if key in found:
            answer = found[key]
            if label := names.label(answer):
                return names.best(label)
            if isinstance(answer, str) and answer.strip(" .!").lower() in TIE_WORDS:
                return names.best(None)
            if ranks := _from_value(answer, names):
                return ranks
    return _by_label(found, names)


def _from_value(value: object, names: _Names) -> dict[str, float] | None:
    """An order as a list, as a mapping to places, or written out."""
    match value:
        case list():
            return _from_list(value, names)
        case dict():
            return _by_label(value, names)
        case str():
            return _written_order(value, names)
        case _:
            return None


def _from_list(rows: Sequence[object], names: _Names) -> dict[str, float] | None:
    if rows and all(isinstance(row, dict) and "rank" in row for row in rows):
        given: dict[str, float] = {}
        for row in rows:
            assert isinstance(row, dict)  # noqa: S101 - looked at a line above
            label = next((found for key in _NAME_KEYS if (found := names.label(row.get(key)))), None)
            place = row["rank"]
            if label is None or isinstance(place, bool) or not isinstance(place, int | float):
                return None
            given[label] = float(place)
        return names.by_number(given)
    groups: list[list[str]] = []
    for row in rows:
        inner = [names.label(one) for one in (row if isinstance(row, list) else [row])]
        if any(label is None for label in inner):
            return None
        groups.append([label for label in inner if label is not None])
    return names.ranked(groups)


def _by_label(found: Mapping[str, Any], names: _Names) -> dict[str, float] | None:
    """``{"A": 1, "B": 2}``: places by label."""
    given: dict[str, float] = {}
    for key, place in found.items():
        label = names.label(key)
        if label is not None and isinstance(place, int | float) and not isinstance(place, bool):
            given[label] = float(place)
    return names.by_number(given)


# --- prose ------------------------------------------------------------------------------------------------


def _from_prose(text: str, names: _Names, quoted: JudgedTexts) -> dict[str, float] | NoScore:
    binding = list(_bracketed(text, names, quoted))
    if binding:
        return binding[-1] if all(ranks == binding[0] for ranks in binding) else AMBIGUOUS
    found = dict(_PYTHON_RANK.findall(text))
    if found and (places := {names.label(name): float(place) for name, place in found.items()}):
        known = {label: place for label, place in places.items() if label is not None}
        if ranks := names.by_number(known):
            return ranks
    lines = [line for line in text.strip().split("\n") if line.strip()]
    for read in (_orders, _better, _stated):
        if ranks := _last(read(text, names, quoted)):
            return ranks
    for line in dict.fromkeys((text, *lines[:1], *lines[-1:])):
        if label := names.label(line.strip(' \t\r\n#*_`."')):
            return names.best(label) or UNREADABLE
    if len(names.labels) == 2 and (_TIE.search(text) or text.strip(" \n*_`.!").lower() in TIE_WORDS):
        return names.best(None) or UNREADABLE
    return _numbered(lines, names) or _from_scores(text, names) or UNREADABLE


def _last(found: Iterator[dict[str, float]]) -> dict[str, float] | None:
    ranks = None
    for ranks in found:  # noqa: B007 - the last one counts
        pass
    return ranks


def _bracketed(text: str, names: _Names, quoted: JudgedTexts) -> Iterator[dict[str, float]]:
    """``[[A]]``, ``[[B>A]]``, ``[[A=B]]``, ``[[tie]]``; of two, ``[[C]]`` is a tie as MT-bench has it.

    ``<answer>A</answer>`` and a boxed answer bind as much.
    """
    for match in re.finditer(
        r"\[\[([^\[\]\n]{1,80})\]\]|\\boxed\{([^{}\n]{1,80})\}|<(?:answer|verdict|choice)>([^<\n]{1,80})</", text, re.I
    ):
        if within_quotes(text, match.start()) or quoted.contains_text(match[0]):
            continue
        answer = (match[1] or match[2] or match[3]).strip()
        if label := names.label(answer):
            ranks = names.best(label)
        elif answer.lower() in TIE_WORDS or (answer == "C" and names.labels in (("A", "B"), ("a", "b"))):
            ranks = names.best(None)
        else:
            ranks = _written_order(answer, names)
        if ranks:
            yield ranks


def _written_order(text: str, names: _Names) -> dict[str, float] | None:
    """``B > A = C``, ``B, A, C``, ``B A C``, ``B, then A, then C``."""
    text = _ARROWS.sub(">", re.sub(r",\s?(?=then\b|followed\b)", " ", text))
    separator = ">" if ">" in text else "," if "," in text else "<" if "<" in text else None
    if separator is None and "=" not in text:
        parts = text.split()
    else:
        parts = re.split(r">+" if separator == ">" else re.escape(separator or "\0"), text)
    groups = []
    for part in reversed(parts) if separator == "<" else parts:
        labels = [names.label(own.strip(" *_`")) for own in re.split("[=~]", part)]
        if any(label is None for label in labels):
            return None
        groups.append([label for label in labels if label is not None])
    return names.ranked(groups)


def _orders(text: str, names: _Names, quoted: JudgedTexts) -> Iterator[dict[str, float]]:
    """Orders written out on a line of their own, or behind a word for one."""
    leads = rf"{_STATED}|(?:the |my )?(?:ranking|order) is|(?:ranked )?(?:from )?best to worst"
    line = rf"^[ \t#*_-]{{0,6}}(?:(?:{leads})[*_ ]{{0,4}}:?[*_ ]{{1,4}})?([^\n:]{{3,200}})$"
    for match in re.finditer(line, text, re.I | re.M):
        ordered = re.search("[>,=<]", match[1]) or _ARROWS.search(match[1])
        own = ordered and not quoted.says(match[1]) and not within_quotes(text, match.start(1))
        if own and (ranks := _written_order(match[1].strip(" .*_`"), names)):
            yield ranks


def _better(text: str, names: _Names, quoted: JudgedTexts) -> Iterator[dict[str, float]]:
    """``Output (b) is better``, ``I prefer Response A``, ``A wins``, ``The first answer is better``, ``So, B.``"""
    is_better = rf"(?i:(?:is|as|was)\s(?:(?!{_NOT})\w+\s){{0,3}}?{_BETTER}\b|wins\b|outperforms\b|beats\b)"
    named = rf"\b(?i:{_NOUN})\s?[\[(]{{0,2}}(?P<label>{names.pattern})[\])]{{0,2}}(?:['’]s (?i:{_NOUN}))?\s{is_better}"
    bare = rf"(?<![\w'’-])(?<!whether )(?<!if )(?P<bare>(?-i:{names.written}))\s{is_better}"
    shown = rf"(?i:\bthe (?P<place>{'|'.join(ORDINALS)})(?: {_NOUN}| one)?\s{is_better})"
    prefer = (
        r"(?i:\bI (?:\w+ )?(?:prefer|choose|pick)|\bthe (?:better|best) \w+ is"
        r"|\b(?:the|my) (?:winner|choice|pick|answer) is:?)\s"
        rf"(?:(?i:{_NOUN})\s)?[\[(]{{0,2}}(?P<other>{names.pattern})\b"
    )
    last = (
        rf"\b(?i:therefore|thus|hence|so|overall),?\s(?:(?i:{_NOUN})\s)?(?P<last>(?-i:{names.written}))[\s.*!]{{0,4}}\Z"
    )
    for match in re.finditer(f"{named}|{bare}|{shown}|{prefer}|{last}", text, names.flags):
        if within_quotes(text, match.start()) or quoted.says(match[0]):
            continue
        answer = match["label"] or match["bare"] or match["other"] or match["last"]
        label = names.own(answer) if answer else names.at(match["place"])
        if label is not None and (ranks := names.best(label)):
            yield ranks


def _stated(text: str, names: _Names, quoted: JudgedTexts) -> Iterator[dict[str, float]]:
    """``Winner: B``, ``Preference: Response (a)``, ``Verdict: tie``."""
    line = rf"^[ \t#*_-]{{0,6}}{_STATED}[*_ ]{{0,4}}[:=→][*_ ]{{0,4}}([^\n]{{1,60}})$"
    for match in re.finditer(line, text, re.I | re.M):
        if within_quotes(text, match.start(1)) or quoted.says(match[0]):
            continue
        answer = match[1].strip(" *_`\"'.")
        label = names.label(answer)
        ranks = names.best(label) if label or answer.lower() in TIE_WORDS else None
        if ranks:
            yield ranks


def _numbered(lines: Sequence[str], names: _Names) -> dict[str, float] | None:
    """A numbered list: ``1. Response B``, ``First: B``, ``1st: B, 2nd: A``, a table of places, ``B (1), A (2)``."""
    ordinals = "|".join(ORDINALS)
    place = rf"(?:\||#|rank )?\s?(?:(?P<number>\d{{1,2}})(?:st|nd|rd|th)?|(?P<word>{ordinals}))(?: place)?\s?[.):|-]"
    named = rf"\s*[*_\[(]{{0,3}}(?i:{_NOUN}\s?)?[*_\[(]{{0,3}}(?P<label>{names.pattern})\b"
    behind = rf"(?i:{_NOUN}\s?)?\b(?P<label>{names.pattern})\s?\((?:#|rank )?(?P<number>\d{{1,2}})\)"
    for pattern, pieces in ((rf"\s*(?i:{place}){named}", _pieces(lines)), (behind, _pieces(lines))):
        given: dict[str, float] = {}
        for piece in pieces:
            match = re.match(pattern, piece, names.flags)
            if match and (label := names.own(match["label"])) not in given:
                word = match.groupdict().get("word")
                given[label] = float(ORDINALS.index(word.lower()) + 1 if word else match["number"])
        if len(given) == len(names.labels):
            return names.by_number(given)
    return None


def _pieces(lines: Sequence[str]) -> list[str]:
    """The lines of a reply; of a single one, what stands between commas."""
    return list(lines) if len(lines) > 1 else [piece.strip() for line in lines for piece in re.split("[,;]", line)]


def _from_scores(text: str, names: _Names) -> dict[str, float] | None:
    """Two scores in place of a choice: ``9 8.5`` on the first line, or ``Assistant A: 4/10`` and ``Assistant B: 7``."""
    if len(names.labels) != 2:
        return None
    for noun in ("Assistant ", "Response ", "Output ", ""):
        pair = last_pair(text, (f"{noun}{names.labels[0]}", f"{noun}{names.labels[1]}"))
        if pair is not None:
            return names.by_number({label: -score for label, score in zip(names.labels, pair, strict=True)})
    return None


# --- grades -----------------------------------------------------------------------------------------------


def _graded(text: str, labels: Sequence[str], quoted: JudgedTexts) -> dict[str, float] | NoScore:
    found = last_score(text, quoted, ("preference", "score", "rating", "grade", "choice", "verdict", "answer"))
    if found is None or found.percent:
        return UNREADABLE
    if found.top not in (None, GRADES.max):
        answer = f"{found.value:g} out of {found.top:g}"
        return NoScore(f"the judge gave {answer}, which is not the scale {GRADES}", final=True)
    return _grade_ranks(found.value, labels) or NoScore(
        f"the judge gave {found.value:g}, which is off the scale {GRADES}", final=True
    )


def _grade_in(found: Mapping[str, Any], labels: Sequence[str]) -> dict[str, float] | None:
    """The grade of an object, under the name that was asked for or another one for it."""
    for key in _GRADE_KEYS:
        if key in found and isinstance(grade := value_of(found[key], GRADES), float):
            return _grade_ranks(grade, labels)
    return None


def _grade_ranks(value: object, labels: Sequence[str]) -> dict[str, float] | None:
    """A grade from 1 to 7 as ranks between 1 and 2: the nearer to 4, the nearer to each other."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not GRADES.holds(value) or len(labels) != 2:
        return None
    share = (value - GRADES.min) / (GRADES.max - GRADES.min)
    return {labels[0]: 1.0 + share, labels[1]: 2.0 - share}
