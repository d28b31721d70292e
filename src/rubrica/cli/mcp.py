"""``rubrica mcp``: a council and rubrics as tools of an agent, over standard input and output."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from rubrica.council.settings import CouncilSettings, load_council
from rubrica.judges.jury import Jury
from rubrica.llm.settings import load_settings
from rubrica.server.council_service import CouncilService
from rubrica.server.mcp_rubrics import LocalRubrics
from rubrica.server.mcp_tools import Tools, mcp_server

from .council_options import Chair, Config, Models, TierOption, refuse_alone
from .judge_options import Judges, Offline, judge_names
from .options import MODELS
from .remote_rubrics import server_rubrics

EXAMPLES = """[bold]Examples[/bold]
  rubrica mcp
  rubrica mcp --models openai:gpt-4o-mini,anthropic:claude-haiku-4-5 --judge anthropic:claude-haiku-4-5
  rubrica mcp --config council.yaml --rubrics rubrics/
  RUBRICA_API_KEY=rk_... rubrica mcp --server https://rubrica.example

The tools are council, verdict, judge, rubrics, rubric and health. An agent starts the
command by itself; its settings hold something like
  {"mcpServers": {"rubrica": {"command": "rubrica", "args": ["mcp", "--models", "A,B,C"]}}}
with keys of providers in the environment, such as OPENAI_API_KEY."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Folder = Annotated[
    Path | None,
    typer.Option(
        "--rubrics",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="A folder of rubric files that may be named beside the bundled ones.",
    ),
]

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="RUBRICA_SERVER",
        help="A Rubrica server whose rubrics may be named, and judge there; RUBRICA_API_KEY holds the key.",
    ),
]

Spending = Annotated[
    float | None,
    typer.Option(
        "--budget",
        min=0,
        metavar="USD",
        help="What judges may cost in all while the server runs: the tool judge asks none once it is spent.",
        rich_help_panel=MODELS,
    ),
]


@app.command(epilog=EXAMPLES)
def mcp(
    models: Models = None,
    chair: Chair = None,
    tier: TierOption = None,
    config: Config = None,
    judge: Judges = None,
    offline: Offline = False,
    budget: Spending = None,
    rubrics: Folder = None,
    server: Server = None,
) -> None:
    """Offer a council and rubrics to an agent, over the Model Context Protocol.

    It speaks over standard input and output, and ends when its input does.
    """
    settings = load_council(config, options={"models": models, "chair": chair, "tier": tier})
    if settings.everybody:
        refuse_alone(settings)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(settings, judge_names(judge, offline=offline), budget, LocalRubrics(rubrics), server))


async def _serve(
    settings: CouncilSettings, judges: list[str], budget: float | None, rubrics: LocalRubrics, server: str | None
) -> None:
    council_service = CouncilService(settings.roster, settings) if settings.models else None
    models = load_settings()
    if budget is not None:
        models = models.model_copy(update={"budget": budget})
    jury = Jury(judges, models, public=True) if judges else None
    try:
        async with server_rubrics(server) as stored:
            await mcp_server(Tools(rubrics, council_service, jury, stored)).run_stdio_async()
    finally:
        if council_service is not None:
            await council_service.close()
        if jury is not None:
            await jury.close()
