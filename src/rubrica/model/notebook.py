"""Results as a notebook shows them: small tables, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .evaluation import DimensionResult, Evaluation

LONGEST_CELL = 300


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts and figures.

    >>> html_table("a < b", ["n"], [[1.25]])
    '<p>a &lt; b</p><table><thead><tr><th>n</th></tr></thead><tbody><tr><td>1.25</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{_cell(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<p>{_cell(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def evaluation_html(evaluation: Evaluation) -> str:
    """The verdict, and why each dimension has its score."""
    score = "no score" if evaluation.score is None else f"{evaluation.score:g} of {evaluation.out_of:g}"
    title = f"{evaluation.rubric} {evaluation.version}: {evaluation.verdict}, {score} ({evaluation.reason})"
    rows: list[tuple[str, ...]] = [
        (name, _value(one), one.status, one.why) for name, one in evaluation.dimensions.items()
    ]
    rows += [(gate.name, "", "gate", gate.reason or gate.when) for gate in evaluation.gates if gate.fired]
    return html_table(title, ("dimension", "score", "status", "why"), rows)


def _value(result: DimensionResult) -> str:
    value = "" if result.value is None else f"{result.value:g} of {result.high:g}"
    return f"{value} {result.label}".strip()


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…")
