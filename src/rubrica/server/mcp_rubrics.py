"""The rubrics that an agent may name: those of a folder, the bundled ones, and those of a Rubrica server."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from rubrica.errors import InputError, RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.packs.library import SUFFIXES, bundled_rubrics, find, load

from .mcp_shapes import RubricLine, RubricReply


class StoredRubrics(Protocol):
    """The rubrics of a Rubrica server, as the user of a key sees them; they are judged there."""

    @property
    def address(self) -> str: ...

    async def user(self) -> str:
        """Whose key it is, and their role."""

    async def lines(self) -> tuple[list[RubricLine], bool]:
        """Those that may be named, and whether there are more than are listed."""

    async def show(self, reference: str) -> RubricReply: ...

    async def judge(self, reference: str, context: Context) -> Evaluation: ...


@dataclass(frozen=True, slots=True)
class LocalRubrics:
    """The rubrics that are here: those of a folder, and the bundled ones."""

    folder: Path | None = None

    def names(self) -> list[str]:
        return list(dict.fromkeys([*self._files(), *(rubric.name for rubric in bundled_rubrics())]))

    def lines(self) -> list[RubricLine]:
        """Everything that is here."""
        files = self.file_lines()
        taken = {line.name for line in files}
        return files + [_line(one.name, one.name, "bundled") for one in bundled_rubrics() if one.name not in taken]

    def file_lines(self) -> list[RubricLine]:
        """Those of the folder; one that cannot be read says why."""
        return [_line(name, path, "folder") for name, path in self._files().items()]

    def has_file(self, name: str) -> bool:
        return name in self._files()

    def load(self, name: str) -> Rubric:
        """A rubric by its name. One of the folder goes before a bundled one; files are read anew each time."""
        file = self._files().get(name)
        if file is not None:
            return load(file)
        if find(name) is None:
            names = self.names()
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise InputError(f"rubric: there is no {name!r} ({hint})")
        return load(name)

    def _files(self) -> dict[str, Path]:
        if self.folder is None:
            return {}
        return {path.stem: path for path in sorted(self.folder.iterdir()) if path.suffix in SUFFIXES}


def _line(name: str, place: Path | str, source: str) -> RubricLine:
    try:
        own = load(place)
    except RubricaError as error:
        return RubricLine(name=name, title=name, about=f"cannot be read: {error}"[:500], source=source)
    return RubricLine(name=name, title=own.display_title, about=own.description, source=source)


def rubric_data(rubric: Rubric) -> dict[str, Any]:
    """A rubric as plain data, without what it leaves as it is."""
    return rubric.model_dump(mode="json", exclude_defaults=True, by_alias=True)
