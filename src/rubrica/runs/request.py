"""What a run is asked to do: which cases are judged, by whom, and into which folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rubrica.engine.cases import Case
from rubrica.model.rubric import Rubric

from .files.case_source import STDIN, CaseSource
from .files.layout import AS_IT_IS, FileLayout
from .files.manifest import Manifest, new_manifest, new_run_id, terms_of
from .files.source_files import SourceFile, count_all, find_files, open_cases
from .material import RunMaterial
from .mirror.claim import USUAL_PACE, StorePace
from .mirror.copy import RunCopy
from .objects.address import is_address, store_address
from .rubrics import JudgeOf
from .selection import Found, Selection, distinct, without_files

EVERY_CASE = Selection()


class JudgeSettings(msgspec.Struct, frozen=True):
    """Which models judge, and how they are asked. Without names, nobody is asked."""

    names: tuple[str, ...] = ()
    repeats: int | None = None  # of each question; None: as the rubric says
    budget: float | None = None  # US dollars; None: as the settings say
    jobs: int = 64  # cases under way at once
    cached: bool = True  # whether replies are kept and found again
    record: Path | None = None  # a file in which every reply is kept
    seed: int = 0  # of the order in which judges see dimensions; 0: as written
    dry: bool = False  # nobody is asked; calls and tokens are counted
    public: bool = False  # others read the scores, which then do not say where models run


NO_JUDGES = JudgeSettings()


class CaseChoice(msgspec.Struct, frozen=True):
    """Which cases are judged, and how often each."""

    source: str  # a file, an address, a pattern, or - for standard input; of other material, what the manifest says
    selection: Selection = EVERY_CASE
    context: Mapping[str, Any] = msgspec.field(default_factory=dict)  # for cases that do not say
    repeat: int = 1
    from_others: bool = False  # a case that names a file of this machine is then a broken line
    layout: FileLayout = AS_IT_IS  # which column is what
    material: RunMaterial | None = None  # None: the source is a file of cases
    others: tuple[str, ...] = ()  # sources that are read after it
    files: tuple[SourceFile, ...] = ()  # what the sources were found to be; empty: not looked up yet

    def with_files(self) -> CaseChoice:
        """The same, with its files looked up, which is done once for a run."""
        known = self.files or self.material is not None
        return self if known else replace(self, files=find_files((self.source, *self.others)))

    def opened(self) -> AbstractContextManager[CaseSource]:
        """The cases, to be read once."""
        return open_cases(self.with_files().files, self.layout) if self.material is None else self.material.opened()

    def judged_by(self, judge_of: JudgeOf) -> JudgeOf:
        """How the judge of a rubric is found."""
        return judge_of if self.material is None else self.material.judged_by(judge_of)

    def expected(self) -> int | None:
        """How many evaluations there will be; None where only reading all cases would tell."""
        if self.selection.filters:
            return None
        found = count_all(self.with_files().files, self.layout) if self.material is None else self.material.count()
        chosen = self.selection.expected(found)
        return None if chosen is None else self.repeat * chosen

    def settled(self) -> Selection:
        """The selection, with a sample's size turned into a share of what is there."""
        if not self.selection.needs_two_passes:
            return self.selection
        with self.opened() as file:
            return self.selection.settled(self.distinct(file, lambda _: None))

    def distinct(self, file: CaseSource, on_duplicate: Callable[[Case], None]) -> Iterator[Found]:
        """The cases of the file, each with an id of its own."""
        cases = file.cases()
        return distinct(without_files(cases) if self.from_others else cases, on_duplicate)

    @property
    def options(self) -> dict[str, Any]:
        """As the manifest of a run says it.

        >>> CaseChoice("cases.jsonl", Selection(limit=5), repeat=3).options
        {'limit': 5, 'repeat': 3}
        >>> from rubrica.runs.selection import sample_of
        >>> CaseChoice("cases.jsonl", Selection(sample=sample_of("200", seed=7))).options
        {'sample': 200, 'seed': 7, 'repeat': 1}
        """
        chosen = self.selection
        options = {
            "filter": [condition.text for condition in chosen.filters],
            "limit": chosen.limit,
            "sample": (chosen.sample.count or f"{chosen.sample.share:.4%}") if chosen.sample is not None else None,
            "seed": chosen.sample.seed if chosen.sample is not None else None,
            "repeat": self.repeat,
            **self.layout.options,
        }
        return {name: value for name, value in options.items() if value not in (None, [])}


class RunStore(msgspec.Struct, frozen=True):
    """Where a run is kept, beyond the folder that it is made in."""

    address: str
    pace: StorePace = USUAL_PACE


class RunRequest(msgspec.Struct, frozen=True):
    """A run to execute, or to go on with."""

    cases: CaseChoice
    folder: Path
    rubric: Rubric | None = None  # None: each case's own
    judging: JudgeSettings = NO_JUDGES
    resume: bool = True  # False: begin anew, whatever is there
    retry_errors: bool = False  # judge cases again for which a model failed
    max_failures: int = 20  # stop after so many cases in a row that no model answers; 0: never
    bulk: bool | None = None  # figures only; None: for large files that no model judges
    processes: int = 0  # that evaluate where no model judges; 0: one for each core
    cluster: str | None = None  # a Ray cluster that judges: its address, or local; None: this process does
    terms: Mapping[str, Any] = msgspec.field(default_factory=dict)  # what else the scores depend on, such as who wrote
    id: str = msgspec.field(default_factory=new_run_id)  # of the manifest, where the run is new
    store: RunStore | None = None  # where in an object store the folder is kept; None: it is on this machine only

    def kept_at(self, output: str) -> RunRequest:
        """The same, into a folder or to an address in an object store."""
        if not is_address(output):
            return replace(self, folder=Path(output))
        return replace(self, folder=RunCopy(store_address(output)).folder, store=RunStore(output))

    def manifest(self, now: datetime) -> Manifest:
        """What the run is made by. Whoever asks for the same run gets the same terms, and goes on with it."""
        cases, judging = self.cases, self.judging
        temperature = "of repeats" if cases.repeat > 1 else "as the rubric asks"
        asking = {"repeats": judging.repeats, "seed": judging.seed, "temperature": temperature}
        source = ", ".join(_full_name(part, cases.material) for part in (cases.source, *cases.others))
        terms = {**terms_of(self.rubric, judging.names, cases.context, asking), **self.terms}
        begun = new_manifest(source, self.rubric, judging.names, terms, now)
        return msgspec.structs.replace(begun, id=self.id, options=cases.options)


def _full_name(source: str, material: RunMaterial | None) -> str:
    """A source as others can find it."""
    is_file = source != STDIN and not is_address(source) and (material is None or Path(source).exists())
    return str(Path(source).absolute()) if is_file else source
