"""Baselines: runs that later ones are held against, kept in one file with their commit; the cases' figures beside it.

``.rubrica/baselines.json`` lists the last 100, ``.rubrica/baselines/ID.jsonl.gz`` holds what each case got. Both are
written whole or not at all, under a lock, and what cannot be read is never written over.
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
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.figures import Summary
from rubrica.runs.summary.grading import Grading, name_of
from rubrica.runs.summary.measures import PASSED
from rubrica.runs.summary.summary import SummaryBuilder

from .trend import TrendPoint

DEFAULT_FILE = Path(".rubrica/baselines.json")
MOST_KEPT = 100
FORMAT = 1
_KEPT = ("case", "rubric", "verdict", "score", "out_of", "dimensions", "sections", "group", "repeat")


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
        """Keep a run; the oldest beyond the last 100 are dropped."""
        with alone_with(self.path):
            entries = self.entries()
            gathering = SummaryBuilder()
            data = gzip.compress(b"".join(_lines(rows, gathering)), mtime=0)
            summary = gathering.summary()
            if not summary.evaluations:
                raise InputError(f"{source.run} holds no evaluation, so there is nothing to keep")
            entry = _entry(summary, source, now, self._id(data, now, entries))
            make_private_folder(self.cases_file(entry.id).parent)
            with write_atomically(self.cases_file(entry.id)) as place:
                place.write_bytes(data)
            kept = (*entries, entry)[-MOST_KEPT:]
            with write_atomically(self.path) as place:
                place.write_bytes(msgspec.json.format(msgspec.json.encode(_Book(kept)), indent=1) + b"\n")
            for dropped in entries[: len(entries) + 1 - len(kept)]:
                self.cases_file(dropped.id).unlink(missing_ok=True)
        return entry

    def find(self, wanted: str | None = None, rubrics: Iterable[str] = ()) -> BaselineEntry:
        """The last baseline, or the last one with this id or commit; of these rubrics, where any are named."""
        names = {name_of(rubric) for rubric in rubrics}
        entries = [e for e in self.entries() if not names or names & {name_of(rubric) for rubric in e.rubrics}]
        of_rubrics = f" of {', '.join(sorted(names))}" if names else ""
        if not entries:
            raise MissingError(f"{self.path} holds no baseline{of_rubrics}; `rubrica baseline add RUN` keeps one")
        if wanted is None:
            return entries[-1]
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


def _entry(summary: Summary, source: BaselineSource, now: datetime, entry_id: str) -> BaselineEntry:
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
    )


def _lines(rows: Iterable[RunRow], gathering: SummaryBuilder) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for row in rows:
        gathering.add(row)
        kept: dict[str, Any] = {name: getattr(row, name) for name in _KEPT}
        yield (
            encoder.encode({name: value for name, value in kept.items() if value is not None or name == "score"})
            + b"\n"
        )
