"""What a new rubric may begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from rubrica.errors import MissingError


@dataclass(frozen=True, slots=True)
class Starter:
    """A beginning: its text is a rubric document, whole or nearly so."""

    name: str
    title: str
    says: str

    @property
    def text(self) -> str:
        return (files("rubrica.studio.builder") / "starters" / f"{self.name}.yaml").read_text("utf-8")


STARTERS: Mapping[str, Starter] = {
    starter.name: starter
    for starter in (
        Starter("nothing", "From nothing", "A scale, a pass mark and two verdicts. The dimensions are yours."),
        Starter(
            "criteria", "A list of criteria", "What a good answer does, each line with points, and what it must not do."
        ),
        Starter("judged", "A judged answer", "Two dimensions with anchors that a judge scores, and a ceiling."),
        Starter("counted", "Counted by code", "Words that earn or cost points and a formula. Needs no model."),
        Starter("points", "Points of a game", "The short form: one list of rules whose points add up."),
    )
}


def starter(name: str) -> Starter:
    """A starter by its name."""
    if name not in STARTERS:
        raise MissingError(f"there is no starter {name!r} (one of {', '.join(STARTERS)})")
    return STARTERS[name]
