"""The rules in the dialog of a game: until when, how often and by how many it is played, and what rivals read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nicegui import ui

from rubrica.errors import InputError
from rubrica.games.fair_play import Reveal, rules_of
from rubrica.games.life import MOST_OF_ANYTHING
from rubrica.store.games import Game

REVEALS: dict[Reveal, str] = {
    "always": "Always",
    "after_submit": "Once they submitted the round of that number",
    "after_close": "Once the game is closed",
    "never": "Never",
}
MINUTES = "%Y-%m-%dT%H:%M"


class RuleFields:
    """Fields that hold a game's rules as they are, and tell what was changed."""

    def __init__(self, game: Game) -> None:
        self._game, self._reveal = game, rules_of(game).reveal
        with ui.element("div").classes("row"):
            self._until = ui.input("Deadline (UTC; empty: none)", value=_minutes(game.deadline))
            self._until.props("outlined dense type=datetime-local stack-label").classes("grow")
            self._limits = {
                name: ui.number(label, value=getattr(game, name), min=1, max=MOST_OF_ANYTHING, precision=0)
                .props("outlined dense")
                .classes("grow")
                for name, label in (("most_rounds", "Rounds each"), ("most_players", "Most players"))
            }
        self._shown = ui.select(REVEALS, value=self._reveal, label="When others read what a player wrote")
        self._shown.props("outlined dense options-dense").classes("full")

    def changes(self) -> dict[str, Any]:
        """What differs from how the game was."""
        found: dict[str, Any] = {}
        if (self._until.value or "") != _minutes(self._game.deadline):
            found["deadline"] = read_minutes(self._until.value or "")
        for name, field in self._limits.items():
            value = None if field.value is None else int(field.value)
            if value != getattr(self._game, name):
                found[name] = value
        if self._shown.value != self._reveal:
            found["fair_play"] = {"reveal": self._shown.value}
        return found


def read_minutes(text: str) -> datetime | None:
    """A time that was typed, in UTC; None where there is none.

    >>> read_minutes("2030-05-01T18:00").isoformat(), read_minutes(" ")
    ('2030-05-01T18:00:00+00:00', None)
    """
    if not text.strip():
        return None
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=UTC)
    except ValueError:
        raise InputError("the deadline is a day and a time, such as 2030-05-01 18:00") from None


def _minutes(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).strftime(MINUTES)
