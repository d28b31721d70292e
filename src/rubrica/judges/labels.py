"""Labels: what judges gave beside what people gave, from JSON Lines or a table."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from rubrica.errors import ContextError, Problem
from rubrica.hints import did_you_mean
from rubrica.jsontext import decode_json
from rubrica.model.context import LONGEST_TEXT
from rubrica.model.scale import Scale
from rubrica.phrases import count_of

ONE_JUDGE = "judge"
"""What the judge is called where the labels do not name one."""

TIES = frozenset({"tie", "both", "equal", "same", "neither", "none", "draw"})
"""Words for a choice that is none."""

VERDICTS = {"pass": 1.0, "yes": 1.0, "true": 1.0, "fail": 0.0, "no": 0.0, "false": 0.0}
"""Words for the ends of a scale from 0 to 1."""

MOST_TOLD = 20
_OWN_COLUMNS = frozenset(
    {"id", "item", "case", "judge", "rater", "reviewer", "group", "rubric", "about", "prompt", "note"}
)
_OWN_COLUMNS |= {"response", "judge_verdict", "judge_score"}
_LINE_COLUMNS = ("dimension", "score", "human", "choice")
_JUDGE = "judge_"
_NUMBER = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)?\s*")
_OUT_OF = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*/\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Label:
    """What a judge and a person gave the same item on one dimension, on its scale."""

    dimension: str
    score: float
    human: float
    item: str  # labels with the same item are of the same text
    judge: str = ONE_JUDGE
    group: str | None = None  # items of a group are learned from together, or not at all; None: a group of its own
    rater: str | None = None  # the person; None where the labels do not say

    @property
    def unit(self) -> str:
        return self.item if self.group is None else self.group


@dataclass(frozen=True, slots=True)
class UnlabelledScore:
    """What a judge gave an item on one dimension, on its scale, where people gave nothing."""

    dimension: str
    score: float
    item: str
    judge: str = ONE_JUDGE
    group: str | None = None

    @property
    def unit(self) -> str:
        return self.item if self.group is None else self.group


@dataclass(frozen=True, slots=True)
class ChoiceLabel:
    """Which of two responses a judge chose, and which a person did; None: neither, or nobody said."""

    item: str
    judge: str
    choice: str | None
    human: str | None
    group: str | None = None

    @property
    def unit(self) -> str:
        return self.item if self.group is None else self.group


@dataclass(frozen=True, slots=True)
class LabelFile:
    """All labels of a file: scores, and choices between two responses."""

    scores: list[Label] = field(default_factory=list)
    choices: list[ChoiceLabel] = field(default_factory=list)
    left_out: int = 0  # lines on which the judge or the person gave nothing
    unlabelled: list[UnlabelledScore] = field(default_factory=list)  # all scores, where people gave nothing on any line


def read_labels(lines: Iterable[str], scales: Mapping[str, Scale], file: str = "labels.jsonl") -> LabelFile:
    """The labels of a file; a ContextError lists every line that cannot be used.

    A line is ``{"dimension": …, "score": …, "human": …}``, or ``{"scores": {…}, "human": {…}}`` by dimension, where
    null means: not given, so a line without any pair of scores is left out and counted; or
    ``{"choice": …, "human": …}`` for a choice between two responses. Where people gave nothing on any line, the judges'
    scores are kept by themselves. `judge`, `id`, `group` and `rater` (the person) are given if known. What `rubrica
    prefer` writes is read too, vote by vote.

    A file whose name ends in .csv or .tsv is a table with the same names as columns; by dimension, a person's score
    stands under its name and the judge's under ``judge_`` and its name, as in the tables that `rubrica review` writes.

    >>> line = '{"scores": {"tone": 7, "wit": 3}, "human": {"tone": 6}, "id": 4, "rater": "ann"}'
    >>> read_labels([line], {"tone": Scale(min=1, max=9)}).scores
    [Label(dimension='tone', score=7.0, human=6.0, item='4', judge='judge', group=None, rater='ann')]
    """
    scores: list[Label] = []
    choices: list[ChoiceLabel] = []
    by_place: list[ChoiceLabel] = []
    silent: list[tuple[int, Any]] = []
    problems: list[Problem] = []
    table = file.lower().endswith((".csv", ".tsv"))
    for number, row in _table_rows(lines, scales, file, problems) if table else _json_rows(lines):
        try:
            data = decode_json(row) if isinstance(row, str) else row
            if isinstance(data, dict) and isinstance(data.get("votes"), list):
                given = [_choice_of({**data, **vote}, number) for vote in _votes_of(data)]
                choices += given
                by_place += _placed(given, data.get("responses"))
            elif isinstance(data, dict) and "choice" in data:
                choices.append(_choice_of(data, number))
                by_place.append(choices[-1])
            else:
                own = _labels_of(data, scales, number)
                scores += own
                if not own:
                    silent.append((number, data))
        except ValueError as error:
            problems.append(Problem(str(error), line=number, file=file))
    unlabelled: list[UnlabelledScore] = []
    left_out = len(silent)
    if not (problems or scores) and not any(_labelled(row) for _, row in silent):
        left_out = 0
        for number, row in silent:
            try:
                alone = _unlabelled_of(row, scales, number)
                unlabelled += alone
                left_out += not alone
            except ValueError as error:
                problems.append(Problem(str(error), line=number, file=file))
    if problems:
        raise ContextError(_listed(problems))
    if len({label.choice for label in choices} - {None}) > 2:  # responses with names of their own in every line
        choices = by_place
    return LabelFile(_with_raters_once(scores), choices, left_out, unlabelled)


def _with_raters_once(labels: Sequence[Label]) -> list[Label]:
    """Labels whose raters are written alike: ``Ann`` and ``ann`` are one person."""
    first: dict[str, str] = {}
    return [
        label if label.rater is None else replace(label, rater=first.setdefault(label.rater.casefold(), label.rater))
        for label in labels
    ]


def _listed(problems: Sequence[Problem]) -> str:
    """What is wrong, each thing once with the line where it comes first."""
    first: dict[str, Problem] = {}
    counts: Counter[str] = Counter()
    for problem in problems:
        first.setdefault(problem.message, problem)
        counts[problem.message] += 1
    shown = [
        f"{problem}" + (f", and so on {count_of(counts[message] - 1, 'more line')}" if counts[message] > 1 else "")
        for message, problem in list(first.items())[:MOST_TOLD]
    ]
    more = len(problems) - sum(counts[message] for message in list(first)[:MOST_TOLD])
    return "\n".join(shown) + (f"\nand {more} more" if more > 0 else "")


def _json_rows(lines: Iterable[str]) -> Iterator[tuple[int, str | dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line


def _table_rows(
    lines: Iterable[str], scales: Mapping[str, Scale], file: str, problems: list[Problem]
) -> Iterator[tuple[int, str | dict[str, Any]]]:
    """The rows of a table as the objects that a line of JSON would hold."""
    waiting = iter(lines)
    head = next(waiting, "").removeprefix("\ufeff")
    separator = max(",;\t", key=head.count)
    csv.field_size_limit(LONGEST_TEXT)
    ended = (line if line.endswith("\n") else f"{line}\n" for line in chain([head], waiting))
    rows = csv.reader(ended, delimiter=separator)
    names = _headings([name.partition("(")[0].strip() for name in next(rows, [])], scales)
    if problem := _lacking(names, scales):
        problems.append(Problem(problem, line=1, file=file))
        return
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(names):
                problems.append(Problem(f"{len(row)} cells under {len(names)} headings", line=rows.line_num, file=file))
                continue
            yield rows.line_num, _plain({name: cell.strip() for name, cell in zip(names, row, strict=False) if name})
    except csv.Error as error:
        problems.append(Problem(f"the table cannot be read on from here: {error}", line=rows.line_num, file=file))


def _headings(given: Sequence[str], scales: Mapping[str, Scale]) -> list[str]:
    """The columns of a table by their names, also where they are written in other letters."""
    known = [*_OWN_COLUMNS, *_LINE_COLUMNS, *scales, *(_JUDGE + name for name in scales)]
    plain = {name.casefold().replace("_", " "): name for name in known}
    meant = [plain.get(name.casefold().replace("_", " "), name) for name in given]
    return [name if meant.count(name) == 1 else own for name, own in zip(meant, given, strict=True)]


def _lacking(names: Sequence[str], scales: Mapping[str, Scale]) -> str:
    """What the columns of a table lack to be labels; nothing where they are, or where the table is empty."""
    axes = _axes(names)
    if not any(names) or "choice" in names or "dimension" in names or any(_JUDGE + name in names for name in axes):
        return ""
    first = next((name for name in axes if name in scales), next(iter(scales), "tone"))
    return (
        f"the columns {', '.join(filter(None, names))} hold no label: each dimension (of {', '.join(scales)}) has two, "
        f"such as {first} for people's scores and {_JUDGE}{first} for a judge's"
    )


def _axes(names: Iterable[str]) -> list[str]:
    return [name for name in names if name and name not in _OWN_COLUMNS and not name.startswith(_JUDGE)]


def _plain(cells: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {name: _cell(cell) for name, cell in cells.items()}
    if "dimension" in cells or "choice" in cells:
        return given
    axes = _axes(cells)
    row = {name: value for name, value in given.items() if name in _OWN_COLUMNS}
    scores = {name: given.get(_JUDGE + name) for name in axes}
    return {**row, "scores": scores, "human": {name: given[name] for name in axes}}


def _cell(text: str) -> object:
    """A cell as a number where it is one, None where it says nothing."""
    if text.lower() in ("", "-", "–", "—", "n/a", "na", "null", "?"):
        return None
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else text


def _named(row: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        if (value := row.get(name)) is not None and str(value).strip():
            return f"{value:g}" if isinstance(value, float) else str(value)
    return None


def _votes_of(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The votes in a line that `rubrica prefer` wrote; one that came to no choice is left out."""
    votes = [vote for vote in row["votes"] if isinstance(vote, dict) and vote.get("ranks") is not None]
    if any("judge" not in vote or "choice" not in vote for vote in votes):
        raise ValueError("a vote has a `judge` and its `choice`")
    return votes


