"""Setting up ``rubrica companion``: where system prompts come from, and resuming trials."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from rubrica.companion.candidate import Candidate, digest
from rubrica.companion.journal import Journal, open_journal, remove_journal
from rubrica.companion.judgement import ReplyJudges
from rubrica.companion.scenarios import Scenario
from rubrica.companion.trial import Trial, hold_trial
from rubrica.errors import RubricaError
from rubrica.judges.judge import ModelJudge
from rubrica.judges.jury import Jury
from rubrica.llm.budget import Budget
from rubrica.llm.connect import check_keys, connect
from rubrica.llm.price import price
from rubrica.llm.settings import load_settings
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of
from rubrica.runs.files.folder import RunOpening
from rubrica.runs.files.manifest import new_manifest, terms_of
from rubrica.telemetry.langfuse import Account, Langfuse, StoredPrompt

from .judge_options import interrupted
from .output_files import STDOUT
from .progress import progress_bar
from .screen import note, short
from .sources import text_of

SUFFIX = ".trial"
"""Of the folder in which trials lie until they are over."""


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """How a trial is held."""

    model: str
    judge: str | None
    rubric: Rubric
    scenarios: Sequence[Scenario]
    overall: bool = False
    jobs: int = 8
    temperature: float = 0.0

    def __post_init__(self) -> None:
        if self.overall and self.judge is None:
            raise RubricaError("--overall asks a judge; name one with --judge")

    def terms(self, systems: Sequence[SystemPrompt]) -> dict[str, Any]:
        """What replies and judgements depend on."""
        judges = [self.judge] if self.judge is not None else []
        content = "\n".join(scenario.model_dump_json() for scenario in self.scenarios)
        return {
            "prompt": [f"{system.name} #{digest(system.text)}" for system in systems],
            "model": self.model,
            "temperature": self.temperature,
            "scenarios": f"{len(self.scenarios)} #{digest(content)}",
            **terms_of(self.rubric, judges, {}, {"overall": self.overall}),
        }


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A system prompt, how it is called, and where it is kept if it came from Langfuse."""

    name: str
    text: str
    kept: StoredPrompt | None = None


@dataclass(frozen=True, slots=True)
class FinishedTrials:
    """Trials that are over, and when they began."""

    trials: Sequence[Trial]
    began: datetime


async def systems_of(prompts: Sequence[str]) -> list[SystemPrompt]:
    """The system prompts that options name."""
    found = [await _system(prompt) for prompt in prompts]
    for prompt, system in zip(prompts, found, strict=True):
        if not system.text.strip():
            raise RubricaError(f"--prompt {prompt!r}: there is nothing in it (write what the companion is told)")
    return found


async def _system(prompt: str) -> SystemPrompt:
    """The system prompt that an option names: kept in Langfuse, in a file, or the text itself."""
    if prompt.startswith("langfuse:"):
        async with Langfuse(Account.of()) as client:
            kept = await client.prompt(**_place(prompt.removeprefix("langfuse:")))
        return SystemPrompt(f"{kept.name}#{kept.version}", kept.text, kept)
    path = Path(prompt)
    is_file = len(prompt) < 4096 and "\n" not in prompt and (path.is_file() or path.suffix in (".md", ".txt"))
    if is_file:
        return SystemPrompt(path.name, text_of(f"@{prompt}", "--prompt"))
    return SystemPrompt(short(prompt.removeprefix("@"), 60), text_of(prompt, "--prompt"))


def _place(kept: str) -> dict[str, Any]:
    """Name, and label or version, of a prompt in Langfuse.

    >>> _place("mira"), _place("mira@staging"), _place("team/mira#3")
    ({'name': 'mira'}, {'name': 'mira', 'label': 'staging'}, {'name': 'team/mira', 'version': 3})
    """
    name, found, version = kept.rpartition("#")
    if found and version.isdigit():
        return {"name": name, "version": int(version)}
    name, found, label = kept.rpartition("@")
    return {"name": name, "label": label} if found and name else {"name": kept}


def journal_place(systems: Sequence[SystemPrompt], *outputs: str | None) -> Path:
    """Where trials lie until they are over: beside the first file that they end in, or else in the current folder (or
    with other temporary files, where nothing can be written there).

    >>> journal_place([SystemPrompt("mira#3", "")], None), journal_place([], "out/report.html")
    (PosixPath('mira-3.trial'), PosixPath('out/report.html.trial'))
    """
    for output in outputs:
        if output is not None and output != STDOUT and (Path(output).is_file() or not Path(output).exists()):
            return Path(f"{output}{SUFFIX}")
    names = (re.sub(r"[^\w.-]+", "-", system.name)[:40].strip("-.") or "prompt" for system in systems)
    folder = Path() if os.access(Path.cwd(), os.W_OK) else Path(tempfile.gettempdir())
    return folder / ("-".join(names) + SUFFIX)


