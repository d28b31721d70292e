"""One user's heavy requests do not keep others waiting, and whoever asks for too much is told so."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubrica.workspace.work_pool import WorkPool
from servers import Running, serving

BRIEF: dict[str, Any] = {
    "name": "Brief",
    "scoring_type": "binary",
    "rules": [{"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}],
}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with serving(f"sqlite:///{tmp_path / 'rubrica.db'}") as server:
        yield server


def test_a_flood_of_one_user_does_not_delay_the_export_of_another(running: Running) -> None:
    ann, bo = running.author, running.newcomer("author", "bo")
    patterns = [{"regex": f"[ab]{{60}}{number}", "score": 1} for number in range(30)]
    rules = [{"type": "pattern_detection", "patterns": patterns}]
    hers = ann.post("/api/evaluations", {"name": "Heavy", "scoring_type": "cumulative", "rules": rules}).json["id"]
    his = bo.post("/api/evaluations", BRIEF).json["id"]
    body = {"response": "".join(random.Random(1).choices("ab", k=40_000))}  # noqa: S311

    async def scenario() -> int:
        flood = [asyncio.create_task(ann.send("POST", f"/api/evaluations/{hers}/test", body)) for _ in range(20)]
        await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
        reply = await bo.send("GET", f"/api/evaluations/{his}/export")
        assert reply.status == 200
        unfinished = sum(not task.done() for task in flood)
        for done in await asyncio.gather(*flood):
            assert done.status == 200
        return unfinished

    assert running.run(scenario()) >= 10


def test_who_waits_for_their_own_work_is_told_when_to_try_again(running: Running) -> None:
    begun, finish = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        finish.wait(10)

    pool = WorkPool(deadline=0.05)
    object.__setattr__(running.service, "work", pool)
    ann, bo = running.author, running.newcomer("author", "bo")
    ann_id = running.issued["author"].key.user_id
    hers = ann.post("/api/evaluations", BRIEF).json["id"]

    async def scenario() -> None:
        occupied = asyncio.create_task(pool.run(ann_id, work))
        await asyncio.to_thread(begun.wait, 10)
        refused = await ann.send("GET", f"/api/evaluations/{hers}/export")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
        assert "not done after" in refused.json["detail"]
        assert (await bo.send("GET", "/api/evaluations")).status == 200
        finish.set()
        await asyncio.gather(occupied, return_exceptions=True)
        assert (await ann.send("GET", f"/api/evaluations/{hers}/export")).status == 200

    running.run(scenario())
