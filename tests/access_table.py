"""The access table: every route, page, file and socket of server, studio and gateway, and whom it answers how.

It is data, and nothing else says it a second time. The tests called ``…_access_matrix`` ask every row as every caller,
and list the routes that the applications have: one that is not in here fails them.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

CALLERS = ("nobody", "viewer", "player", "author", "other", "admin")
"""`author` made the things that are asked for; `other` is an author who did not."""

NUMBERS = itertools.count()
GONE = "018f0000-0000-7000-8000-000000000000"
MARK = "xylophone"
"""Stands in whatever the author keeps private, and in nothing that anybody else is shown."""


def definition(**more: Any) -> dict[str, Any]:
    rule = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
    return {"name": f"Brief {next(NUMBERS)}", "scoring_type": "binary", "rules": [rule], **more}


class Row(NamedTuple):
    """One route with things put in its path, and the status that each of `CALLERS` is answered with."""

    method: str
    path: str
    things: dict[str, str]  # by the name of a path parameter
    body: Any  # a function makes a new one each time
    statuses: str


READ_PRIVATE, READ_PUBLIC = "401 404 404 200 404 200", "401 200 200 200 200 200"
PRIVATE, PUBLIC = {"reference": "private"}, {"reference": "public"}
OFFER, NO_OFFER = {"id": "public"}, {"id": "private"}
OWN_GAME, OPEN_GAME = {"game_id": "private_game"}, {"game_id": "public_game"}
EVALUATION, MARKET, GAME = "/api/evaluations/{reference}", "/api/marketplace/{id}", "/api/games/{game_id}"
REVIEW_ITEM, REVIEWED = "/api/reviews/items/{item_id}", {"scores": {"points": 1}}
ONE_ROUND = {"round": {"response": "Hello."}}
SESSION, OWN_SESSION = "/api/council/sessions/{session_id}", {"session_id": "session"}
WEBHOOK, OWN_WEBHOOK = "/api/webhooks/{webhook_id}", {"webhook_id": "webhook"}
DROP_OWN, DROP_SHOWN = "401 404 404 204 404 204", "401 403 403 204 403 204"
SPRING = {"name": "Spring", "starts_at": "2026-03-01T00:00:00Z", "ends_at": "2026-06-01T00:00:00Z"}
RUN, OWN_RUN, SHARED_RUN = "/api/runs/{name}", {"name": "private_run"}, {"name": "shared_run"}


def _attaching() -> dict[str, Any]:
    return {"evaluation_id": "on-the-shelf", "weights": "renormalise"}


# --- the REST API -----------------------------------------------------------------------------------------

ROWS = [
    Row("POST", "/api/evaluations", {}, definition, "401 403 403 201 201 201"),
    Row("GET", "/api/evaluations", {}, None, READ_PUBLIC),
    Row("POST", "/api/evaluations/import", {}, definition, "401 403 403 201 201 201"),
    Row("GET", EVALUATION, PRIVATE, None, READ_PRIVATE),
    Row("GET", EVALUATION, PUBLIC, None, READ_PUBLIC),
    Row("PUT", EVALUATION, PRIVATE, definition, "401 403 403 200 404 200"),
    Row("PUT", EVALUATION, PUBLIC, definition, "401 403 403 200 403 200"),
    Row("DELETE", EVALUATION, PRIVATE, None, "401 404 404 204 404 204"),
    Row("DELETE", EVALUATION, PUBLIC, None, "401 403 403 204 403 204"),
    Row("POST", f"{EVALUATION}/test", PRIVATE, {"response": "Hello."}, READ_PRIVATE),
    Row("POST", f"{EVALUATION}/test", PUBLIC, {"response": "Hello."}, READ_PUBLIC),
    Row("POST", f"{EVALUATION}/execute", PRIVATE, {"response": "Hello."}, "401 403 404 201 404 201"),
    Row("POST", f"{EVALUATION}/execute", PUBLIC, {"response": "Hello."}, "401 403 201 201 201 201"),
    Row("GET", f"{EVALUATION}/versions", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/versions", PUBLIC, None, READ_PUBLIC),
    Row("GET", f"{EVALUATION}/versions/{{which}}", {**PRIVATE, "which": "1"}, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/versions/{{which}}", {**PUBLIC, "which": "1"}, None, READ_PUBLIC),
    Row(
        "GET",
        f"{EVALUATION}/versions/{{which}}/diff/{{other}}",
        {**PRIVATE, "which": "1", "other": "1.0"},
        None,
        READ_PRIVATE,
    ),
    Row(
        "GET",
        f"{EVALUATION}/versions/{{which}}/diff/{{other}}",
        {**PUBLIC, "which": "1", "other": "1.0"},
        None,
        READ_PUBLIC,
    ),
    Row("POST", f"{EVALUATION}/versions/{{which}}/restore", {**PRIVATE, "which": "1"}, None, "401 404 404 200 404 200"),
    Row("POST", f"{EVALUATION}/versions/{{which}}/restore", {**PUBLIC, "which": "1"}, None, "401 403 403 200 403 200"),
    Row("POST", f"{EVALUATION}/fork", PRIVATE, None, "401 404 404 201 404 201"),
    Row("POST", f"{EVALUATION}/fork", PUBLIC, None, "401 403 403 201 201 201"),
    Row("GET", f"{EVALUATION}/lineage", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/lineage", PUBLIC, None, READ_PUBLIC),
    Row("GET", f"{EVALUATION}/export", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/export", PUBLIC, None, READ_PUBLIC),
    Row("GET", f"{EVALUATION}/docs", PRIVATE, None, READ_PRIVATE),
    Row("GET", f"{EVALUATION}/docs", PUBLIC, None, READ_PUBLIC),
    Row("GET", "/api/marketplace/evaluations", {}, None, READ_PUBLIC),
    Row("GET", "/api/marketplace/trending", {}, None, READ_PUBLIC),
    Row("GET", MARKET, NO_OFFER, None, "401 404 404 404 404 404"),
    Row("GET", MARKET, OFFER, None, READ_PUBLIC),
    Row("POST", f"{MARKET}/import", NO_OFFER, None, "401 403 403 404 404 404"),
    Row("POST", f"{MARKET}/import", OFFER, None, "401 403 403 201 201 201"),
    Row("POST", f"{MARKET}/rate", NO_OFFER, {"rating": 4}, "401 403 404 404 404 404"),
    Row("POST", f"{MARKET}/rate", OFFER, {"rating": 4}, "401 403 200 403 200 200"),
    Row("GET", f"{MARKET}/reviews", NO_OFFER, None, "401 404 404 404 404 404"),
    Row("GET", f"{MARKET}/reviews", OFFER, None, READ_PUBLIC),
    Row("PUT", f"{MARKET}/featured", NO_OFFER, {"featured": True}, "401 403 403 403 403 404"),
    Row("PUT", f"{MARKET}/featured", OFFER, {"featured": True}, "401 403 403 403 403 200"),
    Row("POST", "/api/games", {}, {"name": "Moth night"}, "401 403 403 201 201 201"),
    Row("GET", "/api/games", {}, None, READ_PUBLIC),
    Row("GET", GAME, OWN_GAME, None, READ_PRIVATE),
    Row("GET", GAME, OPEN_GAME, None, READ_PUBLIC),
    Row("PATCH", GAME, OWN_GAME, {"name": "Fly night"}, "401 404 404 200 404 200"),
    Row("PATCH", GAME, OPEN_GAME, {"name": "Fly night"}, "401 403 403 200 403 200"),
    Row("GET", f"{GAME}/evaluations", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/evaluations", OPEN_GAME, None, READ_PUBLIC),
    Row("POST", f"{GAME}/evaluations", OWN_GAME, _attaching, "401 404 404 201 404 201"),
    Row("POST", f"{GAME}/evaluations", OPEN_GAME, _attaching, "401 403 403 201 403 201"),
    Row("PUT", f"{GAME}/evaluations", OWN_GAME, {"evaluations": []}, "401 404 404 200 404 200"),
    Row("PUT", f"{GAME}/evaluations", OPEN_GAME, {"evaluations": []}, "401 403 403 200 403 200"),
    Row(
        "DELETE",
        f"{GAME}/evaluations/{{attachment_id}}",
        {**OWN_GAME, "attachment_id": "private_attachment"},
        None,
        "401 404 404 200 404 200",
    ),
    Row(
        "DELETE",
        f"{GAME}/evaluations/{{attachment_id}}",
        {**OPEN_GAME, "attachment_id": "public_attachment"},
        None,
        "401 403 403 200 403 200",
    ),
    Row("POST", f"{GAME}/evaluate", OWN_GAME, ONE_ROUND, "401 404 404 200 404 200"),
    Row("POST", f"{GAME}/evaluate", OPEN_GAME, ONE_ROUND, "401 403 200 200 200 200"),
    Row("POST", f"{GAME}/evaluate", OWN_GAME, {}, "401 403 404 200 404 200"),
    Row("POST", f"{GAME}/evaluate", OPEN_GAME, {**ONE_ROUND, "player": "model"}, "401 403 403 200 403 200"),
    Row("GET", f"{GAME}/rounds", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/rounds", OPEN_GAME, None, READ_PUBLIC),
    Row(
        "GET",
        f"{GAME}/rounds/{{player}}/{{number}}",
        {**OWN_GAME, "player": "model", "number": "1"},
        None,
        READ_PRIVATE,
    ),
    Row(
        "GET",
        f"{GAME}/rounds/{{player}}/{{number}}",
        {**OPEN_GAME, "player": "model", "number": "1"},
        None,
        READ_PUBLIC,
    ),
    Row(
        "PUT",
        f"{GAME}/players/{{player_id}}",
        {**OWN_GAME, "player_id": "player"},
        None,
        "401 403 404 200 404 403",
    ),
    Row(
        "PUT",
        f"{GAME}/players/{{player_id}}",
        {**OPEN_GAME, "player_id": "player"},
        None,
        "401 403 404 200 404 403",
    ),
    Row(
        "DELETE",
        f"{GAME}/players/{{player_id}}",
        {**OPEN_GAME, "player_id": "joined_player"},
        None,
        "401 403 404 204 404 403",
    ),
    Row("POST", f"{GAME}/start", OWN_GAME, {"round_number": 77}, "401 404 404 201 404 201"),
    Row("POST", f"{GAME}/start", OPEN_GAME, {"round_number": 77}, "401 403 201 201 201 201"),
    Row("POST", f"{GAME}/retry", OWN_GAME, None, "401 404 404 200 404 200"),
    Row("POST", f"{GAME}/retry", OPEN_GAME, None, "401 403 403 200 403 200"),
    Row(
        "PUT",
        f"{GAME}/rounds/{{player}}/{{number}}/void",
        {**OPEN_GAME, "player": "model", "number": "1"},
        {"reason": "copied"},
        "401 403 403 200 403 200",
    ),
    Row(
        "DELETE",
        f"{GAME}/rounds/{{player}}/{{number}}/void",
        {**OPEN_GAME, "player": "model", "number": "1"},
        None,
        "401 403 403 200 403 200",
    ),
    Row(
        "PUT",
        f"{GAME}/rounds/{{player}}/{{number}}/void",
        {**OWN_GAME, "player": "model", "number": "1"},
        {"reason": "copied"},
        "401 404 404 200 404 200",
    ),
    Row(
        "DELETE",
        f"{GAME}/rounds/{{player}}/{{number}}/void",
        {**OWN_GAME, "player": "model", "number": "1"},
        None,
        "401 404 404 200 404 200",
    ),
    Row("PUT", f"{GAME}/vouched", OWN_GAME, {"vouched": False}, "401 403 403 403 403 200"),
    Row("PUT", f"{GAME}/vouched", OPEN_GAME, {"vouched": False}, "401 403 403 403 403 200"),
    Row("GET", f"{GAME}/ratings", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/ratings", OPEN_GAME, None, READ_PUBLIC),
    Row("GET", f"{GAME}/export", OWN_GAME, None, "401 404 404 200 404 200"),
    Row("GET", f"{GAME}/export", OPEN_GAME, None, "401 403 403 200 403 200"),
    Row("GET", f"{GAME}/leaderboard", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/leaderboard", OPEN_GAME, None, READ_PUBLIC),
    Row("GET", f"{GAME}/leaderboard/events", {"game_id": "private_closed_game"}, None, READ_PRIVATE),
    Row("GET", f"{GAME}/leaderboard/events", {"game_id": "public_closed_game"}, None, READ_PUBLIC),
    Row("POST", f"{GAME}/copy", OWN_GAME, None, "401 404 404 201 404 201"),
    Row("POST", f"{GAME}/copy", OPEN_GAME, None, "401 403 403 201 403 201"),
    Row("POST", f"{GAME}/invitations", OWN_GAME, {}, "401 404 404 201 404 201"),
    Row("POST", f"{GAME}/invitations", OPEN_GAME, {}, "401 403 403 201 403 201"),
    Row("GET", f"{GAME}/invitations", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/invitations", OPEN_GAME, None, "401 403 403 200 403 200"),
    Row("DELETE", f"{GAME}/invitations/{{invitation_id}}", {**OWN_GAME, "invitation_id": "invitation"}, None, DROP_OWN),
    Row(
        "DELETE",
        f"{GAME}/invitations/{{invitation_id}}",
        {**OPEN_GAME, "invitation_id": "invitation"},
        None,
        DROP_SHOWN,
    ),
    Row("GET", "/api/invitations", {}, None, READ_PUBLIC),
    Row("POST", "/api/invitations/accept", {}, {"token": "none of them"}, "401 403 404 404 404 404"),
    Row("POST", f"{GAME}/teams", OWN_GAME, {"name": "Moths"}, "401 404 404 201 404 201"),
    Row("POST", f"{GAME}/teams", OPEN_GAME, {"name": "Moths"}, "401 403 403 201 403 201"),
    Row("GET", f"{GAME}/teams", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/teams", OPEN_GAME, None, READ_PUBLIC),
    Row("DELETE", f"{GAME}/teams/{{team}}", {**OWN_GAME, "team": "team"}, None, DROP_OWN),
    Row("DELETE", f"{GAME}/teams/{{team}}", {**OPEN_GAME, "team": "team"}, None, DROP_SHOWN),
    Row(
        "PUT",
        f"{GAME}/players/{{player}}/team",
        {**OWN_GAME, "player": "joined_player"},
        {"team": None},
        "401 403 404 204 404 204",
    ),
    Row(
        "PUT",
        f"{GAME}/players/{{player}}/team",
        {**OPEN_GAME, "player": "joined_player"},
        {"team": None},
        "401 403 404 204 404 204",
    ),
    Row("POST", f"{GAME}/seasons", OWN_GAME, SPRING, "401 404 404 201 404 201"),
    Row("POST", f"{GAME}/seasons", OPEN_GAME, SPRING, "401 403 403 201 403 201"),
    Row("GET", f"{GAME}/seasons", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/seasons", OPEN_GAME, None, READ_PUBLIC),
    Row("DELETE", f"{GAME}/seasons/{{season}}", {**OWN_GAME, "season": "season"}, None, DROP_OWN),
    Row("DELETE", f"{GAME}/seasons/{{season}}", {**OPEN_GAME, "season": "season"}, None, DROP_SHOWN),
    Row("POST", f"{GAME}/tournaments", OWN_GAME, {"name": "Cup"}, "401 404 404 422 404 422"),
    Row("POST", f"{GAME}/tournaments", OPEN_GAME, {"name": "Cup"}, "401 403 403 422 403 422"),
    Row("GET", f"{GAME}/tournaments", OWN_GAME, None, READ_PRIVATE),
    Row("GET", f"{GAME}/tournaments", OPEN_GAME, None, READ_PUBLIC),
    Row("GET", f"{GAME}/tournaments/{{tournament_id}}", {**OWN_GAME, "tournament_id": "cup"}, None, READ_PRIVATE),
    Row("GET", f"{GAME}/tournaments/{{tournament_id}}", {**OPEN_GAME, "tournament_id": "open_cup"}, None, READ_PUBLIC),
    Row("GET", "/api/leaderboard", {}, None, READ_PUBLIC),
    Row("POST", "/api/players", {}, lambda: {"name": f"model {next(NUMBERS)}"}, "401 403 201 201 201 201"),
    Row("GET", "/api/players", {}, None, READ_PUBLIC),
    Row("GET", "/api/players/{player_id}", {"player_id": "player"}, None, READ_PRIVATE),
    Row("GET", "/api/scores", {}, None, READ_PUBLIC),
    Row("GET", "/api/scores/{score_id}", {"score_id": "score"}, None, READ_PRIVATE),
    Row("POST", "/api/runs", {}, {"rubric": "on-the-shelf"}, "401 403 403 422 422 422"),
    Row("GET", "/api/runs", {}, None, READ_PUBLIC),
    Row("GET", RUN, OWN_RUN, None, READ_PRIVATE),
    Row("GET", RUN, SHARED_RUN, None, READ_PUBLIC),
    Row("GET", f"{RUN}/events", OWN_RUN, None, READ_PRIVATE),
    Row("GET", f"{RUN}/events", SHARED_RUN, None, READ_PUBLIC),
    Row("POST", f"{RUN}/cancel", OWN_RUN, None, READ_PRIVATE),
    Row("POST", f"{RUN}/cancel", SHARED_RUN, None, "401 403 403 200 403 200"),
    Row("POST", f"{RUN}/resume", OWN_RUN, None, "401 404 404 409 404 409"),
    Row("POST", f"{RUN}/resume", SHARED_RUN, None, "401 403 403 409 403 409"),
    Row("GET", "/api/cases", {}, None, "401 403 403 200 200 200"),
    Row("POST", "/api/cases", {}, None, "401 422 422 422 422 422"),
    Row("GET", "/api/reviews/items", {}, None, READ_PUBLIC),
    Row("GET", "/api/reviews/progress", {}, None, READ_PUBLIC),
    Row("GET", REVIEW_ITEM, {"item_id": "private_item"}, None, READ_PRIVATE),
    Row("GET", REVIEW_ITEM, {"item_id": "shared_item"}, None, READ_PUBLIC),
    Row("POST", f"{REVIEW_ITEM}/scores", {"item_id": "private_item"}, REVIEWED, "401 403 404 201 404 201"),
    Row("POST", f"{REVIEW_ITEM}/scores", {"item_id": "shared_item"}, REVIEWED, "401 403 201 201 201 201"),
    Row("GET", "/api/reviews/agreement", {}, None, READ_PUBLIC),
    Row("GET", "/api/reviews/calibration", {}, None, "401 422 422 422 422 422"),
    Row("POST", "/api/reviews/calibration", {}, {"rubric": "none"}, "401 403 403 404 404 404"),
    Row("POST", "/api/keys", {}, {"role": "viewer"}, "401 403 403 403 403 201"),
    Row("GET", "/api/keys", {}, None, READ_PUBLIC),
    Row("DELETE", "/api/keys/{key_id}", {"key_id": "key"}, None, "401 404 404 204 404 204"),
    Row("GET", "/api/whoami", {}, None, READ_PUBLIC),
    Row("GET", "/api/usage", {}, None, READ_PUBLIC),
    Row("POST", "/api/preferences", {}, {"responses": ["Yes.", "No."]}, "401 403 503 503 503 503"),
    Row("POST", "/v1/council/run", {}, {"question": "Why?"}, "401 403 403 503 503 503"),
    Row("POST", "/v1/council/quote", {}, {"question": "Why?"}, "401 403 403 503 503 503"),
    Row("POST", "/v1/council/verdict", {}, {"question": "May it?"}, "401 403 403 503 503 503"),
    Row("POST", "/v1/council/verdict/quote", {}, {"question": "May it?"}, "401 403 403 503 503 503"),
    Row("GET", "/v1/council/stream", {}, None, "401 403 403 503 503 503"),
    Row("POST", "/api/council/sessions", {}, {"question": "Why?"}, "401 403 403 503 503 503"),
    Row("GET", "/api/council/sessions", {}, None, READ_PUBLIC),
    Row("GET", SESSION, OWN_SESSION, None, READ_PRIVATE),
    Row("GET", f"{SESSION}/events", OWN_SESSION, None, READ_PRIVATE),
    Row("GET", f"{SESSION}/export", OWN_SESSION, None, READ_PRIVATE),
    Row("GET", f"{SESSION}/audit", OWN_SESSION, None, READ_PRIVATE),
    Row("POST", f"{SESSION}/cancel", OWN_SESSION, None, READ_PRIVATE),
    Row("DELETE", SESSION, OWN_SESSION, None, "401 404 404 204 404 204"),
    Row("GET", "/api/council/audit", {}, None, READ_PUBLIC),
    Row("POST", "/api/webhooks", {}, {"url": "https://example.com/hook"}, "401 403 403 201 201 201"),
    Row("GET", "/api/webhooks", {}, None, READ_PUBLIC),
    Row("GET", f"{WEBHOOK}/deliveries", OWN_WEBHOOK, None, READ_PRIVATE),
    Row("POST", f"{WEBHOOK}/ping", OWN_WEBHOOK, None, "401 404 404 202 404 202"),
    Row("DELETE", WEBHOOK, OWN_WEBHOOK, None, "401 404 404 204 404 204"),
    Row("POST", "/v2/generate_questions", {}, {"grade": 3, "count": 1}, "401 403 403 503 503 503"),
    Row("GET", "/healthz", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/readyz", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/docs", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/openapi.json", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/", {}, None, "307 307 307 307 307 307"),
    Row("GET", "/signin", {}, None, "200 200 200 200 200 200"),
    Row("POST", "/signin", {}, {"key": "none of them"}, "401 401 401 401 401 401"),
    Row("POST", "/signout", {}, None, "401 303 303 303 303 303"),
]


# --- pages of the studio ----------------------------------------------------------------------------------


class PageRow(NamedTuple):
    """One page with things put in its path, and what each of `CALLERS` is shown.

    signin: the way to sign in. missing: that there is no such thing. denied: that it needs another role. shown: the
    page itself.
    """

    path: str
    things: dict[str, str]
    outcomes: str


EVERYBODY, OWNER = "signin shown shown shown shown shown", "signin missing missing shown missing shown"
PAGES = [
    PageRow("/rubrics", {}, EVERYBODY),
    PageRow("/rubrics/{reference}", {"reference": "private"}, OWNER),
    PageRow("/rubrics/{reference}", {"reference": "public"}, EVERYBODY),
    PageRow("/rubrics/{reference}/versions", {"reference": "private"}, OWNER),
    PageRow("/rubrics/{reference}/versions", {"reference": "public"}, EVERYBODY),
    PageRow("/build/new", {}, "signin denied denied shown shown shown"),
    PageRow("/build/{reference}", {"reference": "private"}, OWNER),
    PageRow("/build/{reference}", {"reference": "public"}, "signin denied denied shown shown shown"),
    PageRow("/sandbox", {}, EVERYBODY),
    PageRow("/scores", {}, EVERYBODY),
    PageRow("/scores/{score}", {"score": "score"}, OWNER),
    PageRow("/preferences", {}, EVERYBODY),
    PageRow("/runs", {}, EVERYBODY),
    PageRow("/runs/compare", {}, EVERYBODY),
    PageRow("/runs/baselines", {}, EVERYBODY),
    PageRow("/runs/{name}", {"name": "private_run"}, OWNER),
    PageRow("/runs/{name}", {"name": "shared_run"}, EVERYBODY),
    PageRow("/runs/{name}", {"name": "unowned_run"}, "signin missing missing missing missing shown"),
    PageRow("/runs/{name}", {"name": "copied_run"}, "signin missing missing missing missing shown"),
    PageRow("/runs/{name}/{path:path}", {"name": "private_run", "path:path": "case-1"}, OWNER),
    PageRow("/runs/{name}/{path:path}", {"name": "shared_run", "path:path": "case-1"}, EVERYBODY),
    PageRow(
        "/runs/{name}/{path:path}",
        {"name": "unowned_run", "path:path": "case-1"},
        "signin missing missing missing missing shown",
    ),
    PageRow("/reviews", {}, EVERYBODY),
    PageRow("/reviews/{item}", {"item": "private_item"}, OWNER),
    PageRow("/reviews/{item}", {"item": "shared_item"}, EVERYBODY),
    PageRow("/market", {}, EVERYBODY),
    PageRow("/market/{reference}", {"reference": "private"}, OWNER),
    PageRow("/market/{reference}", {"reference": "public"}, EVERYBODY),
    PageRow("/games", {}, EVERYBODY),
    PageRow("/games/{game_id}", {"game_id": "private_game"}, OWNER),
    PageRow("/games/{game_id}", {"game_id": "public_game"}, EVERYBODY),
    PageRow("/games/join/{token}", {"token": "none-of-them"}, "signin missing missing missing missing missing"),
    PageRow(
        "/games/{game_id}/rounds/{player}/{number}",
        {"game_id": "private_game", "player": "model", "number": "1"},
        OWNER,
    ),
    PageRow(
        "/games/{game_id}/rounds/{player}/{number}",
        {"game_id": "public_game", "player": "model", "number": "1"},
        EVERYBODY,
    ),
    PageRow("/council", {}, EVERYBODY),
    PageRow("/council/{session_id}", {"session_id": "session"}, OWNER),
    PageRow("/gateway", {}, EVERYBODY),
    PageRow("/gateway/{trace}", {"trace": "own_request"}, OWNER),
    PageRow("/gateway/{trace}", {"trace": "keyless_request"}, "signin missing missing missing missing shown"),
]

# --- what pages are made of -------------------------------------------------------------------------------


class FileRow(NamedTuple):
    """Files, sockets and paths that pages use: an address to ask, the same for everybody who is signed in."""

    method: str
    path: str  # as the application lists it; {version} is that of the framework
    address: str  # what is asked
    status: int  # for whoever has a key; 401 for nobody


FILES = [
    FileRow("MOUNT", "/_nicegui_ws", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", 400),
    FileRow("MOUNT", "/_nicegui/{version}/static", "/_nicegui/{version}/static/nicegui.js", 200),
    FileRow("GET", "/_nicegui/{version}/libraries/{key:path}", "/_nicegui/{version}/libraries/none", 404),
    FileRow("GET", "/_nicegui/{version}/components/{key:path}", "/_nicegui/{version}/components/none", 404),
    FileRow("GET", "/_nicegui/{version}/resources/{key}/{path:path}", "/_nicegui/{version}/resources/no/ne", 404),
    FileRow("GET", "/_nicegui/{version}/dynamic_resources/{name}", "/_nicegui/{version}/dynamic_resources/none", 404),
    FileRow("GET", "/_nicegui/{version}/esm/{key}/{path:path}", "/_nicegui/{version}/esm/no/ne", 404),
    *(
        FileRow(method, f"{root}/{{rest:path}}", f"{root}/none", 404)
        for root in ("/api", "/v1", "/v2")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    ),
]
UPLOADS = "/_nicegui/client/{client}/upload/{element}"
"""Made by the framework while a page with a field for files is open: for whoever has a key and knows its page."""

# --- the gateway ------------------------------------------------------------------------------------------

CHAT = {"model": "rubrica", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
GATEWAY = [
    row
    for prefix in ("/v1", "/api/v1")
    for row in (
        Row("POST", f"{prefix}/chat/completions", {}, CHAT, "401 403 200 200 200 200"),
        Row("POST", f"{prefix}/messages", {}, {**CHAT, "max_tokens": 100}, "401 403 200 200 200 200"),
        Row("POST", f"{prefix}/messages/count_tokens", {}, CHAT, "401 403 200 200 200 200"),
        Row("POST", f"{prefix}/responses", {}, {"input": "What is the capital of France?"}, "401 403 200 200 200 200"),
        Row("POST", f"{prefix}/embeddings", {}, {"input": "Paris"}, "401 403 404 404 404 404"),
        Row("GET", f"{prefix}/models", {}, None, READ_PUBLIC),
        Row("GET", f"{prefix}/models/{{model:path}}", {"model:path": "rubrica"}, None, READ_PUBLIC),
        Row("POST", f"{prefix}/feedback", {}, {"trace": GONE, "rating": 4}, "401 403 404 404 404 404"),
    )
] + [
    Row("GET", "/api/gateway/analytics", {}, None, READ_PUBLIC),
    Row("GET", "/api/gateway/spending", {}, None, READ_PUBLIC),
    Row("GET", "/metrics", {}, None, READ_PUBLIC),
    Row("GET", "/healthz", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/readyz", {}, None, "200 200 200 200 200 200"),
    Row("GET", "/", {}, None, "200 200 200 200 200 200"),
]
SHARED_MODELS = "/models/{model:path}"
"""The only path of the gateway with a name in it: its models are everybody's."""
