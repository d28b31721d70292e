"""How far the judge agrees with people, and the labels that calibration learns from, drawn."""

from __future__ import annotations

from nicegui import ui

from rubrica.report.figures import count_of, figure, percent, signed
from rubrica.runs.review.agreement import QuestionAgreement
from rubrica.studio.html_tables import NUMBER, Cell, table
from rubrica.studio.parts import card, drawing
from rubrica.studio.studio import Visitor
from rubrica.workspace.review_agreement import AgreementReport

from .calibration_panel import LabelsRow


def agreement_card(found: AgreementReport) -> None:
    """How far the judge and people agree, question by question."""
    people = ", ".join(found.people[:6]) + (f" and {len(found.people) - 6} more" if len(found.people) > 6 else "")
    with card("Agreement with the judge", f"{count_of(found.items, 'evaluation')} scored by {people}"):
        several = len({own.rubric for own in found.questions}) > 1
        head = (
            ("Dimension", ""), ("Scored", NUMBER), ("Alpha", NUMBER), ("Judge − people", NUMBER), ("Same", NUMBER),
            ("Near", NUMBER), ("People's alpha", NUMBER), ("Levelled", NUMBER),
        )  # fmt: skip
        drawing(table(head, [_agreement_row(own, several) for own in found.questions], "Agreement"))
        verdicts = found.verdicts
        if verdicts.count:
            ui.label(f"The same verdict as the judge's: {verdicts.same:,} of {verdicts.count:,}.")
        ui.label(
            "Alpha is Krippendorff's: 1 is perfect agreement, 0 what chance gives. Above 0, judge − people says that "
            "the judge is kinder. Near: within one step of the scale. Levelled: both alphas without each person's "
            "harshness and spread."
        ).classes("quiet")
        for note in found.notes:
            ui.label(note).classes("quiet")


def _agreement_row(own: QuestionAgreement, several: bool) -> list[Cell]:
    def alpha(value: float | None) -> str:
        return "—" if value is None else figure(round(value, 2))

    name = f"{own.question.title} ({own.rubric})" if several else own.question.title
    return [
        name,
        f"{own.count:,}",
        alpha(own.alpha.value),
        "—" if own.difference is None else signed(round(own.difference, 2)),
        percent(own.exact),
        "—" if own.near is None else f"{percent(own.near)} (±{figure(own.step)})",
        f"{alpha(own.people.value)} ({own.pairs:,})" if own.pairs else "—",
        f"{alpha(own.levelled.value)}, {alpha(own.people_levelled.value)}" if own.raters else "—",
    ]


def labels_card(visitor: Visitor, found: AgreementReport) -> None:
    """What calibration learns from: calibrate here, or take the file and the command for it."""
    if not found.labels:
        return
    with card("Labels for calibration", "what each judge gave, and each person"):
        ui.label(
            "Calibration learns from these labels how a judge is wrong, and corrects its scores from then on. A judge "
            "that gives a point too much, say, is taken a point lower."
        ).classes("quiet")
        for own in found.labels:
            LabelsRow(visitor, own)
