"""Reads a judge's reply: the whole reply as JSON, else its last complete object or score line outside quoted text.

A reply that cannot be read is asked for again once (that is the judge's business); a value that is not on the scale is
refused at once, by name. Totals, rankings and verdicts in a reply are never looked at: Rubrica computes its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from rubrica.jsontext import both_values, json_values, unwrap_json, with_repeated_keys
from rubrica.model.answers import AnswerSet
from rubrica.model.evaluation import Remarks
from rubrica.model.scale import Scale
from rubrica.text.lazy_pattern import lazy_pattern

from .fence import JudgedTexts, visible
from .scoreline import (
    LABELS,
    LONGEST_LIST,
    WrittenScore,
    labelled_answers,
    labelled_score,
    last_score,
    reason_in,
    section_score,
    settles,
    table_column,
    table_row,
)
from .shape import ReplyForm

LONGEST_REASON = 2000
LONGEST_REPLY = 400_000
LONGEST_NAME = 200
"""What is longer names no axis."""
MOST_REMARKS = 20
MOST_LISTS = 50
"""A list is looked for at so many places that may open one."""
UNSTATED_CONFIDENCE = 0.5
"""The confidence of a score whose judge stated none between 0 and 1: neither trusted nor distrusted."""

_VALUE = lazy_pattern(r"\s*([-+]?\d+(?:\.\d+|,\d{1,2})?)\s*(?:(?:/|out of)\s*(\d+(?:\.\d+)?)|(%))?\s*", re.IGNORECASE)
_THOUGHTS = lazy_pattern(r"\A\s*<(think|thinking|thought|thoughts)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_SCORE_KEYS = (*LABELS, "value")
_ANSWER_KEYS = ("answer", "label")
_NUMBERS = (int, float)
_NAME_KEYS = ("dimension", "name", "criterion", "quality", "axis", "aspect")
_REASON_KEYS = ("reason", "reasoning", "explanation", "notes", "note", "comment")
_NO_AXES = (*_REASON_KEYS, "confidence")
"""Keys that mean something else than an axis of their name."""


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


_TRUTHS = {True: ("yes", "true"), False: ("no", "false")}
Marks = dict[str, ReplyScore | NoScore]
MISSING = NoScore("the reply has no score for it")
UNREADABLE = NoScore("the reply could not be read")
TWICE = NoScore("the reply gives more than one score and does not say which counts")
COPIED = NoScore("the reply only repeats the judged text")


def without_thoughts(text: str) -> str:
    """A reply without the thoughts that some models write before it; nothing where it ends within them.

    Only what the reply opens itself: an end alone may be a quotation of the judged text.

    >>> without_thoughts("<think>Score: 9? No.</think>Score: 3"), without_thoughts("<think>Score: 9?")
    ('Score: 3', '')
    """
    return _THOUGHTS.sub("", text)


def read_one(text: str, name: str, form: ReplyForm, quoted: JudgedTexts) -> ReplyScore | NoScore:
    """The score of one axis, or the answer to it.

    >>> read_one('{"reason": "says {\\\\"score\\\\": 10}", "score": 3}', "depth", Scale(min=1, max=10), JudgedTexts())
    ReplyScore(value=3.0, reason='says {"score": 10}', confidence=0.5, label='')
    """
    found: ReplyScore | NoScore = UNREADABLE
    candidates = list(answers(text, quoted))
    others = {_plain_name(other) for candidate in candidates if (other := _named(candidate))}
    marks = []
    for candidate in candidates:
        if len(candidates) > 1 and others and _plain_name(_named(candidate)) not in ("", _plain_name(name)):
            continue  # in a list of several axes, the entry of another one
        found = _own_mark(candidate, name, form)
        if found is not MISSING:
            marks.append(found)
    if marks:
        return marks[0] if _agree(marks) or settles(text) else TWICE
    if isinstance(form, AnswerSet):
        whole = read_answer(text, {}, form) if form.find(text) else _answer_behind(text, name, form, quoted)
        return COPIED if whole is UNREADABLE and quoted.copies(text) else whole
    plain = name.replace("_", " ")
    line = _from_line(text, form, quoted, (*LABELS, name, plain))
    if line is None and not quoted.copies(text):
        line = _found_mark(labelled_score(text, quoted, (name, plain)), text, form)
    return line or (COPIED if quoted.copies(text) else found if found is not MISSING else UNREADABLE)


def _agree(marks: Sequence[ReplyScore | NoScore]) -> bool:
    return len({mark.value for mark in marks if isinstance(mark, ReplyScore)}) < 2


def _own_mark(candidate: Mapping[str, Any], name: str, form: ReplyForm) -> ReplyScore | NoScore:
    """The mark of one axis in an object: under its name, also one level further in, else what the object says."""
    found = _mark(candidate, form)
    own = match_names(candidate, (name,)).get(name)
    if isinstance(own, dict) or (own is not None and found is MISSING and name not in _NO_AXES):
        return _mark(own if isinstance(own, dict) else {LABELS[0]: own}, form)
    further = [match_names(_by_name(value), (name,)).get(name) for value in candidate.values()]
    inner = [value for value in further if value is not None] if name not in _NO_AXES else []
    if len(inner) > 1:
        return UNREADABLE  # as of several responses
    return _mark(inner[0] if isinstance(inner[0], dict) else {LABELS[0]: inner[0]}, form) if inner else found


def _named(candidate: Mapping[str, Any]) -> str:
    """The axis that an object says it is about."""
    return next((row for key in _NAME_KEYS if isinstance(row := candidate.get(key), str)), "")


def read_many(text: str, scales: Mapping[str, ReplyForm], quoted: JudgedTexts) -> tuple[Marks, Remarks]:
    """The scores of several axes from one reply, and the remarks that came with them."""
    for candidate in answers(text, quoted):
        inner = next((row for key in ("dimensions", "scores") if (row := candidate.get(key))), candidate)
        rows = match_names(_by_name(inner) or candidate, scales)
        if any(name in rows for name in scales):
            return {name: _cell(rows, name, scale) for name, scale in scales.items()}, read_remarks(candidate)
    if len(scales) == 1:
        return {name: read_one(text, name, form, quoted) for name, form in scales.items()}, Remarks()
    if quoted.copies(text):
        return dict.fromkeys(scales, COPIED), Remarks()
    for source, listed in reversed(list(json_values(text[-LONGEST_LIST:], most=MOST_LISTS))):
        rows = match_names(_by_name(listed) if isinstance(listed, list) else {}, scales)
        if rows and not quoted.says(source):
            return {name: _cell(rows, name, scale) for name, scale in scales.items()}, Remarks()
    written = {plain: name for name in scales for plain in (name.replace("_", " "), name)}
    columns = {written[label]: score for label, score in table_row(text, quoted, written).items()}
    columns |= {written[label]: score for label, score in table_column(text, quoted, written).items()}
    return {
        name: _written_mark(columns[name], text, scale)
        if name in columns
        else _from_label(text, name, scale, quoted, [plain for plain, other in written.items() if other != name])
        for name, scale in scales.items()
    }, Remarks()


def match_names(found: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    """The entries of some names, also where a reply writes them in other letters: ``Warm tone`` for ``warm_tone``.

    >>> match_names({"Warm tone": 7, "depth": 3, "total": 10}, ["warm_tone", "depth"])
    {'warm_tone': 7, 'depth': 3}
    """
    wanted = dict.fromkeys(names)
    plain: dict[str, Any] = {}
    for key, value in found.items():
        if key not in wanted and len(key) <= LONGEST_NAME:
            own = _plain_name(key)
            plain[own] = both_values(plain[own], value) if own in plain else value
    given: dict[str, Any] = {}
    for name in wanted:
        values = [*([found[name]] if name in found else []), *([plain[p]] if (p := _plain_name(name)) in plain else [])]
        if values:
            given[name] = both_values(values[0], values[-1])
    return given


@lru_cache(maxsize=512)  # judges write the same few names again and again
def _plain_name(name: str) -> str:
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split())


def _by_name(found: object) -> Mapping[str, Any]:
    """Scores by name: as they are, or of a list such as ``[{"dimension": "depth", "score": 7}, …]``."""
    if isinstance(found, Mapping):
        return found
    rows = [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
    return {name: row for row in rows if (name := _named(row))}


def _from_label(
    text: str, name: str, scale: ReplyForm, quoted: JudgedTexts, others: Sequence[str]
) -> ReplyScore | NoScore:
    """The score that stands behind an axis's own name: of several axes, a number without one is nobody's."""
    if isinstance(scale, AnswerSet):
        return _answer_behind(text, name, scale, quoted)
    names = (name, name.replace("_", " "))
    found = labelled_score(text, quoted, names, others) or section_score(text, quoted, names, others)
    return _written_mark(found, text, scale)


def _written_mark(found: WrittenScore | None, text: str, scale: ReplyForm) -> ReplyScore | NoScore:
    return UNREADABLE if isinstance(scale, AnswerSet) else _found_mark(found, text, scale) or UNREADABLE


def _found_mark(found: WrittenScore | None, text: str, scale: Scale) -> ReplyScore | NoScore | None:
    value = _on_scale(found, scale)
    if value is MISSING:
        return None
    return value if isinstance(value, NoScore) else ReplyScore(value, _text(reason_in(text)))


def _answer_behind(text: str, name: str, answers: AnswerSet, quoted: JudgedTexts) -> ReplyScore | NoScore:
    """The answer that stands behind an axis's own name: ``Polite: yes. Sourced: no``; none where there are two."""
    said = labelled_answers(text, quoted, (name, name.replace("_", " ")), tuple(answers.values))
    if len({answers.find(word) for word in said}) != 1:
        return UNREADABLE
    return read_answer(said[0], {_REASON_KEYS[0]: reason_in(text)}, answers)


