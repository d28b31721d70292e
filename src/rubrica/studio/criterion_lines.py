"""Criteria as lines of text, one on each: what an expert pastes, with points in front and tags behind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubrica.model.criteria import MOST_CRITERIA
from rubrica.phrases import count_of

_NUMBER = r"\d{1,9}(?:[.,]\d{1,6})?"
_POINTS = re.compile(rf"\s*(?:([+−–-])({_NUMBER})|[(\[]([+−–-]?)({_NUMBER})\s?(?:points?|pts?)?[)\]])[:.)]?\s+")
_BULLET = re.compile(r"\s*(?:[-*•·–−+]|\d{1,4}[.)])\s+")
_SIGNED = re.compile(rf"([+−–-]?)\s?({_NUMBER})")
_TAGS = re.compile(r"(?:\s#[^\s#,]+)+\s*$")
EXAMPLE = "+5 Names the usual dose. #accuracy\n+3 Says when to see a doctor.\n-4 Invents a dose."


@dataclass(frozen=True, slots=True)
class CriterionLine:
    """One criterion of a list."""

    criterion: str
    points: float = 1
    tags: tuple[str, ...] = ()

    @property
    def plain(self) -> dict[str, Any]:
        """As a case has it."""
        return {"criterion": self.criterion, "points": self.points, **({"tags": list(self.tags)} if self.tags else {})}


def read_criterion_lines(text: str) -> list[CriterionLine]:
    """The criteria of a list: points in front where there are any, else 1; what follows a # at the end is a tag.

    Cells of a table are read, too: the one that is a number has the points, the next text after the criterion the tags.

    >>> [(one.points, one.criterion, one.tags) for one in read_criterion_lines(EXAMPLE)][::2]
    [(5, 'Names the usual dose.', ('accuracy',)), (-4, 'Invents a dose.', ())]
    >>> read_criterion_lines("1. [2 points] Is short.\\n\\n- Is 5 lines long.\\nIs kind.\\t-2,5\\ttone, style")[1:]
    [CriterionLine(criterion='Is 5 lines long.', points=1, tags=()), CriterionLine(criterion='Is kind.', points=-2.5, \
tags=('tone', 'style'))]
    """
    found = (_of_cells(line.split("\t")) if "\t" in line.strip() else _of_line(line) for line in text.splitlines())
    return [one for one in found if one is not None][:MOST_CRITERIA]


def criterion_lines(criteria: Any) -> str | None:
    """The criteria of a case as such a list; None where they say more than a list can.

    >>> criterion_lines([{"criterion": "Is kind.", "points": -2, "tags": ["tone"]}, "Is short."])
    '-2 Is kind. #tone\\n+1 Is short.'
    >>> criterion_lines([{"criterion": "Is kind.", "answers": {"yes": 1, "no": 0}}]) is None
    True
    """
    if not isinstance(criteria, Sequence) or isinstance(criteria, str):
        return None
    wanted = [_of_data({"criterion": one} if isinstance(one, str) else one) for one in criteria]
    text = "\n".join(_line(one) for one in wanted if one is not None)
    return text if None not in wanted and read_criterion_lines(text) == wanted else None


def points_text(points: Iterable[float]) -> str:
    """What a list comes to, in words.

    >>> points_text([5, 3, -4]), points_text([1])
    ('3 criteria: 8 points to earn, 4 to lose', '1 criterion: 1 point to earn')
    """
    every = list(points)
    if not every:
        return "no criteria yet"
    earned, lost = sum(one for one in every if one > 0), -sum(one for one in every if one < 0)
    costs = f", {lost:g} to lose" if lost else ""
    return (
        f"{count_of(len(every), 'criterion', 'criteria')}: {earned:g} point{'' if earned == 1 else 's'} to earn{costs}"
    )


def whole(number: float) -> float:
    """A number without a fraction as an integer, as one would write it."""
    return int(number) if float(number).is_integer() else number


def _of_line(line: str) -> CriterionLine | None:
    bullet = _BULLET.match(line)
    begun = line[bullet.end() :] if bullet is not None and _POINTS.match(line) is None else line
    worth = _POINTS.match(begun)
    points = 1.0
    if worth is not None:
        points = _signed(worth[1] or worth[3], worth[2] or worth[4])
        begun = begun[worth.end() :]
    tagged = _TAGS.search(begun)
    said = " ".join((begun[: tagged.start()] if tagged is not None else begun).split())
    tags = tuple(tagged[0].replace("#", " ").split()) if tagged is not None else ()
    return CriterionLine(said, whole(points), tags) if said else None


def _of_cells(cells: Sequence[str]) -> CriterionLine | None:
    """A row of a table."""
    numbers = [found for cell in cells if (found := _SIGNED.fullmatch(cell.strip())) is not None]
    texts = [" ".join(cell.split()) for cell in cells if cell.strip() and _SIGNED.fullmatch(cell.strip()) is None]
    if not texts:
        return None
    tags = tuple(tag.strip() for tag in texts[1].split(",") if tag.strip()) if len(texts) > 1 else ()
    if not numbers:
        line = _of_line(texts[0])
        return None if line is None else CriterionLine(line.criterion, line.points, line.tags + tags)
    return CriterionLine(texts[0], whole(_signed(numbers[0][1], numbers[0][2])), tags)


def _of_data(given: Any) -> CriterionLine | None:
    if not isinstance(given, Mapping) or not given.keys() <= {"criterion", "points", "tags"}:
        return None
    points, tags = given.get("points", 1), given.get("tags", ())
    if not isinstance(points, int | float) or not isinstance(tags, list | tuple):
        return None
    return CriterionLine(str(given.get("criterion", "")), whole(points), tuple(map(str, tags)))


def _line(one: CriterionLine) -> str:
    return " ".join((f"{one.points:+g}", one.criterion, *(f"#{tag}" for tag in one.tags)))


def _signed(sign: str | None, number: str) -> float:
    value = float(number.replace(",", "."))
    return value if sign in (None, "", "+") else -value
