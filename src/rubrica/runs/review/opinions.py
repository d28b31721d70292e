"""Opinions: review files that people filled in, read back record by record."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

from rubrica.errors import JsonError, RubricaError
from rubrica.hints import did_you_mean
from rubrica.jsontext import decode_json
from rubrica.model.context import LONGEST_TEXT
from rubrica.model.evaluation import Evaluation

from .questions import ReviewQuestion, Rubrics, questions_of, rubric_for
from .sampling import item_of

NOT_GIVEN = frozenset({"", "-", "–", "—", "n/a", "na", "none", "null", "?"})
OWN_COLUMNS = frozenset({"item", "case", "rubric", "about", "prompt", "response", "reviewer", "note"})
_JUDGE = "judge_"
FEWEST_SAME = 5
"""Evaluations on which two people who agree throughout are unlikely to be two."""


@dataclass(frozen=True, slots=True)
class FilledRecord:
    """A record of a review file as it stands there."""

    file: str
    line: int
    item: str
    case: str
    reviewer: str
    scores: Mapping[str, object]
    note: str = ""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be used, and why. The others are used all the same."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person gave one evaluation, on the scale of each question."""

    item: str
    reviewer: str
    scores: Mapping[str, float]
    note: str = ""


@dataclass(slots=True)
class ReviewedRun:
    """The evaluations that people looked at, what they gave them, and what could not be read."""

    evaluations: dict[str, Evaluation] = field(default_factory=dict)  # by item
    opinions: dict[tuple[str, str], Opinion] = field(default_factory=dict)  # by item and reviewer
    people: dict[str, str] = field(default_factory=dict)  # as first written, since ``Ann`` and ``ann`` are one person
    bad: list[BadRecord] = field(default_factory=list)
    empty: int = 0  # records that nobody filled in
    replaced: int = 0  # opinions of a person that a later one of theirs took the place of

    @property
    def reviewers(self) -> list[str]:
        return sorted({opinion.reviewer for opinion in self.opinions.values()})

    @property
    def doubles(self) -> list[tuple[str, str]]:
        """Reviewers who gave the same scores to the same evaluations throughout: perhaps one file, read twice."""
        given: dict[str, dict[str, Mapping[str, float]]] = {}
        for (item, reviewer), opinion in self.opinions.items():
            given.setdefault(reviewer, {})[item] = opinion.scores
        return [
            (one, other)
            for one, other in combinations(self.reviewers, 2)
            if len(given[one]) >= FEWEST_SAME and given[one] == given[other]
        ]


