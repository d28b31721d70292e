"""Pieces that several pages are made of."""

from __future__ import annotations

import asyncio

from nicegui import Client, ui
from nicegui.events import GenericEventArguments

from rubrica.studio.parts import Choice


def clicked(choice: Choice, place: int, label: str) -> object:
    """What a click on an entry comes to, wherever that stands by now."""
    args = {"value": place, "label": label}
    return choice._event_args_to_value(GenericEventArguments(sender=choice, client=choice.client, args=args))


def test_a_click_in_a_list_that_changed_meanwhile_counts_for_what_was_clicked() -> None:
    async def chosen() -> list[object]:
        with Client(ui.page("")):
            choice = Choice({"a": "Apples", "b": "Pears"}, label="Fruit")
            choice.set_options({"c": "Plums", "a": "Apples"})
            return [clicked(choice, 0, "Apples"), clicked(choice, 1, "Pears")]

    assert asyncio.run(chosen()) == ["a", None]
