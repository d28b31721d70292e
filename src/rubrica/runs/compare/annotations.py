"""GitHub: annotations that stand beside a change, and the table on a job's summary page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from rubrica.report.figures import count_of, figure, percent, signed
from rubrica.report.printable import printable
from rubrica.runs.compare.comparison import Comparison
from rubrica.runs.compare.measure_comparison import MeasureComparison
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.figures import Summary
from rubrica.runs.summary.outcomes import FailureRule, headline_of, title_of

Level = Literal["error", "warning", "notice"]
MOST_TOLD = 10
"""GitHub shows so many annotations of each level for a step."""


def annotation(level: Level, title: str, message: str) -> str:
    """One annotation, as a line of a job's output.

    >>> annotation("error", "case 7: a, b", "100% wrong\\nreally")
    '::error title=case 7%3A a%2C b::100%25 wrong%0Areally'
    """
    return f"::{level} title={_property(title)}::{_data(message)}"


def of_rows(rows: Iterable[RunRow], bar: FailureRule) -> Iterator[str]:
    """The failed evaluations as errors and the open ones as warnings, as far as GitHub shows them."""
    told = {"failed": 0, "open": 0}
    for row in rows:
        outcome = bar.outcome(row)
        if outcome == "passed":
            continue
        told[outcome] += 1
        if told[outcome] < MOST_TOLD:  # the last place is for how many more there are
            level: Level = "error" if outcome == "failed" else "warning"
            yield annotation(level, f"{row.rubric}: {title_of(row)}", headline_of(row))
    for outcome, level in (("failed", "error"), ("open", "warning")):
        more = told[outcome] - MOST_TOLD + 1
        if more > 0:
            yield annotation(level, "rubrica", f"{count_of(more, 'more evaluation')} {outcome}")


def of_comparison(found: Comparison, title: str) -> Iterator[str]:
    """Regressions as errors, improvements as notices, and one warning where nothing can be told."""
    for line in found.regressions[:MOST_TOLD]:
        yield annotation("error", f"{title}: {line.measure}", f"regression: {moved(line)}")
    for line in found.improvements[:MOST_TOLD]:
        yield annotation("notice", f"{title}: {line.measure}", f"improvement: {moved(line)}")
    if found.verdict == "cannot tell":
        unclear = [line for line in found.lines if line.verdict == "cannot tell"]
        told = "; ".join(f"{line.measure}: {line.description}" for line in unclear[:3])
        yield annotation("warning", title, f"cannot tell: {told}")


def moved(line: MeasureComparison) -> str:
    """A line's figures in words.

    They stand in errors and tables alike: from what to what, the difference with its interval, and p.
    """
    shown = percent if line.measure.kind == "passed" else _three
    interval = ""
    if line.difference is not None:
        interval = f" ({change_text(line, line.difference.low)} to {change_text(line, line.difference.high)})"
    return (
        f"{shown(line.before)} → {shown(line.after)}, {change_text(line, line.mean)}{interval}, "
        f"p {p_text(line.p)} over {count_of(line.cases, 'case')}"
    )


def p_text(p: float) -> str:
    """
    >>> p_text(0.2), p_text(0.00001), p_text(1.0)
    ('= 0.2', '< 0.001', '= 1')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def change_text(line: MeasureComparison, value: float) -> str:
    """A difference on the measure's scale, or in points of a percentage."""
    if line.measure.kind == "passed":
        return f"{signed(round(100 * value, 1))} points"
    return signed(float(f"{value:.3g}"))


def summary_table(found: Summary, title: str) -> str:
    """A run as Markdown, for the summary page of a job."""
    rows: list[Sequence[str]] = []
    for rubric, part in found.parts.items():
        verdicts = ", ".join(
            f"{label} {own.count:,} ({percent(own.rate.value)})" for label, own in part.verdicts.items()
        )
        rows.append((rubric, f"{part.evaluations:,}", verdicts, "", ""))
        for measure, spread in part.spreads.items():
            if spread is not None:
                figures = (_three(spread.mean), _three(spread.median), _three(spread.percentiles[5]))
                rows.append((str(measure), f"{spread.count:,}", *figures))
    return _table(title, ("", "n", "mean / verdicts", "median", "p5"), rows)


def comparison_table(found: Comparison, title: str) -> str:
    """A comparison as Markdown, for the summary page of a job."""
    rows = [(str(line.measure), f"{line.cases:,}", moved(line), line.description) for line in found.lines]
    return _table(title, ("", "cases", "difference", "verdict"), rows) + "".join(f"- {_cell(n)}\n" for n in found.notes)


def _table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"### {_cell(title)}", "", _line(headers), _line(["---"] * len(headers)), *map(_line, rows)]
    return "\n".join(lines) + "\n\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    """Text that can neither end its cell nor be read as a tag, a link or a mark."""
    plain = " ".join(printable(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{sign}" if sign in "|`[]*_\\" else sign for sign in plain)


def _three(value: float) -> str:
    return figure(float(f"{value:.4g}"))


def _data(text: str) -> str:
    return printable(text.replace("\r\n", "\n")).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
