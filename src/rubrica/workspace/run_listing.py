"""The runs of a folder as rows of a list: what was judged, by which rubric, and the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from rubrica.errors import RubricaError
from rubrica.file_lock import is_locked
from rubrica.jsontext import UNREADABLE
from rubrica.llm.public import public_name
from rubrica.report.roles import ROLES, Role
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.folder import EVALUATIONS, LOCK, SUMMARY
from rubrica.runs.files.manifest import MANIFEST, Manifest, read_manifest
from rubrica.runs.mirror.head import RunHead
from rubrica.runs.summary.grading import Grading

from .run_folders import OWN_PAGES

UNDER_WAY = frozenset({"waiting", "running"})
"""States of a run that comes to its end by itself."""
State = Literal["finished", "waiting", "running", "stopped", "failed", "interrupted", "unreadable"]
"""waiting: for a worker. stopped: by whoever may. failed: it says why. interrupted: its process ended, with a server or
by a kill."""
NOTHING: Mapping[str, int] = MappingProxyType({})
Share = tuple[str, Role, int]
"""A verdict, what it means, and how often it came out."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as the table shows it."""

    name: str
    state: State
    started: str = ""
    rubrics: tuple[str, ...] = ()  # name@version
    judges: tuple[str, ...] = ()
    evaluations: int = 0
    mix: tuple[Share, ...] = ()  # from good to bad
    mean: float | None = None  # None: no score, or several rubrics
    out_of: float = 100.0
    usd: float | None = None
    commit: str | None = None
    why: str = ""  # it failed, or cannot be read
    id: str = ""  # of its manifest

    @property
    def passed(self) -> float | None:
        """The share of good verdicts; None where verdicts mean neither good nor bad."""
        if not any(role in ("good", "middle", "bad") for _, role, _ in self.mix):
            return None
        return sum(count for _, role, count in self.mix if role == "good") / self.evaluations


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run without its evaluations."""

    line: RunLine
    broken: int = 0  # lines that are no case, or cases that could not be judged
    summary: Mapping[str, Any] | None = None  # of one that is finished


class RunListings:
    """The runs of a folder. What was read of a run is kept until its files change."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[Any, ...], RunLine]] = {}

    def of(self, runs: Path, running: Mapping[str, int] = NOTHING) -> list[RunLine]:
        """All of them, the latest first; what cannot be read comes last, and says why.

        `running` are the runs of this process by name, and how many evaluations each has: they are not looked for.
        """
        found = [self._line(path, running.get(path.name)) for path in _folders(runs)]
        present = {runs / line.name for line in found}
        for gone in [path for path in self._known if path.parent == runs and path not in present]:
            del self._known[gone]
        return latest_first(found)

    def _line(self, path: Path, done: int | None) -> RunLine:
        state = tuple(_stamp(path / name) for name in (MANIFEST, SUMMARY, EVALUATIONS))
        known = self._known.get(path)
        if known is not None and known[0] == state and known[1].state in ("finished", "unreadable"):
            return known[1]
        try:
            line = read_line(path, done)
        except RubricaError as error:
            line = RunLine(path.name, "unreadable", why=str(error))
        self._known[path] = state, line
        return line


def narrowed(lines: list[RunLine], text: str, rubric: str | None) -> list[RunLine]:
    """The runs of a rubric (by name) whose name, rubric, judge or commit has a text in it."""
    wanted = text.strip().casefold()
    return [
        line
        for line in lines
        if (rubric is None or rubric in {own.partition("@")[0] for own in line.rubrics})
        and wanted in " ".join((line.name, *line.rubrics, *line.judges, line.commit or "")).casefold()
    ]


def is_running(folder: Path) -> bool:
    """Whether a process is at work in a run's folder. Asking takes its claim for a moment: ask of unfinished runs."""
    return is_locked(folder / LOCK)


def done_so_far(folder: Path) -> int:
    """How many evaluations a run that is under way has stored."""
    return sum(1 for _ in finished_lines(folder / EVALUATIONS))


def mix_of(verdicts: Mapping[str, int], rubric: str, grading: Grading) -> tuple[Share, ...]:
    """Verdicts from good to bad, the most frequent first among equals."""
    found = [(verdict, grading.role(rubric, verdict), count) for verdict, count in verdicts.items()]
    return tuple(sorted(found, key=lambda own: (ROLES.index(own[1]), -own[2], own[0])))


