"""The result of a companion trial, as tables."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from rubrica.companion.comparison import LETTERS, CandidateEffect, TrialComparison, score_line
from rubrica.companion.judgement import FLAGS, OVERALL
from rubrica.companion.page import latency_words
from rubrica.companion.trial import Trial
from rubrica.report.figures import count_of, dollars, signed
from rubrica.report.titles import dimension_title
from rubrica.runs.compare.measure_comparison import MeasureComparison
from rubrica.scoring.intervals import Estimate

from .comparison_tables import SIGNS, STYLES, WORDS, comparison_page
from .figures_table import FiguresTable
from .screen import note, out, safe, short
from .stored_run_options import plain_table
from .verdict_style import bar, judge_hint, share_style, verdict_text

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
    if trial.repeats > 1:
        console.print(_scenarios(trial))
    if trial.assertions:
        failed = [(spoken, one) for spoken, one in trial.assertions if not one.passed]
        console.print(f"{len(trial.assertions) - len(failed)} of {count_of(len(trial.assertions), 'assertion')} passed")
        for spoken, one in failed:
            console.print(Text.assemble(("✕ ", "bold red"), (safe(spoken.case), "bold"), safe(f"  {one}")))
    for flag, raised in trial.flagged:
        where = ", ".join(reply.spoken.case for reply in raised[:4]) + (" …" if len(raised) > 4 else "")
        console.print(
            Text.assemble(("⚑ ", "bold yellow"), f"{flag} ×{len(raised)} ", (f"({FLAGS[flag]}) ", "dim"), safe(where))
        )
    if trial.disagreements:
        widest = trial.disagreements[0]
        where = f"{safe(widest.case)} {safe(dimension_title(widest.dimension, trial.rubric))}"
        console.print(
            f"≠ {count_of(len(trial.disagreements), 'score')} on which rules and judge are more than 0.3 apart, "
            f"widest {where}: {widest.by_rules:.2f} and {widest.by_judge:.2f}"
        )
    for spoken in trial.missing:
        console.print(Text.assemble(("✕ ", "bold red"), safe(f"{spoken.case}: {spoken.failure}")))
    conclude(trial)


def _means(trial: Trial) -> Table:
    """Means by dimension and scenario group: dimensions by row, since their titles are long."""
    names = {reply.spoken.scenario.title: reply.spoken.scenario.group for reply in trial.replies}
    names |= {spoken.scenario.title: spoken.scenario.group for spoken in trial.missing}
    table = FiguresTable()
    table.add_column("scenario")
    for group in trial.groups:
        table.add_column(Text(safe(names[group])), justify="right", overflow="fold")
    table.add_column("all", justify="right", style="bold")
    for name in (OVERALL, *trial.dimensions):
        cells = [trial.mean(group, name) for group in [*trial.groups, None]]
        marks = [Text("–" if cell is None else f"{cell:.2f}", share_style(cell)) for cell in cells]
        title = safe(dimension_title(name, trial.rubric))
        table.add_row(Text(title, "bold" if name == OVERALL else ""), *marks)
    return table


def _scenarios(trial: Trial) -> Table:
    """Scenarios one by one, with intervals over repeats; the least sure first."""
    table = plain_table(("scenario",), ("mean", "95 % interval", "repeats"))
    for score in sorted(trial.scenario_scores, key=lambda score: (score.mean, score.scenario)):
        mean = Text(f"{score.mean:.3f}", share_style(score.mean))
        table.add_row(short(score.scenario, 40), mean, _interval(score.interval), f"{score.repeats}")
    return table


def _interval(found: Estimate | None) -> str:
    return "–" if found is None else f"{found.low:.3f} to {found.high:.3f}"


def conclude(trial: Trial, name: str = "") -> None:
    """The decision about a trial in a line or two."""
    decision = trial.decision
    label = verdict_text(decision.label)
    label.plain = decision.words
    said = Text.assemble(f"{safe(name)}: " if name else "", label, safe(f": {decision.reason}"))
    out().print(Text.assemble(said, ". ", judge_hint()) if decision.open_by_rules else said)
    if decision.mean is not None:
        weakest = min(decision.dimensions, key=lambda name: decision.dimensions[name], default=None)
        title = "" if weakest is None else safe(dimension_title(weakest, trial.rubric))
        lowest = "" if weakest is None else f", weakest dimension {title} {decision.dimensions[weakest]:.3f}"
        out().print(Text(f"mean {decision.mean.value:.3f} ({_interval(decision.mean)}){lowest}", "dim"))
    if decision.close:
        out().print(f"a close call: {decision.close}")
    flagged = len({reply.spoken.case for _, raised in trial.flagged for reply in raised})
    if flagged and decision.label in ("deploy", "ab_test"):
        out().print(f"{count_of(flagged, 'reply raises', 'replies raise')} a flag: look there before it ships")
    facts = [latency_words(trial)] if trial.latency is not None else []
    if trial.cost.input_tokens:
        count = count_of(len(trial.replies), "reply", "replies")
        facts.append(f"{dollars(trial.cost.usd)} for {count}")
        if trial.judge_cost.input_tokens:
            facts[-1] += f" ({dollars(trial.reply_cost.usd)} to speak, {dollars(trial.judge_cost.usd)} to judge)"
    if facts:
        out().print(Text(", ".join(facts), "dim"))


def print_missing(trial: Trial) -> bool:
    """Print which replies and scores are missing, and the command that asks again; whether any are."""
    missing, unscored = trial.missing, trial.unscored_replies
    if missing:
        said = f"{count_of(len(missing), 'reply', 'replies')} missing, such as {missing[0].case}: {missing[0].failure}"
        note(f"{trial.prompt}: {said}; the same command asks again", "yellow")
    if unscored:
        case, reason = unscored[0].spoken.case, next(iter(unscored[0].unscored.values()), "")
        said = f"the judge's scores of {count_of(len(unscored), 'reply', 'replies')} missing, such as {case}: {reason}"
        note(f"{trial.prompt}: {said}; --retry-errors asks again", "yellow")
    return bool(missing or unscored)


def show_comparison(found: TrialComparison) -> None:
    """Candidates side by side; of two, every measure of the comparison."""
    console, names = out(), found.names
    if len(found.trials) == 2:
        console.print(comparison_page(found.against_first[0], (names[0], names[1])))
        _print_vetoes(found)
        return
    for letter, trial in zip(LETTERS, found.trials, strict=False):
        console.print(Text.assemble((f"{letter} ", "bold"), safe(f"{trial.prompt}  "), (safe(trial.model), "dim")))
    table = plain_table(("",), ("mean", "95 % interval", "against A", "95 % interval"), ("", "decision"))
    lines = [None, *(score_line(pair) for pair in found.against_first)]
    for letter, trial, line in zip(LETTERS, found.trials, lines, strict=False):
        mean, label = trial.decision.mean, verdict_text(trial.decision.label)
        label.plain = trial.decision.words
        whole = ("–", "–") if mean is None else (f"{mean.value:.3f}", _interval(mean))
        table.add_row(letter, *whole, *_difference(line), label)
    for column in table.columns:
        column.no_wrap = True
    console.print(table)
    if found.effects:
        console.print(_effects(found.effects))
    basis = count_of(found.against_first[0].cases, "reply", "replies")
    console.print(Text(f"paired over {basis}; conversations are resampled whole", "dim"))
    _print_vetoes(found)


def _print_vetoes(found: TrialComparison) -> None:
    for name, cases in found.newly_vetoed.items():
        where = ", ".join(cases[:4]) + (" …" if len(cases) > 4 else "")
        said = f"{name}: {count_of(len(cases), 'reply', 'replies')} that must not be given, where the first gives none"
        out().print(Text.assemble(("✕ ", "bold red"), safe(f"{said}: {where}")))


def _difference(line: MeasureComparison | None) -> tuple[str, str, Text]:
    if line is None:
        return "", "", Text()
    change = "–" if line.difference is None else f"{_signed(line.difference.low)} to {_signed(line.difference.high)}"
    verdict = Text(f"{SIGNS[line.verdict]} {WORDS[line.verdict]}", STYLES[line.verdict])
    return _signed(line.mean), change, verdict


def _signed(value: float) -> str:
    return signed(float(f"{value:.3f}"))


def _effects(effects: tuple[CandidateEffect, ...]) -> Table:
    """What a prompt or a model does over all it is combined with."""
    table = plain_table(("in place of", "with"), ("change", "95 % interval"), ("",))
    for one in effects:
        table.add_row(short(one.before, 24), short(one.after, 24), *_difference(one.score))
    return table
