"""``rubrica gateway quote``: what requests will cost, before the first one is sent."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from rubrica.gateway.deployment_settings import shown_tier
from rubrica.gateway.price_list import PASS_SHARE, PriceList, RequestPrice, price_list
from rubrica.gateway.settings import GatewaySettings
from rubrica.llm.settings import Settings
from rubrica.report.figures import count_of

from .figures_table import FiguresTable
from .options import AsJson
from .screen import echo_json, out, program, safe

NOT_KNOWN = "not known"
PassShare = Annotated[
    float,
    typer.Option(
        "--pass-share", min=0.0, max=1.0, help="Share of answers that pass; `rubrica gateway stats` shows it."
    ),
]


def print_quote(found: PriceList, settings: GatewaySettings) -> Group:
    """The prices as a table, and what follows from them."""
    table = FiguresTable()
    for name in ("answer", "passed", "escalated", "tier-1 alone", "must pass", "saved on 1,000"):
        table.add_column(name, justify="right", no_wrap=True)
    for request in found.requests:
        table.add_row(*_row(request, found.pass_share))
    asked = f"{count_of(found.calls, 'judge call')} an answer" if found.mode else "graded offline, at no cost"
    tiers = f"tier-0 {shown_tier(settings.tier0)}, tier-1 {shown_tier(settings.tier1 or 'none')}"
    about = f"{tiers}; {asked}; {found.pass_share:.0%} taken to pass"
    return Group(Text(safe(about), "dim"), table, summary_line(found))


def summary_line(found: PriceList) -> Text:
    """Whether it pays, in a line."""
    if any(request.saving(1.0) is None for request in found.requests):
        return Text("what it saves is not known: a model has no known price (set `prices` in gateway.yaml)", "yellow")
    if found.pays_from is None:
        way = f" ({safe(found.advice)})" if found.advice else ""
        return Text(f"this gateway costs more than tier-1 alone at every length of answer{way}", "bold red")
    if found.pays_from == found.requests[0].tokens:
        return Text("it saves at every length of answer", "green")
    return Text(
        f"it saves from answers of about {found.pays_from:,} tokens on; shorter ones cost more than by tier-1 alone",
        "yellow",
    )


def quoted(settings: GatewaySettings, models: Settings, share: float = PASS_SHARE) -> PriceList:
    return asyncio.run(price_list(settings, models, share))


def echo_quote(found: PriceList, settings: GatewaySettings, as_json: AsJson) -> None:
    if as_json:
        lines = [
            {**asdict(request), "break_even": request.break_even, "saving": request.saving(found.pass_share)}
            for request in found.requests
        ]
        echo_json({**asdict(found), "requests": lines, "pays_from": found.pays_from})
        return
    out().print(print_quote(found, settings))
    told = f"{program()} gateway stats tells the real share that passes, and what was really saved."
    out().print(Text(f"\n{told}"), soft_wrap=True)


def _row(request: RequestPrice, share: float) -> tuple[str, ...]:
    even = request.break_even
    must = NOT_KNOWN if even is None else "more than all" if even > 1 else f"{even:.0%}"
    saved = request.saving(share)
    return (
        f"{request.tokens:,} tokens",
        _usd(request.passed),
        _usd(request.escalated),
        _usd(request.tier1),
        must,
        NOT_KNOWN if saved is None else f"{'−' if saved < 0 else ''}${abs(1_000 * saved):,.2f}",
    )


def _usd(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"${value:.5f}"
