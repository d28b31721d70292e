"""What a judge gave one axis: a score or an answer with its reason and confidence, or why it is none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rubrica.jsontext import both_values
from rubrica.model.answers import AnswerSet
from rubrica.model.evaluation import Remarks
from rubrica.model.scale import Scale
from rubrica.text.lazy_pattern import lazy_pattern

from .fence import visible
from .scoreline import LABELS
from .shape import ReplyForm

LONGEST_REASON = 2000
MOST_REMARKS = 20
PERCENT = 100
"""On a scale from 0 to so much or more, 0.85 may mean 85."""
UNSTATED_CONFIDENCE = 0.5
"""The confidence of a score whose judge stated none between 0 and 1: neither trusted nor distrusted."""
_VALUE = lazy_pattern(r"\s*([-+]?\d+(?:\.\d+|,\d{1,2})?)\s*(?:(?:/|out of)\s*(\d+(?:\.\d+)?)|(%))?\s*", re.IGNORECASE)
_SCORE_KEYS = (*LABELS, "value")
_LATER_KEYS = tuple(f"{word}_{label}" for word in ("final", "adjusted", "revised", "corrected") for label in LABELS)
"""Keys of a score that takes the place of another one."""
_ANSWER_KEYS = ("answer", "label")
_LARGEST = 1e15  # what is larger is off any scale
_TOP_KEYS = ("max_score", "max", "maximum", "out_of", "max_points")
_SCALE_TEXT = lazy_pattern(r"\s*-?\d+(?:\.\d+)?\s*(?:-|–|to)\s*(\d+(?:\.\d+)?)\s*", re.IGNORECASE)
_NUMBERS = (int, float)
REASON_KEYS = ("reason", "reasoning", "explanation", "notes", "note", "comment")
_TRUTHS = {True: ("yes", "true"), False: ("no", "false")}


class ReplyScore(msgspec.Struct, frozen=True, gc=False):
    """What a judge said about one axis: a value on its scale."""

    value: float
    reason: str = ""
    confidence: float = UNSTATED_CONFIDENCE
    label: str = ""  # the answer, where it chose among answers


class NoScore(msgspec.Struct, frozen=True, gc=False):
    """Why a reply gives no score for an axis. `final`: asking again would only press for another number."""

    reason: str
    final: bool = False
    label: str = ""  # the answer, where it is one without a value


Marks = dict[str, ReplyScore | NoScore]
MISSING = NoScore("the reply has no score for it")
UNREADABLE = NoScore("the reply could not be read")
TWICE = NoScore("the reply gives more than one score and does not say which counts")
COPIED = NoScore("the reply only repeats the judged text")


def read_mark(found: Mapping[str, Any], scale: ReplyForm) -> ReplyScore | NoScore:
    """A mark from an object, in whatever letters its keys are; extra keys are not looked at."""
    found = _in_small_letters(found)
    if isinstance(scale, AnswerSet):
        key = next((key for key in (*_ANSWER_KEYS, *_SCORE_KEYS) if key in found), None)
        return MISSING if key is None else read_answer(found[key], found, scale)
    for key in _SCORE_KEYS:
        if key in found:
            if any(found[later] != found[key] for later in _LATER_KEYS if later in found):
                return TWICE
            value = value_of(_out_of(found[key], _stated_top(found)), scale)
            if isinstance(value, NoScore):
                return value
            return ReplyScore(value, reason_of(found), confidence_in(found))
    return MISSING


def _in_small_letters(found: Mapping[str, Any]) -> Mapping[str, Any]:
    if all(key == key.lower() for key in found):
        return found
    small: dict[str, Any] = {}
    for key, value in found.items():
        own = key.lower()
        small[own] = both_values(small[own], value) if own in small else value
    return small


def _stated_top(found: Mapping[str, Any]) -> float | None:
    """What an object says that its score is out of: ``{"score": 4, "max_score": 5}``, ``{"scale": "1-5"}``."""
    for key in _TOP_KEYS:
        if isinstance(top := found.get(key), _NUMBERS) and not isinstance(top, bool) and 0 < top < math.inf:
            return float(top)
    scale = found.get("scale")
    written = _SCALE_TEXT.fullmatch(scale) if isinstance(scale, str) else None
    return float(written[1]) if written else None


def _out_of(value: object, top: float | None) -> object:
    """A bare number with what it is out of; anything else as it is."""
    if top is None or isinstance(value, bool) or not isinstance(value, _NUMBERS) or abs(value) > _LARGEST:
        return value
    return f"{value!r}/{top!r}"


def mark_of(rows: Mapping[str, Any], name: str, scale: ReplyForm) -> ReplyScore | NoScore:
    """The mark under a name, which may be a bare value."""
    if name not in rows:
        return MISSING
    cell = rows[name]
    return read_mark(cell if isinstance(cell, Mapping) else {"score": cell}, scale)


def value_of(value: object, scale: Scale) -> float | NoScore:
    """A number on the scale, or why it is none.

    What is out of something else, as ``8/10`` or ``80%`` on a scale of 0 to 1, is a share of full marks. That means one
    thing only where the scale begins at 0; on others it is refused.

    >>> value_of(11, Scale(min=1, max=10)).reason
    'the judge gave 11, which is off the scale 1–10'
    >>> value_of("8/10", Scale(min=0, max=1)), value_of("80%", Scale(min=0, max=5))
    (0.8, 4.0)
    """
    top = None
    if isinstance(value, str) and (match := _VALUE.fullmatch(value)):
        value, top = float(match[1].replace(",", ".")), 100.0 if match[3] else float(match[2]) if match[2] else None
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return NoScore(f"the judge gave {_short(value)}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return NoScore(f"the judge gave {_short(value)}, which is not a finite number", final=True)
    if top is not None and top != scale.max and scale.min == 0 and 0 <= number <= top and top > 0:
        return number / top * scale.max
    if top is not None and top != scale.max:
        return NoScore(f"the judge gave {number:g} out of {top:g}, which is not the scale {scale}", final=True)
    if top is None and scale.min == 0 and scale.max >= PERCENT and 0 < number < 1:
        return NoScore(f"the judge gave {number:g}, which may be a share of {scale.max:g} or a score")
    if not scale.holds(number):
        return NoScore(f"the judge gave {number:g}, which is off the scale {scale}", final=True)
    return number


_CONFIDENCE_SCALE = Scale(min=0, max=1)


def confidence_in(found: Mapping[str, Any]) -> float:
    """The judge's own confidence, where an object states one between 0 and 1."""
    given = value_of(found.get("confidence"), _CONFIDENCE_SCALE)
    return UNSTATED_CONFIDENCE if isinstance(given, NoScore) else given


