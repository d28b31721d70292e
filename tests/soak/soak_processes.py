"""The processes of a soak: `rubrica serve` and `rubrica gateway`, started for real, watched, and ended in any case."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from soak_growth import Outcomes, Sample

START = 60.0  # seconds that a process may take until it serves
END = 60.0  # seconds that it may take to end, once it is told to


@dataclass
class Served:
    """A process under load."""

    name: str
    process: subprocess.Popen[bytes]
    url: str
    output: Path
    outcomes: Outcomes = field(default_factory=Outcomes)
    samples: list[Sample] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def look(self) -> Sample | None:
        """Measure it now; None where it is gone."""
        place = Path(f"/proc/{self.process.pid}")
        try:
            status = (place / "status").read_text()
            descriptors = sum(1 for _ in (place / "fd").iterdir())
        except OSError:
            return None
        figures = {line.partition(":")[0]: line.partition(":")[2].split() for line in status.splitlines()}
        if "VmRSS" not in figures:
            return None
        memory, threads = int(figures["VmRSS"][0]) / 1024, int(figures["Threads"][0])
        sample = Sample(time.monotonic() - self.started, memory, descriptors, threads)
        self.samples.append(sample)
        return sample

    async def end(self) -> int | None:
        """Ask it to end, as Ctrl+C does; its exit code, or None where it had to be killed."""
        self.process.send_signal(signal.SIGINT)
        try:
            return await asyncio.to_thread(self.process.wait, END)
        except subprocess.TimeoutExpired:
            return None


@asynccontextmanager
async def serving(name: str, arguments: list[str], folder: Path, environ: Mapping[str, str]) -> AsyncIterator[Served]:
    """``rubrica ARGUMENTS`` in a folder, once it serves; it is killed at the end if it is still there."""
    output = folder / f"{name}.log"
    env = {**os.environ, "COLUMNS": "200", "HOME": str(folder), **environ}
    with output.open("wb") as written:
        command = [sys.executable, "-m", "rubrica", *arguments]
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=written, stderr=written)
    try:
        yield Served(name, process, await _address(process, output), output)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


async def _address(process: subprocess.Popen[bytes], output: Path) -> str:
    async with asyncio.timeout(START):
        while (found := re.search(r"http://127\.0\.0\.1:\d+", output.read_text(errors="replace"))) is None:
            if process.poll() is not None:
                raise RuntimeError(f"it did not start: {output.read_text(errors='replace')[-2_000:]}")
            await asyncio.sleep(0.02)
        return found[0]
