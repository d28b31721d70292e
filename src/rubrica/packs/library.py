"""Finds rubrics: bundled ones by name, others by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from rubrica.engine.cases import BadLine, Case, read_cases
from rubrica.engine.expand import slug
from rubrica.engine.load import rubric_from_data, rubric_from_text
from rubrica.errors import Problem, RubricError
from rubrica.hints import did_you_mean
from rubrica.model.rubric import Rubric
from rubrica.plugins import PluginError, added

PACKS = (
    "answer-quality",
    "education-question",
    "voice-companion",
    "council-review",
    "arena",
    "clinical-answer",
    "paper-replication",
)
SUFFIXES = (".yaml", ".yml", ".json")
MAIN = "rubric.yaml"
EXAMPLES = "examples.jsonl"


class Bundled(msgspec.Struct, frozen=True):
    """A rubric that comes with Rubrica, or with an installed package."""

    pack: str
    name: str
    file: Traversable


def load(source: str | Path | Mapping[str, Any] | Rubric) -> Rubric:
    """A rubric by pack name, by file path, or from data; a loaded one is returned as it is.

    >>> load("answer-quality").reference
    'answer-quality@2.5.0'
    """
    if isinstance(source, Rubric):
        return source
    if isinstance(source, Mapping):
        return rubric_from_data(source)
    if isinstance(source, str) and (bundled := find(source)) is not None:
        return _load_bundled(bundled.pack, bundled.name)
    path = Path(source)
    if path.suffix not in SUFFIXES and not path.is_file():
        names = [rubric.name for rubric in bundled_rubrics()]
        hint = did_you_mean(str(source), names, f"bundled: {', '.join(names)}")
        raise RubricError([Problem(f"there is no bundled rubric and no file {str(source)!r}", fix=hint)])
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RubricError([Problem(f"cannot be read: {error.strerror}", file=str(path))]) from None
    except UnicodeDecodeError as error:
        raise RubricError([Problem(f"not UTF-8 text at byte {error.start}", file=str(path))]) from None
    return rubric_from_text(text, str(path))


def find(name: str) -> Bundled | None:
    """A bundled rubric by its name, `name@version`, `pack/name` or title."""
    wanted, _, version = name.partition("@")
    if Path(wanted).suffix in SUFFIXES:
        return None
    wanted = slug(wanted.rpartition("/")[2])
    for bundled in bundled_rubrics():
        if bundled.name == wanted and (not version or _load_bundled(bundled.pack, bundled.name).version == version):
            return bundled
    return None


def text_of(source: str) -> str:
    """A rubric's document as its author wrote it, comments and all, by pack name or file path.

    >>> text_of("answer-quality").splitlines()[-1] != ""
    True
    """
    load(source)
    bundled = find(source)
    return (bundled.file if bundled is not None else Path(source)).read_text(encoding="utf-8")


def load_if_bundled(reference: str) -> Rubric | None:
    """The bundled rubric of a `name@version`; None where that is another one, or another version of it.

    >>> load_if_bundled("answer-quality@0.0.1") is None
    True
    """
    return load(reference) if reference and find(reference) is not None else None


@cache
def bundled_rubrics() -> tuple[Bundled, ...]:
    """Every rubric of every pack, pack by pack, each pack's main one first."""
    found: dict[str, Bundled] = {}
    for bundled in (rubric for pack in pack_folders() for rubric in _rubrics_of(pack)):
        if bundled.name in found:
            known = found[bundled.name].pack
            raise PluginError(f"the pack {bundled.pack!r} has a rubric {bundled.name!r}, as {known!r} has (rename it)")
        found[bundled.name] = bundled
    return tuple(found.values())


@cache
def pack_folders() -> Mapping[str, Traversable]:
    """Where every pack is: Rubrica's own, and those of installed packages, which are Python packages that hold data."""
    own = {pack: files(__package__) / pack for pack in PACKS}
    return {**own, **{name: files(module) for name, module in added("rubrica.packs", ModuleType, own).items()}}


def examples(pack: str) -> Iterator[Case]:
    """The example cases of a pack, with what is expected of each."""
    with (pack_folders()[pack] / EXAMPLES).open("rb") as lines:
        for found in read_cases(lines):
            if isinstance(found, BadLine):
                raise RubricError([Problem(found.reason, line=found.line, file=f"{pack}/{EXAMPLES}")])
            yield found


def _rubrics_of(pack: str) -> list[Bundled]:
    folder = pack_folders()[pack]
    others = sorted(
        (item for item in folder.iterdir() if Path(item.name).suffix in SUFFIXES and item.name != MAIN),
        key=lambda item: item.name,
    )
    return [Bundled(pack, pack, folder / MAIN)] + [Bundled(pack, Path(item.name).stem, item) for item in others]


@cache
def _load_bundled(pack: str, name: str) -> Rubric:
    bundled = next(rubric for rubric in bundled_rubrics() if (rubric.pack, rubric.name) == (pack, name))
    return rubric_from_text(bundled.file.read_text(encoding="utf-8"), f"{pack}/{bundled.file.name}")
