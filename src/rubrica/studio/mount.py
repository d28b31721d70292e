"""Puts the studio's pages on the server's application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from nicegui import Client, core, ui
from starlette.routing import Route

from rubrica.errors import RubricaError
from rubrica.server.problems import refusal
from rubrica.server.routes.session import OWN_PAGES

from .builder import page as builder_page
from .council import page as council_page
from .frame import frame, style
from .games import list_page as game_list
from .games import page as game_page
from .gateway import page as gateway_page
from .market import list_page as market_list
from .market import page as listing_page
from .page_limits import PageLimits, note_connection
from .parts import UNFORESEEN, error_text, heading
from .preferences import page as preferences_page
from .reviews import queue_page as review_queue
from .rubrics import list_page as rubric_list
from .rubrics import page as rubric_page
from .rubrics import versions_page
from .runs import list_page as run_list
from .sandbox import page as sandbox_page
from .scores import page as scores_page
from .sockets import CHECKED, PageSockets
from .studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (
    rubric_list.install,
    builder_page.install,
    rubric_page.install,
    versions_page.install,
    sandbox_page.install,
    scores_page.install,
    preferences_page.install,
    run_list.install,
    review_queue.install,
    market_list.install,
    listing_page.install,
    game_list.install,
    game_page.install,
    council_page.install,
    gateway_page.install,
)
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
"""Nothing is loaded from elsewhere. The page's framework needs scripts in the page itself."""
FIRST = "/rubrics"


def attach(app: FastAPI, studio: Studio) -> None:
    """Add the studio to an application. A process has one: its pages are known to the framework as a whole."""
    for install in PAGES:
        install(studio)
    core.app.middleware("http")(_policy)
    core.app.on_page_exception(_not_drawn)
    core.app.add_exception_handler(404, _missing_page(studio))
    core.sio.eio.cors_allowed_origins = None  # only pages of this server may talk to it
    # A websocket is one request, of one visitor; with polling anybody could go on with what somebody else began.
    core.sio.eio.transports = core.app.config.socket_io_js_transports = ["websocket"]
    _apply_limits(studio)
    ui.run_with(
        app,
        title="Rubrica",
        dark=None,
        language="en-US",
        show_welcome_message=False,
        reconnect_timeout=30,
        tailwind=False,
    )
    mounted = app.router.routes.pop()
    for path in ("/api/{rest:path}", "/v1/{rest:path}", "/v2/{rest:path}"):
        app.router.routes.append(Route(path, _no_such_path, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]))
    app.router.routes.append(mounted)
    app.state.first_page = FIRST


def _apply_limits(studio: Studio) -> None:
    """Let each visitor have so many pages, and each page serve its visitor alone."""
    limits, sockets = PageLimits(), PageSockets(core.sio, studio.door)
    sockets.install()
    core.app.middleware("http")(limits.__call__)
    core.app.on_connect(note_connection)

    async def look_after() -> None:
        limits.drop_unconnected()
        await sockets.close_ended()

    core.app.timer(CHECKED, look_after, immediate=False)


def _missing_page(studio: Studio) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What answers for a page that is not there: the way to those that are."""

    async def missing(request: Request, _error: Exception) -> Response:
        if request.url.path.startswith("/_nicegui"):  # asked for by a page, not by a person
            return PlainTextResponse("there is no such file", 404)
        with Client(ui.page(""), request=request) as client, frame(studio.visitor(request), "Not found", ""):
            with heading("There is no such page", back=("Rubrics", FIRST)):
                pass
            ui.label("Its address may be mistyped. The menu leads to every page there is.").classes("quiet")
        return client.build_response(request, 404)

    return missing


def _not_drawn(error: Exception) -> None:
    """The page in place of one that failed while it was drawn; the framework logs why."""
    ui.page_title("Not drawn · Rubrica")
    ui.add_css(style())
    with ui.element("div").classes("content"):
        with heading("This page could not be drawn", back=("Rubrics", FIRST)):
            pass
        ui.label(error_text(error) if isinstance(error, RubricaError) else UNFORESEEN).classes("fault").props(
            'role="alert"'
        )


async def _policy(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    reply = await call(request)
    reply.headers["Content-Security-Policy"] = POLICY
    reply.headers.update(OWN_PAGES)
    return reply


async def _no_such_path(request: Request) -> Response:
    return refusal(request.scope, 404, "there is no such path here (GET /docs lists them)")
