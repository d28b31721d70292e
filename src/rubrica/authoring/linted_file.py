"""Rubrics to lint, by file or by name, with the lines that their criteria stand on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rubrica.engine.document import Document, read_document
from rubrica.model.rubric import Rubric
from rubrica.packs.library import find, load

from .lint_warning import LintWarning


@dataclass(frozen=True, slots=True)
class LintedFile:
    """A rubric and its document."""

    name: str  # as it was named
    rubric: Rubric
    document: Document

    @classmethod
    def read(cls, name: str) -> LintedFile:
        """A rubric file, or a bundled rubric; a RubricError where it cannot be used."""
        path = Path(name)
        bundled = None if path.is_file() else find(name)
        rubric = load(path if path.is_file() else name)
        if bundled is None:
            return cls(name, rubric, read_document(path.read_text("utf-8"), name))
        return cls(name, rubric, read_document(bundled.file.read_text("utf-8"), f"{bundled.pack}/{bundled.file.name}"))

    def placed(self, warnings: list[LintWarning]) -> list[LintWarning]:
        """Warnings with their file and line, in the order of the lines."""
        found = [warning.placed(self.document) for warning in warnings]
        return sorted(found, key=lambda warning: warning.problem.line or 0)
