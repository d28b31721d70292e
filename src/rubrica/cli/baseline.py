"""``rubrica baseline``: keep a run, hold a later one against it, and see how the figures move."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rubrica.errors import MissingError
from rubrica.report.figures import count_of, percent, signed
from rubrica.runs.compare import DEFAULT_FILE
from rubrica.runs.compare.annotations import comparison_table, of_comparison
from rubrica.runs.compare.baseline import MOST_KEPT, Baselines, BaselineSource, content_of_rows
from rubrica.runs.compare.comparison import USUAL, compare
from rubrica.runs.compare.measure_comparison import ComparisonTerms
from rubrica.runs.compare.trend import Direction, Latest, Trend, trend_title, trends
from rubrica.runs.compare.trend_page import trend_page
from rubrica.runs.files.rows import GROUP
from rubrica.runs.summary.grading import Grading
from rubrica.runs.summary.measures import PASSED

from .broken_lines import BrokenLines
from .comparison_tables import comparison_page
from .judge_options import VERDICT_FAILED
from .options import AsJson, Force
from .output_files import atomic_text_file
from .screen import echo_json, out, safe
from .stored_run_options import (
    Github,
    GroupKey,
    Independent,
    Level,
    Margin,
    RunArgument,
    Seed,
    format_figure,
    open_stored_run,
    plain_table,
    reread_silently,
    step_summary,
)

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Keep runs as baselines, and fail if a later one got worse beyond noise.",
    epilog="""[bold]Examples[/bold]
  rubrica baseline add runs/monday
  rubrica baseline check runs/tuesday
  rubrica baseline trend --html trend.html""",
)

File = Annotated[Path, typer.Option("--file", "-f", metavar="FILE.json", help="Where baselines are kept.")]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="COMMIT|ID", help="Compare with this baseline instead of the last one kept."),
]
Note = Annotated[str, typer.Option("--note", help="A note on it, shown in the list.")]
OfRubric = Annotated[str | None, typer.Option("--rubric", "-r", metavar="NAME", help="Only baselines of this rubric.")]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE.html", help="Also write it as a page.")]
Last = Annotated[int, typer.Option("--last", min=2, max=MOST_KEPT, help="Use at most this many baselines.")]

ADD_EXAMPLES = """[bold]Examples[/bold]
  rubrica baseline add runs/monday
  rubrica baseline add results.jsonl --note 'before the new prompt'

Finished runs are added automatically; `add` keeps one that later ones are compared
with. The last 100 are kept, with the git commit of the working directory. Keep the
file and the folder beside it under version control, or in your CI's cache."""
CHECK_EXAMPLES = """[bold]Examples[/bold]
  rubrica baseline check runs/tuesday
  rubrica baseline check runs/tuesday --against 4f2a91c --github

The run is compared with the last baseline of its rubric that was kept with `add`, or
else with the last finished run. Exits with 100 if anything got worse
beyond noise, with 0 if nothing did or it cannot be decided."""
TREND_EXAMPLES = """[bold]Examples[/bold]
  rubrica baseline trend
  rubrica baseline trend -r answer-quality --html trend.html

Trends are tested by Mann and Kendall's test; the latest value is compared with the
variation of those before it."""


@app.command(epilog=ADD_EXAMPLES)
def add(
    run: RunArgument, file: File = DEFAULT_FILE, note: Note = "", group: GroupKey = GROUP, as_json: AsJson = False
) -> None:
    """Keep a run as a baseline."""
    complaints = BrokenLines()
    stored = open_stored_run(run, complaints)
    source = BaselineSource.of(stored, note=note)
    entry = Baselines(file).add(stored.rows(group), source, datetime.now(UTC))
    if as_json:
        plain = {"id": entry.id, "at": entry.at, "commit": entry.commit, "dirty": entry.dirty, "file": str(file)}
        echo_json({**plain, "figures": dict(entry.figures)})
    else:
        at = f"at {entry.label}" if entry.commit is not None else "outside of git"
        out().print(
            Text(safe(f"kept {count_of(entry.evaluations, 'evaluation')} as {entry.id}, {at}, in {file}")),
            soft_wrap=True,
        )
    if complaints.count:
        raise typer.Exit(1)


