"""What every fuzzing target shares: its examples, what is done with one, and what one may cost.

An example is plain data (texts, bytes, numbers, lists, mappings), so that it can be written down, kept and tried again.
"""

from __future__ import annotations

import ast
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import strategies as st

from rubrica.errors import RubricaError

MOST_CPU_SECONDS = 3.0
"""What one example may take. The texts are small: a hundred times as much as is usual."""
MOST_MEGABYTES = 400
"""By which one example may raise the memory of the process."""
LONGEST_WAIT = 60.0
"""Seconds by the clock on the wall after which an example is taken to hang."""
EXPECTED = (RubricaError,)
"""How anything that cannot be used is refused."""

Check = Callable[[Any], None]


class ExampleTooCostlyError(AssertionError):
    """An example took too long or too much memory."""


@dataclass(frozen=True)
class Target:
    """Something that reads what others wrote: what is tried on it, and what must hold."""

    name: str
    examples: st.SearchStrategy[Any]
    opened: Callable[[], AbstractContextManager[Check]]
    share: int = 100  # examples in the bounded run; few where one is expensive
    begins_with: tuple[Any, ...] = ()  # examples that once failed, tried first


def target(
    name: str, examples: st.SearchStrategy[Any], check: Check, share: int = 100, begins_with: tuple[Any, ...] = ()
) -> Target:
    """A target that needs nothing around it."""
    return Target(name, examples, lambda: nullcontext(check), share, begins_with)


def refused(work: Callable[[], Any]) -> Any:
    """What the work gives, or None where it is refused the way everything is refused."""
    try:
        return work()
    except EXPECTED as error:
        told, kind = str(error), type(error).__name__
    assert told, f"{kind} says nothing"
    return None


@contextmanager
def bounded() -> Iterator[None]:
    """Fail where what happens inside takes too long, too much memory, or never ends."""
    hanging = _Alarm() if threading.current_thread() is threading.main_thread() else nullcontext()
    _forget_peak()
    before, started = _memory("VmRSS"), time.process_time()
    with hanging:
        yield
    took, grown = time.process_time() - started, _memory("VmHWM") - before
    if took > MOST_CPU_SECONDS:
        raise ExampleTooCostlyError(f"one example took {took:.1f} s of CPU time, {MOST_CPU_SECONDS} s are allowed")
    if grown > MOST_MEGABYTES:
        raise ExampleTooCostlyError(f"one example took {grown:.0f} MB, {MOST_MEGABYTES} MB are allowed")


class _Alarm:
    """Interrupts what hangs; works for code that returns to Python now and then."""

    def __enter__(self) -> None:
        self._former = signal.signal(signal.SIGALRM, _hangs)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._former)


def _hangs(_signal: int, _frame: FrameType | None) -> None:
    raise ExampleTooCostlyError(f"one example was not done after {LONGEST_WAIT:.0f} s")


def _forget_peak() -> None:
    with suppress(OSError):  # elsewhere than on Linux memory is not watched
        Path("/proc/self/clear_refs").write_text("5")


def _memory(line: str) -> float:
    """Megabytes of this process: `VmRSS` now, `VmHWM` at most since `_forget_peak`."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition(f"{line}:")[2].split()[0]) / 1024


def all_finite(value: Any, path: str = "") -> None:
    """Fail on a number that is not finite, anywhere in plain data."""
    match value:
        case float():
            assert math.isfinite(value), f"{path}: {value}"
        case Mapping():
            for key, inner in value.items():
                all_finite(inner, f"{path}.{key}")
        case list() | tuple():
            for place, inner in enumerate(value):
                all_finite(inner, f"{path}[{place}]")
        case _:
            pass


def written(example: Any) -> str:
    """An example as Python would write it."""
    return repr(example)


def read_example(text: str) -> Any:
    """Reads back what `written` wrote; `nan` and `inf` are numbers.

    >>> read_example("{'weight': [nan, -inf, b'x']}")
    {'weight': [nan, -inf, b'x']}
    """
    return ast.literal_eval(_Numbers().visit(ast.parse(text.strip(), mode="eval")))


class _Numbers(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(float(node.id)), node) if node.id in ("nan", "inf") else node
