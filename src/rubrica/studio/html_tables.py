"""Tables as escaped HTML that become a list of cards on narrow screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from rubrica.report.excerpt import visible
from rubrica.report.roles import SIGNS, Role

Cell = str | Markup
NUMBER = "number"


def table(head: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]], name: str) -> Markup:
    """A table; its head gives each column's title and class, and the first cell of a row says what it is about.

    >>> "<td" in table([("Case", ""), ("Score", NUMBER)], [["a", "7"]], "Evaluations")
    True
    """
    titles = Markup("").join(
        Markup('<th scope="col" class="{}">{}</th>').format(kind, visible(title)) for title, kind in head
    )
    body = Markup("").join(Markup("<tr>{}</tr>").format(_cells(head, row)) for row in rows)
    return Markup(
        '<div class="wide"><table class="plain stacked" aria-label="{}"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(visible(name), titles, body)


def link(text: str, address: str) -> Markup:
    return Markup('<a href="{}"><bdi>{}</bdi></a>').format(address, visible(text) or "—")


def badge(label: str, role: Role, sign: str = "") -> Markup:
    """A verdict in the colour of what it means, and with its sign."""
    return Markup('<span class="badge is-{}"><span aria-hidden="true">{}</span> <bdi>{}</bdi></span>').format(
        role, sign or SIGNS[role], visible(label.replace("_", " "))
    )


def muted(text: str) -> Markup:
    return Markup('<span class="quiet">{}</span>').format(visible(text))


def facts(pairs: Iterable[tuple[str, Cell]]) -> Markup:
    """What is known of something, each under its name."""
    inside = Markup("").join(
        Markup('<div><dt>{}</dt><dd dir="auto">{}</dd></div>').format(name, _cell(value)) for name, value in pairs
    )
    return Markup('<dl class="facts">{}</dl>').format(inside)


def _cells(head: Sequence[tuple[str, str]], row: Sequence[Cell]) -> Markup:
    found = Markup("")
    for place, ((title, kind), cell) in enumerate(zip(head, row, strict=True)):
        if place == 0:
            found += Markup('<th scope="row" class="{}">{}</th>').format(kind, _cell(cell))
        else:
            found += Markup('<td class="{}" data-label="{}">{}</td>').format(kind, visible(title), _cell(cell))
    return found


def _cell(cell: Cell) -> Cell:
    return cell if isinstance(cell, Markup) else visible(cell)