def reason_of(found: Mapping[str, Any]) -> str:
    """The reason that an object states."""
    for key in REASON_KEYS:
        if isinstance(reason := found.get(key), str):
            return plain_text(reason)
    return ""


def read_answer(answer: object, found: Mapping[str, Any], answers: AnswerSet) -> ReplyScore | NoScore:
    """The answer that was given, with the reason beside it; one that was not offered is refused by name.

    >>> read_answer("maybe", {}, AnswerSet({"yes": 1, "no": 0})).reason
    'the judge answered "maybe", which is none of yes, no'
    """
    words = _TRUTHS[answer] if isinstance(answer, bool) else (answer,)
    label = next((label for word in words if isinstance(word, str) and (label := answers.find(word))), None)
    if label is None:
        reason = f"the judge answered {_short(answer)}, which is none of {answers}"
        return NoScore(reason, final=isinstance(answer, str))
    value, reason = answers.values[label], reason_of(found)
    if value is None:
        return NoScore(f"{label}: {reason}" if reason else label, final=True, label=label)
    return ReplyScore(value, reason, confidence_in(found), label)


def read_remarks(found: Mapping[str, Any]) -> Remarks:
    """Issues, strengths, suggestions and notes by section."""
    sections = found.get("sections")
    notes = {str(key): plain_text(note) for key, note in sections.items()} if isinstance(sections, Mapping) else {}
    issues, strengths, suggestions = (_texts(found.get(key)) for key in ("issues", "strengths", "suggestions"))
    return Remarks(issues, strengths, suggestions, notes)


def plain_text(value: object) -> str:
    """A text as it is kept as a reason: of anything else, nothing."""
    return visible(value).strip()[:LONGEST_REASON] if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(text for item in items[:MOST_REMARKS] if (text := plain_text(item)))


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str) if not isinstance(value, float) else f"{value:g}"
    return text if len(text) <= 40 else text[:39] + "…"
