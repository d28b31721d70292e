"""What ``rubrica lint --probe`` asks for and shows."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from rubrica.report.figures import count_of, dollars
from rubrica.runs.probes.probe import ProbeFigures, ProbeReport
from rubrica.runs.probes.probe_table import PROBES

from .figures_table import FiguresTable
from .screen import out, safe

PANEL = "Writing for the rubric"
ProbeWanted = Annotated[
    bool,
    typer.Option(
        "--probe",
        help="Tell what answers gain by padding, quoting, flattery and the like; exit with 1 where it is too much.",
        rich_help_panel=PANEL,
    ),
]
ProbeCases = Annotated[
    str | None,
    typer.Option(
        "--cases",
        metavar="CASES",
        help="Cases whose responses are changed; left out, the examples of a bundled rubric.",
        rich_help_panel=PANEL,
    ),
]
MostGain = Annotated[
    float,
    typer.Option(
        "--most-gain",
        min=0,
        max=1,
        help="What a probe may gain on average, as a share of the score.",
        rich_help_panel=PANEL,
    ),
]


def show_probes(report: ProbeReport, most_gain: float) -> None:
    """A table of how every probe fared, and a line for each that gains too much."""
    console = out()
    by = f"by models, {dollars(report.cost.usd if report.cost is not None else None)}" if report.judged else "by code"
    console.print(Text(f"{safe(report.rubric)}, probes on {count_of(report.cases, 'case')}, {by}", "bold"))
    exceeding = report.exceeding(most_gain)
    entries = {one.name: one for one in PROBES}
    table = FiguresTable()
    for name in ("probe", "what is tried"):
        table.add_column(name)
    for name in ("cases", "before", "after", "gain", "largest"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in report.figures:
        style = "bold red" if one in exceeding else ""
        table.add_row(one.probe, entries[one.probe].tries, str(one.cases), *_numbers(one), style=style)
    console.print(table)
    for one in exceeding:
        most = f"{one.gain:+.2f} on average (at most {most_gain:+.2f}), {one.largest:+.2f} in case"
        said = f"{one.probe} gains {most} {safe(one.largest_case)}; what helps: {entries[one.probe].helps}"
        console.print(Text.assemble(("✕  ", "bold red"), said), soft_wrap=True)
    unscored = sum(one.unscored for one in report.figures)
    if unscored:
        console.print(Text(f"{count_of(unscored, 'pair')} of answers had no score", "dim"))
    if not exceeding:
        console.print(Text.assemble(("ok ", "bold green"), f"no probe gains more than {most_gain:g} on average"))


def _numbers(one: ProbeFigures) -> list[str]:
    if one.gain is None:
        return ["", "", "no score", ""]
    return [f"{one.before:.2f}", f"{one.after:.2f}", f"{one.gain:+.2f}", f"{one.largest:+.2f}"]