def read_listwise(
    text: str, labels: Sequence[str], scales: Mapping[str, ReplyForm], quoted: JudgedTexts
) -> tuple[dict[str, Marks], dict[str, str]]:
    """The scores and notes of several responses, by label."""
    for candidate in answers(text, quoted):
        inner = candidate.get("evaluations")
        rows = inner if isinstance(inner, Mapping) else candidate
        if any(isinstance(_row(rows, label), Mapping) for label in labels):
            return {label: _response(_row(rows, label), scales) for label in labels}, {
                label: _text(row.get("notes")) if isinstance(row := _row(rows, label), Mapping) else ""
                for label in labels
            }
    refusal = COPIED if quoted.copies(text) else UNREADABLE
    return {label: dict.fromkeys(scales, refusal) for label in labels}, {}


def read_response_scores(text: str, labels: Sequence[str], scale: Scale, quoted: JudgedTexts) -> dict[str, ReplyScore]:
    """One score for each response as a whole, where a reply gives that in place of the qualities asked for.

    >>> reply = '{"ranking": ["A", "B"], "scores": {"Response A": 8, "Response B": 6}}'
    >>> marks = read_response_scores(reply, "AB", Scale(min=1, max=10), JudgedTexts())
    >>> {label: mark.value for label, mark in marks.items()}
    {'A': 8.0, 'B': 6.0}
    """
    for candidate in answers(text, quoted):
        groups = [group for key in ("evaluations", "scores") if isinstance(group := candidate.get(key), Mapping)]
        for rows in (*groups, candidate):
            marks = {label: _overall_score(_row(rows, label), scale) for label in labels}
            if found := {label: mark for label, mark in marks.items() if isinstance(mark, ReplyScore)}:
                return found
    wholes: dict[str, ReplyScore] = {}
    for label in () if quoted.copies(text) else labels:
        value = _on_scale(labelled_score(text, quoted, (f"response {label}", label)), scale)
        if isinstance(value, float):
            wholes[label] = ReplyScore(value)
    return wholes


