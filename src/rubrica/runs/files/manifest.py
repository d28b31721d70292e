"""The Manifest of a run: by what its evaluations were made, so that it can be gone on with, compared and repeated."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self
from uuid import uuid4

import msgspec

from rubrica import __version__
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.jsontext import UNREADABLE
from rubrica.model.rubric import Rubric

from .atomic import write_atomically

MANIFEST = "run.json"
FORMAT = 1


class UsedRubric(msgspec.Struct, frozen=True):
    """A rubric as it was when a run was made."""

    name: str
    version: str
    hash: str
    document: Mapping[str, Any]

    @classmethod
    def of(cls, rubric: Rubric) -> Self:
        return cls(rubric.name, rubric.version, rubric.hash, rubric.model_dump(mode="json", exclude_defaults=True))

    def rubric(self) -> Rubric:
        return rubric_from_data(self.document)


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a run was made by. `terms` is what its scores depend on: another run is another run when they differ."""

    format: int = FORMAT
    id: str
    kind: Literal["judged", "bulk"] = "judged"  # bulk: figures were stored, records are made again on demand
    started: str  # ISO 8601
    finished: str | None = None  # None: under way, or ended before its end
    ending: Literal["stopped", "failed"] | None = None  # of one that is not finished; None: under way, or interrupted
    reason: str = ""  # why it failed
    rubrics: tuple[UsedRubric, ...] = ()
    judges: tuple[str, ...] = ()
    terms: Mapping[str, Any] = {}  # rubric, judges, repeats, seed, context …
    source: str = ""  # the file of cases
    options: Mapping[str, Any] = {}  # which of its cases: filter, limit, sample
    commit: str | None = None  # of the working directory, where it is under git
    version: str = ""  # of Rubrica

    @property
    def fingerprint(self) -> str:
        """Identifies what the scores depend on."""
        return hashlib.sha256(msgspec.json.encode(self.terms, order="deterministic")).hexdigest()[:16]

    def rubric_by_name(self) -> dict[str, Rubric]:
        return {used.name: used.rubric() for used in self.rubrics}

    def differences(self, earlier: Manifest) -> list[str]:
        """What changed since an earlier run, in words.

        >>> now, before = (Manifest(id="1", started="", terms={"seed": seed}) for seed in (2, 1))
        >>> now.differences(before)
        ['seed: 1 → 2']
        """
        names = [*earlier.terms, *(name for name in self.terms if name not in earlier.terms)]
        pairs = ((name, earlier.terms.get(name), self.terms.get(name)) for name in names)
        return [f"{name}: {_format_value(old)} → {_format_value(new)}" for name, old, new in pairs if old != new]

    def with_rubrics(self, rubrics: Iterable[UsedRubric]) -> Manifest:
        return msgspec.structs.replace(self, rubrics=tuple(rubrics))

    def write(self, folder: Path) -> None:
        """Put it into a run's folder, whole or not at all."""
        data = {"format": self.format, **msgspec.to_builtins(self), "fingerprint": self.fingerprint}
        with write_atomically(folder / MANIFEST) as place:
            place.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n")


def new_manifest(
    source: str, rubric: Rubric | None, judges: Sequence[str], terms: Mapping[str, Any], now: datetime
) -> Manifest:
    """The manifest of a run that begins now, in the working directory of this process."""
    return Manifest(
        id=new_run_id(),
        started=now.isoformat(timespec="seconds"),
        rubrics=(UsedRubric.of(rubric),) if rubric is not None else (),
        judges=tuple(judges),
        terms=terms,
        source=source,
        commit=commit_of(Path.cwd()),
        version=__version__,
    )


def new_run_id() -> str:
    """Tells a run from all others."""
    return uuid4().hex[:12]


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a run's folder; None where there is none."""
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RubricaError(f"{path} cannot be read: {error.strerror}") from None
    return manifest_of(data, str(path))


def manifest_of(data: bytes, place: str) -> Manifest:
    """A manifest from the bytes of its file, which lies at `place`."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except UNREADABLE as error:
        raise RubricaError(f"{place} does not describe a run: {error} (choose another folder)") from None
    if manifest.format > FORMAT:
        raise RubricaError(f"{place} was written by a newer Rubrica (format {manifest.format}); install that one")
    return manifest


def mark_ended(folder: Path, ending: Literal["stopped", "failed"], reason: str = "") -> None:
    """Write down how a run ended before its end. One that just ends, with its process, is known by the lack of it."""
    manifest = read_manifest(folder)
    if manifest is not None and manifest.finished is None:
        msgspec.structs.replace(manifest, ending=ending, reason=reason).write(folder)


_HEAD = "# branch.oid "


def commit_of(folder: Path) -> str | None:
    """The git commit a folder is at, with a ``+`` where files differ from it; None outside of git."""
    git = shutil.which("git")
    if git is None:
        return None
    options = (
        "status",
        "--porcelain=v2",
        "--branch",
        "--untracked-files=no",
    )  # `describe --dirty` locks the index anyway
    asked = [git, "--no-optional-locks", "-C", str(folder), *options]
    try:
        status = subprocess.run(asked, capture_output=True, timeout=10, check=True, text=True)  # noqa: S603 - no shell
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return None
    lines = status.stdout.splitlines()
    head = next((line.removeprefix(_HEAD) for line in lines if line.startswith(_HEAD)), "")
    if not head.isalnum():  # "(initial)": nothing was committed yet
        return None
    return head + ("+" if any(not line.startswith("#") for line in lines) else "")


def _format_value(value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def terms_of(
    rubric: Rubric | None, judges: Sequence[str], context: Mapping[str, Any], asking: Mapping[str, Any]
) -> dict[str, Any]:
    """What a run's results depend on: a run of the same terms is gone on with. `asking` is how models are asked."""
    terms = {
        "rubric": f"{rubric.reference} #{rubric.hash[:12]}" if rubric is not None else "each case's own",
        "judges": list(judges),
        "context": dict(context),
    }
    return {**terms, **asking} if judges else terms
