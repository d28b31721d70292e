"""A gateway in one process or in several: opened from its settings, opened anew on SIGHUP, and looked after."""

from __future__ import annotations

import logging
import multiprocessing
import os
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

import typer
from starlette.types import ASGIApp

from rubrica.errors import RubricaError
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.parts import GatewayModels, GatewayParts
from rubrica.gateway.process import GatewayProcess
from rubrica.gateway.settings import GatewaySettings
from rubrica.llm.settings import load_settings
from rubrica.server.connection import serving_config
from rubrica.server.gateway.app import create_app
from rubrica.server.gateway.reloading import ReloadableApp
from rubrica.server.listening import listen
from rubrica.server.proxies import Network, behind_proxies
from rubrica.store.database import Database

from .serve import GRACE, AnnouncingServer

LOG = logging.getLogger("rubrica.gateway")
LOOK = 0.2
"""Seconds between two looks at the workers."""

CALM = 1.0
"""Seconds before a worker that ended by itself is started again."""


@dataclass(frozen=True)
class ServedGateway:
    """A gateway as a command line asked for it. `settings` reads its file, again each time."""

    settings: Callable[[], GatewaySettings]
    place: str
    proxies: Sequence[Network] = ()
    reloads: bool = False  # on SIGHUP
    digest_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    folder: Path | None = None  # where workers tell each other their figures

    def run(self, listening: socket.socket, ready: Callable[[], None]) -> bool:
        """Serve until somebody ends it; whether it could be started."""
        process = GatewayProcess(self.digest_key, self.folder)
        app = ReloadableApp(lambda: self._open(process), on_hangup=self.reloads)
        server = AnnouncingServer(serving_config(app, timeout_graceful_shutdown=GRACE), ready)
        with suppress(KeyboardInterrupt), _shown_log():
            server.run([listening])
        return server.started

    def _open(self, process: GatewayProcess) -> ASGIApp:
        settings = self.settings()
        parts = GatewayParts.open(settings, GatewayModels(load_settings()))
        gateway = Gateway(settings, Database.open(self.place), parts, process=process)
        return behind_proxies(create_app(gateway), self.proxies)


@contextmanager
def _shown_log() -> Iterator[None]:
    """What the gateway tells of its work goes to standard error, as warnings do by themselves: a hedge, a deployment
    that is back. Who has set up logging sees it there."""
    handler = None if LOG.hasHandlers() else logging.StreamHandler()
    before = LOG.level
    LOG.setLevel(logging.INFO)
    if handler is not None:
        LOG.addHandler(handler)
    try:
        yield
    finally:
        LOG.setLevel(before)
        if handler is not None:
            LOG.removeHandler(handler)


def serve_with_workers(served: ServedGateway, count: int, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Run so many workers until somebody ends them. The system shares connections out among them.

    A worker that ends by itself is started again; one that cannot even start ends all.
    """
    where = listening.getsockname()[:2]
    with tempfile.TemporaryDirectory(prefix="rubrica-gateway-") as folder:
        pool = _WorkerPool(replace(served, folder=Path(folder)), where)
        pool.start(count)
        ready()
        pool.watch()


class _WorkerPool:
    """The workers, seen from the process that looks after them."""

    def __init__(self, served: ServedGateway, where: tuple[str, int]) -> None:
        self._served, self._where = served, where
        self._spawning = multiprocessing.get_context("spawn")  # a fork would share locks that threads may hold
        self._workers: list[SpawnProcess] = []
        self._ending = False

    def start(self, count: int) -> None:
        for number, handler in ((signal.SIGTERM, self._end), (signal.SIGINT, self._end), (signal.SIGHUP, self._reload)):
            signal.signal(number, handler)
        self._await([self._spawn()])  # alone: what is wrong is told once
        self._await([self._spawn() for _ in range(count - 1)])

    def _await(self, waiting: Sequence[connection.Connection]) -> None:
        try:
            for ready in waiting:
                ready.recv()
        except EOFError:
            self._end()
            self._join()
            raise typer.Exit(1) from None  # the worker has told why

    def watch(self) -> None:
        while not self._ending:
            connection.wait([worker.sentinel for worker in self._workers], LOOK)
            for worker in [one for one in self._workers if not one.is_alive()]:
                self._workers.remove(worker)
                if not self._ending:
                    LOG.error("a worker ended with %s, and is started again", worker.exitcode)
                    time.sleep(CALM)
                    self._spawn()
        self._join()

    def _spawn(self) -> connection.Connection:
        receiving, sending = self._spawning.Pipe(duplex=False)
        worker = self._spawning.Process(target=_work, args=(self._served, self._where, sending), name="gateway")
        worker.start()
        sending.close()
        self._workers.append(worker)
        return receiving

    def _end(self, *_: object) -> None:
        self._ending = True
        self._tell(signal.SIGTERM)

    def _reload(self, *_: object) -> None:
        if self._served.reloads:
            self._tell(signal.SIGHUP)
        else:
            self._end()

    def _tell(self, number: signal.Signals) -> None:
        for worker in self._workers:
            if worker.pid is not None and worker.is_alive():
                os.kill(worker.pid, number)

    def _join(self) -> None:
        until = time.monotonic() + GRACE + 10
        for worker in self._workers:
            worker.join(max(0.1, until - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()


def _work(served: ServedGateway, where: tuple[str, int], ready: connection.Connection) -> None:
    """One worker, in a process of its own. It ends with the process that started it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to be read again
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        with listen(*where, shared=True) as listening:
            served.run(listening, partial(_say, ready))
    except RubricaError as error:
        LOG.error("%s", error)


def _say(ready: connection.Connection) -> None:
    with suppress(OSError):  # nobody waits for one that is started again
        ready.send(True)


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
