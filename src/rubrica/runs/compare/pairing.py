"""Two runs side by side: which cases both have, and what each measure gave them.

Cases are paired by their ids, never by their order. Repeats of a case are averaged, and so are cases that share an id,
which a run calls x, x#2 and so on in the order it met them: nothing tells which of them is which.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rubrica.errors import InputError
from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.report.roles import Role
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.certainty import left_open_offline
from rubrica.runs.summary.grading import Grading, name_of
from rubrica.runs.summary.measures import PASSED, Measure, values_of

_NUMBERED = re.compile(r"(.*)#\d+", re.DOTALL)


@dataclass(slots=True)
class _Column:
    """The sum of a measure's values for every case, and how many they are."""

    totals: array[float] = field(default_factory=lambda: array("d"))
    counts: array[int] = field(default_factory=lambda: array("I"))

    def add(self, place: int, value: float) -> None:
        missing = place + 1 - len(self.totals)
        if missing > 0:
            self.totals.extend([0.0] * missing)
            self.counts.extend([0] * missing)
        self.totals[place] += value
        self.counts[place] += 1

    def mean(self, places: Sequence[int]) -> float | None:
        known = [place for place in places if place < len(self.counts)]
        count = sum(self.counts[place] for place in known)
        return sum(self.totals[place] for place in known) / count if count else None


@dataclass(slots=True)
class RubricCases:
    """One run's cases under one rubric, in columns."""

    rubric: str  # name@version, of the first row
    grading: Grading
    versions: set[str] = field(default_factory=set)
    places: dict[str, int] = field(default_factory=dict)  # by case
    groups: list[str | None] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)  # of the first repeat
    columns: dict[Measure, _Column] = field(default_factory=dict)
    positions: list[_Column] = field(default_factory=list)  # of the criteria that cases bring
    out_of: set[float] = field(default_factory=set)
    inconclusive: int = 0
    undecided: int = 0  # of those, the ones with offline scores
    repeated: bool = False
    _roles: dict[str, Role] = field(default_factory=dict)
    _by_id: dict[str, list[int]] | None = None

    def add(self, row: RunRow) -> None:
        place = self.places.get(row.case)
        if place is None:
            place = self.places[row.case] = len(self.groups)
            self.groups.append(row.group)
            self.verdicts.append(row.verdict)
        else:
            self.repeated = True
        for measure, value in values_of(row):
            column = self.columns.setdefault(measure, _Column())
            if value is not None:
                column.add(place, value)
        while len(self.positions) < len(row.positions):
            self.positions.append(_Column())
        for column, share in zip(self.positions, row.positions, strict=False):
            if share is not None:
                column.add(place, share)
        self.columns.setdefault(PASSED, _Column()).add(place, self._role(row.verdict) == "good")
        self.versions.add(row.rubric)
        self.out_of.add(row.out_of)
        self.inconclusive += row.verdict == INCONCLUSIVE
        self.undecided += left_open_offline(row)

    def _role(self, verdict: str) -> Role:
        role = self._roles.get(verdict)
        if role is None:
            role = self._roles[verdict] = self.grading.role(self.rubric, verdict)
        return role

    @property
    def judged(self) -> bool:
        """Whether any of its verdicts is good or bad, so that there is a pass rate."""
        return any(role in ("good", "middle", "bad") for role in self._roles.values())

    def span(self, measure: Measure) -> tuple[float, float] | None:
        """From where to where a measure goes; None where that is not known, or not one range."""
        match measure.kind:
            case "passed" | "tag":
                return 0.0, 1.0
            case "score" | "section":
                return (0.0, max(self.out_of)) if len(self.out_of) == 1 else None
            case "dimension":
                return self.grading.scale(self.rubric, measure.name)

    @property
    def by_id(self) -> dict[str, list[int]]:
        """The places of the cases by their ids: more than one where cases share an id."""
        if self._by_id is None:
            self._by_id = {}
            for case, place in self.places.items():
                self._by_id.setdefault(self._id_of(case), []).append(place)
            self.repeated |= len(self._by_id) < len(self.places)
        return self._by_id

    def _id_of(self, case: str) -> str:
        """What a case is called in its file: a run numbers those whose id another one has."""
        numbered = _NUMBERED.fullmatch(case)
        while numbered is not None and numbered[1] in self.places:
            case = numbered[1]
            numbered = _NUMBERED.fullmatch(case)
        return case

    @property
    def shared_ids(self) -> list[str]:
        """Ids that more than one case has."""
        return sorted(case for case, places in self.by_id.items() if len(places) > 1)

    @property
    def counted(self) -> bool:
        """Whether the ids are just numbers from 1 on, as those of cases without ids are."""
        return self.places.keys() == {str(number) for number in range(1, len(self.places) + 1)}

    def value(self, measure: Measure, case: str) -> float | None:
        """The mean over the repeats of a case, and over all that share its id; None where there is no value."""
        column = self.columns.get(measure)
        return column.mean(self.by_id[case]) if column is not None else None

    def first(self, case: str) -> int:
        """The place of a case; of several with the same id, the first."""
        return min(self.by_id[case])