def read_overall(text: str, scale: Scale, quoted: JudgedTexts) -> ReplyScore | NoScore:
    """The one score of a holistic reply, ``Score: X.X | Reasoning: …``."""
    return read_one(text, "overall", scale, quoted)


def answers(text: str, quoted: JudgedTexts) -> Iterator[Mapping[str, Any]]:
    """The objects a judge may have meant: the whole reply, else those in it from last to first, quotations left out."""
    text = text[-LONGEST_REPLY:]
    source, parsed = unwrap_json(text)
    if isinstance(parsed, dict):
        parsed = with_repeated_keys(source, parsed)
        # A copy of judged text has its keys from there: looking for them is much faster than comparing words.
        if not quoted.has(parsed) or not quoted.copies(source):
            yield parsed
        return
    for source, found in reversed(list(json_values(text, objects_only=True))):
        if found and not quoted.says(source):
            yield with_repeated_keys(source, found)


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
    if not scale.holds(number):
        return NoScore(f"the judge gave {number:g}, which is off the scale {scale}", final=True)
    return number


def read_remarks(found: Mapping[str, Any]) -> Remarks:
    sections = found.get("sections")
    notes = {str(key): _text(note) for key, note in sections.items()} if isinstance(sections, Mapping) else {}
    issues, strengths, suggestions = (_texts(found.get(key)) for key in ("issues", "strengths", "suggestions"))
    return Remarks(issues, strengths, suggestions, notes)


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


