"""Prepares the end of a run in a thread while its models are waited for: loads what only the end needs, and adds up
the evaluations as they are kept. At the end, they are put into the order of their cases beside the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rubrica.errors import RubricaError
from rubrica.extras import MissingExtraError, requires
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric

from .files.folder import COLUMNS
from .files.rows import RunRow, row_of
from .run_writer import RunWriter

if TYPE_CHECKING:
    from .finish import DerivedFiles

BEFORE_PRICES = 0.02
"""Seconds until the first calls are on their way. Their prices are loaded while nobody has answered yet."""
BEFORE_PREPARING = 0.5
"""Seconds that a run has to take before it is worth preparing for its end."""


class FinishPreparation:
    """What of the end of a run can be done before. Use it in a `with` for as long as `derived` is wanted."""

    def __init__(
        self, folder: Path, rubrics: Mapping[str, Rubric], models: Sequence[str], after: float = BEFORE_PREPARING
    ) -> None:
        self.derived: DerivedFiles | None = None  # with every evaluation; None: they are to be read from the folder
        self._folder, self._rubrics, self._models, self._after = folder, rubrics, models, after
        self._rows: SimpleQueue[RunRow | None] = SimpleQueue()
        self._is_over = Event()
        self._tidying: Future[None] | None = None
        self._stack = ExitStack()

    def with_preparation(
        self, evaluations: Generator[Evaluation, None, None], run: RunWriter
    ) -> Generator[Evaluation, None, None]:
        """The same evaluations as they are kept, while the end is prepared: if the run had none before, they are added
        up in the order of their cases."""
        is_new = run.done.is_empty
        thread = Thread(target=self._prepare, args=(is_new,))
        thread.start()
        try:
            with closing(evaluations):
                for evaluation in evaluations:
                    if is_new:
                        for row in run.turns.add(run.number, row_of(evaluation)):
                            self._rows.put(row)
                    yield evaluation
            for row in run.turns.due():
                self._rows.put(row)
        finally:
            self._rows.put(None)
            self._is_over.set()
            thread.join()
            if self.derived is not None and not run.turns.is_complete:
                self.derived.close()
                self.derived = None

    def tidy(self, run: RunWriter) -> None:
        """Begin to put the evaluations into the order of their cases. Where they are all added up, nobody need read
        them, and the rest of the end does not wait for the disk."""
        if self.derived is None:
            run.tidy()
        else:
            self._tidying = self._stack.enter_context(ThreadPoolExecutor(1)).submit(run.tidy)

    def wait_until_tidy(self) -> None:
        """Return when the evaluations are in the order of their cases; an error says why they cannot be."""
        if self._tidying is not None:
            self._tidying.result()

    def _prepare(self, is_new: bool) -> None:
        if self._is_over.wait(BEFORE_PRICES):
            return
        _load_prices(self._models)
        if self._is_over.wait(self._after):
            return
        _load_finish()
        if is_new and (first := self._rows.get()) is not None:  # no table of an earlier run is there from now on
            self._add_up(chain((first,), iter(self._rows.get, None)))

    def _add_up(self, rows: Iterator[RunRow]) -> None:
        from .finish import DerivedFiles

        derived = DerivedFiles(self._folder, self._rubrics)
        try:
            derived.add_all(rows)
        except RubricaError:
            derived.close()  # and the end tells what was in the way
        else:
            self.derived = derived

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if self.derived is not None:
            self.derived.close()


def _load_finish() -> None:
    from .summary.page import load_templates  # here, since it is slow, which is the point

    load_templates()
    with suppress(MissingExtraError), requires("tables", COLUMNS):  # told at the end
        from .files import parquet_rows  # noqa: F401 - for finish


def _load_prices(models: Sequence[str]) -> None:
    from rubrica.llm.model import Usage  # here, since judging by code alone needs no models
    from rubrica.llm.price import price

    with suppress(MissingExtraError):  # told where a price is wanted
        for name in models:
            price(name, Usage())
