"""Dialogs to make a game, and to change its name, sharing and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from rubrica.errors import InputError, JsonError, RubricaError
from rubrica.games import games
from rubrica.games.games import LONGEST_NAME
from rubrica.jsontext import decode_json
from rubrica.store.games import Game
from rubrica.studio.parts import error_text
from rubrica.studio.studio import Visitor

from .rule_fields import RuleFields

LONGEST_CONFIG = 20_000
"""Characters of the settings."""


async def game_dialog(visitor: Visitor, game: Game | None = None) -> None:
    """Ask for a game's name, its readers and its settings; a new game is opened, a changed one shown anew."""
    with ui.dialog() as dialog, ui.card().classes("dialog"):
        with ui.element("h2"):
            ui.label("New game" if game is None else f"Change {game.name}")
        name = ui.input("Name", value="" if game is None else game.name)
        name.props(f"outlined autofocus maxlength={LONGEST_NAME}").classes("full")
        public = ui.switch("Public: everybody sees it and may play", value=game is not None and game.is_public)
        config = ui.textarea(
            "Settings (JSON object, which rubrics may read)", value=config_text(game.config if game else {})
        )
        config.props(f"outlined autogrow input-class=mono maxlength={LONGEST_CONFIG}").classes("full")
        rules = None if game is None else RuleFields(game)
        problem = ui.label().classes("fault").props('role="alert"')
        problem.set_visibility(False)

        async def keep() -> None:
            problem.set_visibility(False)
            try:
                title, settings, seen = name.value or "", read_config(config.value or ""), bool(public.value)
                now = visitor.service.clock()
                if game is None:
                    kept = await visitor.write(games.create_game, title, settings, seen, now)
                else:
                    told = {} if rules is None else rules.changes()
                    changes = {"name": title, "config": settings, "is_public": seen, **told}
                    kept = await visitor.write(games.change_game, game.id, changes, now)
            except RubricaError as error:
                problem.set_text(error_text(error))
                problem.set_visibility(True)
            else:
                dialog.close()
                ui.navigate.to(f"/games/{kept.game.id}")

        name.on("keydown.enter", keep)
        with ui.element("div").classes("row actions"):
            ui.button("Cancel", on_click=dialog.close).props("flat")
            ui.button("Make it" if game is None else "Save", on_click=keep).props("unelevated")
    dialog.open()


def read_config(text: str) -> dict[str, Any]:
    """The settings that somebody typed.

    >>> read_config(""), read_config('{"rounds": 5}')
    ({}, {'rounds': 5})
    >>> read_config("rounds: 5")
    Traceback (most recent call last):
    rubrica.errors.InputError: the settings are not JSON: JSON is malformed: invalid character (byte 0)
    """
    if not text.strip():
        return {}
    try:
        found = decode_json(text)
    except JsonError as error:
        raise InputError(f"the settings are not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError('the settings are a JSON object, such as {"rounds": 5}')
    return found


def config_text(config: Mapping[str, Any]) -> str:
    """Settings as somebody would type them."""
    return json.dumps(dict(config), ensure_ascii=False, indent=2) if config else ""
