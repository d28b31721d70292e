"""The cases on which a rubric is probed: given ones, or those that come with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rubrica.engine.cases import BadLine, Case
from rubrica.errors import InputError
from rubrica.model.context import Context
from rubrica.model.rubric import Rubric
from rubrica.packs.library import bundled_rubrics, examples
from rubrica.runs.record_material import RECORDS, RecordMaterial
from rubrica.runs.request import CaseChoice


def sample_cases(rubric: Rubric, cases: Any, limit: int) -> list[Case]:
    """The first cases of a file or of records that have a response; left out, those that come with the rubric."""
    every = _bundled(rubric) if cases is None else _given(rubric, cases)
    found = list(islice((case for case in every if case.context.response.strip()), limit))
    if found:
        return found
    if cases is None:
        raise InputError(f"{rubric.name} comes with no examples; give cases with responses to change (--cases)")
    raise InputError("there are no cases with a response to change")


def _bundled(rubric: Rubric) -> Iterator[Case]:
    """The examples of its pack, or else the responses that its own document shows to judges."""
    pack = next((one.pack for one in bundled_rubrics() if one.name == rubric.name), None)
    if pack is not None:
        yield from (case for case in examples(pack) if (case.rubric or pack) == rubric.name)
        return
    axes = [axis for name, dimension in rubric.dimensions.items() for _, axis in dimension.every(name)]
    shown = {(one.prompt, one.response): None for axis in axes for one in axis.examples}
    for number, (prompt, response) in enumerate(shown, 1):
        yield Case(f"example {number}", number, Context(prompt=prompt, response=response))


def _given(rubric: Rubric, cases: Any) -> Iterator[Case]:
    is_file = isinstance(cases, str | Path)
    chosen = CaseChoice(str(cases) if is_file else RECORDS, material=None if is_file else RecordMaterial(cases))
    with chosen.opened() as source:
        for found in source.cases():
            if isinstance(found, BadLine):
                raise InputError(f"line {found.line} of the cases: {found.reason}")
            if found.rubric is None or found.rubric.partition("@")[0] == rubric.name:
                yield found
