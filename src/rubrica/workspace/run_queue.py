"""A worker on procrastinate: fetches runs that are queued, notices other workers that died, and ends gracefully."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubrica.extras import requires
from rubrica.store.address import address
from rubrica.store.queue_schema import queue_dsn
from rubrica.store.run_queue import QUEUE, TASK

from .run_worker import HandedBackError, RunWorker

if TYPE_CHECKING:
    from procrastinate import App

LOG = logging.getLogger("rubrica.worker")
AGAIN = 2.0
"""Seconds until a worker that lost the database tries again."""


@dataclass(frozen=True, slots=True)
class WorkerTimes:
    """Seconds: how often a worker says that it lives, after how long its runs are taken from it, and so on."""

    heartbeat: float = 3.0
    stalled: float = 15.0
    look: float = 5.0  # between two looks for runs of workers that died
    poll: float = 1.0  # where a notification did not come through
    grace: float = 25.0  # for what is being judged when a worker is stopped


TIMES = WorkerTimes()


def worker_name() -> str:
    """The machine and the process, as people look for them."""
    return f"{socket.gethostname()} process {os.getpid()}"


async def serve_queue(place: str, worker: RunWorker, times: WorkerTimes = TIMES) -> None:
    """Work runs off until cancelled; then what is under way is handed back. A database that is away is waited for."""
    with requires("queue", "a queue of runs"):
        import psycopg
        from procrastinate.exceptions import ConnectorException
    while True:
        try:
            await _serve_once(place, worker, times)
        except (ConnectorException, psycopg.Error) as error:
            LOG.warning("the queue of runs cannot be reached: %s", error)
        await asyncio.sleep(AGAIN)


async def _serve_once(place: str, worker: RunWorker, times: WorkerTimes) -> None:
    app = _queue_app(place, worker)
    async with app.open_async():
        working = asyncio.create_task(
            app.run_worker_async(
                queues=[QUEUE],
                name=worker.name,
                concurrency=worker.at_once,
                install_signal_handlers=False,
                delete_jobs="always",
                fetch_job_polling_interval=times.poll,
                update_heartbeat_interval=times.heartbeat,
                stalled_worker_timeout=times.stalled,
                shutdown_graceful_timeout=times.grace,
            )
        )
        looking = asyncio.create_task(_rescue(app, times))
        try:
            await asyncio.wait({working, looking}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            worker.hand_back()
            raise
        finally:
            for task in (looking, working):
                task.cancel()
            ended = await asyncio.gather(working, looking, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error


async def _rescue(app: App, times: WorkerTimes) -> None:
    """Queue the runs of workers that say nothing any more again."""
    from procrastinate.exceptions import ConnectorException

    while True:
        await asyncio.sleep(times.look)
        for job in await app.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=times.stalled):
            LOG.warning("the worker of %s is gone; another goes on with it", job.task_kwargs.get("run"))
            try:
                await app.job_manager.retry_job(job)
            except ConnectorException as error:  # another worker was quicker
                LOG.info("%s", error)


def _queue_app(place: str, worker: RunWorker) -> App:
    with requires("queue", "a queue of runs"):
        from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
        from procrastinate.jobs import Job

    class Elsewhere(BaseRetryStrategy):
        """Queues a run again that was handed back, or whose worker had no time left to do so."""

        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:  # noqa: ARG002
            if isinstance(exception, HandedBackError):
                return RetryDecision(retry_in={"milliseconds": int(exception.delay * 1000)})
            return RetryDecision() if isinstance(exception, asyncio.CancelledError) else None

    app = App(connector=PsycopgConnector(conninfo=queue_dsn(address(place)), min_size=1, max_size=4))

    @app.task(name=TASK, queue=QUEUE, retry=Elsewhere())
    async def execute_queued(run: str, ticket: int) -> None:
        await worker.execute_queued(run, ticket)

    return app
