"""The result of a companion trial, as tables."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from rubrica.companion.judgement import FLAGS, OVERALL
from rubrica.companion.trial import Trial
from rubrica.report.figures import count_of, dollars, headline

from .figures_table import FiguresTable
from .screen import out, safe, short
from .verdict_style import bar, share_style, verdict_text

SHOWN = 2
"""Replies shown as the best, and as many as the worst."""


def show(trial: Trial) -> None:
    """A trial as tables on the screen."""
    console = out()
    console.print(_means(trial))
    for heading, several in zip(("best", "worst"), trial.extremes(SHOWN), strict=True):
        for reply in several:
            console.print(
                Text.assemble(
                    (f"{heading:6}", "dim"),
                    bar(reply.score),
                    f" {reply.score:.2f} ",
                    (safe(reply.spoken.case), "bold"),
                    f"  {short(reply.spoken.reply, 90)}",
                )
            )
    for flag, raised in trial.flagged:
        where = ", ".join(reply.spoken.case for reply in raised[:4]) + (" …" if len(raised) > 4 else "")
        console.print(
            Text.assemble(("⚑ ", "bold yellow"), f"{flag} ×{len(raised)} ", (f"({FLAGS[flag]}) ", "dim"), safe(where))
        )
    if trial.disagreements:
        widest = trial.disagreements[0]
        console.print(
            f"≠ {count_of(len(trial.disagreements), 'score')} on which rules and judge are more than 0.3 apart, "
            f"widest {safe(widest.case)} {widest.dimension}: {widest.by_rules:.2f} and {widest.by_judge:.2f}"
        )
    for spoken in trial.missing:
        console.print(Text.assemble(("✕ ", "bold red"), safe(f"{spoken.case}: {spoken.failure}")))
    missing_scores = sum(len(reply.unscored) for reply in trial.replies)
    if missing_scores:
        console.print(f"{count_of(missing_scores, 'judged score')} missing: the neutral value stands in")
    conclude(trial)


def _means(trial: Trial) -> Table:
    """Means by dimension and scenario group: dimensions by row, since their names are long."""
    names = {reply.spoken.scenario.title: reply.spoken.scenario.group for reply in trial.replies}
    names |= {spoken.scenario.title: spoken.scenario.group for spoken in trial.missing}
    table = FiguresTable()
    table.add_column("scenario", no_wrap=True)
    for group in trial.groups:
        table.add_column(Text(safe(names[group])), justify="right", overflow="fold")
    table.add_column("all", justify="right", style="bold")
    for name in (OVERALL, *trial.dimensions):
        cells = [trial.mean(group, name) for group in [*trial.groups, None]]
        marks = [Text("–" if cell is None else f"{cell:.2f}", share_style(cell)) for cell in cells]
        table.add_row(Text(headline(name).split()[0].lower(), "bold" if name == OVERALL else ""), *marks)
    return table


def conclude(trial: Trial, *, named: bool = False) -> None:
    """The decision about a trial in a line or two."""
    decision = trial.decision
    label = verdict_text(decision.label)
    label.plain = decision.words
    name = f"{safe(trial.prompt)}: " if named else ""
    out().print(Text.assemble(name, label, f": {decision.reason}"))
    if decision.mean is not None:
        mean = decision.mean
        weakest = min(decision.dimensions, key=lambda name: decision.dimensions[name], default=None)
        lowest = "" if weakest is None else f", weakest dimension {weakest} {decision.dimensions[weakest]:.3f}"
        out().print(Text(f"mean {mean.value:.3f} ({mean.low:.3f} to {mean.high:.3f}){lowest}", "dim"))
    if decision.close:
        out().print(f"a close call: {decision.close}")
    flagged = len({reply.spoken.case for _, raised in trial.flagged for reply in raised})
    if flagged and decision.label in ("deploy", "ab_test"):
        out().print(f"{count_of(flagged, 'reply raises', 'replies raise')} a flag: look there before it ships")
    if trial.cost.input_tokens:
        out().print(Text(f"{dollars(trial.cost.usd)} for {count_of(len(trial.replies), 'reply', 'replies')}", "dim"))
