"""Reads which of several responses a judge calls better: JSON, ``[[A]]``, ``B > A``, ``Output (b) is better``, 1 to 7.

What comes out is a rank for every response, 1 being best, equal where the judge calls them equal. Where a reply names
different winners in the same binding way, puts the worst first, or leaves responses out, it is not read: nobody guesses
what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rubrica.jsontext import json_values
from rubrica.model.scale import Scale

from .fence import JudgedTexts
from .mark import COPIED, UNREADABLE, NoScore, ReplyScore, confidence_in, reason_of, value_of
from .order_prose import AMBIGUOUS, order_in_prose, written_order
from .reply import LONGEST_REPLY, MOST_LISTS, answers
from .response_names import TIE_WORDS, Ranks, ResponseNames
from .scoreline import LONGEST_LIST, last_score, reason_in

GRADES = Scale(min=1, max=7)
"""How far one of two is better: 1 the first by far, 4 neither, 7 the second by far."""


_CHOICE_KEYS = ("choice", "winner", "preference", "preferred", "better", "best", "verdict", "answer", "decision")
_ORDER_KEYS = ("order", "ranking", "rankings", "ranks", "rank")
_NAME_KEYS = ("model", "response", "label", "name", "output", "answer", "id")

_GRADE_KEYS = ("preference", "grade", "score", "rating", "answer")


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
    names = ResponseNames(labels)
    if quoted.copies(text):
        return COPIED
    orders = []
    for found in answers(text, quoted):
        ranks = _grade_in(found, labels) if graded else None
        said = ranks if graded else _from_object(found, names)
        if isinstance(said, NoScore):
            return said
        if said is not None:
            orders.append(ReplyOrder(said, reason_of(found), confidence_in(found)))
    if orders:
        return orders[0] if all(order.ranks == orders[0].ranks for order in orders) else AMBIGUOUS
    for source, rows in reversed(list(json_values(text[-LONGEST_LIST:], most=MOST_LISTS))):
        if isinstance(rows, list) and not quoted.says(source) and (ranks := _from_list(rows, names)):
            return ReplyOrder(ranks, reason_in(text))
    read = order_in_prose(text, names, quoted)
    if graded:
        read = _not_against(_graded(text, labels, quoted), read)
    return ReplyOrder(read, reason_in(text)) if isinstance(read, dict) else read


def _from_object(found: Mapping[str, Any], names: ResponseNames) -> dict[str, float] | NoScore | None:
    """What an object says under any of the names for an order or a choice, which must not differ."""
    said = [ranks for key in _ORDER_KEYS if key in found and (ranks := _from_value(found[key], names))]
    said += [ranks for key in _CHOICE_KEYS if key in found and (ranks := _chosen(found[key], names))]
    if not said:
        return _by_label(found, names)
    best = [{label for label in ranks if ranks[label] == min(ranks.values())} for ranks in said]
    return said[0] if all(own == best[0] for own in best) else AMBIGUOUS


def _chosen(answer: object, names: ResponseNames) -> dict[str, float] | None:
    if label := names.label(answer):
        return names.best(label)
    if isinstance(answer, str) and answer.strip(" .!").lower() in TIE_WORDS:
        return names.best(None)
    if isinstance(answer, list) and len(names.labels) == 2:  # both of two are no choice
        return names.best(names.label(answer[0])) if len(answer) == 1 and names.label(answer[0]) else None
    return _from_value(answer, names)


def _from_value(value: object, names: ResponseNames) -> dict[str, float] | None:
    """An order as a list, as a mapping to places, or written out."""
    match value:
        case list():
            return _from_list(value, names)
        case dict():
            return _by_label(value, names)
        case str():
            return written_order(value, names)
        case _:
            return None


def _from_list(rows: Sequence[object], names: ResponseNames) -> dict[str, float] | None:
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


def _by_label(found: Mapping[str, Any], names: ResponseNames) -> dict[str, float] | None:
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


def _not_against(graded: dict[str, float] | NoScore, said: dict[str, float] | NoScore) -> dict[str, float] | NoScore:
    """A grade, unless the words beside it name the other one as better: ``7, A is far better``."""
    if isinstance(graded, NoScore) or isinstance(said, NoScore):
        return graded
    first, second = graded
    against = (graded[first] - graded[second]) * (said[first] - said[second]) < 0
    return AMBIGUOUS if against else graded


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