def _mark(found: Mapping[str, Any], scale: ReplyForm) -> ReplyScore | NoScore:
    """A mark from an object; extra keys are not looked at."""
    if isinstance(scale, AnswerSet):
        key = next((key for key in (*_ANSWER_KEYS, *_SCORE_KEYS) if key in found), None)
        return MISSING if key is None else read_answer(found[key], found, scale)
    for key in _SCORE_KEYS:
        if key in found:
            value = value_of(found[key], scale)
            if isinstance(value, NoScore):
                return value
            return ReplyScore(value, reason_of(found), confidence_in(found))
    return MISSING


def reason_of(found: Mapping[str, Any]) -> str:
    """The reason that an object states."""
    for key in _REASON_KEYS:
        if isinstance(reason := found.get(key), str):
            return _text(reason)
    return ""


def _cell(rows: Mapping[str, Any], name: str, scale: ReplyForm) -> ReplyScore | NoScore:
    if name not in rows:
        return MISSING
    cell = rows[name]
    return _mark(cell if isinstance(cell, Mapping) else {"score": cell}, scale)


def _row(rows: Mapping[str, Any], label: str) -> Any:
    return rows.get(label, rows.get(f"Response {label}"))


def _response(row: object, scales: Mapping[str, ReplyForm]) -> Marks:
    if not isinstance(row, Mapping):
        return dict.fromkeys(scales, MISSING)
    shared = {"reason": row.get("notes"), "confidence": row.get("confidence")}
    cells: Marks = {}
    for name, scale in scales.items():
        cell = row.get(name)
        given = cell if isinstance(cell, Mapping) else {"score": cell} if name in row else {}
        cells[name] = _mark({**shared, **given}, scale)
    return cells


def _overall_score(row: object, scale: Scale) -> ReplyScore | NoScore:
    """The one score of a response: a bare value, or what its entry calls overall."""
    if not isinstance(row, Mapping):
        return MISSING if row is None else _mark({"score": row}, scale)
    if "overall" in row:
        return _mark({**row, LABELS[0]: row["overall"]}, scale)
    return _mark(row, scale)


def _from_line(text: str, scale: Scale, quoted: JudgedTexts, labels: Sequence[str]) -> ReplyScore | NoScore | None:
    found = last_score(text, quoted, labels)
    if found is None or (found.percent and scale.min != 0):
        return None
    value = _on_scale(found, scale)
    return value if isinstance(value, NoScore) else ReplyScore(value, _text(reason_in(text)))


def _on_scale(found: WrittenScore | None, scale: Scale) -> float | NoScore:
    if found is None:
        return MISSING
    return value_of(f"{found.value!r}" + (f"/{found.top!r}" if found.top else ""), scale)


_CONFIDENCE_SCALE = Scale(min=0, max=1)


def confidence_in(found: Mapping[str, Any]) -> float:
    """The judge's own confidence, where an object states one between 0 and 1."""
    given = value_of(found.get("confidence"), _CONFIDENCE_SCALE)
    return UNSTATED_CONFIDENCE if isinstance(given, NoScore) else given


def _text(value: object) -> str:
    return visible(value).strip()[:LONGEST_REASON] if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(text for item in items[:MOST_REMARKS] if (text := _text(item)))


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str) if not isinstance(value, float) else f"{value:g}"
    return text if len(text) <= 40 else text[:39] + "…"
