"""An index of a run's evaluations for paging: read once, kept as columns until the files change."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from random import Random
from weakref import WeakValueDictionary

from rubrica.engine.cases import BadLine
from rubrica.lru_cache import LruCache
from rubrica.model.rubric import Rubric
from rubrica.report.figures import headline
from rubrica.report.outcome_sentence import OutcomeFacts, OutcomeSentences
from rubrica.report.roles import Role
from rubrica.report.run_figures import Reservoir
from rubrica.report.titles import title_of
from rubrica.runs.case_texts import CaseTexts, PromptAndResponse
from rubrica.runs.files.folder import COLUMNS, EVALUATIONS
from rubrica.runs.files.manifest import MANIFEST
from rubrica.runs.files.rows import RunRow
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.page_data import RunPageData, collect_page_data
from rubrica.runs.summary.page_parts import Plot, RubricPart, ShownOutlier, outliers, rubric_part, time_and_cost

from .columns import MOST_ROWS, Columns

MOST_KEPT = 2 * MOST_ROWS
"""Evaluations of all runs together that are kept at hand: some two hundred bytes each."""
SHOWN_OUTLIERS = 12
_SEVERITY: Mapping[Role, int] = {"bad": 0, "inconclusive": 1, "middle": 2, "neutral": 3, "good": 3}


@dataclass(frozen=True, slots=True)
class EvaluationFilter:
    """What the evaluations of a run are narrowed down to."""

    verdict: str | None = None
    text: str = ""  # in the case's id, its texts, or why it came out so
    unscored: bool = False  # only those where something should have a score and has none
    dimension: str | None = None
    below: float | None = None  # together with a dimension: only those that got less


@dataclass(frozen=True, slots=True)
class EvaluationLine:
    """One evaluation as the table shows it."""

    case: str
    repeat: int
    rubric: str
    verdict: str
    role: Role
    score: float | None
    out_of: float
    unscored: bool
    lowest: tuple[str, float] | None  # the title of the dimension with the lowest share of its scale, and its value
    reason: str  # as a sentence
    texts: PromptAndResponse | None  # None: they cannot be read


class RunIndex:
    """The evaluations of one run, the worst first, and the drawings of them all."""

    def __init__(self, columns: Columns, found: RunPageData, texts: CaseTexts, broken: Sequence[BadLine] = ()) -> None:
        self.columns = columns
        self.texts = texts
        self.broken = tuple(broken)
        self.figures = found
        self.parts: tuple[RubricPart, ...] = tuple(rubric_part(own) for own in found.rubrics.values())
        self.plots: tuple[Plot, ...] = tuple(time_and_cost(found))
        self.outliers: tuple[ShownOutlier, ...] = tuple(outliers(found))[:SHOWN_OUTLIERS]
        for own in found.rubrics.values():
            own.sample = Reservoir(0, Random(0))  # noqa: S311 - they are drawn; whole rows take memory
        self._labels = list(columns.labels)
        self._references = list(columns.references)
        self._roles = {
            (rubric, label): _role(found, rubric, label) for rubric in self._references for label in self._labels
        }
        self._profiles = list(columns.profile_names)
        self._sentences = [OutcomeSentences(self._rubric(reference)) for reference in self._references]
        self._order = self._sorted()
        self._last: tuple[EvaluationFilter, array[int]] | None = None

    @classmethod
    def of(cls, run: StoredRun) -> RunIndex:
        """Read a run once."""
        columns = Columns()
        broken: list[BadLine] = []
        heard = replace(run, on_broken=broken.append)
        found = collect_page_data(_keep_columns(heard.rows(), columns), run.rubrics(), Random(0), cards=0)  # noqa: S311 - a sample
        columns.close()
        return cls(columns, found, CaseTexts(run), broken)

    def title(self, dimension: str) -> str:
        """What a dimension is called, by the first rubric of the run that has it."""
        for reference in self._references:
            rubric = self._rubric(reference)
            if rubric is not None and dimension in rubric.dimensions:
                return title_of(dimension, rubric.dimensions[dimension])
        return headline(dimension)

    @property
    def labels(self) -> Sequence[str]:
        """The verdicts that occur."""
        return self._labels

    def page(self, criteria: EvaluationFilter, start: int, size: int) -> tuple[list[EvaluationLine], int]:
        """Some of the evaluations that fit, and how many fit in all."""
        places = self._fitting(criteria)
        shown = places[start : start + size]
        texts = self.texts.of([self._key(place) for place in shown])
        return [self._hit(place, texts.get(self._key(place))) for place in shown], len(places)

    def neighbours(
        self, case: str, repeat: int, criteria: EvaluationFilter
    ) -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
        """The evaluations before and after one, among those that fit."""
        places = self._fitting(criteria)
        columns = self.columns
        at = next((n for n, p in enumerate(places) if columns.cases[p] == case and columns.repeats[p] == repeat), None)
        if at is None:
            return None, None
        before = self._key(places[at - 1]) if at > 0 else None
        return before, self._key(places[at + 1]) if at + 1 < len(places) else None

    def _key(self, place: int) -> tuple[str, int]:
        return self.columns.cases[place], self.columns.repeats[place]

    def _fitting(self, criteria: EvaluationFilter) -> array[int]:
        """The places of what fits, in order. The last criteria are remembered, for it is paged through."""
        last = self._last
        if last is not None and last[0] == criteria:
            return last[1]
        found = array("I", self._narrowed(criteria))
        self._last = criteria, found
        return found

    def _narrowed(self, criteria: EvaluationFilter) -> Iterable[int]:
        columns, places = self.columns, iter(self._order)
        if criteria.verdict is not None:
            code, verdicts = columns.labels.get(criteria.verdict, -1), columns.verdicts
            places = (place for place in places if verdicts[place] == code)
        if text := criteria.text.strip().casefold():
            cases, held = columns.cases, self.texts.cases_containing(text)
            places = (
                place
                for place in places
                if text in cases[place].casefold() or self._key(place) in held or text in self._why(place).casefold()
            )
        if criteria.unscored:
            lacking = columns.lacking
            places = (place for place in places if lacking[place])
        if criteria.dimension is not None and criteria.below is not None:
            values, limit = columns.dimensions.get(criteria.dimension, array("d")), criteria.below
            places = (place for place in places if place < len(values) and values[place] < limit)
        return places

    def _sorted(self) -> array[int]:
        """The worst first: what failed, what is open, then by share of full marks."""
        columns = self.columns

        def badness(place: int) -> tuple[int, float, int]:
            rubric, label = columns.rubrics[place], columns.verdicts[place]
            role = self._roles[self._references[rubric], self._labels[label]]
            score, out_of = columns.scores[place], columns.out_of[rubric]
            return _SEVERITY[role], -1.0 if isnan(score) or not out_of else score / out_of, place

        return array("I", sorted(range(len(columns.cases)), key=badness))

    def _why(self, place: int) -> str:
        """Why an evaluation came out so, as a sentence."""
        columns, rubric = self.columns, self.columns.rubrics[place]
        score = columns.scores[place]
        values = {name: column[place] for name, column in columns.dimensions.items() if not isnan(column[place])}
        facts = OutcomeFacts(
            self._labels[columns.verdicts[place]],
            None if isnan(score) else score,
            columns.out_of[rubric],
            columns.reasons[place],
            self._profiles[columns.profiles[place]],
            values,
        )
        return self._sentences[rubric].in_table(facts)

    def _rubric(self, reference: str) -> Rubric | None:
        known = self.figures.rubrics.get(reference)
        return None if known is None else known.rubric

    def _hit(self, place: int, texts: PromptAndResponse | None) -> EvaluationLine:
        columns = self.columns
        rubric, label = self._references[columns.rubrics[place]], self._labels[columns.verdicts[place]]
        score = columns.scores[place]
        return EvaluationLine(
            columns.cases[place],
            columns.repeats[place],
            rubric,
            label,
            self._roles[rubric, label],
            None if isnan(score) else score,
            columns.out_of[columns.rubrics[place]],
            bool(columns.lacking[place]),
            self._lowest(place, rubric),
            self._why(place),
            texts,
        )

    def _lowest(self, place: int, reference: str) -> tuple[str, float] | None:
        """The dimension with the lowest share of its scale."""
        rubric = self._rubric(reference)
        if rubric is None:
            return None
        shares = []
        for name in rubric.dimensions:
            column = self.columns.dimensions.get(name)
            if column is not None and not isnan(column[place]):
                shares.append((rubric.scale_of(name).share(column[place]), name, column[place]))
        if not shares:
            return None
        _, name, value = min(shares)
        return self._sentences[self.columns.rubrics[place]].title(name), value


class Indexes:
    """Indexes of the runs that were looked at lately, as many as memory allows. Threads may share it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._kept = LruCache[Path, tuple[Stamp, RunIndex]](
            None, weight=lambda known: len(known[1].columns.cases), most_weight=most
        )
        self._reading: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()

    def of(self, run: StoredRun) -> RunIndex:
        """The index of a run; read anew where its files have changed since."""
        with self._lock:
            reading = self._reading.setdefault(run.path, threading.Lock())
        with reading:
            stamp = _stamp(run.path)
            known = self._kept.get(run.path)
            if known is not None and known[0] == stamp:
                return known[1]
            index = RunIndex.of(run)
            self._kept.put(run.path, (stamp, index))
            return index


Stamp = tuple[tuple[int, int], ...]


def _stamp(path: Path) -> Stamp:
    found = []
    for name in (MANIFEST, EVALUATIONS, COLUMNS):
        try:
            known = (path / name).stat()
            found.append((known.st_size, known.st_mtime_ns))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def _keep_columns(rows: Iterator[RunRow], columns: Columns) -> Iterator[RunRow]:
    for row in rows:
        columns.add(row)
        yield row


def _role(found: RunPageData, rubric: str, label: str) -> Role:
    return found.role(RunRow("", rubric, label, None, 0.0))
