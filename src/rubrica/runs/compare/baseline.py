"""Baselines: runs that later ones are held against, kept in one file with their commit; the cases' figures beside it.

``.rubrica/baselines.json`` lists the last 100, ``.rubrica/baselines/ID.jsonl.gz`` holds what each case got. Both are
written whole or not at all, under a lock, and what cannot be read is never written over. Finished runs are added by
themselves: they show how figures move, and a later run is held against the last of them until somebody keeps one.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import InputError, MissingError, RubricaError
from rubrica.file_lock import alone_with
from rubrica.files import make_private_folder
from rubrica.jsontext import UNREADABLE
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.manifest import commit_of
from rubrica.runs.files.rows import RunRow
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.figures import Summary
from rubrica.runs.summary.grading import Grading, name_of
from rubrica.runs.summary.measures import PASSED
from rubrica.runs.summary.summary import SummaryBuilder

from . import DEFAULT_FILE
from .trend import TrendPoint

MOST_KEPT = 100
MOST_AUTOMATIC = 10
"""Runs added by themselves whose cases are kept too; of older ones only the figures are."""
FORMAT = 1
_KEPT = ("case", "rubric", "verdict", "score", "out_of", "dimensions", "sections", "group", "repeat")
_CRITERIA = ("earned", "possible", "counted")
"""What is kept of rows that have it."""


class BaselineEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One kept run."""

    id: str
    at: str  # ISO 8601
    run: str
    commit: str | None = None  # None outside of git
    dirty: bool = False  # files differed from the commit
    rubrics: tuple[str, ...] = ()  # name@version
    judges: tuple[str, ...] = ()
    evaluations: int = 0
    cases: int = 0
    figures: Mapping[str, float | None] = {}  # means by measure
    verdicts: Mapping[str, int] = {}
    grading: Grading = Grading()
    note: str = ""
    automatic: bool = False  # added when the run was finished; False: somebody chose to keep it
    content: str = ""  # stands for what all cases got

    @property
    def label(self) -> str:
        """Its commit, short, or else its id."""
        return self.id if self.commit is None else self.commit[:10] + ("+" if self.dirty else "")

    @property
    def point(self) -> TrendPoint:
        return TrendPoint(self.at, self.figures, self.label)


class _Book(msgspec.Struct, frozen=True):
    entries: tuple[BaselineEntry, ...]
    format: int = FORMAT


class BaselineSource(msgspec.Struct, frozen=True):
    """Where the rows of a new baseline come from."""

    run: str
    grading: Grading = Grading()
    commit: str | None = None  # with a + where files differ from it
    judges: tuple[str, ...] = ()
    note: str = ""
    automatic: bool = False

    @classmethod
    def of(cls, run: StoredRun, *, note: str = "", automatic: bool = False) -> BaselineSource:
        """As a stored run says it; a bare file of evaluations belongs to the commit of the working directory."""
        manifest = run.manifest
        return cls(
            run=manifest.id if manifest is not None else run.name,
            grading=Grading.of(run.rubrics().values()),
            commit=manifest.commit if manifest is not None and manifest.commit else commit_of(Path.cwd()),
            judges=manifest.judges if manifest is not None else (),
            note=note,
            automatic=automatic,
        )


