"""What the parts of a plan read of a chunk, a column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.evidence import Field
from rubrica.text import text_features

from .chunk import Chunk, as_keys
from .plan_tables import PlanTables
from .result_tables import Column, as_list


class ColumnKeys:
    """The columns of a chunk as keys, each worked out when it is first read."""

    def __init__(self, workings: PlanTables, chunk: Chunk) -> None:
        self.workings, self.chunk = workings, chunk
        self.odd: set[int] = set()  # rows that can only be judged one at a time
        self.classified: dict[int, float] = {}  # rows whose profile was found from the prompt, and how surely
        self._columns: dict[str, Column] = {}

    def __call__(self, name: str) -> Column:
        """A column by ``profile``, ``field:NAME`` or ``name:NAME``."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._read(name)
        return found

    def _read(self, column: str) -> Column:
        kind, _, name = column.partition(":")
        if kind == "profile":
            return self._profiles()
        if kind == "field":
            field = cast("Field", name)
            return self.workings.kinds[field].places(self.chunk.texts(field), self.odd)
        slot = self.workings.plan.sources.lexicon.named.get(name)
        if slot is not None:
            kinds = self.workings.kinds[slot.field]
            count = cache(lambda place: float(kinds.kind(place).counts.get(slot.index, 0)))
            return list(map(count, as_list(self(f"field:{slot.field}"))))
        if name in text_features():
            readings = self.chunk.readings
            self.odd.update(row for row, texts in enumerate(readings) if texts.parts)  # which have notes
            return as_keys(list(map(text_features()[name].compute, readings)), self.odd)
        return as_keys(self.chunk.given(name), self.odd)

    def _classified(self, wanted: Sequence[Any]) -> Sequence[Any]:
        """The profiles that are asked for, those left open as classified; where it is not certain, a row is odd."""
        plan, prompts = self.workings.plan, self.chunk.texts("prompt")
        filled = list(wanted)
        for row, value in enumerate(wanted):
            if plan.profiles is not None and (name := plan.profiles.name_for(value)) is not None:
                filled[row] = name
                continue
            try:
                terms = plan.terms(Context(prompt=prompts[row]))
            except ContextError:
                continue  # no profile fits, which is told below
            filled[row] = terms.profile
            if terms.classified is not None:
                self.classified[row] = terms.classified.confidence
            if terms.others:
                self.odd.add(row)
        return filled

    def _profiles(self) -> Sequence[str | None]:
        plan, table = self.workings.plan, self.workings.profiles
        wanted = self.chunk.given(plan.profiles.by) if plan.profiles is not None else [None] * len(self.chunk)
        if plan.profiles is not None and plan.profiles.classify is not None:
            wanted = self._classified(wanted)
        found = [table.results[place] for place in table.places(as_keys(wanted, self.odd)).to_list()]
        if None in found:  # no profile fits: the record is refused, with the reason
            self.odd.update(row for row, name in enumerate(found) if name is None)
            some = next(iter(plan.decision.terms))
            found = [name or some for name in found]
        return found
