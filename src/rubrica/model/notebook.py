"""Results as a notebook shows them: small tables, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

LONGEST_CELL = 300


def html_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts and figures.

    >>> html_table("a < b", ["n"], [[1.25]])
    '<p>a &lt; b</p><table><thead><tr><th>n</th></tr></thead><tbody><tr><td>1.25</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{_cell(name)}</th>" for name in headings)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<p>{_cell(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…")
