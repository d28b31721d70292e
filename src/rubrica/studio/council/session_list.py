"""The council sessions that a visitor may see, the latest first."""

from __future__ import annotations

from uuid import UUID

from markupsafe import Markup
from nicegui import ui

from rubrica.report.figures import dollars
from rubrica.store.council_sessions import SessionLine, SessionState
from rubrica.studio.html_tables import NUMBER, Cell, badge, link, muted, table
from rubrica.studio.moments import moment
from rubrica.studio.parts import card, drawing
from rubrica.studio.studio import Visitor
from rubrica.workspace.council_sessions import own_sessions

PAGE = 20
HEAD = (("Question", ""), ("State", ""), ("Asked by", ""), ("Cost", NUMBER))
STATES: dict[SessionState, Markup] = {
    "running": badge("running", "inconclusive", "…"),
    "finished": badge("finished", "good", "✓"),
    "failed": badge("failed", "bad", "✗"),
    "stopped": badge("stopped", "middle", "‖"),
    "interrupted": badge("interrupted", "middle", "‖"),
}


def session_link(session_id: UUID) -> str:
    """The page of a session."""
    return f"/council/{session_id}"


class SessionList:
    """The table of sessions; older ones are shown on demand."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.lines: list[SessionLine] = []

    async def draw(self) -> None:
        with card("Sessions", "they are kept, and go on when this page is closed"):
            self.table = ui.element("div")
            self.older = ui.button("Older ones", on_click=self._more).props("flat").classes("calm")
        await self._more()

    async def _more(self) -> None:
        before = self.lines[-1].id if self.lines else None
        found = await self.visitor.read(own_sessions, before, PAGE + 1)
        self.lines += found[:PAGE]
        self.older.set_visibility(len(found) > PAGE)
        self.table.clear()
        with self.table:
            if self.lines:
                drawing(table(HEAD, [_row(line) for line in self.lines], "Sessions"))
            else:
                ui.label("There is none yet.").classes("quiet")


def _row(line: SessionLine) -> list[Cell]:
    when = muted(moment(line.created_at.isoformat()))
    return [
        Markup('{}<span class="block date">{}</span>').format(link(line.title, session_link(line.id)), when),
        STATES[line.state],
        line.owner,
        "—" if line.usd is None else dollars(line.usd),
    ]
