"""One request of the gateway: its steps, its grade by dimension, its cost, and its texts for admins."""

from __future__ import annotations

from datetime import UTC

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.gateway.dashboard import kept_request
from rubrica.llm.public import public_names
from rubrica.packs.library import load_if_bundled
from rubrica.report.charts import bar
from rubrica.report.figures import count_of, duration, figure
from rubrica.report.titles import dimension_title
from rubrica.store.gateway import RequestRecord
from rubrica.studio.frame import frame, page
from rubrica.studio.gateway.steps import steps_of
from rubrica.studio.gateway.wording import NOTHING, grade, money, status_said
from rubrica.studio.html_tables import NUMBER, Cell, facts, muted, table
from rubrica.studio.parts import card, drawing, error_label, heading
from rubrica.studio.studio import Studio, Visitor

DIMENSIONS = [("Dimension", ""), ("Score", NUMBER), ("Confidence", NUMBER), ("Scored by", "")]
COSTS = [("Part", ""), ("Cost", NUMBER), ("Took", NUMBER)]


def install(studio: Studio) -> None:
    """Add the page of a request."""

    @page("/gateway/{trace}")
    async def request_page(request: Request, trace: str) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Request", "/gateway"):
            await draw(visitor, trace)


async def draw(visitor: Visitor, trace: str) -> None:
    """All that was kept of a request."""
    try:
        found = await visitor.read(kept_request, trace)
    except RubricaError as error:
        with heading("Request", back=("Gateway", "/gateway")):
            pass
        error_label(error)
        return
    with heading(f"Request of {found.at.astimezone(UTC):%d %b %Y, %H:%M:%S} UTC", back=("Gateway", "/gateway")):
        drawing(Markup("{}").format(grade(found.passed, found.score, found.threshold)))
    with card():
        drawing(facts(_facts(found)))
        ui.label(f"Trace {found.trace}").classes("quiet")
    with ui.element("div").classes("two"):
        with card("Its way"):
            drawing(_draw_steps(found))
        with card("Grade", "of tier-0's answer"):
            _grade(found)
    with card("Cost"):
        drawing(table(COSTS, _costs(found), "Cost"))
    _texts(visitor, found)


def _facts(found: RequestRecord) -> list[tuple[str, Cell]]:
    tokens = f"{found.input_tokens:,} in, {found.output_tokens:,} out"
    pieces = [
        ("Answered by", f"{found.tier or 'nobody'}{f', {found.model}' if found.model else ''}"),
        ("Question type", found.question_type or NOTHING),
        ("Took", duration(found.total_ms)),
        ("First byte", duration(found.first_byte_ms) if found.first_byte_ms is not None else ""),
        ("Cost", money(found.total_usd)),
        ("Tokens", tokens),
        ("Status", f"{found.status} {status_said(found.status)}".strip()),
        ("Chosen by the request", found.chosen),
        ("Arm of an experiment", found.variant),
    ]
    return [(name, value) for name, value in pieces if value]


def _draw_steps(found: RequestRecord) -> Markup:
    items = Markup("")
    for step in steps_of(found):
        notes = [note for note in (_duration_text(step.ms), money(step.usd) if step.usd is not None else "") if note]
        sign, word = ("✓", "done") if step.state == "done" else ("✕", "failed")
        items += Markup(
            '<li class="is-{}"><i role="img" aria-label="{}">{}</i><div><b>{}</b> <span class="quiet">{}</span>'
            "<p><bdi>{}</bdi></p></div></li>"
        ).format("good" if step.state == "done" else "bad", word, sign, step.title, " · ".join(notes), step.said)
    return Markup('<ol class="flow">{}</ol>').format(items)


def _grade(found: RequestRecord) -> None:
    if found.passed is None:
        ui.label("It was not graded.").classes("quiet")
        return
    if found.score is not None:
        drawing(bar(found.score, (found.score, found.score), found.threshold, 100.0))
    sure = f"confidence {found.grade_confidence:.2f}" if found.grade_confidence is not None else ""
    varied = f"variance {figure(round(found.variance, 1))}" if found.variance is not None else ""
    said = [note for note in (found.rubric or "", sure, varied, "a gate took part" if found.gated else "") if note]
    ui.label(" · ".join(said)).classes("quiet")
    rubric = load_if_bundled(found.rubric or "")
    rows: list[list[Cell]] = [
        [
            dimension_title(name, rubric),
            figure(own.score),
            f"{own.confidence:.2f}",
            muted("nobody could: a neutral value stands in")
            if own.stands_in
            else public_names(own.judge) or muted("code"),
        ]
        for name, own in (found.dimension_scores or {}).items()
    ]
    if rows:
        drawing(table(DIMENSIONS, rows, "Grade by dimension"))


def _costs(found: RequestRecord) -> list[list[Cell]]:
    parts: list[tuple[str, float | None, float | None]] = [
        ("Classification", found.classification_usd, found.classification_ms),
        ("Tier-0" if found.tier != "embeddings" else "Embeddings", found.tier0_usd, found.tier0_ms),
        ("Grading", found.grading_usd, found.grading_ms),
        ("Tier-1" if found.tier != "council" else "Council", found.tier1_usd, found.tier1_ms),
    ]
    rows: list[list[Cell]] = [
        [name, money(usd), _duration_text(ms) or NOTHING] for name, usd, ms in parts if usd or ms is not None
    ]
    whole = Markup("<b>{}</b>")
    return [
        *rows,
        ["All", *(whole.format(text) for text in (money(found.total_usd), _duration_text(found.total_ms)))],
        ["Tier-1 alone would have cost", money(found.baseline_usd), NOTHING],
        ["Saved", money(found.savings_usd), NOTHING],
    ]


def _texts(visitor: Visitor, found: RequestRecord) -> None:
    if not visitor.caller.is_admin:
        ui.label("What was asked and answered is shown to admins only.").classes("quiet")
        return
    with card("What was said", "personal data is masked before it is kept"):
        if found.prompt is None:
            ui.label("No texts are kept of it (a gateway keeps them where its settings say so).").classes("quiet")
            return
        unsent = {"Tier-0's answer, which did not pass": found.rejected, "Tier-1's, which was not sent": found.withheld}
        told = {"Asked": found.prompt, "Answered": found.answer or ""} | {k: v for k, v in unsent.items() if v}
        for title, text in told.items():
            with ui.element("h3"):
                ui.label(f"{title}, {count_of(len(text.split()), 'word')}")
            ui.label(text).classes("told").props('dir="auto"')


def _duration_text(ms: float | None) -> str:
    return "" if ms is None else duration(ms)
