"""``rubrica gateway``: OpenAI's protocol in front of two models, and what comes of it."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.gateway.deployment_settings import shown_tier
from rubrica.gateway.price_list import PASS_SHARE
from rubrica.gateway.setting_groups import BudgetSettings, GatewayCouncilSettings
from rubrica.gateway.settings import GatewaySettings, settings_from_text
from rubrica.gateway.starter import starter
from rubrica.llm.settings import Settings, load_settings
from rubrica.server.listening import listen, refuse_others, reserve
from rubrica.server.proxies import networks_of
from rubrica.server.sign_in import is_loopback
from rubrica.store.address import address
from rubrica.store.database import Database
from rubrica.store.keys import any_key
from rubrica.store.serving import sole_server
from rubrica.store.upgrade import upgrade

from . import gateway_records
from .council_options import COUNCIL, Chair
from .db import DEFAULT_DATABASE, DatabasePlace
from .gateway_quote import PassShare, echo_quote, quoted, summary_line
from .gateway_workers import ServedGateway, serve_with_workers
from .judge_options import split_list
from .options import AsJson, Force, TrustedProxy
from .output_files import atomic_text_file
from .screen import out, program, safe
from .serve import url_of

MODELS = "Models"
EXAMPLES = """[bold]Examples[/bold]
  rubrica gateway
  rubrica gateway --tier0 openai:gpt-4o-mini --tier1 openai:gpt-4o
  rubrica gateway --council openai:gpt-4o-mini,anthropic:claude-haiku-4-5,local:
  rubrica gateway init
  rubrica gateway --config gateway.yaml --port 8080
  rubrica gateway quote --config gateway.yaml
  rubrica gateway stats
  rubrica gateway tune --config gateway.yaml
  rubrica gateway gate --config gateway.yaml --points 1
  rubrica gateway prune --older-than 90d --dry-run

