"""``rubrica`` as processes that start in no time: forks of one that has loaded the program already.

A fork is a process of its own, with a folder's lock, files and connections of its own, and dies as any other.

    with forks(environment, RUN) as started:
        run = started.start("run", "cases.jsonl", "-o", "folder")
        run.kill()
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

RUN = "aiohttp, rubrica.cli.run, rubrica.runs.jury_session, rubrica.llm.http, rubrica.llm.openai, rubrica.llm.anthropic"
"""What `rubrica run` with a judge loads."""
SERVE = "rubrica.cli.serve, uvicorn.protocols.http.httptools_impl, asyncpg, sqlalchemy.dialects.sqlite"
"""What `rubrica serve --no-studio` loads."""
WORKER = "rubrica.cli.worker, procrastinate, asyncpg"
"""What `rubrica worker` loads."""

PROGRAM = """
import json, os, sys
import {modules}
from rubrica.cli.app import main

for line in sys.stdin:
    args, output = json.loads(line)
    pid = os.fork()
    if pid == 0:
        nowhere, written = os.open(os.devnull, os.O_RDWR), os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor, target in enumerate((nowhere, written, written)):
            os.dup2(target, descriptor)
        sys.argv = ["rubrica", *args]
        try:
            main()
        finally:
            sys.stdout.flush()
            os._exit(0)
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("over", flush=True)
"""


class Fork:
    """A command under way."""

    def __init__(self, parent: subprocess.Popen[str]) -> None:
        self._parent = parent
        self.pid = int(self._line())
        self._over = self._gone = False

    def poll(self) -> int | None:
        """Something where it is over, None where it is not."""
        if not self._over:
            self._over = bool(select.select([cast("IO[str]", self._parent.stdout)], [], [], 0)[0])
        return 0 if self._over else None

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if not self._gone and self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        """Wait until it is gone."""
        if self._gone:
            return
        assert self._line() == "over\n"
        self._over = self._gone = True

    def _line(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline()


class Forks:
    """Starts commands, one at a time."""

    def __init__(self, parent: subprocess.Popen[str]) -> None:
        self._parent = parent

    def start(self, *args: str | Path, output: str | Path = os.devnull) -> Fork:
        """Start ``rubrica ARGS``; what it prints goes to a file."""
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps([[str(arg) for arg in args], str(output)]) + "\n")
        self._parent.stdin.flush()
        return Fork(self._parent)


@contextmanager
def forks(env: Mapping[str, str], modules: str) -> Iterator[Forks]:
    """A process that has loaded `modules`, to start commands from; it ends with the block."""
    command = [sys.executable, "-c", PROGRAM.format(modules=modules)]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        yield Forks(parent)
