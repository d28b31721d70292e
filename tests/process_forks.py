"""``rubrica`` as processes that start in no time: forks of the one that `warm_start` has loaded.

A fork is a process of its own, with a folder's lock, files and connections of its own, and dies as any other.

    run = start_fork("run", "cases.jsonl", "-o", "folder")
    run.kill()
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping
from pathlib import Path

from warm_start import ask_for, exit_code


class Fork:
    """A command under way."""

    def __init__(self, args: list[str], env: Mapping[str, str], output: str | Path) -> None:
        nowhere, written = os.open(os.devnull, os.O_RDWR), os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._line = ask_for(args, dict(env), (nowhere, written, written))
        finally:
            os.close(nowhere)
            os.close(written)
        self._gone = False

    def poll(self) -> int | None:
        """Something where it is over, None where it is not."""
        return 0 if self._gone or select.select([self._line], [], [], 0)[0] else None

    def terminate(self) -> None:
        """Tell it to end."""
        self._line.sendall(bytes([signal.SIGTERM]))

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if self.poll() is None:
            self._line.sendall(bytes([signal.SIGKILL]))
        self.wait()

    def wait(self) -> None:
        """Wait until it is gone."""
        if not self._gone:
            exit_code(self._line)
            self._line.close()
            self._gone = True


def start_fork(*args: str | Path, env: Mapping[str, str] = os.environ, output: str | Path = os.devnull) -> Fork:
    """Start ``rubrica ARGS``; what it prints goes to a file."""
    return Fork([str(arg) for arg in args], env, output)
