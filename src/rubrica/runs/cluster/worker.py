"""A worker of a judged run: it sits on a node, judges several cases at once, and hands over what is finished."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rubrica import __version__
from rubrica.engine.evaluate import aevaluate
from rubrica.errors import RubricaError
from rubrica.judges.jury import Jury
from rubrica.llm.price import price
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.shared_breakers import SharedBreakers
from rubrica.runs.case_messages import CaseMessage, ResultMessage, SentRubrics

from .shared_limits import ActorBoard, SharedRate, shared_budget
from .worker_task import WorkerTask

LONGEST_WAIT = 1.0
"""Seconds after which a worker answers even if nothing is finished: it is there, and can be given more."""
GATHERED = 0.004
"""Seconds that further results may take to go with the first: one message costs about as much as one case."""


class CaseWorker:
    """Judges what it is handed. It runs as an actor; one that is started anew after a loss knows nothing any more."""

    def __init__(self, task: WorkerTask, name: str) -> None:
        self._task, self._name = task, name
        self._jury: Jury | None = None
        self._breakers: asyncio.Task[None] | None = None
        self._sent: SentRubrics | None = None
        self._round = -1
        self._running: set[asyncio.Task[None]] = set()
        self._finished: list[ResultMessage] = []
        self._news = asyncio.Event()
        self._slots = asyncio.Semaphore(task.jobs)

    async def ready(self) -> tuple[str, str]:
        """Connect the models; says what is wrong, if anything, and on which node this is."""
        import ray  # an extra, which is there on every node

        node = ray.get_runtime_context().get_node_id()
        if self._task.version != __version__:
            wrong = f"a node has Rubrica {__version__}, the driver {self._task.version}: install the same on both"
            return wrong, node
        try:
            self._judges()
        except RubricaError as error:
            return str(error), node
        return "", node

    async def exchange(
        self, turn: int, works: Sequence[CaseMessage], rubrics: Mapping[str, bytes]
    ) -> list[ResultMessage]:
        """Take further cases, and hand over results as soon as there are some. In another turn all else is dropped:
        the driver has given it to others."""
        if turn != self._round:
            await self._drop()
            self._round = turn
        sent = self._judges()
        for wanted, document in rubrics.items():
            sent.add(wanted, document)
        for work in works:
            task = asyncio.create_task(self._judge(sent, work))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        if not self._finished and self._running:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), LONGEST_WAIT)
            except TimeoutError:
                return []
            await asyncio.sleep(GATHERED)
        results, self._finished = self._finished, []
        return results

    async def _judge(self, sent: SentRubrics, work: CaseMessage) -> None:
        async with self._slots:
            result = await _judged(sent, work)
        self._finished.append(result)
        self._news.set()

    async def _drop(self) -> None:
        left = list(self._running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._finished = []

    def _judges(self) -> SentRubrics:
        if self._sent is None:
            judging, settings = self._task.judging, self._task.settings
            shared = self._shared()
            limits = ProviderLimits(rate=SharedRate(shared))
            breakers = SharedBreakers(ActorBoard(shared))
            limits.share(breakers)
            self._breakers = asyncio.create_task(breakers.keep_up())
            self._jury = Jury(
                judging.names,
                settings,
                repeats=judging.repeats,
                warm=self._task.warm,
                cached=False,
                seed=judging.seed,
                public=judging.public,
                limits=limits,
                budget=shared_budget(settings, price, shared, self._name),
            )
            self._sent = SentRubrics(self._jury.judge)
        return self._sent

    def _shared(self) -> Any:
        """The actor that all workers share, by its name: a handle given at birth would be lost with a lost store."""
        import ray

        return ray.get_actor(self._task.limits)


async def _judged(sent: SentRubrics, work: CaseMessage) -> ResultMessage:
    try:
        plan, context = sent.work(work)
        evaluation = await aevaluate(plan, context, work.case)
    except RubricaError as error:
        return ResultMessage(work.ticket, b"", str(error))
    if work.repeat:
        evaluation = msgspec.structs.replace(evaluation, repeat=work.repeat)
    return ResultMessage(work.ticket, evaluation.to_json().encode())