@app.command(epilog=CHECK_EXAMPLES)
def check(
    run: RunArgument,
    file: File = DEFAULT_FILE,
    against: Against = None,
    group: GroupKey = GROUP,
    independent: Independent = False,
    margin: Margin = USUAL.margin,
    level: Level = USUAL.level,
    seed: Seed = 0,
    github: Github = False,
    as_json: AsJson = False,
) -> None:
    """Compare a run with a baseline; exit with 100 on a regression beyond noise."""
    complaints = BrokenLines()
    stored = open_stored_run(run, complaints)
    baselines = Baselines(file)
    silent = reread_silently(stored)
    rubrics = {row.rubric for row in stored.rows(group)}
    itself = BaselineSource.of(silent).run, content_of_rows(silent.rows(group))
    entry = baselines.find(against, rubrics, itself)
    name = f"baseline {entry.label}"
    found = compare(
        baselines.rows(entry),
        silent.rows(group),
        gradings=(entry.grading, Grading.of(stored.rubrics().values())),
        names=(name, run),
        terms=ComparisonTerms(level=level, margin=margin, grouped=not independent, seed=seed),
    )
    if github:
        for line in of_comparison(found, f"{stored.name} against {name}"):
            typer.echo(line, err=as_json)  # GitHub reads both
        step_summary(comparison_table(found, f"{stored.name} against {name}"))
    if as_json:
        plain = {"baseline": entry.id, "commit": entry.commit, "run": run}
        echo_json({**plain, **found.to_dict()})
    else:
        out().print(comparison_page(found, (entry.label, stored.name), stored.rubrics().values()))
    if found.regressions:
        raise typer.Exit(VERDICT_FAILED)
    if complaints.count:
        raise typer.Exit(1)


@app.command(epilog=TREND_EXAMPLES)
def trend(
    file: File = DEFAULT_FILE,
    rubric: OfRubric = None,
    last: Last = MOST_KEPT,
    html: Html = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show how the figures of the baselines move."""
    points = Baselines(file).points(rubric)[-last:]
    if not points:
        named = f" of {rubric}" if rubric is not None else ""
        raise MissingError(f"{file} holds no baseline{named}; `rubrica baseline add RUN` keeps one")
    found = trends(points)
    if html is not None:
        with atomic_text_file(html, force=force) as page:
            page.write(trend_page(points, found, f"Baselines{f' of {rubric}' if rubric else ''}"))
    if as_json:
        runs = [{"at": point.at, "label": point.label} for point in points]
        plain = {"baselines": runs, "trends": [own.to_dict() for own in found]}
        echo_json(plain)
        return
    table = plain_table(("",), ("first", "last", "a run"), ("trend", "latest", ""))
    for own in found:
        shown = percent if own.name.endswith(PASSED.key) else format_figure
        step = "—" if own.step is None else signed(float(f"{own.step:.2g}"))
        table.add_row(
            safe(trend_title(own.name)), shown(own.known[0]), shown(own.known[-1]), step, *_trend_texts(own), own.spark
        )
    span = f"from {points[0].at[:10]} to {points[-1].at[:10]}"
    out().print(table, Text(f"\n{count_of(len(points), 'baseline')} {span}"))


_STYLES: dict[Direction | Latest, str] = {
    "rising": "green",
    "falling": "red",
    "improvement": "bold green",
    "regression": "bold red",
}


def _trend_texts(found: Trend) -> tuple[Text, Text]:
    return Text(found.direction, _STYLES.get(found.direction, "dim")), Text(
        found.latest, _STYLES.get(found.latest, "dim")
    )
