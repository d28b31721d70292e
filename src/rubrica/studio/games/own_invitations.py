"""The invitations that name whoever looks at the list of games, to be accepted there."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from nicegui import ui

from rubrica.games import invitations
from rubrica.games.life import moment
from rubrica.studio.parts import notifying_errors
from rubrica.studio.studio import Visitor


async def draw_own_invitations(visitor: Visitor) -> None:
    """A line for every invitation; nothing where there is none."""

    async def join(invitation_id: UUID) -> None:
        with notifying_errors():
            came = await visitor.write(invitations.accept_named, invitation_id, visitor.service.clock())
            ui.navigate.to(f"/games/{came.game_id}")

    for found in await visitor.read(invitations.own_invitations, visitor.service.clock()):
        with ui.element("div").classes("banner"):
            ui.label(f"You are invited to {found.game}, until {moment(found.expires_at)}.").classes("grow")
            ui.button("Join", icon="login", on_click=partial(join, found.id)).props("flat").classes("calm")
