"""The figures of a run as cards: facts, failures, distributions, outliers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from markupsafe import Markup
from nicegui import ui

from rubrica.jsontext import UNREADABLE
from rubrica.llm.public import public_name
from rubrica.model.evaluation import Cost
from rubrica.report.figures import count_of, duration, price
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.folder import ERRORS
from rubrica.runs.files.manifest import Manifest
from rubrica.runs.summary.page_parts import Plot, RubricPart
from rubrica.studio.html_tables import Cell, badge, link, table
from rubrica.studio.moments import moment
from rubrica.studio.parts import card, drawing
from rubrica.studio.runs.drawings import counts, stack
from rubrica.studio.runs.index import RunIndex
from rubrica.studio.runs.paths import case_link

SHOWN_FAILURES = 10


def facts_of(manifest: Manifest | None, index: RunIndex) -> Iterator[tuple[str, Cell]]:
    found = index.figures
    yield "Rubric", ", ".join(found.rubrics) or "—"
    repeated = f" of {count_of(found.cases, 'case')}" if found.cases != found.total else ""
    yield "Evaluations", f"{found.total:,}{repeated}"
    if len(index.parts) == 1:
        yield "Mean score", index.parts[0].figures.mean
    if manifest is not None:
        yield "Judged by", ", ".join(map(public_name, manifest.judges)) or "rules and formulas, no model"
        yield "Started", moment(manifest.started)
        yield "Cases", Path(manifest.source).name or "—"
        if manifest.commit:
            yield "Commit", manifest.commit[:10] + ("+" if manifest.commit.endswith("+") else "")
    if found.paid:
        usd = found.usd if found.priced == found.paid else None
        yield "Cost", price(Cost(usd, found.input_tokens, found.output_tokens))
    if found.durations.count:
        yield "Time in judging", duration(found.milliseconds)
    if found.offline:
        yield "Scored offline", f"{found.offline:,} of {found.total:,}"
    if found.undecided:
        yield "Left open without a judge", f"{found.undecided:,} of {found.total:,}"


def failed_card(failures: list[tuple[str, str]], failed: int, index: RunIndex) -> None:
    with card():
        if failed:
            with ui.element("h2").classes("is-bad role"):
                ui.label(f"{count_of(failed, 'record')} could not be judged")
            drawing(table((("Case", ""), ("Why", "why")), failures, "Records that could not be judged"))
            if failed > len(failures):
                ui.label(f"And {failed - len(failures):,} more.").classes("quiet")
        if index.broken:
            line = index.broken[0]
            told = f"{count_of(len(index.broken), 'stored line')} cannot be read"
            ui.label(f"{told}; the first is line {line.line}: {line.reason}").classes("fault")


def failures_of(folder: Path) -> tuple[list[tuple[str, str]], int]:
    """The first records that could not be judged, and how many there are."""
    shown: list[tuple[str, str]] = []
    count = 0
    for line in finished_lines(folder / ERRORS):
        count += 1
        if len(shown) < SHOWN_FAILURES:
            try:
                found = msgspec.json.decode(line)
                shown.append((str(found["case"] or f"line {found['line']}"), str(found["error"])))
            except (*UNREADABLE, TypeError, KeyError):
                shown.append(("—", line.decode(errors="replace")))
    return shown, count


def part_card(part: RubricPart, several: bool) -> None:
    figures = part.figures
    with card(figures.title, figures.reference if several else ""):
        with ui.element("div"):
            drawing(stack(figures.by_verdict))
            drawing(counts(figures.by_verdict))
        with ui.element("div").classes("two charts"):
            _plot(part.score)
            _plot(part.boxes)
        if part.small:
            with ui.element("div").classes("multiples"):
                for one in part.small:
                    _plot(one)
        if part.heat or part.gates or part.fired:
            with (
                ui.expansion("Correlations, gates and rules").classes("run-more").props("dense"),
                ui.element("div").classes("two charts"),
            ):
                if part.heat is not None:
                    _plot(part.heat)
                drawing(_most(part))


def _most(part: RubricPart) -> Markup:
    found = Markup("")
    for title, rows in (("Gates that fired", part.gates), ("Rules that moved most scores", part.fired)):
        if rows:
            found += Markup('<h3>{}</h3><ul class="most">').format(title)
            for name, share in rows:
                found += Markup('<li><bdi>{}</bdi> <span class="quiet">{}</span></li>').format(name, share)
            found += Markup("</ul>")
    return Markup("<div>{}</div>").format(found)


def more_card(name: str, index: RunIndex) -> None:
    if not index.plots and not index.outliers:
        return
    with card("Time, cost and what is unusual"):
        if index.plots:
            with ui.element("div").classes("two charts"):
                for plot in index.plots:
                    _plot(plot)
        if index.outliers:
            rows = [
                [
                    link(own.row.case or "(no id)", case_link(name, own.row.case, own.row.repeat)),
                    badge(own.row.verdict, own.role),
                    own.why,
                ]
                for own in index.outliers
            ]
            drawing(table((("Case", ""), ("Verdict", ""), ("What is unusual", "why")), rows, "Unlike the others"))


def _plot(plot: Plot) -> None:
    drawing(
        Markup('<figure class="plot"><figcaption>{} <span class="quiet">{}</span></figcaption>{}</figure>').format(
            plot.title, plot.note, plot.drawing
        )
    )
