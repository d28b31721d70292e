"""What a council can cost, told before anybody is asked, and the connection of its members."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import msgspec
from rich.text import Text

from rubrica.council.members import Members, open_members
from rubrica.council.quote import StageQuoting, total_quote
from rubrica.council.settings import CouncilSettings
from rubrica.llm.budget import load_price
from rubrica.llm.settings import load_settings
from rubrica.llm.token_bounds import most_tokens
from rubrica.report.figures import dollars

from .figures_table import figures_table
from .screen import echo_json, out


def connected(settings: CouncilSettings) -> AbstractAsyncContextManager[Members]:
    """The members of a council. With a seed, replies are kept, and found again by the same seed and question."""
    return open_members(
        settings.everybody,
        load_settings(),
        seconds=settings.seconds,
        access=settings.access,
        cache=settings.seed is not None,
    )


def show_quote(quoting: StageQuoting, settings: CouncilSettings, question: str, *, as_json: bool) -> None:
    """Print the most that a session can take, by stage. Nobody is asked."""
    specs = [settings.spec_of(name) for name in settings.everybody]
    stages = quoting(settings, specs, most_tokens(question), load_price("a council"))
    total = total_quote(stages)
    if as_json:
        plain = [msgspec.to_builtins(stage) for stage in stages]
        echo_json({"stages": plain, "calls": total.calls, "usd": total.usd, "bound": "at most"})
        return
    table = figures_table(("stage",), ("calls", "tokens in", "tokens out", "at most"))
    for stage in stages:
        cells = (f"{stage.calls}", f"{stage.input_tokens:,}", f"{stage.output_tokens:,}", _usd(stage.usd))
        table.add_row(stage.stage, *cells)
    sums = (sum(stage.input_tokens for stage in stages), sum(stage.output_tokens for stage in stages))
    table.add_row("all", f"{total.calls}", f"{sums[0]:,}", f"{sums[1]:,}", _usd(total.usd))
    out().print(table)
    out().print(Text("Nobody was asked. Replies are seldom as long as they may be.", "dim"))


def _usd(usd: float | None) -> str:
    return "not known" if usd is None else dollars(usd)
