"""``rubrica council``: put a question to several models that review each other, and audit how they do it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

from rubrica.council.audit import audit as audited
from rubrica.council.events import Event
from rubrica.council.quote import quote_stages
from rubrica.council.result import CouncilResult
from rubrica.council.saved import SavedCouncil, read_councils
from rubrica.council.session import run
from rubrica.council.settings import CouncilSettings, load_council
from rubrica.engine.cases import BadLine
from rubrica.errors import RubricaError
from rubrica.runs.files.append_only import AppendOnlyFile
from rubrica.runs.files.case_source import lines_of

from .broken_lines import BrokenLines
from .council_arrived import show_arrived
from .council_audit_tables import audit_page
from .council_learn import learn
from .council_options import (
    HOW,
    Chair,
    Config,
    Deadline,
    Debate,
    DryRun,
    FinalTokens,
    MaxTokens,
    Models,
    ReviewTokens,
    Seed,
    TierOption,
    WeightsFile,
    read_reviewer_weights,
    refuse_alone,
)
from .council_quote import connected, show_quote
from .council_tables import progress, session_page
from .council_verdict import verdict
from .judge_options import interrupted
from .options import AsJson
from .screen import echo_json, note, out
from .sources import text_of

EXAMPLES = """[bold]Examples[/bold]
  rubrica council ask 'Why is the sky blue?' --models openai:gpt-4o-mini,anthropic:claude-haiku-4-5,local:
  rubrica council ask @question.md --config council.yaml --json
  rubrica council ask 'Why?' --models a,b,c --both --save councils.jsonl
  rubrica council ask @question.md --config council.yaml --dry-run
  rubrica council verdict 'Is this change safe to release?' --models a,b,c
  rubrica council audit councils.jsonl
  rubrica council learn councils.jsonl --preferred preferred.jsonl --out weights.json

Every model answers; each reviews the others' answers without their names, by
the rubric council-review; the chair writes the final answer from the ranked
ones. LLM_COUNCIL_WEIGHT_ACCURACY and its like, LLM_COUNCIL_SAFETY_GATE and
LLM_COUNCIL_SAFETY_SCORE_CAP are read too; options win over them."""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Put a question to several models that review each other.",
    epilog=EXAMPLES,
)

Question = Annotated[
    str, typer.Argument(metavar="QUESTION", help="What is asked; @file reads a file, - standard input.")
]
RubricName = Annotated[
    str | None,
    typer.Option("--rubric", "-r", metavar="NAME|FILE", help="What members review by.", rich_help_panel=HOW),
]
PoolOption = Annotated[
    Literal["mean", "borda", "z"] | None,
    typer.Option("--pool", help="How reviewers' scores become one ranking.", rich_help_panel=HOW),
]
Holistic = Annotated[
    bool, typer.Option("--holistic", help="One score for the whole instead of the rubric.", rich_help_panel=HOW)
]
Both = Annotated[
    bool, typer.Option("--both", help="The rubric, and one score for the whole beside it.", rich_help_panel=HOW)
]
SelfReviews = Annotated[
    bool, typer.Option("--self-reviews", help="Let members review their own answers too.", rich_help_panel=HOW)
]
Safety = Annotated[
    bool | None,
    typer.Option(
        "--safety-gate/--no-safety-gate", help="Cap the score of answers with unsafe statements.", rich_help_panel=HOW
    ),
]
Early = Annotated[
    bool | None,
    typer.Option(
        "--early/--no-early",
        help="Stop asking reviewers once none can change the winner; left out: at tier quick.",
        rich_help_panel=HOW,
    ),
]
Save = Annotated[
    Path | None, typer.Option("--save", metavar="RUNS.jsonl", help="Add the session to a file, for `council audit`.")
]
Saved = Annotated[
    str, typer.Argument(metavar="RUNS.jsonl", help="What `council ask --save` wrote; - reads standard input.")
]


@app.command()
def ask(
    question: Question,
    models: Models = None,
    chair: Chair = None,
    config: Config = None,
    rubric: RubricName = None,
    tier: TierOption = None,
    deadline: Deadline = None,
    max_tokens: MaxTokens = None,
    review_tokens: ReviewTokens = None,
    final_tokens: FinalTokens = None,
    debate: Debate = None,
    early: Early = None,
    pool: PoolOption = None,
    holistic: Holistic = False,
    both: Both = False,
    self_reviews: SelfReviews = False,
    safety_gate: Safety = None,
    reviewer_weights: WeightsFile = None,
    seed: Seed = None,
    save: Save = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Put a question to a council of models.

    The exit code is 1 where something is missing: a quorum, reviews, the chair's answer or the end of it. What arrived
    is printed and saved all the same.
    """
    if holistic and both:
        raise typer.BadParameter("--holistic and --both exclude each other")
    options = {
        "models": models,
        "chair": chair,
        "rubric": rubric,
        "tier": tier,
        "deadline": deadline,
        "max_tokens": max_tokens,
        "review_tokens": review_tokens,
        "final_tokens": final_tokens,
        "debate": debate,
        "early": early,
        "pool": pool,
        "scoring": "holistic" if holistic else "both" if both else None,
        "exclude_self": False if self_reviews else None,
        "safety_gate": safety_gate,
        "reviewer_weights": read_reviewer_weights(reviewer_weights),
        "seed": seed,
    }
    settings = load_council(config, options=options)
    refuse_alone(settings)
    asked = text_of(question, "QUESTION")
    if dry_run:
        show_quote(quote_stages, settings, asked, as_json=as_json)
        return
    with AppendOnlyFile(save) if save is not None else nullcontext() as lines:  # before anything is spent
        events: list[Event] = []
        try:
            result = asyncio.run(_session(asked, settings, events, quiet=as_json))
        except KeyboardInterrupt:
            told = show_arrived(asked, events, as_json=as_json)
            unsaved = "" if save is None else f"; {save} is as it was, since a session is added when it is over"
            raise interrupted(f"{told}{unsaved}") from None
        if lines is not None:
            lines.write(result.to_json().encode())
    if as_json:
        echo_json(result.to_dict())
    else:
        out().print(session_page(result))
        if save is not None:
            note(f"added to {save}", "dim")
    if not result.complete:
        raise typer.Exit(1)


@app.command()
def audit(runs: Saved, as_json: AsJson = False) -> None:
    """Show how far reviewers agree, how stable rankings are, and what reviewers favour."""
    complaints = BrokenLines()
    with lines_of(runs) as lines:
        sessions = list(_read(lines, complaints))
    if not sessions:
        place, file = ("standard input", "RUNS.jsonl") if runs == "-" else (runs, runs)
        raise RubricaError(f"{place} holds no session (`rubrica council ask … --save {file}` adds one)")
    found = audited(sessions)
    if as_json:
        echo_json(found.to_dict())
    else:
        out().print(audit_page(found))
    if complaints.count:
        raise typer.Exit(1)


app.command()(verdict)
app.command()(learn)


async def _session(question: str, settings: CouncilSettings, events: list[Event], *, quiet: bool) -> CouncilResult:
    """A session; its events are added to `events` as they come."""
    with progress(quiet=quiet) as listener:

        def listen(event: Event) -> None:
            events.append(event)
            listener(event)

        async with connected(settings) as members:
            return await run(question, settings, members, on_event=listen)


def _read(lines: Iterable[bytes], complaints: BrokenLines) -> Iterator[SavedCouncil]:
    for found in read_councils(lines):
        if isinstance(found, BadLine):
            complaints(found)
        else:
            yield found
