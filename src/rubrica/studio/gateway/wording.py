"""The gateway's figures in words and tables, escaped, with unknown values named as such."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from rubrica.gateway.analytics import Analytics, Mean, Money, RequestFigures, Share
from rubrica.gateway.dashboard import GatewayFigures
from rubrica.gateway.spend_report import SpendLine, SpendReport
from rubrica.report.excerpt import visible
from rubrica.report.figures import count_of, dollars, duration, figure
from rubrica.report.roles import Role
from rubrica.store.gateway import GONE
from rubrica.store.gateway_recent import RequestSummary
from rubrica.store.gateway_spend import ModelSpend
from rubrica.studio.html_tables import NUMBER, Cell, badge, link, muted, table

from .charts import Series, Times, bars, lines, share

NOTHING = "—"
TYPES = [("Question type", ""), ("Requests", NUMBER), ("Passed", "share-cell"), ("By tier-0", "share-cell")]
MEANS = [("Score", NUMBER), ("Confidence", NUMBER), ("Variance", NUMBER), ("Cost", NUMBER), ("Saved", NUMBER)]
SPENT = [("Requests", NUMBER), ("Cost", NUMBER), ("Price unknown", NUMBER)]
MOST_LINES = 20
RECENT = [("When (UTC)", "date"), ("Type", ""), ("Way", ""), ("Grade", ""), ("Cost", NUMBER), ("Took", NUMBER)]


def gauges(found: Analytics, now: datetime) -> Markup:
    """The figures of all requests, large."""
    whole, total = found.all, found.latency.get("total")
    saved = found.costs.saved_share
    against = "against tier-1 alone" if saved is None else f"{saved:.0%} of tier-1 alone"
    waited = f"95% within {duration(total.p95)}" if total else ""
    pieces = [
        ("Requests", f"{whole.requests:,}", f"until {now.astimezone(UTC):%H:%M} UTC"),
        ("Passed", _share(whole.passed), f"of {whole.passed.of:,} graded"),
        ("By tier-0", _share(whole.tier0), f"of {whole.tier0.of:,} answered"),
        ("Cost", money(whole.cost.usd), _unknown(whole.cost)),
        ("Saved", money(whole.savings.usd), against),
        ("Typical wait", duration(total.p50) if total else NOTHING, waited),
    ]
    inside = Markup("").join(
        Markup("<div><dt>{}</dt><dd><b>{}</b><span>{}</span></dd></div>").format(*piece) for piece in pieces
    )
    return Markup('<dl class="gauges">{}</dl>').format(inside)


def by_type(found: Analytics) -> Markup:
    """A line for each question type, the most asked first."""
    ordered = sorted(found.types.items(), key=lambda item: (-item[1].requests, item[0]))
    return table([*TYPES, *MEANS], [_type(name, figures) for name, figures in ordered], "By question type")


def _type(name: str, figures: RequestFigures) -> list[Cell]:
    return [
        name,
        f"{figures.requests:,}",
        share(figures.passed.share),
        share(figures.tier0.share),
        _mean(figures.score, 1),
        _mean(figures.confidence, 2),
        _mean(figures.variance, 1),
        money(figures.cost.usd),
        money(figures.savings.usd),
    ]


def charts(found: GatewayFigures) -> Markup:
    """Everything over time."""
    times, over = Times(found.times, found.bucket), found.over_time
    passed = Series("passed", over(lambda own: own.passed.share.value if own.passed.share else None))
    tier0 = Series("tier-0", over(lambda own: own.tier0.share.value if own.tier0.share else None))
    requests = Series("", over(lambda own: float(own.requests)))
    cost, saved = Series("cost", over(lambda own: own.cost.usd)), Series("saved", over(lambda own: own.savings.usd))
    half = Series("half within", found.waited(lambda own: own.p50))
    most = Series("95% within", found.waited(lambda own: own.p95))
    confidence = Series("", over(lambda own: own.confidence.value))
    variance = Series("", over(lambda own: own.variance.value))
    drawn = [
        lines("Passed, and by tier-0", times, [passed, tier0], _percent, top=1.0),
        bars("Requests", times, requests, lambda value: f"{value:,.0f}"),
        lines("Cost and savings", times, [cost, saved], _amount),
        lines("Wait", times, [half, most], _wait),
        lines("Confidence of grades", times, [confidence], lambda value: f"{value:.2f}", top=1.0),
        lines("Variance of dimensions", times, [variance], lambda value: figure(round(value, 1))),
    ]
    return Markup('<div class="courses">{}</div>').format(Markup("").join(drawn))


def mix(found: Analytics) -> list[tuple[str, Role, int]]:
    """Who answered: the cheap tier, the better one, nobody."""
    tier0, answered = found.all.tier0.count, found.all.tier0.of
    pieces: list[tuple[str, Role, int]] = [
        ("tier-0", "good", tier0),
        ("tier-1 or council", "middle", answered - tier0),
        ("no answer", "bad", found.all.requests - answered),
    ]
    return [piece for piece in pieces if piece[2]]


def troubles(found: Analytics) -> Markup:
    """What did not go as it should, and how much came from the cache."""
    own = found.troubles
    pieces = [
        ("answered from the cache", own.cached.count),
        ("streamed", own.streams.count),
        ("not as wanted, for something was down", own.degraded.count),
        ("tier-0 down", own.tier0_down.count),
        ("grading failed", own.grading.count),
        ("refused", own.refused.count),
        ("client did not wait", own.gone.count),
        ("errors", own.errors.count),
    ]
    items = Markup("").join(
        Markup('<li><span>{}</span><span class="quiet">{}</span></li>').format(name, f"{count:,}")
        for name, count in pieces
        if count
    )
    return Markup('<ul class="most">{}</ul>').format(items) if items else Markup("")


def spending(found: SpendReport) -> Markup:
    """Who spent what: teams, keys and models, the dearest of each first."""
    parts: list[tuple[str, Sequence[tuple[str, SpendLine | ModelSpend]]]] = [
        ("Model", [(one.model, one) for one in found.models]),
        ("Team", [(one.name, one) for one in found.teams]),
        ("Key", [(one.name, one) for one in found.keys]),
        ("Day", [(one.name, one) for one in reversed(found.days)]),
    ]
    drawn = [
        table(
            [(title, ""), *SPENT], [_spent_cells(name, one) for name, one in lines[:MOST_LINES]], f"Spending by {title}"
        )
        for title, lines in parts
        if lines
    ]
    return Markup("").join(drawn)


def _spent_cells(name: str, own: SpendLine | ModelSpend) -> list[Cell]:
    return [visible(name), f"{own.requests:,}", money(own.usd), f"{own.unpriced:,}" if own.unpriced else muted(NOTHING)]


def recently(found: Sequence[RequestSummary]) -> Markup:
    """The last requests, a line each."""
    return table(RECENT, [_request_cells(own) for own in found], "Requests")


def _request_cells(own: RequestSummary) -> list[Cell]:
    way = Markup("no answer") if own.tier is None else Markup("{}").format(own.tier)
    if own.model and own.tier is not None:
        way += Markup(' <span class="quiet">{}</span>').format(visible(own.model))
    for note in (f"{own.cached} cache" if own.cached else "", own.degraded, status_said(own.status)):
        way += Markup(' <span class="chip">{}</span>').format(note) if note else Markup("")
    return [
        link(f"{own.at.astimezone(UTC):%d %b %H:%M:%S}", f"/gateway/{own.trace}"),
        own.question_type or muted(NOTHING),
        _one_line(way),
        grade(own.passed, own.score, own.threshold),
        money(own.total_usd),
        duration(own.total_ms),
    ]


def grade(passed: bool | None, score: float | None, threshold: float | None) -> Cell:
    """What an answer was worth, beside what it needed."""
    if passed is None:
        return muted("not graded")
    shown = "" if score is None else f" {figure(round(score, 1))}"
    needed = muted(f" needs {figure(threshold)}") if threshold is not None else Markup("")
    return _one_line(badge(("passed" if passed else "failed") + shown, "good" if passed else "bad") + needed)


def status_said(status: int) -> str:
    """A status that says something went wrong, in words.

    >>> status_said(200), status_said(429), status_said(499)
    ('', 'refused (429)', 'client did not wait')
    """
    if status == GONE:
        return "client did not wait"
    return "" if status < 400 else f"{'refused' if status < 500 else 'error'} ({status})"


def money(usd: float | None) -> str:
    """
    >>> money(0.0123), money(-0.5), money(None), money(0.0)
    ('$0.0123', '−$0.500', '—', '$0.00')
    """
    if usd is None:
        return NOTHING
    return f"−{dollars(-usd)}" if usd < 0 else dollars(usd)


def _one_line(pieces: Markup) -> Markup:
    """Pieces of a cell that stay in one line where there is room."""
    return Markup("<span>{}</span>").format(pieces)


def _amount(usd: float) -> str:
    """An amount beside others, to two digits that count.

    >>> _amount(0.5), _amount(0.0125), _amount(-4), _amount(0.0)
    ('$0.5', '$0.013', '−$4', '$0')
    """
    text = f"{abs(usd):,.0f}" if abs(usd) >= 10 else f"{float(f'{abs(usd):.2g}'):f}".rstrip("0").rstrip(".")
    return f"{'−' if usd < 0 else ''}${text}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0%}"


def _share(own: Share) -> str:
    return _percent(own.share.value if own.share is not None else None)


def _mean(found: Mean, digits: int) -> str:
    return NOTHING if found.value is None else f"{found.value:.{digits}f}"


def _wait(milliseconds: float) -> str:
    return "0" if not milliseconds else duration(milliseconds)


def _unknown(own: Money) -> str:
    return f"unknown for {count_of(own.unknown, 'request')}" if own.unknown else "of all requests"
