"""Langfuse's public API on loopback: checks what it is sent as the real one does, and fails on demand."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

PUBLIC, SECRET = "pk-lf-test", "sk-lf-test"
NUMERIC, CATEGORICAL = "NUMERIC", "CATEGORICAL"


@dataclass
class LangfuseServer:
    """Holds what it was given. `faults` are statuses that the next requests are answered with."""

    prompts: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)  # by name, and label or version
    faults: list[int] = field(default_factory=list)
    reject_scores: int = 0
    forms: tuple[str, ...] = ("list",)  # in which scores are taken: list, single, events
    unknown_form: int = 400  # the status of any other form
    asked: list[str] = field(default_factory=list)  # the forms that scores came in
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    spans: dict[str, dict[str, Any]] = field(default_factory=dict)  # by span id
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)  # by id
    url: str = ""

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._admit])
        app.router.add_get("/api/public/v2/prompts/{name}", self._prompt)
        app.router.add_post("/api/public/v2/datasets", self._dataset)
        app.router.add_post("/api/public/dataset-items", self._item)
        app.router.add_post("/api/public/otel/v1/traces", self._traces)
        app.router.add_post("/api/public/scores", self._scores)
        app.router.add_post("/api/public/ingestion", self._events)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def environment(self) -> dict[str, str]:
        return {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET, "LANGFUSE_BASE_URL": self.url}

    @web.middleware
    async def _admit(self, request: web.Request, handler: Any) -> web.StreamResponse:
        expected = "Basic " + base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode()
        if request.headers.get("Authorization") != expected:
            return web.json_response({"message": "Invalid credentials."}, status=401)
        if self.faults:
            return web.json_response({"message": "later"}, status=self.faults.pop(0), headers={"Retry-After": "0.01"})
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _prompt(self, request: web.Request) -> web.Response:
        wanted = request.query.get("version") or request.query.get("label") or "production"
        found = self.prompts.get((request.match_info["name"], wanted))
        if found is None:
            return web.json_response({"message": "Prompt not found"}, status=404)
        return web.json_response(found)

    async def _dataset(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.datasets[body["name"]] = body
        return web.json_response({"id": f"dataset-{body['name']}", **body})

    async def _item(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["datasetName"] not in self.datasets or len(body["id"]) > 255:
            return web.json_response({"message": "Dataset not found"}, status=404)
        self.items[body["id"]] = body
        return web.json_response(body)

    async def _traces(self, request: web.Request) -> web.Response:
        body = await request.json()
        for resource in body["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    assert len(bytes.fromhex(span["traceId"])) == 16
                    assert len(bytes.fromhex(span["spanId"])) == 8
                    assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"])
                    facts = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
                    self.spans[span["spanId"]] = {"traceId": span["traceId"], **facts}
        return web.json_response({})

    async def _scores(self, request: web.Request) -> web.Response:
        body = await request.json()
        form = "list" if isinstance(body, list) else "single"
        self.asked.append(form)
        if form not in self.forms or len(await request.read()) > 2**20:
            return web.json_response({"message": f"scores as {form} are not taken"}, status=self.unknown_form)
        if isinstance(body, dict):
            self._keep(body)
            return web.json_response({"id": body["id"]})
        for score in body:
            self._keep(score)
        if self.reject_scores:
            fault = {"message": "configId is not known"}
            told = {"accepted": len(body) - self.reject_scores, "rejected": self.reject_scores, "errors": [fault]}
            return web.json_response(told, status=207)
        return web.json_response({"message": "Accepted"}, status=202)

    async def _events(self, request: web.Request) -> web.Response:
        """A batch is always answered with 207: what was taken, and what was not."""
        self.asked.append("events")
        if "events" not in self.forms:
            return web.json_response({"message": "Not found"}, status=404)
        batch = (await request.json())["batch"]
        assert len({event["id"] for event in batch}) == len(batch)
        refused = batch[: self.reject_scores]
        for event in batch[self.reject_scores :]:
            assert event["type"] == "score-create"
            assert event["timestamp"].endswith("Z")
            self._keep(event["body"])
        faults = [{"id": event["id"], "status": 400, "message": "configId is not known"} for event in refused]
        taken = [{"id": event["id"], "status": 201} for event in batch[self.reject_scores :]]
        return web.json_response({"successes": taken, "errors": faults}, status=207)

    def _keep(self, score: dict[str, Any]) -> None:
        fits = isinstance(score["value"], str if score["dataType"] == CATEGORICAL else int | float)
        assert fits, json.dumps(score)
        self.scores[score["id"]] = score