def read_filled(path: str | Path, reviewer: str | None = None) -> Iterator[FilledRecord | BadRecord]:
    """The records of a review file, JSON Lines or a table; `reviewer` is whose they are where they do not say."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise RubricaError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RubricaError(f"{path}: not UTF-8 text at byte {error.start} (save it as UTF-8)") from None
    whose = reviewer or path.stem
    reader = _from_table if path.suffix.lower() in (".csv", ".tsv") else _from_lines
    yield from reader(text, str(path), whose)


def read_reviews(
    filled: Iterable[FilledRecord | BadRecord], evaluations: Iterable[Evaluation], rubrics: Rubrics
) -> ReviewedRun:
    """Match records with the evaluations they are about, and hold their scores against the scales."""
    found = ReviewedRun()
    waiting: list[FilledRecord] = []
    for one in filled:
        if isinstance(one, BadRecord):
            found.bad.append(one)
        elif not any(_is_given(value) for value in one.scores.values()):
            found.empty += 1
        else:
            waiting.append(one)
    items = _match_items(waiting, evaluations, found)
    asked: dict[str, dict[str, ReviewQuestion]] = {}
    for one in waiting:
        item = items.get(one.item or f"case {one.case}")
        if item is None:
            found.bad.append(BadRecord(one.file, one.line, _unknown(one)))
            continue
        if item not in asked:
            evaluation = found.evaluations[item]
            asked[item] = {q.name: q for q in questions_of(rubric_for(evaluation, rubrics), evaluation)}
        _read_record(one, item, asked[item], found)
    return found


def _match_items(
    waiting: Iterable[FilledRecord], evaluations: Iterable[Evaluation], found: ReviewedRun
) -> dict[str, str]:
    """Items by what records call them: their own name, or the case they are of where they give no item."""
    wanted = {one.item or f"case {one.case}" for one in waiting}
    items: dict[str, str] = {}
    for evaluation in evaluations:
        if evaluation.repeat:
            continue
        item = item_of(evaluation)
        for name in {item, f"case {evaluation.case}"} & wanted:
            if name not in items:
                items[name] = item
                found.evaluations[item] = evaluation
    return items


def _unknown(one: FilledRecord) -> str:
    if one.item:
        return f"the run has no item {one.item} (is it of another run, or was the rubric changed since?)"
    return f"it names no item, and the run has no case {one.case!r}" if one.case else "it names neither item nor case"


def _read_record(one: FilledRecord, item: str, asked: Mapping[str, ReviewQuestion], found: ReviewedRun) -> None:
    scores: dict[str, float] = {}
    faults: list[str] = []
    for name, value in one.scores.items():
        if not _is_given(value):
            continue
        try:
            question = _question_of(name, asked)
            if question.name in scores:
                raise ValueError(f"{question.name} has several columns")
            scores[question.name] = _score(question, value)
        except ValueError as error:
            faults.append(str(error))
    if faults:
        found.bad.append(BadRecord(one.file, one.line, "; ".join(faults)))
        if not scores:
            return
    reviewer = found.people.setdefault(one.reviewer.casefold(), one.reviewer)
    found.replaced += (item, reviewer) in found.opinions
    found.opinions[item, reviewer] = Opinion(item, reviewer, scores, one.note)


def _question_of(name: str, asked: Mapping[str, ReviewQuestion]) -> ReviewQuestion:
    """The question that a heading means: by its name, also in other letters, or by its title."""
    if name in asked:
        return asked[name]
    plain = _plain(name)
    own = [question for question in asked.values() if plain in (_plain(question.name), _plain(question.title))]
    if len(own) == 1:
        return own[0]
    hint = did_you_mean(name, asked, f"it asks for {', '.join(asked)}")
    raise ValueError(f"nothing asks for {name!r}; {hint}")


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def _score(question: ReviewQuestion, value: object) -> float:
    number = _number(value, question.high)
    if number is None or not question.low <= number <= question.high:
        raise ValueError(f"{question.name}: {value!r} is not a number on its scale {question.scale}")
    return number


def _number(value: object, high: float) -> float | None:
    """A number as people write it: ``7``, ``7.5``, ``7,5``, or ``7/10`` on a scale that ends at 10."""
    if isinstance(value, bool):
        return None
    try:
        if not isinstance(value, str):
            number = float(value)  # type: ignore[arg-type]
        else:
            head, stroke, top = value.replace(",", ".").partition("/")
            number = float(head)
            if stroke and float(top) != high:
                return None
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _is_given(value: object) -> bool:
    return value is not None and not (isinstance(value, str) and value.strip().lower() in NOT_GIVEN)


# --- the two forms ----------------------------------------------------------------------------------------


def _from_lines(text: str, file: str, whose: str) -> Iterator[FilledRecord | BadRecord]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = decode_json(line)
        except JsonError as error:
            yield BadRecord(file, number, f"not JSON: {error}")
            continue
        if not isinstance(data, dict) or not isinstance(data.get("scores"), dict):
            yield BadRecord(file, number, "a record is an object with `item` and `scores` by dimension")
            continue
        yield _filled(file, number, data, data["scores"], whose)


def _from_table(text: str, file: str, whose: str) -> Iterator[FilledRecord | BadRecord]:
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)  # spreadsheets write what their country does
    csv.field_size_limit(LONGEST_TEXT)
    rows = csv.reader(StringIO(text, newline=""), delimiter=separator)
    names = [name.partition("(")[0].strip() for name in next(rows, [])]
    if not {"item", "case"} & set(names):
        yield BadRecord(file, 1, "the first line names no column `item`, so this is no review table")
        return
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(names):
                yield BadRecord(file, rows.line_num, f"{len(row)} cells under {len(names)} headings")
                continue
            data = dict(zip(names, row, strict=False))
            scores = {n: v for n, v in data.items() if n and n not in OWN_COLUMNS and not n.startswith(_JUDGE)}
            yield _filled(file, rows.line_num, data, scores, whose)
    except csv.Error as error:
        yield BadRecord(file, rows.line_num, f"the table cannot be read on from here: {error}")


def _filled(file: str, line: int, data: Mapping[str, Any], scores: Mapping[str, object], whose: str) -> FilledRecord:
    def text(name: str) -> str:
        value = data.get(name)
        return "" if value is None else str(value).strip()

    return FilledRecord(file, line, text("item"), text("case"), text("reviewer") or whose, scores, text("note"))
