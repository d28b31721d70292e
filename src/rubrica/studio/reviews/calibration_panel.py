"""Calibrating a judge from the labels of the queue: before and after, what would change, and keeping it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of, figure
from rubrica.studio.html_tables import NUMBER, Cell, table
from rubrica.studio.parts import drawing, error_label, notifying_errors
from rubrica.studio.reviews.calibration import Curve, DimensionChange, changes, curves
from rubrica.studio.studio import Visitor
from rubrica.workspace.calibration import CalibratedRubric, Keeping, calibrated, save_calibrated, ways_to_save
from rubrica.workspace.review_agreement import LabelledReviews

HEAD = (
    ("Dimension", ""), ("Labels", NUMBER), ("Mean error", NUMBER), ("Judge − people", NUMBER),
    ("Same order", NUMBER), ("", ""),
)  # fmt: skip
MEANING = (
    "Each before → after, the latter on labels that it was not learned from. Mean error: how far judge and people are "
    "apart. Above 0, judge − people says that the judge is kinder. Same order: 1 where both rank the responses alike."
)
KEEPS: dict[Keeping, str] = {
    "version": "Save as version {version}",
    "fork": "Save as a rubric of my own",
    "new": "Add it to my rubrics",
}


class LabelsRow:
    """The labels of one rubric: a button that learns from them, and what came of it."""

    def __init__(self, visitor: Visitor, labelled: LabelledReviews) -> None:
        self.visitor, self.labelled = visitor, labelled
        with ui.element("div").classes("stack"):
            with ui.element("div").classes("row"):
                ui.label(f"{count_of(len(labelled.lines), 'label')} of {labelled.rubric}").classes("strong")
                if labelled.lacking:
                    ui.label(labelled.lacking).classes("chip")
            with ui.element("div").classes("row"):
                self.go = ui.button("Calibrate from these labels", icon="tune", on_click=self._learn)
                self.go.props("unelevated")
                ui.button(f"Download {labelled.file}", icon="download", on_click=self._download).props("flat").classes(
                    "calm"
                )
                self.busy = ui.spinner(size="1.4em")
                self.busy.set_visibility(False)
            self.result = ui.element("div").classes("stack calibration").props('aria-live="polite"')
            with ui.element("details").classes("how"):
                with ui.element("summary"):
                    ui.label("By the command")
                ui.label(labelled.command).classes("told mono")

    def _download(self) -> None:
        own = self.labelled
        ui.download.content("".join(line + "\n" for line in own.lines), own.file, "application/x-ndjson")

    async def _learn(self) -> None:
        self.result.clear()
        self.go.disable()
        self.busy.set_visibility(True)
        try:
            await self.visitor.still_here()
            made = await asyncio.to_thread(calibrated, self.labelled, self.visitor.service.clock().date())
            way, entry = await self.visitor.read(ways_to_save, self.labelled.document)
        except RubricaError as error:
            with self.result:
                error_label(error)
            return
        finally:
            self.busy.set_visibility(False)
            self.go.enable()
        with self.result:
            self._tell(made)
            if made.text is not None:
                version = None if entry is None else entry.listing.version
                self._ways_on(made, way, version)

    def _tell(self, made: CalibratedRubric) -> None:
        """Before and after, dimension by dimension, and what would change."""
        fit = made.fit
        found = changes(fit)
        corrected = [own.title for own in found if own.corrected]
        ui.label(
            f"{count_of(len(corrected), 'dimension')} of {len(found)} would be corrected: {', '.join(corrected)}."
            if corrected
            else "Nothing would be corrected: no correction clearly helps, for the reasons below."
        ).classes("strong")
        drawing(table(HEAD, [_row(own) for own in found], "Before and after calibration"))
        ui.label(MEANING).classes("quiet")
        for refusal in fit.found.refused.values():
            ui.label(refusal.reason[:1].upper() + refusal.reason[1:] + ".").classes("quiet")
        if fit.unlabelled:
            ui.label(f"Judged, but without labels here: {', '.join(fit.unlabelled)}.").classes("quiet")
        if fit.found.calibration is not None:
            with ui.element("h3"):
                ui.label("What the judge’s scores would count as")
            _draw(curves(fit))
            if fit.rubric.calibration is not None:
                lost = f", also those of {', '.join(fit.replaced)}" if fit.replaced else ""
                ui.label(f"These corrections take the place of {fit.rubric.calibration}{lost}.").classes("quiet")

    def _ways_on(self, made: CalibratedRubric, way: Keeping, version: str | None) -> None:
        async def save() -> None:
            with notifying_errors():
                kept = await self.visitor.write(save_calibrated, made, self.visitor.service.clock())
                holder.clear()
                with holder:
                    ui.label(f"It is kept as {kept.listing.slug} {kept.version.version}.")
                    ui.link("Look at it", f"/rubrics/{kept.listing.id}")

        def download() -> None:
            ui.download.content(made.text or "", made.file, "application/yaml")

        with ui.element("div").classes("row") as holder:
            if way in KEEPS and self.visitor.caller.may("author"):
                title = KEEPS[way].format(version=made.version)
                ui.button(title, icon="save", on_click=save).props("unelevated")
            ui.button(f"Download {made.file}", icon="download", on_click=download).props("flat").classes("calm")
        if way == "changed":
            ui.label(
                f"The rubric has changed since the judge scored by it (it is at {version} now), so the corrections "
                "cannot be saved into it: they hold for the earlier text."
            ).classes("quiet")


def _row(own: DimensionChange) -> list[Cell]:
    said = "✓ corrected" if own.corrected else "stays as it is"
    return [own.title, f"{own.labels:,}", own.error, own.kinder, own.order, said]


def _draw(found: Sequence[Curve]) -> None:
    """The scores of each scale, and below what they would count as, dimension by dimension."""
    for scores in dict.fromkeys(tuple(curve.scores) for curve in found):
        head = (("The judge gives", ""), *((figure(score), NUMBER) for score in scores))
        rows = [_curve(curve) for curve in found if tuple(curve.scores) == scores]
        with ui.element("div").classes("curves"):
            drawing(table(head, rows, "Corrected scores"))


def _curve(curve: Curve) -> list[Cell]:
    whose = f" of {curve.judges}" if curve.judges else ""
    return [f"{curve.title}{whose} counts as", *map(figure, curve.become)]
