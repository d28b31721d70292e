"""A summary as tables."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, dollars, duration, figure, percent, price, signed
from rubrica.report.titles import dimension_title
from rubrica.runs.summary.certainty import point_verdicts_sentence
from rubrica.runs.summary.figures import RubricSummary, Summary
from rubrica.runs.summary.grading import name_of
from rubrica.runs.summary.measures import SCORE, measure_title
from rubrica.scoring.spread import Spread

from .screen import safe, short
from .stored_run_options import format_figure, plain_table
from .tally_tables import open_verdicts
from .verdict_style import verdict_text

WIDE = 100  # columns of a terminal that holds every percentile
MOST_PAIRS, MOST_OUTLIERS, MOST_RULES, MOST_VALUES = 8, 10, 8, 60
MOST_POSITIONS = 20


def summary_page(found: Summary, rubrics: Mapping[str, Rubric], width: int) -> RenderableType:
    """What `rubrica summary` prints."""
    parts: list[RenderableType] = []
    for reference, part in found.parts.items():
        rubric = rubrics.get(name_of(reference))
        parts += [Text(safe(f"{reference}: {count_of(part.evaluations, 'evaluation')}"), "bold"), Text()]
        parts += [_verdicts(part, rubric), Text(), _spreads(part, rubric, width), Text()]
        parts += criteria_tables(part)
        parts += _certainty(part)
        parts += _details(part, rubric)
    return Group(*parts, *_totals(found))


def by_page(key: str, values: Mapping[str, Summary]) -> RenderableType:
    """Each value of a key on a line."""
    table = plain_table((safe(key),), ("evaluations", "mean", "median", "std", "p5", "p95"), ("verdicts",))
    for value in sorted(values)[:MOST_VALUES]:
        for part in values[value].parts.values():
            spread = part.spreads.get(SCORE)
            verdicts = ", ".join(f"{label} {percent(own.rate.value)}" for label, own in part.verdicts.items())
            cells = _cells(spread, (5, 95))
            table.add_row(short(value, 40) or "—", f"{part.evaluations:,}", *cells, safe(verdicts))
    hidden = len(values) - MOST_VALUES
    more = [Text(f"… and {hidden:,} more; --json has them all", "dim")] if hidden > 0 else []
    return Group(Text(), table, *more)


def _verdicts(part: RubricSummary, rubric: Rubric | None) -> Table:
    table = plain_table(("verdict",), ("count", "rate", "95 % interval"), ("",))
    for label, own in part.verdicts.items():
        interval = f"{percent(own.rate.low)} – {percent(own.rate.high)}"
        bar = Text("█" * round(20 * own.rate.value), "cyan")
        table.add_row(verdict_text(label, rubric), f"{own.count:,}", percent(own.rate.value), interval, bar)
    return table


def _spreads(part: RubricSummary, rubric: Rubric | None, width: int) -> Table:
    percents = (5, 25, 75, 90, 95, 99) if width >= WIDE else (5, 95)
    table = plain_table(("",), ("n", "mean", "median", "std", *(f"p{percent}" for percent in percents), "unscored"))
    for measure, spread in part.spreads.items():
        if measure.kind == "tag":  # which have a table of their own
            continue
        name = f"score of {figure(part.out_of)}" if measure == SCORE else measure_title(measure, rubric)
        missing = part.unscored.get(measure.name, 0) if measure.kind == "dimension" else 0
        count = f"{spread.count:,}" if spread is not None else "0"
        unscored = Text(f"{missing:,}" if missing else "", "yellow")
        table.add_row(safe(name), count, *_cells(spread, percents), unscored, style="bold" if measure == SCORE else "")
    return table


def criteria_tables(part: RubricSummary) -> list[RenderableType]:
    """What was earned by tag, and by the position of a criterion in its case."""
    found: list[RenderableType] = []
    if part.tags:
        table = plain_table(("tag",), ("share", "points", "possible", "criteria", "cases"), ("",))
        for tag, own in list(part.tags.items())[:MOST_VALUES]:
            cells = (format_figure(own.share), figure(own.earned), figure(own.possible))
            told = Text(f"{format_figure(own.share)} over {count_of(own.criteria, 'criterion', 'criteria')}", "dim")
            table.add_row(short(tag, 40), *cells, f"{own.criteria:,}", f"{own.cases:,}", told)
        found += [table, Text()]
    if part.positions:
        table = plain_table(("criterion",), ("mean", "scored"))
        for number, place in enumerate(part.positions[:MOST_POSITIONS], 1):
            table.add_row(str(number), format_figure(place.mean), f"{place.criteria:,}")
        found += [table]
        hidden = len(part.positions) - MOST_POSITIONS
        found += [Text(f"… and {hidden:,} more; --json has them all", "dim")] if hidden > 0 else []
        found.append(Text())
    return found


def _certainty(part: RubricSummary) -> list[RenderableType]:
    """How sure the profiles are that were found, and how often verdicts by offline points were right when measured."""
    found: list[RenderableType] = []
    if any(own.classified for own in part.profiles.values()):
        table = plain_table(("profile",), ("evaluations", "classified", "mean confidence"))
        for name, own in list(part.profiles.items())[:MOST_VALUES]:
            table.add_row(short(name, 40), f"{own.evaluations:,}", f"{own.classified:,}", format_figure(own.confidence))
        found += [table, Text()]
    if part.undecided:
        found += [open_verdicts(part.undecided, part.evaluations), Text()]
    if part.point_verdicts is not None:
        found += [Text(point_verdicts_sentence(part.point_verdicts)), Text()]
    return found


def _cells(spread: Spread | None, percents: tuple[int, ...]) -> list[str]:
    if spread is None:
        return ["—"] * (3 + len(percents))
    values = (spread.mean, spread.median, spread.std, *(spread.percentiles[percent] for percent in percents))
    return [format_figure(value) for value in values]


def _details(part: RubricSummary, rubric: Rubric | None) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for title, counts in (("gates that fired", part.gates), ("rules that changed a score", part.rules)):
        if counts:
            table = plain_table((title,), ("evaluations",))
            for name, count in list(counts.items())[:MOST_RULES]:
                table.add_row(short(name, 60), f"{count:,}")
            parts += [table, Text()]
    pairs = [pair for pair in part.correlations if pair.spearman is not None]
    if pairs:
        table = plain_table(("dimensions that go together",), ("Spearman", "Pearson", "pairs"))
        for pair in sorted(pairs, key=lambda own: -abs(own.spearman or 0.0))[:MOST_PAIRS]:
            shown = [signed(round(value, 2)) if value is not None else "—" for value in (pair.spearman, pair.pearson)]
            both = ", ".join(dimension_title(name, rubric) for name in (pair.one, pair.other))
            table.add_row(safe(both), *shown, f"{pair.pairs:,}")
        parts += [table, Text()]
    if part.outliers:
        table = plain_table(("outlier", "in"), ("value", "deviations"), ("verdict",))
        for found in part.outliers[:MOST_OUTLIERS]:
            case = short(found.case, 40) + (f" (repeat {found.repeat + 1})" if found.repeat else "")
            off = signed(round(found.off, 1))
            where = safe(measure_title(found.measure, rubric))
            table.add_row(case, where, format_figure(found.value), off, verdict_text(found.verdict))
        parts.append(table)
        hidden = part.outlying - min(len(part.outliers), MOST_OUTLIERS)
        parts += [Text(f"… and {hidden:,} more", "dim"), Text()] if hidden > 0 else [Text()]
    return parts


def _totals(found: Summary) -> list[RenderableType]:
    told = [count_of(found.evaluations, "evaluation")]
    if found.cases not in (0, found.evaluations):
        told[0] += f" of {count_of(found.cases, 'case')}"
    if found.durations is not None and found.durations.high > 0:
        times = found.durations.percentiles
        shown = ", ".join(f"p{percent} {duration(value)}" for percent, value in times.items() if percent != 75)
        told.append(f"each took {shown}")
    if found.cost.input_tokens or found.cost.output_tokens or found.cost.usd:
        told.append(price(found.cost))
    if found.cost.usd and found.cases:
        told.append(f"{dollars(found.cost.usd / found.cases)} a case")
    if found.unpriced:
        told.append(f"{found.unpriced:,} without a known price")
    if found.offline:
        told.append(f"{found.offline:,} scored offline")
    if found.errors:
        told.append(
            f"{count_of(found.errors, 'rule, gate or formula', 'rules, gates or formulas')} could not be applied"
        )
    return [Text("; ".join(told))]
