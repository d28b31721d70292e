"""``rubrica council verdict``: a question decided by yes or no, for checks in CI."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from rubrica.council.events import Event
from rubrica.council.quote import quote_verdict
from rubrica.council.settings import CouncilSettings, load_council
from rubrica.council.verdict_mode import VerdictResult, reach_verdict
from rubrica.report.figures import count_of, dollars, duration, figure

from .council_arrived import show_arrived
from .council_options import (
    HOW,
    Config,
    Deadline,
    Debate,
    DryRun,
    MaxTokens,
    Models,
    Seed,
    TierOption,
    WeightsFile,
    read_reviewer_weights,
    refuse_alone,
)
from .council_quote import connected, show_quote
from .council_tables import progress
from .figures_table import figures_table
from .judge_options import VERDICT_FAILED, interrupted
from .options import AsJson
from .screen import echo_json, out, safe
from .sources import text_of

Question = Annotated[
    str, typer.Argument(metavar="QUESTION", help="What is decided; @file reads a file, - standard input.")
]
Majority = Annotated[
    float,
    typer.Option(
        "--majority", min=0.5, max=1, metavar="SHARE", help="Of the votes, what a verdict needs.", rich_help_panel=HOW
    ),
]
STYLES = {"yes": "bold green", "no": "bold red", "undecided": "bold yellow"}


def verdict(
    question: Question,
    models: Models = None,
    config: Config = None,
    tier: TierOption = None,
    deadline: Deadline = None,
    max_tokens: MaxTokens = None,
    debate: Debate = None,
    majority: Majority = 0.5,
    reviewer_weights: WeightsFile = None,
    seed: Seed = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a council decide a question by yes or no.

    The exit code is 0 for yes, 100 for no, and 1 where it is undecided: a tie, too few votes, or less than the
    majority that is asked for.
    """
    options = {
        "models": models,
        "tier": tier,
        "deadline": deadline,
        "max_tokens": max_tokens,
        "debate": debate,
        "reviewer_weights": read_reviewer_weights(reviewer_weights),
        "seed": seed,
    }
    settings = load_council(config, options=options)
    refuse_alone(settings)
    asked = text_of(question, "QUESTION")
    if dry_run:
        show_quote(quote_verdict, settings, asked, as_json=as_json)
        return
    events: list[Event] = []
    try:
        result = asyncio.run(_vote(asked, settings, majority, events, quiet=as_json))
    except KeyboardInterrupt:
        told = show_arrived(asked, events, as_json=as_json, what="vote")
        raise interrupted(f"nothing was decided; {told}") from None
    if as_json:
        echo_json(result.to_dict())
    else:
        out().print(verdict_page(result))
    if result.verdict != "yes":
        raise typer.Exit(VERDICT_FAILED if result.verdict == "no" else 1)


async def _vote(
    question: str, settings: CouncilSettings, majority: float, events: list[Event], *, quiet: bool
) -> VerdictResult:
    with progress(quiet=quiet) as listener:

        def listen(event: Event) -> None:
            events.append(event)
            listener(event)

        async with connected(settings) as members:
            return await reach_verdict(question, settings, members, majority=majority, on_event=listen)


def verdict_page(result: VerdictResult) -> RenderableType:
    """The verdict, who voted how, and what speaks against it."""
    parts: list[RenderableType] = [Text(_headline(result), STYLES[result.verdict]), Text()]
    table = figures_table(("vote", "model"), ("sure", "counts"))
    for one in sorted(result.votes, key=lambda vote: (vote.vote != result.verdict, -vote.confidence)):
        changed = f"{one.vote} (was {one.changed_from})" if one.changed_from is not None else one.vote
        table.add_row(changed, Text(safe(one.model)), f"{one.confidence:.0%}", figure(round(one.weight, 2)))
    parts += [table, Text()] if result.votes else []
    title = "Votes, and why" if result.verdict == "undecided" else "Dissent"
    if result.dissent:
        parts += [Text(title, "bold"), *(Text(safe(f"  {one.vote}: {one.reason}")) for one in result.dissent), Text()]
    parts += [Text(safe(f"refused: {one.model}: {one.text[:200]}"), "yellow") for one in result.refusals]
    refused = {one.model for one in result.refusals}
    parts += [
        Text(safe(f"dropped: {one.model}: {one.reason}"), "yellow")
        for one in result.dropped
        if one.model not in refused
    ]
    cost = result.cost
    spent = (
        "" if cost is None else f"; {dollars(cost.usd)}, {cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
    )
    parts.append(Text(f"{duration(result.seconds * 1000)}{spent}", "dim"))
    return Group(*parts)


def _headline(result: VerdictResult) -> str:
    counts = {choice: sum(one.vote == choice for one in result.votes) for choice in ("yes", "no", "unclear")}
    told = ", ".join(f"{count} {choice}" for choice, count in counts.items() if count) or count_of(0, "vote")
    if result.verdict == "undecided":
        return f"undecided: {told}; {result.why}"
    return f"{result.verdict}: {told}; {result.agreement:.0%} agree, confidence {result.confidence:.0%}"
