"""Evaluations and a reader of HTML for the tests of the report."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from rubrica.model.context import Context
from rubrica.model.evaluation import DimensionResult, Evaluation, RuleHit, Step
from rubrica.model.evidence import Field, Span

VOID = {"meta", "input", "br", "rect", "line", "circle", "polygon", "path"}


def span_of(text: str, part: str, field: Field = "response", label: str = "") -> Span:
    start = text.index(part)
    return Span(field, start, start + len(part), part[:200], label)


def evaluation(
    response: str = "Paris.", hits: tuple[RuleHit, ...] = (), dimensions: int = 3, **fields: Any
) -> Evaluation:
    """An evaluation of one response, with hits on its first dimension."""
    results = {
        f"dimension_{number}": DimensionResult(
            8.0, 0.8, reason="fine", weight=1 / dimensions, low=1, high=10, hits=hits if number == 1 else ()
        )
        for number in range(1, dimensions + 1)
    }
    steps = [Step("base", "lowest possible", 10.0, 10.0)]
    steps += [Step("dimension", name, 70 / dimensions, 10 + 70 / dimensions * n) for n, name in enumerate(results, 1)]
    known: dict[str, Any] = {
        "rubric": "sample",
        "version": "1.0.0",
        "hash": "0123456789abcdef",
        "verdict": "pass",
        "reason": "score >= threshold (score = 80, threshold = 75)",
        "score": 80.0,
        "out_of": 100.0,
        "bounds": (80.0, 80.0),
        "dimensions": results,
        "threshold": 75.0,
        "steps": tuple(steps),
        "duration_ms": 12.0,
        "context": Context(prompt="What is the capital?", response=response),
        "case": "case-1",
    }
    return Evaluation(**(known | fields))


class Page(HTMLParser):
    """A parsed page: its elements in order, and the text inside the elements of each class."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.marks: list[tuple[str, str]] = []  # text and title
        self._open: list[tuple[str, str]] = []
        self._texts: list[tuple[str, list[str]]] = []
        self._stack: list[int] = []  # which of the texts are open
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def texts(self, name: str) -> list[str]:
        """The text content of every element with a class."""
        return ["".join(parts) for kind, parts in self._texts if name in kind.split()]

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.elements)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag in VOID:
            return
        kind = attributes.get("class", "")
        self._open.append((tag, kind))
        self._texts.append((kind, []))
        self._stack.append(len(self._texts) - 1)
        if tag == "mark":
            self.marks.append(("", attributes.get("title", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        found, _ = self._open.pop()
        assert found == tag, f"</{tag}> closes <{found}>"
        self._stack.pop()

    def handle_data(self, data: str) -> None:
        for index in self._stack:
            self._texts[index][1].append(data)
        if self._open and self._open[-1][0] == "mark":
            text, title = self.marks[-1]
            self.marks[-1] = (text + data, title)
