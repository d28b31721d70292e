"""What holds for every test: no network but loopback, and no deadlines that a busy machine could miss."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import socket
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is there: tests already run on every core

os.environ["RUBRICA_BASELINES"] = "off"  # runs of tests are added to no project's baselines, but where a test says so

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell leaves it to what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that the processes of tests can be interrupted

pytest_plugins = ["databases", "object_server"]  # `database`, `database_url` and what they stand on; `object_server`

settings.register_profile("rubrica", deadline=None, max_examples=50)  # others every time; `make fuzz` tries many
settings.load_profile("rubrica")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays, with the little that nobody needs: looking for that takes a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise OSError(f"tests reach loopback only, not {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