def _choice_of(row: Mapping[str, Any], number: int) -> ChoiceLabel:
    item = _named(row, "id", "item", "case")
    return ChoiceLabel(
        item if item is not None else f"line {number}",
        _named(row, "judge") or ONE_JUDGE,
        _option(row["choice"]),
        _option(row.get("human")),
        _named(row, "group"),
    )


def _placed(given: Sequence[ChoiceLabel], responses: object) -> list[ChoiceLabel]:
    """The choices by where the two responses stand in their line, whatever they are called."""
    names = [_option(name) for name in responses] if isinstance(responses, dict) else []
    if len(names) != 2 or any(
        own is not None and own not in names for label in given for own in (label.choice, label.human)
    ):
        return list(given)
    places = {name: place for name, place in zip(names, ("first", "second"), strict=True) if name is not None}

    def place(own: str | None) -> str | None:
        return None if own is None else places[own]

    return [replace(label, choice=place(label.choice), human=place(label.human)) for label in given]


def _option(value: object) -> str | None:
    """A choice as it is compared: ``A`` is ``a``; a tie is none."""
    if value is None or isinstance(value, bool | dict | list):
        if isinstance(value, dict | list):
            raise ValueError(f"{value!r} is no choice; write what was chosen, such as first or second")
        return None
    text = (f"{value:g}" if isinstance(value, float) else str(value)).strip().lower()
    return None if text in TIES or not text else text


