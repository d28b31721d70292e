"""The drift of answers between two files of evaluations, as ``rubrica agreement --against`` tells it."""

from __future__ import annotations

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, percent
from rubrica.report.titles import dimension_title
from rubrica.runs.compare.answer_drift import AnswerDrift, answer_drift
from rubrica.runs.files.case_source import lines_of

from .broken_lines import BrokenLines
from .rater_pair_tables import legend, scores_table
from .screen import echo_json, out, safe
from .stored import evaluations_file, stored_evaluations


def print_drift(stored: str, against: str, complaints: BrokenLines, rubric: Rubric | None, *, as_json: bool) -> None:
    """Print how far the evaluations of one file differ from those of another, about the same cases."""
    with lines_of(evaluations_file(stored)) as these, lines_of(evaluations_file(against)) as others:
        found = answer_drift(stored_evaluations(these, complaints), stored_evaluations(others, complaints))
    if not found.cases:
        raise RubricaError(f"no case of {stored} is in {against}; judge the same cases by the same rubric both ways")
    if not found.dimensions:
        raise RubricaError(f"{stored} and {against} have no answer of a judge")
    if as_json:
        plain = {name: own.plain for name, own in found.dimensions.items()}
        echo_json({"cases": found.cases, "verdicts_changed": found.verdicts, "dimensions": plain})
    else:
        out().print(_page(found, rubric))
    if complaints.count:
        raise typer.Exit(1)


def _page(found: AnswerDrift, rubric: Rubric | None) -> Group:
    several = len({name.partition("/")[0] for name in found.dimensions}) > 1
    titles = {
        key: f"{name}/{title}" if several else title
        for key in found.dimensions
        for name, _, axis in [key.partition("/")]
        for title in [dimension_title(axis, rubric if rubric is not None and rubric.name == name else None)]
    }
    parts: list[RenderableType] = [
        scores_table(("dimension",), [((titles[key],), own.agreement) for key, own in found.dimensions.items()]),
        Text(legend(), "dim"),
        Text(),
    ]
    for key, own in found.dimensions.items():
        if own.pairs:
            share = percent(own.changed / len(own.pairs))
            drift = f"{own.changed:,} of {count_of(len(own.pairs), 'answer')} changed ({share})"
        else:
            drift = "no answer in both"
        missing = [f"{own.lost:,} not scored any more"] * bool(own.lost)
        missing += [f"{own.gained:,} scored only now"] * bool(own.gained)
        parts.append(Text(safe(f"{titles[key]}: {', '.join([drift, *missing])}")))
    changed = f"{found.verdicts:,} of {count_of(found.cases, 'verdict')} changed"
    parts.append(Text(f"{changed}, over {count_of(found.cases, 'case')} in both files"))
    return Group(*parts)
