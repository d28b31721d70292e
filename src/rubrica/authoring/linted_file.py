"""Rubrics to lint, by file or by name, with the lines that their criteria stand on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rubrica.engine.document import Document, read_document
from rubrica.model.rubric import Rubric
from rubrica.packs.library import find, load

from .lint import LintReport


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

    def placed(self, report: LintReport) -> LintReport:
        """A report with the file and the line of every warning, in the order of the lines."""
        found = (warning.placed(self.document) for warning in report.warnings)
        return replace(report, warnings=tuple(sorted(found, key=lambda warning: warning.problem.line or 0)))
