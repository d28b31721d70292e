"""``rubrica council learn``: what each reviewer should count, by which answers people preferred."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from rubrica.council.reviewer_fit import ReviewerFit, learn_reviewers, read_preferences
from rubrica.council.saved import SavedCouncil, read_councils
from rubrica.engine.cases import BadLine
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of, figure
from rubrica.runs.files.case_source import lines_of

from .figures_table import figures_table
from .options import AsJson
from .screen import echo_json, note, out, safe

Saved = Annotated[str, typer.Argument(metavar="RUNS.jsonl", help="What `council ask --save` wrote.")]
Preferred = Annotated[
    str,
    typer.Option(
        "--preferred",
        metavar="FILE.jsonl",
        help='Lines such as {"session": 3, "preferred": "Response B"}: by line of RUNS.',
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE.json", help="Write the weights, for --reviewer-weights.")
]


def learn(runs: Saved, preferred: Preferred, out_file: Out = None, as_json: AsJson = False) -> None:
    """Learn what each reviewer should count, from which answers people preferred.

    About 40 preferences are enough to begin with. Weights are kept only where they side with people at least as often
    as reviewers who count alike do, on sessions that were not learned from.
    """
    with lines_of(runs) as lines:
        found = enumerate(read_councils(lines), 1)
        sessions: dict[int, SavedCouncil] = {}
        for number, one in found:
            if isinstance(one, BadLine):
                raise RubricaError(f"{runs}: line {one.line}: {one.reason}")
            sessions[number] = one
    with lines_of(preferred) as lines:
        fit = learn_reviewers(sessions, read_preferences(lines))
    if out_file is not None:
        out_file.write_bytes(msgspec.json.format(msgspec.json.encode(fit.to_dict())) + b"\n")
    if as_json:
        echo_json(fit.to_dict())
    else:
        _show(fit)
        if out_file is not None:
            note(f"written to {out_file}", "dim")


def _show(fit: ReviewerFit) -> None:
    screen = out()
    screen.print(Text(f"{count_of(fit.sessions, 'session')}, {count_of(fit.pairs, 'pair')} of answers"))
    if fit.weights:
        table = figures_table(("reviewer",), ("counts",))
        for name, weight in sorted(fit.weights.items(), key=lambda item: -item[1]):
            table.add_row(Text(safe(name)), figure(round(weight, 2)))
        screen.print(table)
    if fit.alike is not None and fit.learned is not None:
        screen.print(
            Text(f"right on sessions not learned from: alike {fit.alike:.0%}, weighted {fit.learned:.0%}", "dim")
        )
    if fit.reason:
        screen.print(Text(safe(fit.reason), "yellow"))
