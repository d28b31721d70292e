"""Setting up ``rubrica companion``: where system prompts come from, where trials lie, and what is said meanwhile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, assert_never

import typer

from rubrica.companion.comparison import MOST_CANDIDATES
from rubrica.companion.execute import TrialRequest, estimate_trial, execute_trials
from rubrica.companion.trial import Trial
from rubrica.errors import RubricaError
from rubrica.llm.estimate import CostEstimate
from rubrica.report.figures import count_of
from rubrica.runs.bulk.progress import BulkProgress
from rubrica.runs.concurrency import reduced_garbage_collection
from rubrica.runs.events import IdRepeated, LineBroken, RunAdvanced, RunEvent, RunNote, RunOpened
from rubrica.telemetry.langfuse import Account, Langfuse, StoredPrompt

from .judge_options import estimate_table, interrupted
from .options import local_folder
from .output_files import STDOUT
from .progress import ProgressScreen
from .screen import note, out, short
from .sources import text_of

SUFFIX = ".trial"
"""Of the folder of a trial whose command names none."""
NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A system prompt, how it is called, and where it is kept if it came from Langfuse."""

    name: str
    text: str
    kept: StoredPrompt | None = None


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


def distinct_names(systems: Sequence[SystemPrompt], given: Sequence[str]) -> list[SystemPrompt]:
    """The prompts under names of their own: as they were given, where their files are called the same."""
    names = [system.name for system in systems]
    same = [
        SystemPrompt(text, system.text, system.kept) if names.count(system.name) > 1 else system
        for system, text in zip(systems, given, strict=True)
    ]
    for at, system in enumerate(same):
        if any(system.text == other.text for other in same[:at]):
            raise RubricaError(f"{system.name}: another prompt says the same; name two different ones")
    return same


def refuse_both(*, no_resume: bool, retry_errors: bool) -> None:
    if no_resume and retry_errors:
        raise typer.BadParameter("choose one: beginning anew retries everything", param_hint="--retry-errors")


def is_page(output: str) -> bool:
    return Path(output).suffix.lower() in (".html", ".htm")


def trial_folder(systems: Sequence[SystemPrompt], output: str | None = None, save: str | None = None) -> Path:
    """Where trials lie: in the folder that was named, beside the first file that was, or else in the current folder (or
    with other temporary files, where nothing can be written there).

    >>> trial_folder([SystemPrompt("mira#3", "")]), trial_folder([], "runs/a")
    (PosixPath('mira-3.trial'), PosixPath('runs/a'))
    >>> trial_folder([], "out/report.html")
    PosixPath('out/report.html.trial')
    """
    if output is not None and not is_page(output):
        return local_folder(Path(output))
    for file in (output, save):
        if file is not None and file != STDOUT and (Path(file).is_file() or not Path(file).exists()):
            return Path(f"{file}{SUFFIX}")
    folder = Path() if os.access(Path.cwd(), os.W_OK) else Path(tempfile.gettempdir())
    return folder / ("-".join(file_name(system.name) for system in systems) + SUFFIX)


def file_name(name: str) -> str:
    """A name that a folder can have.

    >>> file_name("Be Mira: warm!"), file_name("openai:gpt-4o-mini")
    ('Be-Mira-warm', 'openai-gpt-4o-mini')
    """
    kept = "".join(letter if letter.isalnum() or letter in "._-" else " " for letter in name)
    return "-".join(kept.split())[-NAME_LENGTH:].strip("-.") or "prompt"


def candidates_of(
    systems: Sequence[SystemPrompt], models: Sequence[str], folder: Path
) -> list[tuple[SystemPrompt, str, Path]]:
    """Every prompt with every model, each with a folder of its own."""
    pairs = list(product(systems, dict.fromkeys(models)))
    if not 2 <= len(pairs) <= MOST_CANDIDATES:
        raise RubricaError(
            f"{count_of(len(pairs), 'candidate')} to compare; name two to {MOST_CANDIDATES}: prompts, or --model twice"
        )
    found: dict[str, tuple[SystemPrompt, str, Path]] = {}
    for system, model in pairs:
        name = own = f"{file_name(system.name)}--{file_name(model)}"
        while own in found:
            own = f"{name}-{len(found) + 1}"
        found[own] = (system, model, folder / own)
    return list(found.values())


class TrialScreen(ProgressScreen):
    """Shows the events of trials on standard error. Replies that are missing are told with the result."""

    def __call__(self, event: RunEvent) -> None:
        match event:
            case RunOpened():
                _print_opening(event)
                if event.opening.manifest.judges:
                    self.enter_context(reduced_garbage_collection())
            case RunAdvanced() | BulkProgress():
                self.show(event)
            case RunNote(text):
                note(text)
            case LineBroken() | IdRepeated():
                pass
            case _:
                assert_never(event)


def _print_opening(opened: RunOpened) -> None:
    opening = opened.opening
    if opening.kind == "restarted":
        why = f"changed since: {'; '.join(opening.changes)}" if opening.changes else "as asked"
        note(f"a new trial, {why}", "bold")
        note(f"the earlier one is in {opening.earlier}")
    elif opened.before:
        note(f"going on: {count_of(opened.before, 'reply', 'replies')} judged before")
    if opened.unreadable:
        note(f"{count_of(opened.unreadable, 'stored line')} cannot be read; those are judged again", "yellow")


def finished_trials(requests: Sequence[TrialRequest], budget: float | None) -> list[Trial]:
    """The trials of some candidates; one that is not finished ends the command."""
    with TrialScreen() as screen:
        outcomes = execute_trials(requests, screen, budget)
    last, folder = outcomes[-1], requests[len(outcomes) - 1].folder
    if last.run.ending == "unanswered":
        raise RubricaError(
            f"{last.run.reason}; what was had is kept in {folder}, and the same command goes on from there"
        )
    if last.trial is None:
        raise interrupted(f"what was had is kept in {folder}; the same command goes on from there")
    return [outcome.trial for outcome in outcomes if outcome.trial is not None]


def print_estimate(requests: Sequence[TrialRequest]) -> None:
    """What trials would still ask, and cost."""
    found: dict[str, CostEstimate] = {}
    with TrialScreen() as screen:
        for request in requests:
            for one in estimate_trial(request, screen):
                found.setdefault(one.model, CostEstimate(one.model)).merge(one)
    out().print(estimate_table(found.values(), "model"))
    out().print("Nothing was asked, and what is there already is left out. Repairs and retries come on top.")
