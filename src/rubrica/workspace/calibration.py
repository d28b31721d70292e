"""Calibration from the labels of reviewers: the corrected rubric, and where it can be kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.model.rubric import Rubric
from rubrica.packs.library import find, load
from rubrica.report.figures import count_of
from rubrica.runs.review.calibration_fit import CalibrationFit, document_with, learn_calibration, next_version

from . import catalogue
from .access import Caller
from .draft import Draft, read_draft, rubric_of
from .editing import save_as_fork
from .entry import RubricEntry, SeenRevision
from .review_agreement import AgreementReport, LabelledReviews
from .rubric_text import from_text, to_text

Keeping = Literal["version", "fork", "new", "changed"]
"""version: of one's own rubric. fork: of somebody else's. new: it is not known here. changed: it is another now."""


@dataclass(frozen=True, slots=True)
class CalibratedRubric:
    """What the labels teach, and the rubric that carries it; no text where nothing could be corrected."""

    fit: CalibrationFit
    text: str | None

    @property
    def file(self) -> str:
        return f"{self.fit.rubric.name}-calibrated.yaml"

    @property
    def version(self) -> str:
        return next_version(self.fit.rubric.version)

    @property
    def note(self) -> str:
        """What the history says of the version."""
        most = count_of(max(self.fit.items.values(), default=0), "label")
        return f"{self.fit.found.calibration}, from up to {most} of each dimension"


def calibrated(labelled: LabelledReviews, on: date) -> CalibratedRubric:
    """Learn from labels as ``rubrica calibrate`` does, and write the rubric that it would write."""
    rubric = labelled.document
    fit = learn_calibration(rubric, labelled.lines, file=labelled.file, seed=0, on=on)
    found = fit.found.calibration
    return CalibratedRubric(
        fit, None if found is None else document_with(found, rubric, text_of(rubric), as_json=False)
    )


def text_of(rubric: Rubric) -> str:
    """A rubric's document: as it came with Rubrica where it did, with its comments, else written from the run's."""
    bundled = find(rubric.name)
    if bundled is not None and load(rubric.name).hash == rubric.hash:
        return bundled.file.read_text("utf-8")
    return to_text(rubric.model_dump(mode="json", exclude_defaults=True))


def labels_of(report: AgreementReport, rubric: str) -> LabelledReviews:
    """The labels of one rubric, by its name or name@version."""
    for own in report.labels:
        if rubric in (own.rubric, own.name):
            return own
    raise MissingError(f"there are no labels of {rubric[:200]!r} (people score what its judge scored, then there are)")


def ways_to_save(conn: Connection, caller: Caller, rubric: Rubric) -> tuple[Keeping, RubricEntry | None]:
    """How a correction of a run's rubric can be kept: the labels hold for that text of it, and for no other."""
    try:
        entry = catalogue.entry(conn, caller, rubric.name)
    except (MissingError, ConflictError):
        return "new", None
    if rubric_of(entry.document).hash != rubric.hash:
        return "changed", entry
    return ("version" if caller.owns(entry.listing.created_by) else "fork"), entry


def save_calibrated(conn: Connection, caller: Caller, made: CalibratedRubric, now: datetime) -> RubricEntry:
    """Keep the corrected rubric: as the next version, as a fork, or as a rubric that was not here yet."""
    way, entry = ways_to_save(conn, caller, made.fit.rubric)
    if way == "changed":
        raise ConflictError(f"{made.fit.rubric.name} has changed since; download the corrected rubric instead")
    if entry is None:
        return catalogue.import_draft(conn, caller, _draft(made), now)
    if way == "fork":
        return save_as_fork(conn, caller, str(entry.listing.id), _draft(made, entry), now)
    return catalogue.update(
        conn, caller, str(entry.listing.id), _draft(made, entry), SeenRevision(tags=frozenset({entry.tag})), now
    )


def _draft(made: CalibratedRubric, entry: RubricEntry | None = None) -> Draft:
    """The corrected rubric as it is handed in: of one that is there, the document as its author wrote it."""
    text, found = made.text, made.fit.found.calibration
    if text is None or found is None:
        raise InputError("nothing could be corrected, so there is nothing to keep")
    if entry is not None:
        own = {**entry.version.definition, "version": entry.version.version}
        text = document_with(found, rubric_of(own), to_text(own), as_json=False)
    return read_draft({**from_text(text)[0], "note": made.note})
