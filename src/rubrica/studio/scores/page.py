"""Kept scores: those of a visitor, and one of them with what was judged, by which version, and why."""

from __future__ import annotations

import asyncio
from uuid import UUID

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import MissingError, RubricaError
from rubrica.model.rubric import Rubric
from rubrica.report.figures import figure, percent
from rubrica.store.scores import ScoreLine, ScoreQuery, StoredScore
from rubrica.studio.cursor_pager import CursorPager
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import NUMBER, Cell, link, table
from rubrica.studio.moments import moment
from rubrica.studio.parts import card, chip, drawing, empty, error_label, heading, show_error
from rubrica.studio.rubrics.drawing import badge
from rubrica.studio.runs.explanation import explanation
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace import catalogue, scores
from rubrica.workspace.draft import rubric_of
from rubrica.workspace.score_records import kept_evaluation

HERE = "/sandbox"
BACK = ("Kept scores", "/scores")
PAGE = 50
HEAD = (("Rubric", ""), ("Verdict", ""), ("Score", NUMBER), ("Share of full marks", NUMBER), ("Kept", ""), ("", ""))


def install(studio: Studio) -> None:
    """Add the list, and the page of one score."""

    @page("/scores")
    async def kept_scores(request: Request) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Kept scores", HERE):
            with heading("Kept scores", back=("Sandbox", "/sandbox")):
                pass
            await ScoreList(visitor).draw()

    @page("/scores/{score}")
    async def kept_score(request: Request, score: str) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Score", HERE):
            try:
                found = await visitor.read(scores.view_score, _id(score))
            except RubricaError as error:
                with heading("Score", back=BACK):
                    pass
                error_label(error)
                return
            await _draw(found, await _rubric(visitor, found))


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise MissingError(f"there is no score {text[:60]!r}, or it is not yours to see") from None


async def _rubric(visitor: Visitor, score: StoredScore) -> Rubric | None:
    """The version that it was made by; None where it is gone, or no longer the visitor's to see."""
    try:
        entry = await visitor.read(catalogue.entry, f"{score.rubric_id}@{score.version}")
    except RubricaError:
        return None
    return await asyncio.to_thread(rubric_of, entry.version.definition)


async def _draw(score: StoredScore, rubric: Rubric | None) -> None:
    evaluation = kept_evaluation(score)
    with heading(rubric.display_title if rubric is not None else score.rubric, back=BACK):
        pass
    with ui.element("div").classes("row"):
        if rubric is not None:
            ui.link(f"{score.rubric}@{score.version}", f"/rubrics/{score.rubric_id}@{score.version}")
        else:
            chip(f"{score.rubric}@{score.version}")
        chip(f"kept {score.created_at:%Y-%m-%d %H:%M} UTC")
        if score.player is not None:
            chip(f"player {score.player}")
        if score.game_id is not None:
            ui.link("The game", f"/games/{score.game_id}")
        ui.link("As JSON", f"/api/scores/{score.id}", new_tab=True).classes("quiet")
    drawn = await asyncio.to_thread(explanation, evaluation, rubric)
    ui.html(str(drawn), sanitize=False).classes("report")


class ScoreList:
    """The scores that a visitor kept, the newest first."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor

    async def draw(self) -> None:
        """Draw it for the first time."""
        with card():
            self.body = ui.element("div").classes("stack")
            self.pager = CursorPager(PAGE, self.show)
        await self.show()

    async def show(self) -> None:
        """Read and draw one page."""
        own = ScoreQuery(created_by=self.visitor.caller.user_id)
        try:
            found = await self.visitor.read(scores.list_scores, own, self.pager.start, PAGE + 1)
        except RubricaError as error:
            show_error(self.body, error)
            return
        shown = found[:PAGE]
        self.body.clear()
        with self.body:
            if shown:
                drawing(table(HEAD, [_row(line) for line in shown], "Kept scores"))
            else:
                empty("Nothing is kept yet.", "Try a rubric", lambda: ui.navigate.to("/sandbox"))
        self.pager.tell(len(shown), shown[-1].id if len(found) > PAGE else None)


def _row(line: ScoreLine) -> list[Cell]:
    name = Markup('{} <span class="quiet">@{}</span>').format(link(line.rubric, f"/scores/{line.id}"), line.version)
    score = "open" if line.raw_score is None else figure(round(line.raw_score, 2))
    where = link(f"round {line.round_number}", f"/games/{line.game_id}?tab=rounds") if line.game_id is not None else ""
    return [
        name,
        badge(line.verdict, None),
        score,
        percent(line.normalized_score),
        moment(line.created_at.isoformat()),
        where,
    ]