class Baselines:
    """The kept runs in one file."""

    def __init__(self, path: Path = DEFAULT_FILE) -> None:
        self.path = path

    def entries(self) -> Sequence[BaselineEntry]:
        """All of them, the oldest first; none where there is no file yet."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise RubricaError(f"{self.path} cannot be read: {error.strerror}") from None
        try:
            book = msgspec.json.decode(data, type=_Book)
        except UNREADABLE as error:
            raise InputError(
                f"{self.path} does not hold baselines: {error}; it is left as it is "
                "(restore it from git or a copy, or move it away to begin anew)"
            ) from None
        if book.format > FORMAT:
            raise InputError(f"{self.path} was written by a newer Rubrica (format {book.format}); install that one")
        return book.entries

    def add(self, rows: Iterable[RunRow], source: BaselineSource, now: datetime) -> BaselineEntry:
        """Keep a run; the oldest beyond the last 100 are dropped. What is there already is not added by itself again:
        then that entry is returned, as it is."""
        with alone_with(self.path):
            entries = list(self.entries())
            gathering = SummaryBuilder()
            lines = list(_lines(rows, gathering))
            summary, content = gathering.summary(), _content(lines)
            if not summary.evaluations:
                raise InputError(f"{source.run} holds no evaluation, so there is nothing to keep")
            for known in reversed(entries):
                if (known.run, known.content) == (source.run, content):
                    if source.automatic:
                        return known
                    if known.automatic:  # what is kept on purpose takes its place
                        entries.remove(known)
                        self.cases_file(known.id).unlink(missing_ok=True)
                        break
            data = gzip.compress(b"".join(lines), mtime=0)
            entry = _entry(summary, source, now, self._id(data, now, entries), content)
            make_private_folder(self.cases_file(entry.id).parent)
            with write_atomically(self.cases_file(entry.id)) as place:
                place.write_bytes(data)
            kept = [*entries, entry][-MOST_KEPT:]
            with write_atomically(self.path) as place:
                place.write_bytes(msgspec.json.format(msgspec.json.encode(_Book(tuple(kept))), indent=1) + b"\n")
            by_themselves = [own for own in kept if own.automatic]
            for dropped in [*entries[: len(entries) + 1 - len(kept)], *by_themselves[:-MOST_AUTOMATIC]]:
                self.cases_file(dropped.id).unlink(missing_ok=True)
        return entry

    def find(
        self, wanted: str | None = None, rubrics: Iterable[str] = (), now: tuple[str, str] | None = None
    ) -> BaselineEntry:
        """The last baseline that was kept on purpose, or else the last finished run; with `wanted`, the last one with
        this id or commit. Of these rubrics, where any are named. A run is not held against itself: `now` is
        the id and the content of the one that is compared."""
        names = {name_of(rubric) for rubric in rubrics}
        entries = [e for e in self.entries() if not names or names & {name_of(rubric) for rubric in e.rubrics}]
        of_rubrics = f" of {', '.join(sorted(names))}" if names else ""
        if not entries:
            raise MissingError(f"{self.path} holds no baseline{of_rubrics}; `rubrica baseline add RUN` keeps one")
        if wanted is None:
            others = [entry for entry in entries if not entry.automatic or (entry.run, entry.content) != now]
            if not others:
                raise MissingError(f"{self.path} holds only this run{of_rubrics}; later ones are compared with it")
            return next((entry for entry in reversed(others) if not entry.automatic), others[-1])
        for entry in reversed(entries):
            if entry.id == wanted or (len(wanted) >= 4 and (entry.commit or "").startswith(wanted)):
                return entry
        known = ", ".join(entry.label for entry in entries[-5:])
        raise MissingError(f"{self.path} holds no baseline {wanted}{of_rubrics}; the latest are {known}")

    def rows(self, entry: BaselineEntry) -> Iterator[RunRow]:
        """What each case got."""
        path = self.cases_file(entry.id)
        decoder = msgspec.json.Decoder(RunRow)
        count = 0
        try:
            with gzip.open(path, "rb") as lines:
                for count, line in enumerate(lines, 1):  # noqa: B007 - counted for after the loop
                    yield decoder.decode(line)
        except FileNotFoundError:
            raise MissingError(
                f"{path}, with the cases of baseline {entry.id}, is gone (restore it, or `rubrica baseline add` anew)"
            ) from None
        except (OSError, EOFError, *UNREADABLE) as error:
            raise InputError(f"{path} cannot be read: {error} (restore it, or `rubrica baseline add` anew)") from None
        if count != entry.evaluations:
            raise InputError(f"{path} holds {count} of {entry.evaluations} evaluations (restore it, or add anew)")

    def points(self, rubric: str | None = None) -> list[TrendPoint]:
        """The figures over time; of one rubric, where it is named."""
        return [
            entry.point
            for entry in self.entries()
            if rubric is None or name_of(rubric) in {name_of(own) for own in entry.rubrics}
        ]

    def cases_file(self, entry_id: str) -> Path:
        return self.path.with_suffix("") / f"{entry_id}.jsonl.gz"

    @staticmethod
    def _id(data: bytes, now: datetime, entries: Iterable[BaselineEntry]) -> str:
        taken = {entry.id for entry in entries}
        stem = f"{now:%Y%m%dT%H%M%S}-{blake2b(data, digest_size=3).hexdigest()}"
        names = (stem if not number else f"{stem}-{number + 1}" for number in range(len(taken) + 1))
        return next(name for name in names if name not in taken)


def figures_of(summary: Summary, grading: Grading) -> dict[str, float | None]:
    """The means of a run by measure, and its pass rate; with several rubrics, the rubric's name stands before each."""
    figures: dict[str, float | None] = {}
    for rubric, part in summary.parts.items():
        before = f"{name_of(rubric)}/" if len(summary.parts) > 1 else ""
        roles = {label: grading.role(rubric, label) for label in part.verdicts}
        for measure, spread in part.spreads.items():
            figures[before + measure.key] = spread.mean if spread is not None else None
        if any(role in ("good", "middle", "bad") for role in roles.values()):
            passed = sum(own.count for label, own in part.verdicts.items() if roles[label] == "good")
            figures[before + PASSED.key] = passed / part.evaluations
    return figures


def content_of_rows(rows: Iterable[RunRow]) -> str:
    """Stands for what all cases of a run got, whatever their order."""
    return _content(list(_lines(rows, SummaryBuilder())))


def _content(lines: Sequence[bytes]) -> str:
    digest = blake2b(digest_size=8)
    for line in sorted(lines):
        digest.update(line)
    return digest.hexdigest()


def _entry(summary: Summary, source: BaselineSource, now: datetime, entry_id: str, content: str) -> BaselineEntry:
    verdicts: dict[str, int] = {}
    for part in summary.parts.values():
        for label, own in part.verdicts.items():
            verdicts[label] = verdicts.get(label, 0) + own.count
    return BaselineEntry(
        id=entry_id,
        at=now.isoformat(timespec="seconds"),
        run=source.run,
        commit=source.commit.removesuffix("+") if source.commit else None,
        dirty=bool(source.commit and source.commit.endswith("+")),
        rubrics=tuple(summary.parts),
        judges=source.judges,
        evaluations=summary.evaluations,
        cases=summary.cases,
        figures=figures_of(summary, source.grading),
        verdicts=verdicts,
        grading=source.grading,
        note=source.note,
        automatic=source.automatic,
        content=content,
    )


def _lines(rows: Iterable[RunRow], gathering: SummaryBuilder) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for row in rows:
        gathering.add(row)
        kept: dict[str, Any] = {name: getattr(row, name) for name in _KEPT}
        kept |= {name: getattr(row, name) for name in _CRITERIA if row.counted}
        yield (
            encoder.encode({name: value for name, value in kept.items() if value is not None or name == "score"})
            + b"\n"
        )
