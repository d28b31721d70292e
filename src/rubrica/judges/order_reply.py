"""Reads which of several responses a judge calls better: JSON, ``[[A]]``, ``B > A``, ``Output (b) is better``, 1 to 7.

What comes out is a rank for every response, 1 being best, equal where the judge calls them equal. Where a reply names
different winners in the same binding way, puts the worst first, or leaves responses out, it is not read: nobody guesses
what was meant.
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
TURNED = NoScore("the reply says that its order begins with the worst")
PLACES_OR_SCORES = NoScore("the reply gives 1 and 2, which may be places or scores")

_CHOICE_KEYS = ("choice", "winner", "preference", "preferred", "better", "best", "verdict", "answer", "decision")
_ORDER_KEYS = ("order", "ranking", "rankings", "ranks", "rank")
_NAME_KEYS = ("model", "response", "label", "name", "output", "answer", "id")
_NOUN = r"(?:output|response|answer|assistant|option|model|candidate|text|summary|reply)"
_STATED = (
    r"(?:final |overall |my )?(?:choice|winner|preference|(?:preferred|better|best)(?: (?:response|output|answer))?|"
    r"verdict|decision|answer|ranking|order)"
)
_PYTHON_RANK = re.compile(
    r"['\"](?:model|response|label|name)['\"]\s?:\s?['\"]([^'\"\n]{1,40})['\"]\s?,\s?['\"]rank['\"]\s?:\s?(\d+)"
)
_TIE = re.compile(
    r"\b(?:it(?:'s| is) a (?:tie|draw)|both (?:\w+ )?(?:are|is) (?:equal|equally|about as)\b|(?:are|is) equally \w+|"
    r"neither (?:\w+ ){0,6}is better)\b",
    re.I,
)
_WORST_FIRST = re.compile(
    r"\b(?:worst|weakest|poorest|lowest|least good)(?: (?:one|response|answer|output))? "
    r"(?:to (?:the )?(?:best|strongest|highest)|(?:comes |is |being )?(?:first|at the top|on top))\b"
    r"|\bascending\b|\breversed? (?:order|ranking)\b",
    re.I,
)
_CONCLUDES = re.compile(
    r"(?:^|[.!?;\n]\s*)[\s*_#`]*(?:therefore|thus|hence|so|overall|finally|ultimately|consequently|as a result|"
    r"in (?:conclusion|summary|short|the end)|to (?:conclude|sum up)|all in all|on balance|final \w+|"
    r"for (?:these|this|that) reasons?|(?:based|given|considering|taking)\b[^.!?\n]{0,200})\b[^.!?;\n]{0,200}$",
    re.I,
)
"""What stands before a statement that sums up."""
_SCORES = re.compile(r"\b(?:scor|rat(?:e|ing)|grade|point|out of)|\d\s?/\s?\d", re.I)
_NOT_SAID = re.compile(
    r"(?:\b(?:not|never|hardly|cannot|(?:hard|difficult|impossible|unable) to)|n['’]t)\s(?:\w+\s){0,2}?"
    r"(?:say|think|believe|claim|agree|find|conclude|clear|sure|certain|convinced|argue|see|tell|decide|know|mean)\s"
    r"(?:\w+\s){0,2}$|\b(?:whether|if|unless|unclear|unsure|doubt)\s(?:\w+\s){0,2}$|\bneither\b[^.!?\n]{0,40}$",
    re.I,
)
"""What stands before a statement that the judge does not make."""

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
    orders = []
    for found in answers(text, quoted):
        ranks = _grade_in(found, labels) if graded else None
        said = ranks or _from_object(found, names)
        if isinstance(said, NoScore):
            return said
        if said is not None:
            orders.append(ReplyOrder(said, reason_of(found), confidence_in(found)))
    if orders:
        return orders[0] if all(order.ranks == orders[0].ranks for order in orders) else AMBIGUOUS
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
        if found := re.fullmatch(named, answer, self.flags):
            return self.own(found[1])
        numbered = re.fullmatch(rf"\s*(?i:{_NOUN})[\s_-]?[\[(]?(\d)[\])]?[\s.]*", answer)
        return self.by_place(int(numbered[1])) if numbered else None

    @property
    def written(self) -> str:
        """Labels that cannot be taken for words of a sentence: ``A``, and neither ``a`` nor ``first``."""
        plain = [label for label in self.labels if label.isupper() or label.isdigit()]
        return "|".join(map(re.escape, plain)) or "(?!)"

    def at(self, ordinal: str) -> str | None:
        """The response that was shown first, second and so on."""
        return self.by_place(ORDINALS.index(ordinal.lower()) + 1)

    def by_place(self, number: int) -> str | None:
        """The response that a judge calls by its place: ``Response 1`` is the first one, unless labels are digits."""
        if any(label.isdigit() for label in self.labels):
            return None
        return self.labels[number - 1] if 0 < number <= len(self.labels) else None

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
        """Ranks from places, which may be shared or left out; None of numbers that are no places, such as scores."""
        groups = [[label for label in given if given[label] == place] for place in sorted(set(given.values()))]
        best = min(given.values(), default=0.0)
        places = best in (1.0, (len(groups[0]) + 1) / 2) and max(given.values()) <= len(self.labels) if given else False
        return self.ranked(groups) if places else None

    def by_score(self, given: Mapping[str, float]) -> dict[str, float] | None:
        """Ranks from scores, of which the highest is best."""
        return self.ranked(
            [[label for label in given if given[label] == score] for score in sorted(set(given.values()), reverse=True)]
        )


def _from_object(found: Mapping[str, Any], names: _Names) -> dict[str, float] | NoScore | None:
    """What an object says under any of the names for an order or a choice, which must not differ."""
    said = [ranks for key in _ORDER_KEYS if key in found and (ranks := _from_value(found[key], names))]
    said += [ranks for key in _CHOICE_KEYS if key in found and (ranks := _chosen(found[key], names))]
    if not said:
        return _by_label(found, names)
    best = [{label for label in ranks if ranks[label] == min(ranks.values())} for ranks in said]
    return said[0] if all(own == best[0] for own in best) else AMBIGUOUS


def _chosen(answer: object, names: _Names) -> dict[str, float] | None:
    if label := names.label(answer):
        return names.best(label)
    if isinstance(answer, str) and answer.strip(" .!").lower() in TIE_WORDS:
        return names.best(None)
    if isinstance(answer, list) and len(names.labels) == 2:  # both of two are no choice
        return names.best(names.label(answer[0])) if len(answer) == 1 and names.label(answer[0]) else None
    return _from_value(answer, names)


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
            place = _place(row["rank"])
            if label is None or place is None or given.get(label, place) != place:
                return None
            given[label] = place
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
    for key, value in found.items():
        label, place = names.label(key), _place(value)
        if label is not None and place is not None:
            given[label] = place
    return names.by_number(given)


def _place(value: object) -> float | None:
    """A place as a number, also where it is written as ``"2"`` or ``"2nd"``."""
    if isinstance(value, str) and (written := re.fullmatch(r"\s*#?(\d{1,2})(?:st|nd|rd|th)?\s*", value, re.I)):
        return float(written[1])
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# --- prose ------------------------------------------------------------------------------------------------


def _from_prose(text: str, names: _Names, quoted: JudgedTexts) -> dict[str, float] | NoScore:
    binding = list(_bracketed(text, names, quoted))
    if binding:
        return _agreed(binding)
    places = {names.label(name): float(place) for name, place in _PYTHON_RANK.findall(text)}
    if places and (ranks := names.by_number({label: place for label, place in places.items() if label is not None})):
        return ranks
    lines = [line for line in text.strip().split("\n") if line.strip()]
    orders = list(_orders(text, names, quoted))
    if orders:
        return TURNED if _WORST_FIRST.search(text) else _agreed(orders)
    for statements in (_better(text, names, quoted), list(_stated(text, names, quoted))):
        if statements:
            return _agreed(statements)
    for line in dict.fromkeys((text, *lines[:1], *lines[-1:])):
        if label := names.label(line.strip(' \t\r\n#*_`."')):
            return names.best(label) or UNREADABLE
    if len(names.labels) == 2 and (_TIE.search(text) or text.strip(" \n*_`.!").lower() in TIE_WORDS):
        return names.best(None) or UNREADABLE
    if numbered := _numbered(lines, names):
        return TURNED if _WORST_FIRST.search(text) else numbered
    return _from_scores(text, names) or UNREADABLE


def _agreed(statements: Sequence[dict[str, float]]) -> dict[str, float] | NoScore:
    return statements[-1] if all(ranks == statements[0] for ranks in statements) else AMBIGUOUS


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


def _orders(text: str, names: _Names, quoted: JudgedTexts) -> list[dict[str, float]]:
    """Orders on a line of their own, perhaps behind a lead-in; a mere list counts where there is nothing else."""
    line = r"^[ \t#*_-]{0,6}(?P<lead>[^\n:>]{0,60}:)?[*_ ]{0,4}(?P<order>[^\n:]{3,200})$"
    orders: list[dict[str, float]] = []
    lists: list[dict[str, float]] = []
    for match in re.finditer(line, text, re.M):
        order = match["order"]
        if quoted.says(order) or within_quotes(text, match.start("order")):
            continue
        for lead in re.finditer(
            rf"(?i:{_STATED}|(?:the |my )?(?:ranking|order) is|best to worst)[*_ ]{{0,4}}:?[*_ ]{{1,4}}", order
        ):
            order = order[lead.end() :] if lead.start() == 0 else order
        if (re.search("[>,=<]", order) or _ARROWS.search(order)) and (
            ranks := _written_order(order.strip(" .*_`"), names)
        ):
            stated = match["lead"] or re.search("[><]", order) or order != match["order"]
            (orders if stated else lists).append(ranks)
    return orders or lists


def _better(text: str, names: _Names, quoted: JudgedTexts) -> list[dict[str, float]]:
    """``Output (b) is better``, ``I prefer Response A``, ``A wins``, ``The first answer is better``, ``So, B.``

    Of statements that differ, those that sum up count, from the last sentence that does.
    """
    is_better = rf"(?i:(?:is|as|was)\s(?:(?!{_NOT})\w+\s){{0,3}}?(?:{_BETTER}|winner)\b|wins\b|outperforms\b|beats\b)"
    named = (
        rf"\b(?i:{_NOUN})\s?[\[(]{{0,2}}(?P<label>{names.pattern}|\d)[\])]{{0,2}}(?:['’]s (?i:{_NOUN}))?\s{is_better}"
    )
    bare = rf"(?<![\w'’-])(?P<bare>(?-i:{names.written}))\s{is_better}"
    shown = rf"(?i:\bthe (?P<place>{'|'.join(ORDINALS)})(?: {_NOUN}| one)?\s{is_better})"
    prefer = (
        r"(?i:\bI (?:\w+ )?(?:prefer|choose|pick)|\bthe (?:better|best) \w+ is"
        r"|\b(?:the|my) (?:winner|choice|pick|answer) is:?)\s"
        rf"(?:(?i:{_NOUN})\s)?[\[(]{{0,2}}(?P<other>{names.pattern})\b"
    )
    last = (
        rf"\b(?i:therefore|thus|hence|so|overall),?\s(?:(?i:{_NOUN})\s)?(?P<last>(?-i:{names.written}))[\s.*!]{{0,4}}\Z"
    )
    found: list[dict[str, float]] = []
    sums_up: list[tuple[int, dict[str, float]]] = []  # with where its sentence begins
    for match in re.finditer(f"{named}|{bare}|{shown}|{prefer}|{last}", text, names.flags):
        before = text[max(0, match.start() - 400) : match.start()]
        asked = text[match.end() :].lstrip().startswith("?")
        if asked or within_quotes(text, match.start()) or quoted.says(match[0]) or _NOT_SAID.search(before):
            continue
        answer = match["label"] or match["bare"] or match["other"] or match["last"]
        label = names.at(match["place"]) if not answer else names.label(f"Response {answer}")
        if label is None or not (ranks := names.best(label)):
            continue
        found.append(ranks)
        if re.match(r"\s(?:only\s)?(?:if|unless)\b", text[match.end() : match.end() + 12], re.I):
            found.append({own: 3 - rank for own, rank in ranks.items()})  # else it is the other one
        elif match["last"]:
            sums_up.append((match.start(), ranks))
        elif concluding := _CONCLUDES.search(before):
            sums_up.append((match.start() - len(before) + concluding.start(), ranks))
    if sums_up:
        return [ranks for start, ranks in sums_up if start == sums_up[-1][0]]
    return found


def _stated(text: str, names: _Names, quoted: JudgedTexts) -> Iterator[dict[str, float]]:
    """``Winner: B``, ``Preference: Response (a)``, ``Verdict: tie``."""
    line = rf"^[ \t#*_-]{{0,6}}(?:\w+, |the )?{_STATED}[*_ ]{{0,4}}[:=→][*_ ]{{0,4}}([^\n]{{1,60}})$"
    for match in re.finditer(line, text, re.I | re.M):
        if within_quotes(text, match.start(1)) or quoted.says(match[0]):
            continue
        answer = match[1].strip(" *_`\"'.!")
        label = names.label(answer)
        ranks = names.best(label) if label or answer.lower() in TIE_WORDS else None
        if ranks:
            yield ranks


def _numbered(lines: Sequence[str], names: _Names) -> dict[str, float] | NoScore | None:
    """A numbered list: ``1. Response B``, ``First: B``, ``1st: B, 2nd: A``, a table of places, ``B (1), A (2)``.

    Two lists that differ, and a list whose scores rise, say two things.
    """
    ordinals = "|".join(ORDINALS)
    place = rf"(?:\||#|rank )?\s?(?:(?P<number>\d{{1,2}})(?:st|nd|rd|th)?|(?P<word>{ordinals}))(?: place)?\s?[.):|-]"
    named = rf"\s*[*_\[(]{{0,3}}(?i:{_NOUN}\s?)?[*_\[(]{{0,3}}(?P<label>{names.pattern})\b(?P<rest>.*)"
    behind = rf"(?i:{_NOUN}\s?)?\b(?P<label>{names.pattern})\s?\((?:#|rank )?(?P<number>\d{{1,2}})\)(?P<rest>.*)"
    for pattern in (rf"\s*(?i:{place}){named}", behind):
        given: dict[str, float] = {}
        scores: dict[str, float] = {}
        for piece in _pieces(lines):
            if match := re.match(pattern, piece, names.flags):
                label, word = names.own(match["label"]), match.groupdict().get("word")
                number = float(ORDINALS.index(word.lower()) + 1 if word else match["number"])
                if given.setdefault(label, number) != number:
                    return AMBIGUOUS
                if score := re.match(
                    r"[^\d\n]{0,20}?(\d+(?:\.\d+)?)(?:\s?(?:/|out of)\s?\d+|\s?points?)?\W*$", match["rest"]
                ):
                    scores[label] = float(score[1])
        if len(given) == len(names.labels) and (ranks := names.by_number(given)):
            return AMBIGUOUS if scores and not _falling(scores, ranks) else ranks
    return None


def _falling(scores: Mapping[str, float], ranks: Ranks) -> bool:
    """Whether scores beside places say the same as the places."""
    if len(scores) < len(ranks):
        return False
    along = [scores[label] for label in sorted(scores, key=lambda label: ranks[label])]
    return along == sorted(along, reverse=True)


def _pieces(lines: Sequence[str]) -> list[str]:
    """The lines of a reply; of a single one, what stands between commas or before the next number of a list."""
    if len(lines) > 1:
        return list(lines)
    return [piece.strip() for line in lines for piece in re.split(r"[,;]|\s(?=#?\d{1,2}[.)]\s)", line)]


def _from_scores(text: str, names: _Names) -> dict[str, float] | NoScore | None:
    """Two scores in place of a choice: ``9 8.5`` on the first line, or ``Assistant A: 4/10`` and ``Assistant B: 7``."""
    if len(names.labels) != 2:
        return None
    for noun in ("Assistant ", "Response ", "Output ", ""):
        pair = last_pair(text, (f"{noun}{names.labels[0]}", f"{noun}{names.labels[1]}"))
        if pair is not None:
            unclear = set(pair) == {1, 2} and not _SCORES.search(text)
            return PLACES_OR_SCORES if unclear else names.by_score(dict(zip(names.labels, pair, strict=True)))
    return None


# --- grades -----------------------------------------------------------------------------------------------


def _graded(text: str, labels: Sequence[str], quoted: JudgedTexts) -> dict[str, float] | NoScore:
    found = last_score(text, quoted, ("preference", "score", "rating", "grade", "choice", "verdict", "answer"))
    if found is None or found.percent:
        first = re.findall(r"^[\s*_]*([1-7])[*_]{0,3}\s?[-–—:(,]\s?(?=[^\W\d])", text, re.M)
        return _grade_ranks(float(first[0]), labels) or UNREADABLE if len(first) == 1 else UNREADABLE
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
