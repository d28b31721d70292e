"""The options of ``rubrica companion``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from rubrica.companion.material import TrialTerms
from rubrica.companion.scenarios import Scenario
from rubrica.judges.jury import REPEAT_TEMPERATURE
from rubrica.runs.request import JudgeSettings

from .options import HOW, MODELS, WHAT, WHERE
from .sources import rubric_of

Prompt = Annotated[
    str,
    typer.Option(
        "--prompt",
        help="The system prompt: a file, the text itself, or langfuse:NAME, langfuse:NAME@LABEL, langfuse:NAME#3.",
        rich_help_panel=WHAT,
    ),
]
Prompts = Annotated[
    list[str],
    typer.Argument(metavar="PROMPT...", help="System prompts, the one as it is first: files, texts, langfuse:NAME."),
]
SpeakingModel = Annotated[
    str,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="The model that speaks under the prompt.", rich_help_panel=WHAT
    ),
]
SpeakingModels = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="The model that speaks under the prompts; repeat it for several.",
        rich_help_panel=WHAT,
    ),
]
Scenarios = Annotated[
    list[str] | None,
    typer.Option(
        "--scenarios",
        "-s",
        metavar="GROUP|FILE.yaml",
        help="Groups to use, or a suite of your own; may be repeated. All bundled ones where left out.",
        rich_help_panel=WHAT,
    ),
]
Repeat = Annotated[
    int,
    typer.Option(
        "--repeat",
        min=1,
        max=100,
        help="Hold each conversation this many times; results then have intervals.",
        rich_help_panel=WHAT,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        min=0,
        max=2,
        help="Of the candidate; left out, 0, or 0.7 with --repeat.",
        rich_help_panel=WHAT,
    ),
]
RubricName = Annotated[
    str,
    typer.Option("--rubric", "-r", metavar="NAME|FILE", help="What replies are judged by.", rich_help_panel=HOW),
]
Holistic = Annotated[
    bool,
    typer.Option(
        "--overall", help="Ask the judge for one score per reply instead of one per dimension.", rich_help_panel=HOW
    ),
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge",
        "-J",
        metavar="MODEL",
        help="A model that scores the six dimensions; without it, rules alone.",
        rich_help_panel=MODELS,
    ),
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", min=1, max=200, help="Conversations under way at once.", rich_help_panel=MODELS),
]
MostFailures = Annotated[
    int,
    typer.Option(
        "--max-failures",
        min=0,
        help="Stop after this many in a row that no model answers; 0: never.",
        rich_help_panel=MODELS,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR|REPORT.html",
        help="The run's folder; or a page, with the folder REPORT.html.trial beside it.",
        rich_help_panel=WHERE,
    ),
]
Save = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="OUT.jsonl",
        help="Store every evaluation that counts, one per line.",
        rich_help_panel=WHERE,
    ),
]
Sent = Annotated[
    str | None,
    typer.Option(
        "--langfuse",
        metavar="DATASET",
        help="Send the trial to Langfuse as a run of this dataset, with a score per dimension (LANGFUSE_… variables).",
        rich_help_panel=WHERE,
    ),
]
RunName = Annotated[
    str | None, typer.Option("--run-name", help="The name of the run in Langfuse.", rich_help_panel=WHERE)
]


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """What options say of every trial of a command."""

    scenarios: Sequence[Scenario]
    rubric: str
    judge: str | None
    overall: bool
    repeat: int
    temperature: float | None

    def terms(self, name: str, system: str, model: str) -> TrialTerms:
        usual = REPEAT_TEMPERATURE if self.repeat > 1 else 0.0
        temperature = usual if self.temperature is None else self.temperature
        rubric = rubric_of(self.rubric)
        return TrialTerms(name, system, model, self.scenarios, rubric, self.overall, temperature, self.repeat)

    def judging(self, jobs: int, *, cached: bool) -> JudgeSettings:
        return JudgeSettings((self.judge,) if self.judge is not None else (), jobs=jobs, cached=cached)
