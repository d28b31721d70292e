"""Reads a judge's reply: the whole reply as JSON, else its last complete object or score line outside quoted text.

A reply that cannot be read is asked for again once (that is the judge's business); a value that is not on the scale is
refused at once, by name. Totals, rankings and verdicts in a reply are never looked at: Rubrica computes its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

from rubrica.jsontext import both_values, json_of_python, json_values, unwrap_json, with_repeated_keys
from rubrica.model.answers import AnswerSet
from rubrica.model.evaluation import Remarks
from rubrica.model.scale import Scale
from rubrica.text.lazy_pattern import lazy_pattern

from .axis_scores import labelled_answers, leading_answer, scores_for, section_score, table_column, table_row
from .fence import JudgedTexts
from .mark import (
    COPIED,
    MISSING,
    REASON_KEYS,
    TWICE,
    UNREADABLE,
    Marks,
    NoScore,
    ReplyScore,
    mark_of,
    plain_text,
    read_answer,
    read_mark,
    read_remarks,
    value_of,
)
from .scoreline import (
    LABELS,
    LONGEST_LIST,
    WrittenScore,
    labelled_score,
    last_score,
    reason_in,
    settles,
)
from .shape import ReplyForm

LONGEST_REPLY = 400_000
LONGEST_NAME = 200
"""What is longer names no axis."""
MOST_LISTS = 50
"""A list is looked for at so many places that may open one."""

_THOUGHTS = lazy_pattern(r"\A\s*<(think|thinking|thought|thoughts)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_ANSWERED = ("answer", "the answer", "final answer", "my answer", "label", "verdict")
"""Words that announce the answer to a question that was asked alone."""
_NAME_KEYS = ("dimension", "name", "criterion", "quality", "axis", "aspect")
_NO_AXES = (*REASON_KEYS, "confidence")
"""Keys that mean something else than an axis of their name."""


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
        whole = (
            read_answer(text, {}, form) if form.find(text) else _answer_behind(text, (name, *_ANSWERED), form, quoted)
        )
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
    found = read_mark(candidate, form)
    own = match_names(candidate, (name,)).get(name)
    if isinstance(own, dict) or (own is not None and found is MISSING and name not in _NO_AXES):
        return read_mark(own if isinstance(own, dict) else {LABELS[0]: own}, form)
    further = [match_names(_by_name(value), (name,)).get(name) for value in candidate.values()]
    inner = [value for value in further if value is not None] if name not in _NO_AXES else []
    if len(inner) > 1:
        return UNREADABLE  # as of several responses
    return read_mark(inner[0] if isinstance(inner[0], dict) else {LABELS[0]: inner[0]}, form) if inner else found


def _named(candidate: Mapping[str, Any]) -> str:
    """The axis that an object says it is about."""
    return next((row for key in _NAME_KEYS if isinstance(row := candidate.get(key), str)), "")


def read_many(text: str, scales: Mapping[str, ReplyForm], quoted: JudgedTexts) -> tuple[Marks, Remarks]:
    """The scores of several axes from one reply, and the remarks that came with them."""
    for candidate in answers(text, quoted):
        inner = next((row for key in ("dimensions", "scores") if (row := candidate.get(key))), candidate)
        rows = match_names(_by_name(inner) or candidate, scales)
        if any(name in rows for name in scales):
            return {name: mark_of(rows, name, scale) for name, scale in scales.items()}, read_remarks(candidate)
    if len(scales) == 1:
        return {name: read_one(text, name, form, quoted) for name, form in scales.items()}, Remarks()
    if quoted.copies(text):
        return dict.fromkeys(scales, COPIED), Remarks()
    for source, listed in reversed(list(json_values(text[-LONGEST_LIST:], most=MOST_LISTS))):
        rows = match_names(_by_name(listed) if isinstance(listed, list) else {}, scales)
        if rows and not quoted.says(source):
            return {name: mark_of(rows, name, scale) for name, scale in scales.items()}, Remarks()
    written = {plain: name for name in scales for plain in (name.replace("_", " "), name)}
    columns = {written[label]: score for label, score in table_row(text, quoted, written).items()}
    columns |= {written[label]: score for label, score in table_column(text, quoted, written).items()}
    marks = {
        name: _written_mark(columns[name], text, scale)
        if name in columns
        else _from_label(text, name, scale, quoted, [plain for plain, other in written.items() if other != name])
        for name, scale in scales.items()
    }
    if all(mark is UNREADABLE for mark in marks.values()):
        plain = {name.replace("_", " "): name for name in scales}
        for label, score in scores_for(text, quoted, plain).items():
            marks[plain[label]] = _written_mark(score, text, scales[plain[label]])
    return marks, Remarks()


def match_names(found: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    """The entries of some names, also where a reply writes them in other letters: ``Warm tone`` for ``warm_tone``.

    >>> match_names({"Warm tone": 7, "depth_score": 3, "total": 10}, ["warm_tone", "depth"])
    {'warm_tone': 7, 'depth': 3}
    """
    wanted = dict.fromkeys(names)
    named = {_plain_name(name) for name in wanted}
    plain: dict[str, Any] = {}
    for key, value in found.items():
        if key not in wanted and len(key) <= LONGEST_NAME:
            own = _plain_name(key)
            plain[own] = both_values(plain[own], value) if own in plain else value
    given: dict[str, Any] = {}
    for name in wanted:
        own = _plain_name(name)
        keys = (own, *(f"{own} {label}" for label in LABELS if f"{own} {label}" not in named))
        values = [*([found[name]] if name in found else []), *(plain[key] for key in keys if key in plain)]
        if values:
            given[name] = reduce(both_values, values)
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
        return _answer_behind(text, (name,), scale, quoted)
    names = (name, name.replace("_", " "))
    found = labelled_score(text, quoted, names, others) or section_score(text, quoted, names, others)
    return _written_mark(found, text, scale)


def _written_mark(found: WrittenScore | None, text: str, scale: ReplyForm) -> ReplyScore | NoScore:
    return UNREADABLE if isinstance(scale, AnswerSet) else _found_mark(found, text, scale) or UNREADABLE


def _found_mark(found: WrittenScore | None, text: str, scale: Scale) -> ReplyScore | NoScore | None:
    value = written_value(found, scale)
    if value is MISSING:
        return None
    return value if isinstance(value, NoScore) else ReplyScore(value, plain_text(reason_in(text)))


def _answer_behind(text: str, names: Sequence[str], answers: AnswerSet, quoted: JudgedTexts) -> ReplyScore | NoScore:
    """The answer that stands behind an axis's own name: ``Polite: yes. Sourced: no``; none where there are two.

    Of one axis alone, also behind a word that announces it, or where the reply begins with it.
    """
    plain = [name.replace("_", " ") for name in names]
    said = labelled_answers(text, quoted, (*names, *plain), tuple(answers.values))
    alone = len(names) > 1 and not said and not quoted.copies(text)
    if alone and (first := leading_answer(text, tuple(answers.values))):
        said = (first,)
    if len({answers.find(word) for word in said}) != 1:
        return UNREADABLE
    return read_answer(said[0], {REASON_KEYS[0]: reason_in(text)}, answers)


def read_overall(text: str, scale: Scale, quoted: JudgedTexts) -> ReplyScore | NoScore:
    """The one score of a holistic reply, ``Score: X.X | Reasoning: …``."""
    return read_one(text, "overall", scale, quoted)


def answers(text: str, quoted: JudgedTexts) -> Iterator[Mapping[str, Any]]:
    """The objects a judge may have meant: the whole reply, else those in it from last to first, quotations left out."""
    text = text[-LONGEST_REPLY:]
    source, parsed = unwrap_json(text)
    if parsed is None:
        source, parsed = unwrap_json(json_of_python(source))
    if isinstance(parsed, dict):
        parsed = with_repeated_keys(source, parsed)
        # A copy of judged text has its keys from there: looking for them is much faster than comparing words.
        if not quoted.has(parsed) or not quoted.copies(source):
            yield parsed
        return
    for source, found in reversed(list(json_values(text, objects_only=True))):
        if found and not quoted.says(source):
            yield with_repeated_keys(source, found)


def _from_line(text: str, scale: Scale, quoted: JudgedTexts, labels: Sequence[str]) -> ReplyScore | NoScore | None:
    found = last_score(text, quoted, labels)
    if found is None or (found.percent and scale.min != 0):
        return None
    value = written_value(found, scale)
    return value if isinstance(value, NoScore) else ReplyScore(value, plain_text(reason_in(text)))


def written_value(found: WrittenScore | None, scale: Scale) -> float | NoScore:
    """The value of a score that stands in prose."""
    if found is None:
        return MISSING
    return value_of(f"{found.value!r}" + (f"/{found.top!r}" if found.top else ""), scale)
