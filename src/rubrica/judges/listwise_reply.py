"""Reads a judge's reply about several responses at once: scores by response, or one for each as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubrica.model.scale import Scale

from .fence import JudgedTexts
from .mark import COPIED, MISSING, UNREADABLE, Marks, NoScore, ReplyScore, plain_text, read_mark
from .reply import answers, written_value
from .scoreline import LABELS, labelled_score
from .shape import ReplyForm


def read_listwise(
    text: str, labels: Sequence[str], scales: Mapping[str, ReplyForm], quoted: JudgedTexts
) -> tuple[dict[str, Marks], dict[str, str]]:
    """The scores and notes of several responses, by label."""
    for candidate in answers(text, quoted):
        inner = candidate.get("evaluations")
        rows = inner if isinstance(inner, Mapping) else candidate
        if any(isinstance(_row(rows, label), Mapping) for label in labels):
            return {label: _response(_row(rows, label), scales) for label in labels}, {
                label: plain_text(row.get("notes")) if isinstance(row := _row(rows, label), Mapping) else ""
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
        value = written_value(labelled_score(text, quoted, (f"response {label}", label)), scale)
        if isinstance(value, float):
            wholes[label] = ReplyScore(value)
    return wholes


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
        cells[name] = read_mark({**shared, **given}, scale)
    return cells


def _overall_score(row: object, scale: Scale) -> ReplyScore | NoScore:
    """The one score of a response: a bare value, or what its entry calls overall."""
    if not isinstance(row, Mapping):
        return MISSING if row is None else read_mark({"score": row}, scale)
    if "overall" in row:
        return read_mark({**row, LABELS[0]: row["overall"]}, scale)
    return read_mark(row, scale)