def sheets_of(rows: Iterable[RunRow], grading: Grading, name: str) -> dict[str, RubricCases]:
    """The rows of a run by rubric. A case without an id cannot be found again in another run: an error."""
    sheets: dict[str, RubricCases] = {}
    for row in rows:
        if not row.case:
            raise InputError(f"{name} holds evaluations without a case id, which cannot be paired (give cases an id)")
        rubric = name_of(row.rubric)
        sheet = sheets.get(rubric)
        if sheet is None:
            sheet = sheets[rubric] = RubricCases(row.rubric, grading)
        sheet.add(row)
    return sheets


@dataclass(frozen=True, slots=True)
class CasePairs:
    """Two sheets by the cases they share, in the order of their ids."""

    a: RubricCases
    b: RubricCases
    cases: Sequence[str]
    groups: Sequence[str | None]
    by_rubric: str = ""  # the rubric's name where several are compared

    @classmethod
    def of(cls, a: RubricCases, b: RubricCases, by_rubric: str = "", *, grouped: bool = True) -> CasePairs:
        cases = sorted(a.by_id.keys() & b.by_id.keys())
        groups = [(a.groups[a.first(case)] or b.groups[b.first(case)]) if grouped else None for case in cases]
        return cls(a, b, cases, groups, by_rubric)

    @property
    def only_a(self) -> list[str]:
        return sorted(self.a.by_id.keys() - self.b.by_id.keys())

    @property
    def only_b(self) -> list[str]:
        return sorted(self.b.by_id.keys() - self.a.by_id.keys())

    @property
    def clustered(self) -> bool:
        """Whether any two cases share a group."""
        known = [group for group in self.groups if group is not None]
        return len(set(known)) < len(known)

    @property
    def measures(self) -> list[Measure]:
        """What both runs have, in the order of the newer one."""
        return [measure for measure in self.b.columns if measure in self.a.columns and self._has(measure)]

    def _has(self, measure: Measure) -> bool:
        return measure != PASSED or self.a.judged or self.b.judged

    def values(self, measure: Measure) -> Iterator[tuple[int, float, float]]:
        """The cases that have a value in both runs: their place, and the two values."""
        for place, case in enumerate(self.cases):
            before, after = self.a.value(measure, case), self.b.value(measure, case)
            if before is not None and after is not None:
                yield place, before, after

    def position_values(self) -> Iterator[list[tuple[int, float, float]]]:
        """For each position of a criterion, the cases that have an answer in both runs, and the two answers."""
        for one, other in zip(self.a.positions, self.b.positions, strict=False):
            both = ((one.mean(self.a.by_id[case]), other.mean(self.b.by_id[case])) for case in self.cases)
            yield [(n, old, new) for n, (old, new) in enumerate(both) if old is not None and new is not None]

    @property
    def changes(self) -> Counter[tuple[str, str]]:
        """How verdicts changed, from what to what; those that stayed are left out."""
        return Counter((old, new) for _, old, new in self.verdicts() if old != new)

    def verdicts(self) -> Iterator[tuple[str, str, str]]:
        """Each case with its verdict in both runs, of the first repeat; cases that share an id are left out."""
        for case in self.cases:
            if len(self.a.by_id[case]) > 1 or len(self.b.by_id[case]) > 1:
                continue
            yield case, self.a.verdicts[self.a.first(case)], self.b.verdicts[self.b.first(case)]


def match_rubrics(a: dict[str, RubricCases], b: dict[str, RubricCases]) -> list[tuple[str, RubricCases, RubricCases]]:
    """The sheets to compare: those of the same rubric; of one rubric each, those two whatever their names are."""
    if len(a) == 1 and len(b) == 1:
        return [("", one, other) for one in a.values() for other in b.values()]
    return [(name, a[name], b[name]) for name in a if name in b]
