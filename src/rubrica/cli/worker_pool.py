"""Processes that share the work of one server on one port: started, looked after, and ended together."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Protocol

import typer

from rubrica.errors import RubricaError
from rubrica.server.listening import listen

LOG = logging.getLogger("rubrica.server")
LOOK = 0.2
"""Seconds between two looks at the workers."""

CALM = 1.0
"""Seconds before a worker that ended by itself is started again."""

ENDED_IN = 40.0
"""Seconds that workers are given to end."""


class Served(Protocol):
    """What each worker serves. It reaches them as a copy."""

    @property
    def reloads(self) -> bool:
        """Whether SIGHUP means to read its settings again."""

    def run(self, listening: socket.socket, ready: Callable[[], None], number: int) -> bool:
        """Serve until somebody ends it; whether it could be started. Workers are numbered from 0."""


class WorkerPool:
    """The workers, seen from the process that looks after them."""

    def __init__(self, served: Served, where: tuple[str, int]) -> None:
        self._served, self._where = served, where
        self._spawning = multiprocessing.get_context("spawn")  # a fork would share locks that threads may hold
        self._workers: dict[int, SpawnProcess] = {}
        self._ending = False

    def start(self, count: int) -> None:
        for number, handler in ((signal.SIGTERM, self._end), (signal.SIGINT, self._end), (signal.SIGHUP, self._reload)):
            signal.signal(number, handler)
        self._await([self._spawn(0)])  # alone: what is wrong is told once
        self._await([self._spawn(number) for number in range(1, count)])

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
            connection.wait([worker.sentinel for worker in self._workers.values()], LOOK)
            for number, worker in [own for own in self._workers.items() if not own[1].is_alive()]:
                del self._workers[number]
                if not self._ending:
                    LOG.error("a worker ended with %s, and is started again", worker.exitcode)
                    time.sleep(CALM)
                    self._spawn(number)
        self._join()

    def _spawn(self, number: int) -> connection.Connection:
        receiving, sending = self._spawning.Pipe(duplex=False)
        worker = self._spawning.Process(target=_work, args=(self._served, number, self._where, sending), name="worker")
        worker.start()
        sending.close()
        self._workers[number] = worker
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
        for worker in self._workers.values():
            if worker.pid is not None and worker.is_alive():
                os.kill(worker.pid, number)

    def _join(self) -> None:
        until = time.monotonic() + ENDED_IN
        for worker in self._workers.values():
            worker.join(max(0.1, until - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()


def _work(served: Served, number: int, where: tuple[str, int], ready: connection.Connection) -> None:
    """One worker, in a process of its own. It ends with the process that started it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to be read again
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        with listen(*where, shared=True) as listening:
            served.run(listening, partial(_say, ready), number)
    except RubricaError as error:
        LOG.error("%s", error)


def _say(ready: connection.Connection) -> None:
    with suppress(OSError):  # nobody waits for one that is started again
        ready.send(True)


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
