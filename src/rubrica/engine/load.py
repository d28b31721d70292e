"""Text or data → Rubric, fully checked: shape, names, formulas, patterns, weights, anchors, reach."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rubrica.errors import Problem, RubricError
from rubrica.jsontext import deeper_than
from rubrica.model.rubric import Rubric
from rubrica.model.shortform import ShortForm

from .compile import try_compile
from .document import DEEPEST, Document, Path, read_document
from .expand import expand
from .plan import Plan
from .plan_cache import PLANS
from .schema import read_rubric


def rubric_from_text(text: str, file: str | None = None) -> Rubric:
    """A rubric from YAML or JSON text; a RubricError lists every problem with its file and line."""
    return _kept(_compiled(read_document(text, file))).rubric


def rubric_from_data(data: Mapping[str, Any]) -> Rubric:
    """A rubric from plain data, such as a request body or a database row."""
    return _kept(plan_from_data(data)).rubric


def plan_from_data(data: Mapping[str, Any]) -> Plan:
    """The plan of a rubric that may never be asked for again, such as a draft: the plan cache is left alone."""
    try:
        plain = json.loads(json.dumps(data, default=str))
    except (ValueError, RecursionError) as error:
        raise RubricError([Problem(f"not plain data: {error}")]) from None
    if deeper_than(plain, DEEPEST):
        raise RubricError([Problem("the document is nested too deeply", fix=f"at most {DEEPEST} levels")])
    return _compiled(Document(plain, {}))


def _kept(plan: Plan) -> Plan:
    """Whoever loads a rubric uses it: checking has compiled it, so nobody need do that again."""
    if PLANS.get(plan.rubric.hash) is None:
        PLANS.put(plan.rubric.hash, plan)
    return plan


def _compiled(document: Document) -> Plan:
    reading = read_rubric(document.data)
    problems = list(reading.problems)
    rubric: Rubric | None
    if isinstance(reading.rubric, ShortForm):
        rubric, found = expand(reading.rubric)
        problems += [replace(p, path=reading.author_path(p.path)) for p in found]
        place = _short_form_path
    else:
        rubric, place = reading.rubric, _same_path
    plan: Plan | None = None
    if rubric is not None:
        known = None if problems else PLANS.get(rubric.hash)
        if known is not None:
            return replace(known, rubric=rubric)  # equal hashes may be listed under other categories
        plan, found = try_compile(rubric, reading.dropped)
        problems += [replace(p, path=reading.author_path(place(p.path))) for p in found]
    if problems or plan is None:
        once = {document.place(problem): None for problem in problems}
        raise RubricError(sorted(once, key=lambda p: (p.line or 0, p.where)))
    return plan


def _same_path(path: Path) -> Path:
    return path


def _short_form_path(path: Path) -> Path:
    """Where something of the expanded rubric stands in the short form."""
    return path[2:] if path[:2] == ("dimensions", "points") else ()
