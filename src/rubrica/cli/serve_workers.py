"""``rubrica serve`` in one process or in several: the application as a command line asked for it, served by each."""

from __future__ import annotations

import gc
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from rubrica.extras import MissingExtraError, requires
from rubrica.server.app import create_app
from rubrica.server.connection import serving_config
from rubrica.server.listening import WAITING
from rubrica.server.proxies import Network, behind_proxies
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.server.siblings import PageForwarder, SiblingPages

from .worker_pool import WorkerPool

if TYPE_CHECKING:
    from rubrica.judges.jury import Jury

GRACE = 30
"""Seconds that requests under way are given to finish when the server is stopped."""

YOUNG = 10_000
"""New objects before the collector looks for cycles among them. A request makes hundreds, hardly ever in a cycle."""

LARGEST_MESSAGE = 1_000_100
"""Bytes that a page of the studio sends at once: a million, and what is around them."""


PAGES = "pages.sock"
WITH_PAGES, WITH_RUNS = 0, 1
"""The numbers of the worker that draws pages, and of the one that works runs off."""


@dataclass(frozen=True)
class ServedApplication:
    """The API and the studio. Of several workers one draws all pages: a page lives in the memory of its process."""

    settings: ServerSettings
    proxies: Sequence[Network] = ()
    lack: str = ""  # why there is no studio
    folder: Path | None = None  # where workers meet; None: there is one process
    reloads: bool = False

    def run(self, listening: socket.socket, ready: Callable[[], None], number: int = 0) -> bool:
        """Serve until somebody ends it; whether it could be started."""
        with ExitStack() as stack:
            sockets = [listening]
            if self.folder is not None and number == WITH_PAGES and not self.lack:
                sockets.append(stack.enter_context(_listen_for_siblings(self.folder / PAGES)))
            app, options = self._app(number)
            server = AnnouncingServer(serving_config(app, timeout_graceful_shutdown=GRACE, **options), ready)
            with suppress(KeyboardInterrupt):
                server.run(sockets)
            return server.started

    def _app(self, number: int) -> tuple[ASGIApp, dict[str, Any]]:
        """What a worker serves, and how it takes websockets."""
        folder, settings = self.folder, self.settings
        if folder is not None and number != WITH_RUNS:
            settings = replace(settings, run_jobs=0)
        service = Service.open(settings, jury=server_jury(settings.judges) if settings.judges else None)
        application = create_app(service)
        if self.lack:
            return behind_proxies(application, self.proxies), {"ws": "none"}
        sockets = {"ws": "auto", "ws_max_size": LARGEST_MESSAGE}
        if folder is not None and number != WITH_PAGES:
            return behind_proxies(PageForwarder(application, folder / PAGES), self.proxies), sockets
        attach_studio(application, service, settings.council)
        served = behind_proxies(application, self.proxies)
        return (served if folder is None else SiblingPages(served, application)), sockets


def serve_application(
    served: ServedApplication, count: int, listening: socket.socket, ready: Callable[[], None]
) -> bool:
    """Serve by so many processes until somebody ends them; whether it could be started."""
    if count == 1:
        return served.run(listening, ready)
    with tempfile.TemporaryDirectory(prefix="rubrica-serve-") as folder:  # for its owner alone
        pool = WorkerPool(replace(served, folder=Path(folder)), listening.getsockname()[:2])
        pool.start(count)
        ready()
        pool.watch()
    return True


def check_installed(package: str) -> None:
    """A ModuleNotFoundError where a package is not there. It is not loaded, which may take a second."""
    if find_spec(package) is None:
        raise ModuleNotFoundError(name=package)


def studio_lack() -> str:
    """Why there can be no studio, where what draws its pages is not installed."""
    try:
        with requires("studio", "the API alone"):
            check_installed("nicegui")
    except MissingExtraError as error:
        return str(error)
    return ""


def attach_studio(application: FastAPI, service: Service, models: tuple[str, ...]) -> None:
    """Add the studio's pages."""
    from rubrica.studio.mount import attach  # late: pages take a second to load, and --no-studio has none
    from rubrica.studio.studio import Studio

    attach(application, Studio(service, application.state.door, models))


def _listen_for_siblings(place: Path) -> socket.socket:
    place.unlink(missing_ok=True)  # of one that was here before
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(place))
    listening.listen(WAITING)
    return listening


class AnnouncingServer(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # what is loaded stays: scanning it again and again took an eighth of a request's time
            gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
            self._ready()


def server_jury(names: tuple[str, ...]) -> Jury:
    """The judges; loaded only now, because a server without them needs no price list."""
    with requires("studio", "--judge"):
        from rubrica.judges.jury import Jury
    return Jury(names, public=True)
