"""The figures of a gateway as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rubrica.gateway.analytics import (
    Analytics,
    Comparisons,
    FeedbackFigures,
    Mean,
    RequestFigures,
    ShadowFigures,
    Share,
)
from rubrica.gateway.learned_gate.learn import LearnedGate
from rubrica.gateway.spend_report import NO_KEY, NO_TEAM, SpendLine, SpendReport
from rubrica.gateway.tuning import Proposal
from rubrica.scoring.intervals import Estimate
from rubrica.store.gateway_spend import ModelSpend

from .figures_table import FiguresTable
from .screen import safe

NOTHING = "–"
MOST_BUCKETS = 31
"""Rows of the trend that are shown, the latest."""


def print_figures(console: Console, found: Analytics) -> None:
    """Everything that there is something to say about."""
    for title, table in _tables(found).items():
        if table.row_count:
            console.print(Text(f"\n{title}", "bold"))
            console.print(table)


def print_spending(console: Console, found: SpendReport) -> None:
    """Who spent what, and on which models. What nobody has a name for is left out."""
    by: dict[str, list[tuple[str, SpendLine | ModelSpend]]] = {
        "Spending by key": [(one.name, one) for one in found.keys if one.name != NO_KEY or len(found.keys) > 1],
        "Spending by team": [(one.name, one) for one in found.teams if one.name != NO_TEAM or len(found.teams) > 1],
        "Spending by model": [(one.model, one) for one in found.models],
        "Spending by day": [(one.name, one) for one in found.days[-MOST_BUCKETS:]],
    }
    for title, lines in by.items():
        table = _table("", ">requests", ">US dollars", ">unknown")
        for name, one in lines:
            table.add_row(safe(name), f"{one.requests:,}", _usd(one.usd), f"{one.unpriced:,}")
        if table.row_count:
            console.print(Text(f"\n{title}", "bold"))
            console.print(table)


def print_proposals(console: Console, found: Sequence[Proposal]) -> None:
    """What to do about each threshold, and why."""
    table = _table("type", ">now", ">proposed", "advice", ">compared", ">to tier-1", "why")
    for one in found:
        best = one.measured if one.threshold is not None else None
        table.add_row(
            safe(one.question_type),
            NOTHING if one.current is None else f"{one.current:g}",
            NOTHING if one.threshold is None else f"{one.threshold:g}",
            one.advice,
            f"{one.samples:,}",
            NOTHING if best is None else percent(best.to_tier1),
            one.why + (f"; about {one.missing:,} more would tell" if one.missing else ""),
        )
    console.print(table)


def print_gate(console: Console, found: LearnedGate, liked: int, disliked: int) -> None:
    """What the learned gate does, what that costs, what it rests on, and what people think of what it sent."""
    table = _table("", "", head=False)
    rows = {"learned gate": found.state, "because": found.why, "compared requests": f"{found.samples:,}"}
    if found.missing:
        rows["more that would tell"] = f"about {found.missing:,}"
    if found.loss is not None:
        rows["measured loss"] = f"{100 * found.loss:.2f} points of 100"
    if found.active:
        policy = found.policy
        rows["asks tier-1 at once"] = f"below {policy.before:.0%}, by the question"
        rows["escalates"] = f"below {policy.after:.0%}, by the answer: {found.escalated:.0%} of requests with the above"
        rows["sends"] = f"from {policy.send:.0%} on: {found.sent:.0%} of requests"
        rows["grades"] = f"the rest: {found.graded:.0%}"
    costs = {"a request": found.usd, "grading all": found.grade_all_usd, "tier-1 alone": found.tier1_usd}
    rows |= {name: _cost_beside(usd, found.tier1_usd) for name, usd in costs.items() if usd is not None}
    if liked or disliked:
        rows["people liked"] = (
            f"{liked:,} of {liked + disliked:,} that it sent and somebody rated; no part of the proof"
        )
    for name, value in rows.items():
        table.add_row(name, Text(safe(value)))
    console.print(table)


def _cost_beside(usd: float, tier1: float | None) -> str:
    return f"${usd:.5f}" + (f", {usd / tier1:.2f} of tier-1 alone" if tier1 else "")


def percent(found: Estimate | None) -> str:
    """A share with the interval it lies in.

    >>> percent(Estimate(0.8, 0.6, 0.9)), percent(None)
    ('80 % (60–90)', '–')
    """
    return NOTHING if found is None else f"{found.value:.0%}".replace("%", " %") + _within(found, 100)


def _within(found: Estimate, factor: float = 1.0) -> str:
    return f" ({found.low * factor:.0f}–{found.high * factor:.0f})"


def _tables(found: Analytics) -> Mapping[str, Table]:
    days = f"{found.since:%Y-%m-%d %H:%M} to {found.until:%Y-%m-%d %H:%M} UTC"
    only = f", {found.question_type} only" if found.question_type else ""
    return {
        f"Requests, {days}{only}": _overview(found),
        "By question type": _figures("type", found.types.items()),
        f"By {found.bucket}": _figures(found.bucket, _latest(found)),
        "Cost": _costs(found),
        "Time, in milliseconds" + (" (of a sample)" if found.latency_sampled else ""): _latency(found),
        "Classification": _classification(found),
        "What people think": _opinions(found),
        "What asking tier-1 too has shown": _shadow(found.shadow),
        "Experiment": _experiment(found.experiment),
    }


def _overview(found: Analytics) -> Table:
    table, troubles = _table("", "", head=False), found.troubles
    saved = found.costs.saved_share
    rows = {
        "requests": f"{found.all.requests:,}",
        "answered by tier-0": _of(found.all.tier0),
        "passed": _of(found.all.passed),
        "cost": str(found.costs.total),
        "savings": str(found.costs.savings) + (f", {saved:.0%} of tier-1 alone" if saved is not None else ""),
        "cost per grade": _usd(found.all.evaluation.mean),
        **_gate_rows(found),
        "from the cache": _of(troubles.cached),
        "degraded": _of(troubles.degraded),
        "errors": _of(troubles.errors),
        "refused": _of(troubles.refused),
        "tier-0 down": _of(troubles.tier0_down),
        "grading failed": _of(troubles.grading),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _gate_rows(found: Analytics) -> dict[str, str]:
    gate = found.learned_gate
    if not gate.sent.count and not gate.escalated.count:
        return {}
    return {"sent without a grade": _of(gate.sent), "escalated without a grade": _of(gate.escalated)}


def _figures(name: str, found: Iterable[tuple[str, RequestFigures]]) -> Table:
    table = _table(name, ">requests", ">passed", ">score", ">confidence", ">variance", ">a grade")
    for own, one in found:
        table.add_row(
            safe(own),
            f"{one.requests:,}",
            percent(one.passed.share),
            _mean(one.score, 1),
            _mean(one.confidence, 2),
            _mean(one.variance, 1),
            _usd(one.evaluation.mean),
        )
    return table


def _latest(found: Analytics) -> list[tuple[str, RequestFigures]]:
    length = {"day": 10, "hour": 13, "minute": 16}[found.bucket]
    return [(at[:length].replace("T", " "), one) for at, one in found.trend.items()][-MOST_BUCKETS:]


def _costs(found: Analytics) -> Table:
    table, costs = _table("", ">US dollars", ">a request", ">of requests", ">unknown"), found.costs
    parts = {"tier-0": costs.tier0, "tier-1": costs.tier1, "classification": costs.classification}
    for name, money in {**parts, "grading": costs.grading, "total": costs.total, "savings": costs.savings}.items():
        table.add_row(name, _usd(money.usd), _usd(money.mean), f"{money.of:,}", f"{money.unknown:,}")
    return table


def _latency(found: Analytics) -> Table:
    table = _table("", ">half within", ">95 % within", ">99 % within", ">of requests")
    for part, times in found.latency.items():
        table.add_row(
            part.replace("_", " "), *(f"{ms:,.0f}" for ms in (times.p50, times.p95, times.p99)), f"{times.of:,}"
        )
    return table


def _classification(found: Analytics) -> Table:
    table, mix = _table("type", ">requests", ">share", head=True), found.classification
    total = sum(mix.types.values())
    for name, count in sorted(mix.types.items(), key=lambda item: -item[1]):
        table.add_row(safe(name), f"{count:,}", f"{count / total:.0%}")
    if mix.types:
        by = ", ".join(f"{name} {count:,}" for name, count in mix.sources.items())
        table.add_section()
        table.add_row(f"by {by}", "", "")
    if mix.right.of:
        table.add_section()
        table.add_row("right, of those that people named", f"{mix.right.of:,}", percent(mix.right.share))
        for name, count in mix.mistaken.items():
            table.add_row(f"taken: {safe(name)}", f"{count:,}", "")
    return table


def _opinions(found: Analytics) -> Table:
    table, opinions = _table("answers that", ">opinions", ">rating, 1 to 5", ">liked"), found.opinions
    kinds: dict[str, FeedbackFigures] = {
        "passed": opinions.passed,
        "tier-1 gave instead": opinions.escalated,
        "failed, and were given": opinions.failed,
        "were not graded": opinions.ungraded,
    }
    for name, one in kinds.items():
        if one.opinions:
            table.add_row(name, f"{one.opinions:,}", _mean(one.rating, 2), percent(one.liked.share))
    if opinions.agreement.of:
        table.add_row("grades and people agree", f"{opinions.agreement.of:,}", "", percent(opinions.agreement.share))
    return table


def _shadow(found: Sequence[ShadowFigures]) -> Table:
    table = _table(
        "type", ">compared", ">points lost by passing", ">clearly worse", ">points won by escalating", ">cost"
    )
    for one in found:
        cells = (_points(one.passed_loss), percent(one.passed_worse.share), _points(one.escalated_gain))
        table.add_row(safe(one.question_type), f"{one.compared:,}", *cells, _usd(one.cost.usd))
    return table


def _experiment(found: Comparisons | None) -> Table:
    table = _table("arm", ">requests", ">conversations", ">passed", ">score", ">US dollars a request", ">rating")
    for one in found.arms if found is not None else ():
        figures = (percent(one.passed), _points(one.score), _small(one.total_usd), _points(one.rating))
        table.add_row(safe(one.variant), f"{one.requests:,}", f"{one.conversations:,}", *figures)
    for own in found.contrasts if found is not None else ():
        figures = (percent(own.passed), _points(own.score), _small(own.total_usd), _points(own.rating))
        table.add_row(f"{safe(own.variant)} − a", "", "", *figures)
    return table


def _table(*columns: str, head: bool = True) -> Table:
    """A plain table; a column whose name begins with > holds numbers."""
    table = FiguresTable(show_header=head)
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left")
    return table


def _of(share: Share) -> str:
    return f"{percent(share.share)}: {share.count:,} of {share.of:,}" if share.of else NOTHING


def _mean(mean: Mean, digits: int) -> str:
    return NOTHING if mean.value is None else f"{mean.value:.{digits}f}"


def _usd(usd: float | None) -> str:
    return NOTHING if usd is None else f"${usd:.4f}" if usd >= 0 else f"-${-usd:.4f}"


def _points(found: Estimate | None) -> str:
    return NOTHING if found is None else f"{found.value:.1f} ({found.low:.1f} to {found.high:.1f})"


def _small(found: Estimate | None) -> str:
    return NOTHING if found is None else f"{found.value:.5f} ({found.low:.5f} to {found.high:.5f})"
