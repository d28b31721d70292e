"""The application: routes, middleware, startup and shutdown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from rubrica import __version__
from rubrica.errors import StoreError
from rubrica.store.address import address
from rubrica.store.idempotency import forget
from rubrica.store.queue_schema import upgrade_queue
from rubrica.store.spending import forget_spending
from rubrica.store.upgrade import upgrade
from rubrica.workspace.council_sessions import interrupt_sessions
from rubrica.workspace.run_queue import serve_queue, worker_name
from rubrica.workspace.run_worker import RunWorker
from rubrica.workspace.seed import seed_packs

from . import problems
from .envelope import Envelope
from .idempotency import Idempotency
from .limits import BodyLimit
from .open_scores import judge_open_scores
from .openapi import DESCRIPTION, TAGS, describe
from .routes import (
    council,
    council_sessions,
    education,
    evaluations,
    execute,
    fair_play,
    game_life,
    games,
    health,
    joining,
    keys,
    leaderboards,
    marketplace,
    players,
    preferences,
    reviews,
    rounds,
    runs,
    scores,
    session,
    versions,
    webhooks,
)
from .service import Service
from .sign_in import Authenticator, SignIn

LOG = logging.getLogger("rubrica.server")
CLEANED = 3600.0
"""Seconds between two clean-ups of replies that are too old."""
LOOKED = 30.0
"""Seconds between two looks for council sessions that nobody holds."""

ROUTERS = (
    execute.router,  # first, because it is asked most and routes are tried in order
    rounds.router,
    evaluations.router,
    versions.router,
    marketplace.router,
    games.router,
    fair_play.router,
    joining.router,
    game_life.router,
    leaderboards.router,
    players.router,
    scores.router,
    preferences.router,
    reviews.router,
    runs.router,
    council.router,
    council_sessions.router,
    webhooks.router,
    keys.router,
    education.router,
    health.router,
    session.router,
)


def create_app(service: Service) -> FastAPI:
    """The API over one service: it brings the database up to date when it starts, and closes the service at its end."""
    door = Authenticator(service)
    app = FastAPI(
        title="Rubrica",
        version=__version__,
        summary="Judge AI output with rubrics people can read, trust and change.",
        description=DESCRIPTION,
        openapi_tags=TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=lambda _: _lifespan(service, door),
    )
    app.state.service = service
    app.state.door = door
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # as they are: including a router would match every request twice
    problems.install(app)
    describe(app)
    # the last added stands outermost
    app.add_middleware(Idempotency, service=service)
    app.add_middleware(SignIn, door=door)
    app.add_middleware(BodyLimit, most=service.settings.max_body)
    app.add_middleware(Envelope)
    return app


@asynccontextmanager
async def _lifespan(service: Service, door: Authenticator) -> AsyncIterator[None]:
    await prepare(service)
    work = [_clean(service, door), _look(service), _send(service)]
    if service.jury is not None:
        work.append(judge_open_scores(service))
    if service.settings.queued_runs and service.settings.run_jobs:
        work.append(_work_runs_off(service))
    beside = [asyncio.get_running_loop().create_task(one) for one in work]
    try:
        yield
    finally:
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        await door.settle()
        await service.close()


async def prepare(service: Service) -> None:
    """Bring the database up to date: its tables, the bundled rubrics, and no replies that nobody can ask for."""
    await upgrade(service.settings.database)
    if service.settings.queued_runs:
        await upgrade_queue(service.settings.database)
    if service.settings.preload:
        await service.database.write(seed_packs, service.clock())
    await service.database.write(forget, service.clock())
    await service.database.write(forget_spending, service.clock())
    alone = address(service.settings.database).file is not None  # a SQLite file has one server
    await service.database.write(interrupt_sessions, service.clock(), everything=alone)


async def _send(service: Service) -> None:
    await service.webhooks.run()


async def _look(service: Service) -> None:
    """Find council sessions that another server has left behind."""
    while True:
        await asyncio.sleep(LOOKED)
        with suppress(StoreError):  # the next look may come through
            await service.sessions.end_abandoned()


async def _work_runs_off(service: Service) -> None:
    """Take runs from the queue, as `rubrica worker` does."""
    settings = service.settings
    worker = RunWorker(
        service.database,
        settings.runs,
        service.clock,
        f"the server on {worker_name()}",
        settings.run_jobs,
        service.webhooks.wake,
        settings.more_runs,
    )
    await serve_queue(settings.database, worker)


async def _clean(service: Service, door: Authenticator) -> None:
    while True:
        await asyncio.sleep(CLEANED)
        try:
            await service.database.write(forget, service.clock())
            await service.database.write(forget_spending, service.clock())
            await service.webhooks.forget()
            await door.sessions.forget()
        except StoreError as error:
            LOG.warning("old replies, reservations, deliveries and sessions were not dropped: %s", error)
