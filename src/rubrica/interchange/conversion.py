"""What a conversion gives: the data, and everything that could not be carried over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rubrica.errors import Problem, RubricError
from rubrica.model.rubric import Rubric

MET = {"met": 1, "not_met": 0}
"""What criteria without answers of their own are answered with."""
SCORED = [{"label": "scored"}]
"""The verdicts of a rubric whose source knows scores alone."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """A document in its new form, and what stayed behind: a line for each thing, with its place in the source."""

    data: Any
    lost: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Reading:
    """What is found while a source is read: faults, which stop the conversion, and losses, which are told."""

    faults: list[Problem] = field(default_factory=list)
    losses: list[Problem] = field(default_factory=list)

    def refuse(self, message: str, path: Path = (), fix: str = "") -> None:
        self.faults.append(Problem(message, path, fix=fix))

    def refuse_rest(self, message: str, path: Path) -> None:
        """Nothing is left to convert: what was lost on the way is why."""
        if not self.faults:
            self.refuse(message, path)
            self.faults += self.losses

    def lose(self, message: str, path: Path = (), fix: str = "") -> None:
        self.losses.append(Problem(message, path, fix=fix))

    def lose_keys(self, found: Mapping[str, Any], known: Iterable[str], path: Path, source: str) -> None:
        """Tell every key that has a value and that nothing here knows."""
        for key in found.keys() - set(known):
            if found[key] not in (None, "", [], {}):
                self.lose(f"has no place in {source}", (*path, key))

    def done(self, data: Any) -> Conversion:
        """The conversion, or a RubricError with every fault."""
        if self.faults:
            raise RubricError(self.faults)
        return Conversion(data, tuple(sorted(self.losses, key=lambda problem: [str(step) for step in problem.path])))


def number(value: Any, path: Path, reading: Reading, *, what: str = "a weight") -> float | None:
    """A finite number of a source; None, and a fault, for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e12:
        return value
    reading.refuse(f"{what} is a finite number, not {shown(value)}", path)
    return None


def text(value: Any, path: Path, reading: Reading, *, what: str) -> str | None:
    """A text of a source that says something; None, and a fault, for anything else."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    reading.refuse(f"{what} is a text, not {shown(value)}", path)
    return None


def shown(value: Any) -> str:
    """A value in an error message, in so many characters.

    >>> shown([1, 2]), shown("x" * 200)[-4:], shown(None)
    ('a list', "xx…'", 'nothing')
    """
    match value:
        case None:
            return "nothing"
        case dict():
            return "an object"
        case list():
            return "a list" if value else "an empty list"
        case str() if len(value) > 60:
            return f"{value[:60]!r}".replace(value[:60], value[:59] + "…")
        case _:
            return repr(value)[:80]


def lose_rest(rubric: Rubric, kept: Iterable[str], target: str, reading: Reading) -> None:
    """Tell the fields of a rubric that the target has no place for; what is left at its default says nothing.

    Weights that hang on a profile are refused: without it nobody knows them.
    """
    told = rubric.model_dump(mode="json", exclude_defaults=True)
    if told.get("verdicts") == SCORED:
        del told["verdicts"]
    for key in told.keys() - {*kept, "name", "dimensions", "score", "scale"}:
        reading.lose(f"has no place in {target}", (key,))
    score = rubric.score
    if score.out_of != rubric.scale.max:
        reading.lose(f"a score there is out of {rubric.scale.max:g}", ("score", "out_of"))
    for key in told.get("score", {}).keys() & {"round", "clip"}:
        reading.lose(f"has no place in {target}", ("score", key))
    if score.weighted and rubric.profiles is not None and any(one.weights for one in rubric.profiles.named.values()):
        reading.refuse("the weights hang on the profile", ("profiles",), "give the dimensions weights of their own")
