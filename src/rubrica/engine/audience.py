"""Listeners to every evaluation that is made in this process.

There is one place where evaluations come into being (`record`), so there is one place to listen. Telemetry does;
nothing that an evaluation consists of depends on it.
"""

from __future__ import annotations

from collections.abc import Callable

from rubrica.model.evaluation import Evaluation

Listener = Callable[[Evaluation], None]

listeners: list[Listener] = []
"""Read by `record`. A listener must be quick and must not raise."""


def listen(listener: Listener) -> Callable[[], None]:
    """Hear of every evaluation from now on; calling the result ends it.

    >>> heard = []
    >>> stop = listen(heard.append)
    >>> stop()
    >>> listeners
    []
    """
    listeners.append(listener)
    return lambda: listeners.remove(listener)
