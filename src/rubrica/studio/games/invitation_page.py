"""The page that an invitation's link leads to."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import invitations
from rubrica.games.life import moment
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, error_label, heading, notifying_errors
from rubrica.studio.studio import Studio


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/games/join/{token}")
    async def invited(request: Request, token: str) -> RedirectResponse | None:
        visitor = studio.visitor(request)
        if (joined := await visitor.read(invitations.joined_by, token)) is not None:
            return RedirectResponse(f"/games/{joined}", 303)
        try:
            found = await visitor.read(invitations.invited_to, token, visitor.service.clock())
        except RubricaError as error:
            with frame(visitor, "No such invitation", "/games"):
                with heading("No such invitation", back=("Games", "/games")):
                    pass
                error_label(error)
            return None

        async def join() -> None:
            with notifying_errors():
                came = await visitor.write(invitations.accept_link, token, visitor.service.clock())
                ui.navigate.to(f"/games/{came.game_id}")

        with frame(visitor, "Invitation", "/games"):
            with heading(f"You are invited to {found.game}", back=("Games", "/games")):
                ui.button("Join", icon="login", on_click=join).props("unelevated")
            with card():
                ui.label(
                    "Whoever made the game may then submit rounds for your player and sees what it says of itself. "
                    f"The invitation can be used until {moment(found.expires_at)}."
                )
        return None