Point any OpenAI client at http://localhost:3000/v1. Without options tier-0
is the embedded model, answers are graded offline, and there is no model
to escalate to. Without keys the gateway serves its own machine only;
rubrica keys create --role player makes one."""

Tier0 = Annotated[
    str | None,
    typer.Option("--tier0", metavar="MODEL", help="The cheap model, asked first.", rich_help_panel=MODELS),
]
Tier1 = Annotated[
    str | None,
    typer.Option(
        "--tier1",
        metavar="MODEL",
        help="The better model, for answers of tier-0 that do not pass.",
        rich_help_panel=MODELS,
    ),
]
Graders = Annotated[
    list[str] | None,
    typer.Option(
        "--grader", metavar="MODEL", help="The model that grades; repeat it for a panel.", rich_help_panel=MODELS
    ),
]
Council = Annotated[
    str | None,
    typer.Option(
        "--council", metavar="A,B,C", help="Who answers for the model `council`, together.", rich_help_panel=COUNCIL
    ),
]
Config = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE", help="A gateway.yaml; options win over it.")
]
Host = Annotated[str, typer.Option("--host", help="Where to listen; others than this machine need keys first.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]
Workers = Annotated[
    int, typer.Option("--workers", min=1, max=64, help="Processes that share the work; as many as cores may be busy.")
]
Target = Annotated[str, typer.Argument(metavar="PATH", help="The file to write.")]

app = typer.Typer(add_completion=False, rich_markup_mode="rich", invoke_without_command=True)
app.command("stats")(gateway_records.stats)
app.command("tune")(gateway_records.tune)
app.command("gate")(gateway_records.gate)
app.command("prune")(gateway_records.prune)
app.command("labels")(gateway_records.print_labels)


@app.callback(epilog=EXAMPLES)
def gateway(
    context: typer.Context,
    tier0: Tier0 = None,
    tier1: Tier1 = None,
    grader: Graders = None,
    council: Council = None,
    chair: Chair = None,
    config: Config = None,
    host: Host = "127.0.0.1",
    port: Port = 3000,
    place: DatabasePlace = DEFAULT_DATABASE,
    trusted_proxy: TrustedProxy = None,
    workers: Workers = 1,
) -> None:
    """Answer with the cheap model when it is good enough, else with the better one.

    It ends with Ctrl+C, once the requests under way are answered. SIGHUP makes it read its file again.
    """
    if context.invoked_subcommand is not None:
        return
    chosen = {"tier0": tier0, "tier1": tier1, "grader": tuple(grader) if grader else None}
    members = {"models": tuple(split_list([council])) if council else None, "chair": chair}
    reading = partial(chosen_settings, config, _without_none(chosen), _without_none(members))
    settings = reading()
    keyed = asyncio.run(_prepared(place))
    if not keyed and not is_loopback(host):
        raise RubricaError(
            f"{host}: without keys everybody could spend your money, so only this machine can be served "
            f"({program()} keys create --role player makes the first key; or leave out --host)"
        )
    served = ServedGateway(reading, place, networks_of(trusted_proxy or ()), config is not None)
    _serve(served, settings, (host, port), workers, keyed=keyed)


@app.command()
def quote(
    config: Config = None,
    tier0: Tier0 = None,
    tier1: Tier1 = None,
    grader: Graders = None,
    pass_share: PassShare = PASS_SHARE,
    as_json: AsJson = False,
) -> None:
    """Show what requests will cost, and from which length of answer the gateway saves money."""
    chosen = {"tier0": tier0, "tier1": tier1, "grader": tuple(grader) if grader else None}
    settings = chosen_settings(config, _without_none(chosen), {})
    echo_quote(quoted(settings, load_settings(), pass_share), settings, as_json)


@app.command()
def init(path: Target = "gateway.yaml", force: Force = False) -> None:
    """Write a commented gateway.yaml with every setting."""
    with atomic_text_file(path, force=force) as file:
        file.write(starter())
    console = out()
    console.print(Text.assemble("wrote ", (safe(path), "bold"), "\n\nNext:"))
    console.print(f"  {program()} gateway --config {shlex.quote(path)}", markup=False, soft_wrap=True)


def _without_none(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def chosen_settings(config: Path | None, options: Mapping[str, Any], council: Mapping[str, Any]) -> GatewaySettings:
    """What a file says, and options over it; those about the council over what it says of that."""
    settings = GatewaySettings()
    if config is not None:
        try:
            text = config.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise RubricaError(f"{config}: not UTF-8 text at byte {error.start}") from None
        settings = settings_from_text(text, str(config))
    held = settings.council.model_copy(update=dict(council))
    if held.chair is not None and not held.models and held.config is None:
        raise RubricaError("there is a chair but no council (name its members: --council a,b,c, or `council.models`)")
    return settings.model_copy(update={**options, "council": held})


async def _prepared(place: str) -> bool:
    """Upgrade the database; whether there are keys. What is wrong with it is told before anything is served."""
    await upgrade(place)
    async with Database.open(place) as database:
        return await database.read(any_key)


def _serve(
    served: ServedGateway, settings: GatewaySettings, where: tuple[str, int], workers: int, *, keyed: bool
) -> None:
    models, (host, port) = load_settings(), where
    with sole_server(served.place, "gateway"), (listen if workers == 1 else reserve)(host, port) as listening:
        if not keyed:
            refuse_others(listening)
        url = url_of(host, listening.getsockname()[1])
        told = _banner(url, settings, models, served.place, keyed=keyed)
        if settings.tier1 is not None:
            told.add_row("saves", summary_line(quoted(settings, models)))
        if workers > 1:
            own = "rates of keys are" if settings.shares_answers else "rates of keys and kept answers are"
            why = "" if settings.shares_answers else "; records.prompts: keep shares answers"
            told.add_row("workers", f"{workers}; {own} each one's own{why}")
            serve_with_workers(served, workers, listening, partial(_announce, told, url, keyed=keyed))
        elif not served.run(listening, partial(_announce, told, url, keyed=keyed)):
            raise typer.Exit(1)  # uvicorn has told why


def _banner(url: str, settings: GatewaySettings, models: Settings, place: str, *, keyed: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "serving": f"{url}/v1 (and /api/v1), for any OpenAI client",
        "tier-0": shown_tier(settings.tier0) + (" (the embedded model)" if settings.tier0 == "local:" else ""),
        "tier-1": shown_tier(settings.tier1 or "none: what does not pass is marked as degraded (--tier1 MODEL)"),
        **({"between": "; ".join(map(shown_tier, settings.middle))} if settings.middle else {}),
        "grader": ", ".join(settings.grader) or "none: graded offline, by what can be counted (--grader MODEL)",
        "classifier": f"offline, then {settings.classifier.model}" if settings.classifier.model else "offline",
        "council": _council(settings.council),
        "budget": _budget(settings.budget),
        "database": address(place).shown,
        "keys": "required" if keyed else f"none: whoever is on this machine ({program()} keys create --role player)",
        "stop": "Ctrl+C",
    }
    if models.budget is not None:
        rows["note"] = "RUBRICA_BUDGET is for single commands; budget.usd_per_day limits a gateway"
    for name, value in rows.items():
        table.add_row(name, Text(safe(value)))
    return table


def _budget(budget: BudgetSettings) -> str:
    told = [(budget.usd_per_day, "day"), (budget.usd_per_month, "month")]
    return ", ".join(f"{usd:g} US dollars a {period}" for usd, period in told if usd is not None) or "none"


def _council(council: GatewayCouncilSettings) -> str:
    if not council.models and council.config is None:
        return "none (--council A,B,C)"
    told = [", ".join(council.models) or f"as {council.config} says", council.chair and f"chair {council.chair}"]
    return "; ".join(filter(None, told))


def _announce(table: Table, url: str, *, keyed: bool) -> None:
    console = out()
    console.print(table)
    body = json.dumps({"model": "rubrica", "messages": [{"role": "user", "content": "What is the capital of France?"}]})
    key = ' -H "Authorization: Bearer YOUR_KEY"' if keyed else ""
    console.print("\nTry:")
    command = f'curl {url}/v1/chat/completions -H "Content-Type: application/json"{key} -H "x-sleipner-debug: full"'
    console.print(f"  {command} -d '{body}'", markup=False, soft_wrap=True)
