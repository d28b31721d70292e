"""Signing in with a browser, and out again. The key travels once, in the body of a form; never in an address."""

from __future__ import annotations

from functools import cache
from urllib.parse import parse_qs

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, Template
from starlette.routing import Route, Router

from rubrica.server.problems import refusal
from rubrica.server.sessions import COOKIE, LIFETIME, same_place, token_of
from rubrica.server.sign_in import SIGN_IN, Authenticator

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
OWN_PAGES = {"Referrer-Policy": "same-origin"}
"""With no referrer at all, a browser would not say either that a form comes from a page of ours."""
HOME = "/"


async def form(request: Request) -> Response:
    """Where a person gives their key."""
    return _page(request.query_params.get("next", HOME), "")


async def sign_in(request: Request) -> Response:
    """Begin a session."""
    if foreign := _foreign(request):
        return foreign
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    wanted, key = fields.get("next", [HOME])[0], fields.get("key", [""])[0]
    door: Authenticator = request.app.state.door
    token = await door.sign_in(request.scope, key)
    if isinstance(token, Response):
        told = (
            "Too many tries. Wait a minute." if token.status_code == 429 else "There is no such key, or it was revoked."
        )
        return _page(wanted, told, token.status_code)
    if (before := token_of(request.scope)) is not None:
        await door.sessions.end(before)
    reply = RedirectResponse(_inside(wanted), 303)
    reply.set_cookie(
        COOKIE, token, max_age=int(LIFETIME), httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
    return reply


async def sign_out(request: Request) -> Response:
    """End the session."""
    if foreign := _foreign(request):
        return foreign
    token = token_of(request.scope)
    if token is not None:
        await request.app.state.door.sessions.end(token)
    reply = RedirectResponse(SIGN_IN, 303)
    reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return reply


def _foreign(request: Request) -> Response | None:
    """The refusal of a form that another web page sent."""
    origin = request.headers.get("origin")
    if origin is None or same_place(origin.encode("latin-1"), request.headers.get("host", "").encode("latin-1")):
        return None
    return refusal(request.scope, 403, "this form was sent by another web page")


def _inside(path: str) -> str:
    """A path of this server; anything else becomes the first page.

    >>> _inside("/rubrics"), _inside("//evil.example"), _inside("https://evil.example"), _inside("/\\\\evil.example")
    ('/rubrics', '/', '/', '/')
    """
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() else HOME


def _page(next: str, error: str, status: int = 200) -> Response:
    page = _template().render(next=_inside(next), error=error)
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store", **OWN_PAGES}
    return HTMLResponse(page, status, headers)


@cache
def _template() -> Template:
    return Environment(loader=PackageLoader("rubrica.server"), autoescape=True).get_template("signin.html.j2")


router = Router(
    [
        Route(SIGN_IN, form, methods=["GET"]),
        Route(SIGN_IN, sign_in, methods=["POST"]),
        Route("/signout", sign_out, methods=["POST"]),
    ]
)
