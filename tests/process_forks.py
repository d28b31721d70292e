"""``rubrica run`` as processes that start in no time: forks of one that has loaded the program already.

A fork is a process of its own, with a folder's lock, files and connections of its own, and dies as any other.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import json, os, sys
import aiohttp
import rubrica.cli.run, rubrica.cli.judging, rubrica.llm.http, rubrica.llm.openai, rubrica.llm.anthropic
from rubrica.cli.app import main

for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nowhere, descriptor)
        sys.argv = ["rubrica", "run", *json.loads(line)]
        try:
            main()
        finally:
            os._exit(0)
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("over", flush=True)
"""


class Fork:
    """A run under way."""

    def __init__(self, nursery: subprocess.Popen[str]) -> None:
        self._nursery = nursery
        self.pid = int(self._line())
        self._over = False

    def poll(self) -> int | None:
        """Something where it is over, None where it is not."""
        ready, _, _ = select.select([self._nursery.stdout], [], [], 0)
        self._over = self._over or bool(ready)
        return 0 if self._over else None

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        assert self._line() == "over\n"

    def _line(self) -> str:
        assert self._nursery.stdout is not None
        return self._nursery.stdout.readline()


class Forks:
    """Starts runs, one at a time."""

    def __init__(self, nursery: subprocess.Popen[str]) -> None:
        self._nursery = nursery

    def run(self, *args: str | Path) -> Fork:
        assert self._nursery.stdin is not None
        self._nursery.stdin.write(json.dumps([str(arg) for arg in args]) + "\n")
        self._nursery.stdin.flush()
        return Fork(self._nursery)


@contextmanager
def forks(env: dict[str, str]) -> Iterator[Forks]:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        yield Forks(nursery)
