"""The texts that a run judged: those of some cases, and which cases hold a word, without reading evaluations whole."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec

from rubrica.engine.compile import compile_rubric
from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.jsontext import UNREADABLE

from .files.append_only import finished_lines
from .files.evaluation_head import key_of
from .files.folder import EVALUATIONS
from .files.hash_table import HashTable
from .stored import StoredRun

CaseKey = tuple[str, int]
"""A case's id, and which repeat of it."""


class PromptAndResponse(NamedTuple):
    """What was judged."""

    prompt: str
    response: str


class _Context(msgspec.Struct):
    prompt: str = ""
    response: str = ""


class _Judged(msgspec.Struct):
    case: str | None = None
    repeat: int = 0
    context: _Context | None = None


_DECODER = msgspec.json.Decoder(_Judged)


class CaseTexts:
    """The texts of one run. Where its evaluations stand in their file is found once, and remembered."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._places: HashTable | None = None
        self._finding = threading.Lock()

    def of(self, wanted: Collection[CaseKey]) -> dict[CaseKey, PromptAndResponse]:
        """The texts of some cases; those that cannot be read are left out."""
        with suppress(RubricaError, OSError):
            if not self._in_lines:
                return {key: texts for key, texts in self._all(wanted) if key in wanted}
            return dict(self._read(wanted))
        return {}

    def cases_containing(self, text: str) -> set[CaseKey]:
        """The cases whose prompt or response holds a text, whatever its letters' case."""
        query = text.casefold()
        with suppress(RubricaError, OSError):
            return {
                key
                for key, texts in self._all()
                if query in texts.prompt.casefold() or query in texts.response.casefold()
            }
        return set()

    @property
    def _in_lines(self) -> bool:
        manifest = self._run.manifest
        return manifest is not None and manifest.kind != "bulk"

    def _read(self, wanted: Collection[CaseKey]) -> Iterator[tuple[CaseKey, PromptAndResponse]]:
        with self._finding:
            if self._places is None:
                self._places = self._found()
        with (self._run.path / EVALUATIONS).open("rb") as file:
            for key in wanted:
                place = self._places.get(key_of(*key))
                if place is not None:
                    file.seek(place)
                    if (found := _judged(file.readline())) is not None and found[0] == key:
                        yield found

    def _found(self) -> HashTable:
        """Where each case's last evaluation begins."""
        places, at = HashTable(), 0
        for line in finished_lines(self._run.path / EVALUATIONS):
            if (found := _judged(line)) is not None:
                places.put(key_of(*found[0]), at)
            at += len(line) + 1
        return places

    def _all(self, wanted: Collection[CaseKey] | None = None) -> Iterator[tuple[CaseKey, PromptAndResponse]]:
        """Every case, the last evaluation of each last; of runs in bulk at least the wanted ones."""
        manifest = self._run.manifest
        if manifest is not None and manifest.kind == "bulk":
            with requires("tables", str(self._run.path)):
                from .bulk import run as bulk
            cases = None if wanted is None else {case for case, _ in wanted}
            plan = compile_rubric(manifest.rubrics[0].rubric())
            for case, context in bulk.contexts(plan, self._run.path, cases, self._run.may_read):
                yield (case, 0), PromptAndResponse(context.prompt, context.response)
            return
        if manifest is not None:
            for line in finished_lines(self._run.path / EVALUATIONS):
                if (found := _judged(line)) is not None:
                    yield found
            return
        for evaluation in self._run.evaluations():
            judged = evaluation.context
            if judged is not None:
                yield (evaluation.case or "", evaluation.repeat), PromptAndResponse(judged.prompt, judged.response)


def _judged(line: bytes) -> tuple[CaseKey, PromptAndResponse] | None:
    try:
        found = _DECODER.decode(line)
    except UNREADABLE:
        return None  # told by whoever reads the evaluations
    context = found.context or _Context()
    return (found.case or "", found.repeat), PromptAndResponse(context.prompt, context.response)