def _labelled(row: Mapping[str, Any]) -> bool:
    """Whether people gave anything on a line."""
    human = row.get("human")
    return any(given is not None for given in human.values()) if isinstance(human, dict) else human is not None


def _pairs_of(row: Any, scales: Mapping[str, Scale]) -> dict[str, tuple[Any, Any]]:
    """By dimension what the judge gave and what people did, None where that is nothing."""
    if not isinstance(row, dict) or not row.keys() & {"human", "scores", "score"}:
        raise ValueError(
            "a label is an object with `human`, and either `dimension` and `score`, or `scores`, or `choice`"
        )
    if "scores" in row:
        scores, human = row["scores"], {} if row.get("human") is None else row["human"]
        if not isinstance(scores, dict) or not isinstance(human, dict):
            raise ValueError("with `scores`, both `scores` and `human` are objects by dimension")
        pairs = {name: (scores[name], human.get(name)) for name in scores}
        if not any(name in scales for name in (*scores, *human)):
            for name in pairs:
                _check_known(name, scales)
            first = next(iter(scales), "tone")
            raise ValueError(
                f"no dimension has both a score and a human label (of {', '.join(scales)}; a table has columns such as "
                f"{first} for people's and {_JUDGE}{first} for a judge's)"
            )
    else:
        if not isinstance(row.get("dimension"), str):
            raise ValueError("it lacks the name of its `dimension`")
        pairs = {row["dimension"]: (row.get("score"), row.get("human"))}
    return pairs


def _labels_of(row: Any, scales: Mapping[str, Scale], number: int) -> list[Label]:
    pairs = _pairs_of(row, scales)
    for name, pair in pairs.items():
        if None not in pair:
            _check_known(name, scales)
    item = _named(row, "id", "item", "case")
    judge, group = _named(row, "judge") or ONE_JUDGE, _named(row, "group")
    return [
        Label(
            name,
            _on_scale(score, name, scales),
            _on_scale(given, name, scales),
            item if item is not None else f"line {number}",
            judge,
            group,
            _named(row, "rater", "reviewer"),
        )
        for name, (score, given) in pairs.items()
        if score is not None and given is not None
    ]


def _unlabelled_of(row: Mapping[str, Any], scales: Mapping[str, Scale], number: int) -> list[UnlabelledScore]:
    given = {name: score for name, (score, _) in _pairs_of(row, scales).items() if score is not None}
    for name in given:
        _check_known(name, scales)
    item = _named(row, "id", "item", "case") or f"line {number}"
    judge, group = _named(row, "judge") or ONE_JUDGE, _named(row, "group")
    return [UnlabelledScore(name, _on_scale(score, name, scales), item, judge, group) for name, score in given.items()]


def _check_known(dimension: str, scales: Mapping[str, Scale]) -> None:
    if dimension not in scales:
        hint = did_you_mean(dimension, scales, f"it has {', '.join(scales)}")
        raise ValueError(f"the rubric has no dimension {dimension!r}; {hint}")


def _on_scale(value: object, dimension: str, scales: Mapping[str, Scale]) -> float:
    if (scales[dimension].min, scales[dimension].max) == (0, 1) and isinstance(value, str | bool):
        value = VERDICTS.get(str(value).strip().lower(), value)
    shares = _OUT_OF.fullmatch(value) if isinstance(value, str) else None
    if shares and float(shares[2]) == scales[dimension].max:
        value = float(shares[1].replace(",", "."))
    if isinstance(value, bool) or not isinstance(value, int | float) or not scales[dimension].holds(value):
        raise ValueError(f"{dimension}: {value!r} is not a number on its scale {scales[dimension]}")
    return float(value)
