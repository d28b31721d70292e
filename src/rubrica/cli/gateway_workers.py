"""A gateway in one process or in several: opened from its settings, opened anew on SIGHUP, and looked after."""

from __future__ import annotations

import logging
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from starlette.types import ASGIApp

from rubrica.gateway.gateway import Gateway
from rubrica.gateway.parts import GatewayModels, GatewayParts
from rubrica.gateway.process import GatewayProcess
from rubrica.gateway.settings import GatewaySettings
from rubrica.llm.settings import load_settings
from rubrica.server.connection import serving_config
from rubrica.server.gateway.app import create_app
from rubrica.server.gateway.reloading import ReloadableApp
from rubrica.server.proxies import Network, behind_proxies
from rubrica.store.database import Database

from .serve_workers import GRACE, AnnouncingServer
from .worker_pool import WorkerPool

LOG = logging.getLogger("rubrica.gateway")


@dataclass(frozen=True)
class ServedGateway:
    """A gateway as a command line asked for it. `settings` reads its file, again each time."""

    settings: Callable[[], GatewaySettings]
    place: str
    proxies: Sequence[Network] = ()
    reloads: bool = False  # on SIGHUP
    digest_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    folder: Path | None = None  # where workers tell each other their figures

    def run(self, listening: socket.socket, ready: Callable[[], None], number: int = 0) -> bool:  # noqa: ARG002
        """Serve until somebody ends it; whether it could be started."""
        process = GatewayProcess(self.digest_key, self.folder)
        app = ReloadableApp(lambda: self._open(process), on_hangup=self.reloads)
        server = AnnouncingServer(serving_config(app, timeout_graceful_shutdown=GRACE), ready)
        with suppress(KeyboardInterrupt), _shown_log():
            server.run([listening])
        return server.started

    def _open(self, process: GatewayProcess) -> ASGIApp:
        settings = self.settings()
        parts = GatewayParts.open(settings, GatewayModels(load_settings()))
        gateway = Gateway(settings, Database.open(self.place), parts, process=process)
        return behind_proxies(create_app(gateway), self.proxies)


@contextmanager
def _shown_log() -> Iterator[None]:
    """What the gateway tells of its work goes to standard error, as warnings do by themselves: a hedge, a deployment
    that is back. Who has set up logging sees it there."""
    handler = None if LOG.hasHandlers() else logging.StreamHandler()
    before = LOG.level
    LOG.setLevel(logging.INFO)
    if handler is not None:
        LOG.addHandler(handler)
    try:
        yield
    finally:
        LOG.setLevel(before)
        if handler is not None:
            LOG.removeHandler(handler)


def serve_with_workers(served: ServedGateway, count: int, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Run so many workers until somebody ends them. The system shares connections out among them.

    A worker that ends by itself is started again; one that cannot even start ends all.
    """
    where = listening.getsockname()[:2]
    with tempfile.TemporaryDirectory(prefix="rubrica-gateway-") as folder:
        pool = WorkerPool(replace(served, folder=Path(folder)), where)
        pool.start(count)
        ready()
        pool.watch()
