"""One evaluation of a run, explained in full."""

from __future__ import annotations

import asyncio

from fastapi import Request
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.llm.public import public_name
from rubrica.report.figures import figure, percent
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import NUMBER, table
from rubrica.studio.parts import card, drawing, error_label, heading, show_error
from rubrica.studio.runs.explanation import Votes, explanation, votes_of
from rubrica.studio.runs.filters import filter_from_query, query_from_filter, repeat_of
from rubrica.studio.runs.paths import case_link, run_link
from rubrica.studio.runs.permissions import check_readable
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Studio


def install(studio: Studio, work: RunsWorkspace) -> None:
    """Add the page."""

    @page("/runs/{name}/{path:path}")
    async def one_case(request: Request, name: str, path: str) -> None:
        case = request.query_params.get("case", "") if path == "-" else path
        repeat = repeat_of(request.query_params)
        criteria = filter_from_query(request.query_params)
        visitor = studio.visitor(request)
        with frame(visitor, case or "Evaluation", "/runs"):
            with heading(case or "(no id)", back=(name, run_link(name, **query_from_filter(criteria)))):
                beside = ui.element("div").classes("row")
            body = ui.element("div").classes("stacked-cards")
            try:
                await check_readable(visitor, work, name)
            except RubricaError as error:
                with body:
                    error_label(error)
                return
            with body:
                ui.spinner(size="1.4em")

        async def fill() -> None:
            try:
                await check_readable(visitor, work, name)
                evaluation, rubric = await asyncio.to_thread(work.evaluation, name, case, repeat)
            except RubricaError as error:
                show_error(body, error)
                return
            body.clear()
            with body:
                ui.html(str(explanation(evaluation, rubric)), sanitize=False).classes("report")
                for votes in votes_of(evaluation, rubric):
                    _votes_card(votes)
            try:
                index = await asyncio.to_thread(work.index, name)
                around = await asyncio.to_thread(index.neighbours, case, repeat, criteria)
            except RubricaError:
                return
            with beside:
                for title, icon, key in zip(
                    ("Previous", "Next"), ("chevron_left", "chevron_right"), around, strict=True
                ):
                    target = case_link(name, *key, query_from_filter(criteria)) if key is not None else ""
                    ui.button(title, icon=icon, on_click=lambda target=target: ui.navigate.to(target)).props(
                        "flat" + ("" if key is not None else " disable")
                    ).classes("calm")

        ui.timer(0.01, fill, once=True)


def _votes_card(votes: Votes) -> None:
    with card(f"Votes on {votes.title.lower()}"):
        rows = [
            [
                f"{public_name(vote.judge)}{f' (repeat {vote.repeat + 1})' if vote.repeat else ''}",
                figure(vote.value),
                percent(vote.confidence),
                vote.reason or "—",
            ]
            for vote in votes.given
        ]
        drawing(table((("Judge", ""), ("Score", NUMBER), ("Confidence", NUMBER), ("Why", "why")), rows, "Votes"))
