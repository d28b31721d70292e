"""Loads the HTTP client beside everything else, for a command that is going to ask a model.

It reads the certificates that the machine trusts, which takes a while and is no work of Python's: another core does it.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Thread


def load_client_early() -> None:
    """Begin to load it, and do not wait."""
    Thread(target=_load, daemon=True).start()


def _load() -> None:
    with suppress(ModuleNotFoundError):  # told where the client is wanted
        import aiohttp  # noqa: F401 - here, since that is what takes a while