@contextmanager
def finished_trials(setting: TrialSettings, systems: Sequence[SystemPrompt], folder: Path) -> Iterator[FinishedTrials]:
    """The trials of some prompts. Their journal is removed when the caller is done with them and nothing is missing."""
    judges = (setting.judge,) if setting.judge is not None else ()
    source = ", ".join(system.name for system in systems)
    manifest = new_manifest(source, setting.rubric, judges, setting.terms(systems), datetime.now(UTC))
    with open_journal(folder, manifest) as (journal, opening):
        _print_opening(opening, journal, folder)
        over = False
        try:
            trials = asyncio.run(_trials(setting, systems, journal))
            yield FinishedTrials(trials, datetime.fromisoformat(opening.manifest.started))
            over = not _owed(trials, folder)
        except KeyboardInterrupt:
            kept = f"{count_of(journal.replies, 'reply', 'replies')} kept in {folder}"
            said = f"{kept}; the same command goes on from there" if journal.replies else "there was no reply yet"
            raise interrupted(said) from None
        except RubricaError:
            if journal.replies:
                note(f"what was had is kept in {folder}: the same command goes on from there")
            raise
        finally:
            if over or not journal.replies:
                remove_journal(folder)


def _owed(trials: Sequence[Trial], folder: Path) -> bool:
    """Whether candidate or judge owe something; what to do about it is told."""
    missing = sum(len(trial.missing) for trial in trials)
    unscored = sum(reply.owed for trial in trials for reply in trial.replies)
    parts = [count_of(missing, "reply", "replies")] if missing else []
    parts += [f"the judge's scores of {count_of(unscored, 'reply', 'replies')}"] if unscored else []
    if parts and any(trial.replies for trial in trials):
        note(f"{' and '.join(parts)} missing: the same command asks for that alone, the rest is in {folder}", "yellow")
    return bool(parts)


def _print_opening(opening: RunOpening, journal: Journal, folder: Path) -> None:
    if opening.kind == "restarted":
        note(f"a new trial, changed since: {'; '.join(opening.changes)}", "bold")
        note(f"the earlier one is in {opening.earlier}")
    elif journal.replies:
        note(f"going on with {folder}: {count_of(journal.replies, 'reply', 'replies')} had before")
    if journal.unreadable:
        note(
            f"{count_of(journal.unreadable, 'line')} of it cannot be read; what they held is asked for again", "yellow"
        )


async def _trials(setting: TrialSettings, systems: Sequence[SystemPrompt], journal: Journal) -> list[Trial]:
    """The trials of some prompts, one after the other, with one set of connections."""
    settings = load_settings()
    budget = Budget(settings.budget, price) if settings.budget is not None else None
    async with AsyncExitStack() as stack:
        check_keys([name for name in (setting.model, setting.judge) if name], settings)
        candidate = connect(setting.model, settings, budget=budget)
        stack.push_async_callback(candidate.close)
        bench = ReplyJudges.of(setting.rubric)
        if setting.judge is not None and setting.overall:
            judging = connect(setting.judge, settings, budget=budget)
            stack.push_async_callback(judging.close)
            bench = ReplyJudges.of(setting.rubric, overall=ModelJudge(judging, setting.rubric, price=price))
        elif setting.judge is not None:
            jury = await stack.enter_async_context(Jury([setting.judge], settings))
            bench = ReplyJudges.of(setting.rubric, jury.judge(setting.rubric))
        total = sum(len(scenario.turns) for scenario in setting.scenarios)
        trials = []
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with progress_bar(TextColumn("{task.description}", markup=False), *columns) as progress:
            for system in systems:
                task = progress.add_task(short(system.name, 30), total=total)
                trial = await hold_trial(
                    Candidate(candidate, system.text, setting.temperature),
                    setting.scenarios,
                    bench,
                    name=system.name,
                    jobs=setting.jobs,
                    on_reply=lambda _, task=task: progress.advance(task),  # type: ignore[misc]
                    journal=journal,
                )
                trials.append(trial)
        return trials
