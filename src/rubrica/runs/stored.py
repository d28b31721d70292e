"""Stored runs: a run's folder, or a file of evaluations, read back one evaluation or one row at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from rubrica.engine.cases import BadLine
from rubrica.engine.compile import compile_rubric
from rubrica.errors import RubricaError, RubricError, StoredError
from rubrica.extras import MissingExtraError, requires
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.packs.library import find, load

from .files.append_only import finished_lines
from .files.case_source import lines_of
from .files.evaluation_head import head_of, latest
from .files.folder import COLUMNS, EVALUATIONS
from .files.manifest import MANIFEST, Manifest, read_manifest
from .files.rows import GROUP, RunRow, row_of
from .mirror.copy import open_copy
from .mirror.prune import prune_copies
from .objects.address import is_address

WAY_OUT = "`rubrica run CASES -o DIR` and `rubrica eval CASES.jsonl -o FILE.jsonl` store evaluations"

OnBroken = Callable[[BadLine], None]


@dataclass(frozen=True)
class StoredRun:
    """Evaluations that were kept. Nothing is held in memory: every call reads anew."""

    path: Path
    manifest: Manifest | None = None
    on_broken: OnBroken | None = None  # told of lines that cannot be read; left out, such a line is an error
    may_read: Callable[[str], bool] | None = None  # which files of cases are opened to judge again; None: all
    is_tidy: bool = False  # no line supersedes another one, so that all need not be read to find out

    @classmethod
    def open(cls, path: Path | str, on_broken: OnBroken | None = None) -> Self:
        """A run's folder, or its address in an object store; a .jsonl file of evaluations, or a .parquet file that a
        run wrote."""
        if isinstance(path, str) and is_address(path):
            path = open_copy(path)
            prune_copies()
        path = Path(path)
        if not path.exists():
            raise RubricaError(f"there is no {path}; {WAY_OUT}")
        if path.name in (EVALUATIONS, COLUMNS) and (path.parent / MANIFEST).is_file():
            path = path.parent
        if not path.is_dir():
            return cls(path, None, on_broken)
        manifest = read_manifest(path)
        if manifest is None:
            raise RubricaError(f"{path} holds no run: it has no {MANIFEST}; {WAY_OUT}")
        return cls(path, manifest, on_broken)

    @property
    def name(self) -> str:
        return self.path.name if self.path.is_dir() else self.path.stem

    def evaluations(self) -> Iterator[Evaluation]:
        """Every evaluation in full, as they were finished; superseded ones are left out."""
        if self._columns == self.path:
            raise RubricaError(f"{self.path} holds figures only, no explanations; give the run's folder")
        if self.manifest is not None and self.manifest.kind == "bulk":
            with requires("tables", str(self.path)):
                from .bulk import run as bulk  # late: polars takes half a second to load
            yield from bulk.evaluations(self.path, self.manifest, self.may_read)
            return
        for number, line in self._lines():
            try:
                yield Evaluation.from_json(line)
            except StoredError as error:
                self._broken(BadLine(number, str(error)))

    def records(self, wanted: Collection[tuple[str, int]]) -> Iterator[Evaluation]:
        """The evaluations of some cases, each by its id and repeat, without reading the others in full."""
        if self.manifest is not None and self.manifest.kind == "bulk":
            with requires("tables", str(self.path)):
                from .bulk import run as bulk
            plan = compile_rubric(self.manifest.rubrics[0].rubric())
            yield from bulk.records(plan, self.path, {case for case, _ in wanted}, self.may_read)
            return
        for _, line in self._lines():
            try:
                head = head_of(line)
                if (head.case or "", head.repeat) in wanted:
                    yield Evaluation.from_json(line)
            except StoredError:
                continue  # told by whoever reads all of them

    def rows(self, group: str = GROUP) -> Iterator[RunRow]:
        """Every evaluation in figures; `group` names the metadata that says which cases belong together."""
        columns = self._columns
        if columns is not None and (group == GROUP or columns == self.path):
            try:
                with requires("tables", str(columns)):
                    from .files.parquet_rows import read_columns
            except MissingExtraError:
                if columns == self.path:  # else the evaluations tell the same, if not as quickly
                    raise
            else:
                yield from read_columns(columns)
                return
        for evaluation in self.evaluations():
            yield row_of(evaluation, group)

    def rubrics(self) -> dict[str, Rubric]:
        """The rubrics by name, as they were when the run was made. Of a bare file, those that are bundled."""
        return dict(self._rubrics)

    @cached_property
    def _rubrics(self) -> dict[str, Rubric]:
        if self.manifest is not None:
            return self.manifest.rubric_by_name()
        met: set[tuple[str, str, str | None]] = set()
        if self._columns is not None:
            for row in self.rows():
                name, _, version = row.rubric.partition("@")
                met.add((name, version, None))
        else:
            for _, line in self._lines():
                try:
                    head = head_of(line)
                except StoredError:
                    continue  # told by whoever reads the evaluations
                met.add((head.rubric, head.version, head.hash))
        return {name: rubric for name, version, content in met if (rubric := _bundled(name, version, content))}

    @property
    def _columns(self) -> Path | None:
        """The file of figures, where there is one: it exists only while it is up to date."""
        path = self.path / COLUMNS if self.manifest is not None else self.path
        return path if path.suffix == ".parquet" and path.exists() else None

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """In a run's folder a later line supersedes an earlier one for the same case; in a bare file all count."""
        if self.manifest is not None:
            path = self.path / EVALUATIONS
            yield from enumerate(finished_lines(path), 1) if self.is_tidy else latest(path)
            return
        with lines_of(str(self.path)) as lines:
            for line in lines:
                if line.strip():
                    yield lines.number, line

    def _broken(self, line: BadLine) -> None:
        if self.on_broken is None:
            raise RubricaError(f"{self.path}:{line.line}: {line.reason}")
        self.on_broken(line)


def _bundled(name: str, version: str, content: str | None) -> Rubric | None:
    if find(f"{name}@{version}") is None:
        return None
    try:
        rubric = load(name)
    except RubricError:
        return None
    return rubric if content in (None, rubric.hash) else None
