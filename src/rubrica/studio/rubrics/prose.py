"""The words of a rubric's documentation as HTML, every one of them escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from markupsafe import Markup

from rubrica.phrases import Phrase
from rubrica.report.prose import Block, Bullets, Heading, Paragraph, TableBlock

_LEVELS = {1: "h2", 2: "h3", 3: "h4"}
"""The page has a title already, so that headings start one level below it."""


def words(phrase: Phrase) -> Markup:
    """A phrase on one line.

    >>> from rubrica.phrases import Code, Strong
    >>> words(("If ", Code("a < b"), ", ", Strong("fail"), "."))
    Markup('If <code>a &lt; b</code>, <strong>fail</strong>.')
    """
    told = Markup("")
    for part in phrase:
        told += part if isinstance(part, str) else Markup("<{0}>{1}</{0}>").format(part.tag, part.text)
    return told


def bullets(items: Iterable[Phrase], *, ordered: bool = False) -> Markup:
    """Phrases one below the other."""
    lines = Markup("").join(Markup("<li>{}</li>").format(words(item)) for item in items)
    return Markup("<{0}>{1}</{0}>").format("ol" if ordered else "ul", lines)


def documentation(blocks: Iterable[Block]) -> Markup:
    """A whole page of words."""
    return Markup('<div class="prose">{}</div>').format(Markup("").join(_block(block) for block in blocks))


def table(
    head: Sequence[str], rows: Iterable[Sequence[Markup | str]], numbers: Iterable[int] = (), *, stacked: bool = False
) -> Markup:
    """A table that may be wider than the page; columns of numbers are set right.

    `stacked`: on a phone its cells stand one below the other.
    """
    right = frozenset(numbers)
    sides = [Markup(' class="number"') if at in right else Markup("") for at in range(len(head))]
    titles = Markup("").join(
        Markup('<th scope="col"{}>{}</th>').format(side, title) for side, title in zip(sides, head, strict=True)
    )
    body = Markup("")
    for row in rows:
        cells = zip(head, sides, row, strict=True)
        body += Markup("<tr>{}</tr>").format(
            Markup("").join(
                Markup("<td{}{}>{}</td>").format(side, Markup(' data-name="{}"').format(title) if stacked else "", cell)
                for title, side, cell in cells
            )
        )
    return Markup(
        '<div class="wide"><table class="plain{}"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(" folding" if stacked else "", titles, body)


def _block(block: Block) -> Markup:
    match block:
        case Heading():
            return Markup("<{0}>{1}</{0}>").format(_LEVELS[block.level], block.text)
        case Paragraph():
            return Markup("<p>{}</p>").format(words(block.words))
        case Bullets():
            return bullets(block.items, ordered=block.ordered)
        case TableBlock():
            return table(block.head, ([words(cell) for cell in row] for row in block.rows), block.numbers)
        case _:
            assert_never(block)
