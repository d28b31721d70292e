"""How much of this machine may be used."""

from __future__ import annotations

import os
import sys

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Has numpy multiply in the thread that asks: matrices here are small, and threads that wait for each other by spinning
took seven times the processor time of one. It counts before numpy is loaded, and changes no bit of a result."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_environment() -> dict[str, str]:
    """The environment of another Python process of a run: it finds the same modules, and keeps to one core."""
    return {**ONE_THREAD, **os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
