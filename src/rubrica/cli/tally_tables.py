"""The figures of a run, as tables."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.model.evaluation import Cost, total_cost
from rubrica.report.figures import count_of, dollars, duration, figure
from rubrica.runs.summary.certainty import certainty_sentences, undecided_sentence
from rubrica.runs.summary.tally import MISMATCHES_KEPT, RunningFigures, RunTally

from .figures_table import FiguresTable
from .screen import safe, short
from .verdict_style import bar, judge_hint, verdict_text

BAR = 10
"""Characters of a bar that stands for all cases."""


def tally_page(tally: RunTally, said: str | None = None) -> Group:
    """What is printed at the end of a file of cases; it ends with `said`, or with the run in one sentence."""
    parts: list[RenderableType] = []
    if tally.judged:
        parts += [_verdicts(tally), Text(), _weakest(tally), Text()] if tally.weakest else [_verdicts(tally), Text()]
    if tally.bills:
        parts += [_costs(tally), Text()]
    parts += [Text.assemble(("≠ ", "bold yellow"), safe(difference)) for difference in tally.differences]
    if len(tally.differences) >= MISMATCHES_KEPT:
        parts.append(Text("… further differences are counted, not shown", "dim"))
    if undecided := tally.certainty.undecided:
        parts += [open_verdicts(undecided, tally.judged), Text()]
    if certainty := list(certainty_sentences(tally.certainty)):
        parts += [Text("; ".join(certainty), "dim"), Text()]
    parts.append(Text(safe(said if said is not None else tally_sentence(tally))))
    return Group(*parts)


def open_verdicts(undecided: int, evaluations: int) -> Text:
    """How many verdicts offline scores left open, and what settles them."""
    return Text.assemble((f"{undecided_sentence(undecided, evaluations)}. ", "yellow"), judge_hint())


def _costs(tally: RunTally) -> Table:
    table = FiguresTable()
    for name in ("judged dimension", "tokens in", "out", "cost", "mean time"):
        table.add_column(name, justify="left" if name == "judged dimension" else "right", no_wrap=True)
    for name, bill in tally.bills.items():
        _cost_row(table, tally.titles[name], bill.cost, duration(bill.milliseconds / bill.scores))
    _cost_row(table, "total", total_cost([bill.cost for bill in tally.bills.values()]), "")
    return table


def _cost_row(table: Table, name: str, cost: Cost, mean: str) -> None:
    table.add_row(safe(name), f"{cost.input_tokens:,}", f"{cost.output_tokens:,}", dollars(cost.usd), mean)


def tally_sentence(tally: RunTally) -> str:
    """The run in one sentence."""
    seconds = tally.seconds
    facts = [f"{tally.judged:,} judged in {seconds:,.1f} s"]
    if seconds >= 1:
        facts[0] += f" ({tally.judged / seconds:,.0f} a second)"
    if tally.broken:
        facts.append(count_of(tally.broken, "broken line"))
    if tally.compared:
        facts.append(f"{tally.compared - tally.mismatched:,} of {tally.compared:,} as expected")
    if tally.faults:
        facts.append(f"{tally.faults:,} with a rule that could not be applied")
    if tally.offline:
        facts.append(f"{tally.offline:,} scored offline")
    return ", ".join(facts)


def _verdicts(tally: RunTally) -> Table:
    table = FiguresTable()
    table.add_column("rubric", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("cases", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("mean score", justify="right", no_wrap=True)
    table.add_column("range", justify="right", no_wrap=True)
    for rubric, figures in tally.by_rubric.items():
        total = sum(figures.verdicts.values())
        ordered = sorted(figures.verdicts.items(), key=lambda item: -item[1])
        for row, (verdict, count) in enumerate(ordered):
            share = Text("█" * max(1, round(BAR * count / total)), "cyan")
            first = row == 0
            table.add_row(
                safe(rubric) if first else "",
                verdict_text(verdict),
                f"{count:,}",
                share,
                _mean(figures) if first else "",
                _spread(figures) if first else "",
            )
    return table


def _mean(figures: RunningFigures) -> str:
    return f"{figure(round(figures.mean, 2))} of {figure(figures.out_of)}" if figures.mean is not None else "–"


def _spread(figures: RunningFigures) -> str:
    return f"{figure(figures.lowest)} – {figure(figures.highest)}" if figures.scored else "–"


def _weakest(tally: RunTally) -> Table:
    table = FiguresTable()
    table.add_column("lowest scores", no_wrap=True, max_width=28)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("why", ratio=1)
    for weak in sorted(tally.weakest, reverse=True):
        share = weak.score / weak.out_of
        table.add_row(
            short(weak.case, 28), figure(weak.score), bar(share), verdict_text(weak.verdict), short(weak.reason, 120)
        )
    return table