def _folders(runs: Path) -> Iterator[Path]:
    try:
        inside = sorted(runs.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise RubricaError(f"{runs} cannot be read: {error.strerror}") from None
    for path in inside:
        own = path.name in OWN_PAGES and not (path / MANIFEST).exists()
        if path.is_dir() and not path.name.startswith(".") and not own:
            yield path


def read_line(path: Path, done: int | None = None) -> RunLine:
    """One run. `done` is how many evaluations it has, where this process is at work in it."""
    if path.name in OWN_PAGES:
        raise RubricaError(f"{path.name!r} is the name of a page here; rename the folder to see its run")
    if path.resolve().parent != path.parent.resolve():
        raise RubricaError("it is a link to another place, which is not followed")
    manifest = read_manifest(path)
    if manifest is None:
        raise RubricaError(f"it holds no run: it has no {MANIFEST}")
    if done is not None:
        return replace(_line_of(path.name, manifest, "running"), evaluations=done, why="")
    line = _line_of(path.name, manifest, _state_of(manifest, lambda: is_running(path)))
    summary = read_summary(path)
    return replace(line, evaluations=done_so_far(path)) if summary is None else _figured(line, summary, manifest)


def line_of_head(name: str, head: RunHead) -> RunLine:
    """A run in an object store."""
    line = _line_of(name, head.manifest, _state_of(head.manifest, lambda: head.under_way))
    return (
        replace(line, evaluations=head.evaluations)
        if head.summary is None
        else _figured(line, head.summary, head.manifest)
    )


def latest_first(lines: Iterable[RunLine]) -> list[RunLine]:
    """Runs in the order of a list; what cannot be read comes last."""
    found = list(lines)
    readable = [line for line in found if line.state != "unreadable"]
    others = [line for line in found if line.state == "unreadable"]
    return sorted(readable, key=lambda line: (line.started, line.name), reverse=True) + others


def _line_of(name: str, manifest: Manifest, state: State) -> RunLine:
    """A line without figures."""
    return RunLine(
        name,
        state,
        manifest.started,
        tuple(f"{used.name}@{used.version}" for used in manifest.rubrics),
        tuple(map(public_name, manifest.judges)),
        commit=manifest.commit,
        why=manifest.reason,
        id=manifest.id,
    )


def _state_of(manifest: Manifest, under_way: Callable[[], bool]) -> State:
    if manifest.finished is not None:
        return "finished"
    return "running" if under_way() else manifest.ending or "interrupted"


def _figured(line: RunLine, summary: Mapping[str, Any], manifest: Manifest) -> RunLine:
    """A line with what the run's summary says."""
    try:
        return _read_figures(line, summary, manifest)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RubricaError(f"its {SUMMARY} cannot be read; `rubrica run` with the same words writes it anew") from None


def _read_figures(line: RunLine, summary: Mapping[str, Any], manifest: Manifest) -> RunLine:
    rubrics: Mapping[str, Any] = summary.get("rubrics") or {}
    grading = Grading.of(manifest.rubric_by_name().values())
    mix: list[Share] = []
    for reference, part in rubrics.items():
        counts = {label: int(own["count"]) for label, own in part["verdicts"].items()}
        mix += mix_of(counts, reference, grading)
    merged: dict[tuple[str, Role], int] = {}
    for verdict, role, count in mix:
        merged[verdict, role] = merged.get((verdict, role), 0) + count
    shares = sorted(((v, r, c) for (v, r), c in merged.items()), key=lambda own: (ROLES.index(own[1]), -own[2]))
    only = next(iter(rubrics.values())) if len(rubrics) == 1 else None
    return replace(
        line,
        rubrics=tuple(rubrics) or line.rubrics,
        evaluations=int(summary.get("evaluations", 0)),
        mix=tuple(shares),
        mean=(only["score"] or {}).get("mean") if only is not None else None,
        out_of=only["out_of"] if only is not None else 100.0,
        usd=(summary.get("cost") or {}).get("usd"),
    )


def read_summary(path: Path) -> Mapping[str, Any] | None:
    """What a run came to, where it is finished."""
    try:
        found = msgspec.json.decode((path / SUMMARY).read_bytes())
    except OSError:
        return None  # written at a run's end
    except UNREADABLE:
        return None
    return found if isinstance(found, dict) else None


def _stamp(path: Path) -> tuple[int, int]:
    try:
        known = path.stat()
    except OSError:
        return (0, 0)
    return known.st_size, known.st_mtime_ns
