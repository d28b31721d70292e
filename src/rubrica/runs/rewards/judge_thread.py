"""Judges for callers of any kind: on an event loop of their own, on a thread of its own.

Connections belong to one event loop, and a trainer calls from where it likes: from a plain function, from a loop that
is running, from several at once. So all of them hand their contexts over, and wait.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.engine.plan import Plan
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.runs.judging import open_jury
from rubrica.runs.request import JudgeSettings

PATIENCE = 10.0
"""Seconds that closing connections may take."""


@dataclass(frozen=True, slots=True)
class JudgeOrder:
    """Who judges by which rubric, and how many contexts at once."""

    rubric: Rubric
    judge: Judge | None  # None: the models of the settings
    settings: JudgeSettings


@dataclass(frozen=True, slots=True)
class _OpenLoop:
    """A loop at work."""

    loop: asyncio.AbstractEventLoop
    plan: Plan
    places: asyncio.Semaphore
    closed: asyncio.Event


class JudgeThread:
    """Judges at work on a thread of their own, which starts when it is first wanted and ends with this."""

    def __init__(self, order: JudgeOrder) -> None:
        self._order = order
        self._lock = threading.Lock()
        self._open: _OpenLoop | None = None
        self._process = 0
        self._finalizer: weakref.finalize[..., JudgeThread] | None = None

    def start(self) -> None:
        """Begin now: a model that cannot be asked is told before anything is waited for."""
        self._at_work()

    def submit(self, contexts: Sequence[Context]) -> Future[list[Evaluation]]:
        """Judge some contexts, together with what others have handed over."""
        work = self._at_work()
        return asyncio.run_coroutine_threadsafe(_judge(work, contexts), work.loop)

    def close(self) -> None:
        """Close every connection. Whoever submits after that begins anew."""
        with self._lock:
            if self._finalizer is not None and self._process == os.getpid():
                self._finalizer()
            self._open = self._finalizer = None

    def _at_work(self) -> _OpenLoop:
        with self._lock:
            if self._open is None or self._process != os.getpid():  # a fork has no thread
                ready: Future[_OpenLoop] = Future()
                thread = threading.Thread(target=_serve, args=(self._order, ready), name="rubrica-judges", daemon=True)
                thread.start()
                self._open = ready.result()
                self._process = os.getpid()
                self._finalizer = weakref.finalize(self, _end, self._open, thread)
            return self._open


def _serve(order: JudgeOrder, ready: Future[_OpenLoop]) -> None:
    """The thread's work: judge until it is closed."""
    try:
        with _opened(order) as (runner, judge):
            runner.run(_until_closed(compile_rubric(order.rubric, judge), order.settings.jobs, ready))
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)


@contextmanager
def _opened(order: JudgeOrder) -> Iterator[tuple[asyncio.Runner, Judge]]:
    if order.judge is not None:
        with asyncio.Runner() as runner:
            yield runner, order.judge
        return
    with open_jury(order.settings, lambda _: None) as session:
        yield session.runner, session.judge_of(order.rubric)


async def _until_closed(plan: Plan, jobs: int, ready: Future[_OpenLoop]) -> None:
    work = _OpenLoop(asyncio.get_running_loop(), plan, asyncio.Semaphore(jobs), asyncio.Event())
    ready.set_result(work)
    await work.closed.wait()


async def _judge(work: _OpenLoop, contexts: Sequence[Context]) -> list[Evaluation]:
    async def one(context: Context) -> Evaluation:
        async with work.places:
            return await aevaluate(work.plan, context)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(context)) for context in contexts]
    except BaseExceptionGroup as errors:
        found = _first(errors)
    else:
        return [task.result() for task in tasks]
    raise found


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """A fault of a context where there is one: whoever gave it can mend it."""
    ours = errors.subgroup(ContextError) or errors
    found = ours.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


def _end(work: _OpenLoop, thread: threading.Thread) -> None:
    work.loop.call_soon_threadsafe(work.closed.set)
    if thread is not threading.current_thread():
        thread.join(PATIENCE)
