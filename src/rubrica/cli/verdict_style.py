"""Scores and verdicts as a terminal shows them: in colour, as bars, in the words of the HTML report."""

from __future__ import annotations

from rich.text import Text

from rubrica.model.rubric import Rubric
from rubrica.report.roles import Role, role_of

from .screen import safe

_STYLES: dict[Role, str] = {
    "good": "bold green",
    "middle": "bold yellow",
    "bad": "bold red",
    "inconclusive": "bold magenta",
    "neutral": "bold",
}


def share_style(share: float | None) -> str:
    """The colour of a share of full marks."""
    if share is None:
        return "dim"
    return "green" if share >= 0.75 else "yellow" if share >= 0.5 else "red"


def bar(share: float | None, width: int = 10) -> Text:
    """A share of full marks as a bar."""
    if share is None:
        return Text("·" * width, "dim")
    full = round(min(max(share, 0.0), 1.0) * width)
    return Text.assemble(("█" * full, share_style(share)), ("░" * (width - full), "dim"))


def judge_hint() -> Text:
    """How a command asks the judge who can tell what offline scores leave open."""
    return Text.assemble(("--judge MODEL", "bold"), " asks a model.")


def verdict_text(label: str, rubric: Rubric | None = None) -> Text:
    """A verdict in the colour of what it means."""
    return Text(safe(label), _STYLES[role_of(label, rubric)])
