"""Calibration from the labels of the queue: what it would change, and where the corrected rubric can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.judges.calibration import apply
from rubrica.model.calibration import CalibrationFigures
from rubrica.model.rubric import Axis, Rubric
from rubrica.model.scale import Scale
from rubrica.packs.library import find, load
from rubrica.report.figures import counted, figure, signed
from rubrica.report.rubric_page import title_of
from rubrica.runs.review.calibration_lesson import CalibrationLesson, document_with, learned, raised
from rubrica.studio.builder.document import from_text, to_text
from rubrica.studio.builder.save_queries import keep_as_fork
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller
from rubrica.workspace.draft import Draft, read_draft, rubric_of
from rubrica.workspace.entry import RubricEntry, SeenRevision

from .agreement import Labelled

MOST_STEPS = 11
"""Scores of a scale that are shown with what becomes of them."""
FEWER_STEPS = 6
"""As many of a scale that has more, or is not counted in whole numbers."""

Keeping = Literal["version", "fork", "new", "changed"]
"""version: of one's own rubric. fork: of somebody else's. new: it is not known here. changed: it is another now."""


@dataclass(frozen=True, slots=True)
class DimensionChange:
    """One dimension: how far judges and people were apart, and how far they are by the correction."""

    title: str
    labels: int
    corrected: bool
    error: str  # mean absolute error, before → after
    kinder: str  # judge minus people, before → after
    order: str  # rank correlation, before → after


@dataclass(frozen=True, slots=True)
class Curve:
    """What becomes of judges' scores on one dimension."""

    title: str
    judges: str  # that are corrected so; empty where all are
    scores: Sequence[float]  # of the scale
    become: Sequence[float]  # what each of them counts as


@dataclass(frozen=True, slots=True)
class CalibratedRubric:
    """What the labels teach, and the rubric that carries it; no text where nothing could be corrected."""

    lesson: CalibrationLesson
    text: str | None

    @property
    def file(self) -> str:
        return f"{self.lesson.rubric.name}-calibrated.yaml"

    @property
    def version(self) -> str:
        return raised(self.lesson.rubric.version)

    @property
    def note(self) -> str:
        """What the history says of the version."""
        most = counted(max(self.lesson.items.values(), default=0), "label")
        return f"{self.lesson.found.calibration}, from up to {most} of each dimension"


def calibrated(labelled: Labelled, on: date) -> CalibratedRubric:
    """Learn from labels as ``rubrica calibrate`` does, and write the rubric that it would write."""
    rubric = labelled.document
    lesson = learned(rubric, labelled.lines, file=labelled.file, seed=0, on=on)
    found = lesson.found.calibration
    return CalibratedRubric(
        lesson, None if found is None else document_with(found, rubric, text_of(rubric), as_json=False)
    )


def text_of(rubric: Rubric) -> str:
    """A rubric's document: as it came with Rubrica where it did, with its comments, else written from the run's."""
    bundled = find(rubric.name)
    if bundled is not None and load(rubric.name).hash == rubric.hash:
        return bundled.file.read_text("utf-8")
    return to_text(rubric.model_dump(mode="json", exclude_defaults=True))


def changes(lesson: CalibrationLesson) -> list[DimensionChange]:
    """What calibration comes to, dimension by dimension, in the order of the labels."""
    kept = lesson.found.calibration.dimensions if lesson.found.calibration is not None else {}
    found = []
    for name, items in lesson.items.items():
        of = kept.get(name) or lesson.found.refused[name]
        found.append(DimensionChange(title_in(lesson.rubric, name), items, name in kept, *_moves(of.before, of.after)))
    return found


def title_in(rubric: Rubric, name: str) -> str:
    """What a dimension, or a part of one, is called."""
    parts = (axis.parts for axis in rubric.dimensions.values())
    axes: dict[str, Axis] = {**rubric.dimensions, **{part: axis for own in parts for part, axis in own.items()}}
    return title_of(name, axes[name])


def _moves(before: CalibrationFigures | None, after: CalibrationFigures | None) -> tuple[str, str, str]:
    if before is None or after is None:
        return ("—",) * 3
    places = 2 if before.rmse >= 0.3 else 3  # of a small error, one more
    ranks = [figure(None if rank is None else round(rank, 2)) for rank in (before.spearman, after.spearman)]
    return (
        f"{figure(round(before.mae, places))} → {figure(round(after.mae, places))}",
        f"{signed(round(before.bias, places))} → {signed(round(after.bias, places))}",
        " → ".join(ranks),
    )


def curves(lesson: CalibrationLesson) -> list[Curve]:
    """What becomes of judges' scores. Judges that are corrected alike are one curve."""
    calibration = lesson.found.calibration
    if calibration is None:
        return []
    found = []
    for name, correction in calibration.dimensions.items():
        scores = values_of(correction.scale)
        alike: dict[tuple[float, ...], list[str]] = {}
        for judge in correction.judges:
            become = tuple(round(apply(calibration, name, judge, score), 2) for score in scores)
            alike.setdefault(become, []).append(judge)
        title = title_in(lesson.rubric, name)
        found += [
            Curve(title, ", ".join(judges) if len(alike) > 1 else "", scores, become)
            for become, judges in alike.items()
        ]
    return found


def values_of(scale: Scale) -> list[float]:
    """Scores of a scale to show: each whole one where they are few, else some of them.

    >>> values_of(Scale(min=1, max=5)), values_of(Scale())
    ([1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    low, high = scale.ends
    if low.is_integer() and high.is_integer() and high - low < MOST_STEPS and high - low > 1:
        return [low + step for step in range(int(high - low) + 1)]
    return [round(low + (high - low) * step / (FEWER_STEPS - 1), 4) for step in range(FEWER_STEPS)]


def way_to_keep(conn: Connection, caller: Caller, rubric: Rubric) -> tuple[Keeping, RubricEntry | None]:
    """How a correction of a run's rubric can be kept: the labels hold for that text of it, and for no other."""
    try:
        entry = catalogue.entry(conn, caller, rubric.name)
    except (MissingError, ConflictError):
        return "new", None
    if rubric_of(entry.document).hash != rubric.hash:
        return "changed", entry
    return ("version" if caller.owns(entry.listing.created_by) else "fork"), entry


def keep(conn: Connection, caller: Caller, made: CalibratedRubric, now: datetime) -> RubricEntry:
    """Keep the corrected rubric: as the next version, as a fork, or as a rubric that was not here yet."""
    way, entry = way_to_keep(conn, caller, made.lesson.rubric)
    if way == "changed":
        raise ConflictError(f"{made.lesson.rubric.name} has changed since; download the corrected rubric instead")
    if entry is None:
        return catalogue.take_in(conn, caller, _draft(made), now)
    if way == "fork":
        return keep_as_fork(conn, caller, str(entry.listing.id), _draft(made, entry), now)
    return catalogue.update(
        conn, caller, str(entry.listing.id), _draft(made, entry), SeenRevision(tags=frozenset({entry.tag})), now
    )


def _draft(made: CalibratedRubric, entry: RubricEntry | None = None) -> Draft:
    """The corrected rubric as it is handed in: of one that is there, the document as its author wrote it."""
    text, found = made.text, made.lesson.found.calibration
    if text is None or found is None:
        raise InputError("nothing could be corrected, so there is nothing to keep")
    if entry is not None:
        own = {**entry.version.definition, "version": entry.version.version}
        text = document_with(found, rubric_of(own), to_text(own), as_json=False)
    return read_draft({**from_text(text)[0], "note": made.note})
