"""State that all pages of runs share: indexes that were read, and runs that were started here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rubrica.errors import MissingError, RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.runs.compare.baseline import Baselines
from rubrica.runs.compare.comparison import Comparison, compare
from rubrica.runs.compare.measure_comparison import ComparisonTerms
from rubrica.runs.files.manifest import MANIFEST, Manifest
from rubrica.runs.stored import WAY_OUT, StoredRun
from rubrica.runs.summary.grading import Grading
from rubrica.workspace.run_access import RunKey
from rubrica.workspace.run_jobs import RunJobs, find_run
from rubrica.workspace.run_places import RunPlaces

from .index import Indexes, RunIndex
from .paths import baselines_file


@dataclass(frozen=True, slots=True)
class RunsWorkspace:
    """The runs of a server."""

    places: RunPlaces
    run_jobs: RunJobs
    indexes: Indexes = field(default_factory=Indexes)

    @property
    def runs(self) -> Path:
        """Where runs are started."""
        return self.places.home

    def stored(self, name: str) -> StoredRun:
        """A run by name; an error where there is none, or where it cannot be read. One that lies in an object store is
        fetched, which takes a while."""
        return self.places.opened(name)

    def manifest(self, name: str) -> Manifest:
        """What a run is made by; an error where there is none, or where it cannot be read."""
        manifest = self.places.manifest(name)
        if manifest is None:
            raise RubricaError(f"{name} holds no run: it has no {MANIFEST}; {WAY_OUT}")
        return manifest

    def key(self, name: str) -> RunKey:
        """Which run is meant by a name now; an error where there is none. One that cannot be read has no id."""
        return find_run(self.places, self.run_jobs, name)

    def index(self, name: str) -> RunIndex:
        return self.indexes.of(self.stored(name))

    def evaluation(self, name: str, case: str, repeat: int) -> tuple[Evaluation, Rubric | None]:
        """One evaluation in full, and the rubric it was made by."""
        run = self.stored(name)
        for found in run.records({(case, repeat)}):
            return found, run.rubrics().get(found.rubric)
        raise MissingError(f"{name} has no evaluation of the case {case[:200]!r}")

    def rubrics(self, name: str) -> Mapping[str, Rubric]:
        """The rubrics of a run as they were; none where the run is gone."""
        return self.places.rubrics(name)

    def compared(self, one: str, other: str, terms: ComparisonTerms) -> Comparison:
        """Two runs, case by case."""
        runs = self.stored(one), self.stored(other)
        gradings = tuple(Grading.of(run.rubrics().values()) for run in runs)
        return compare(
            runs[0].rows(), runs[1].rows(), gradings=(gradings[0], gradings[1]), names=(one, other), terms=terms
        )

    @property
    def baselines(self) -> Baselines:
        return Baselines(baselines_file(self.runs))
