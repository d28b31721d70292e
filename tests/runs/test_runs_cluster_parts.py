"""The parts of a run on a cluster that need no cluster to be tried: limits, pieces, addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import polars as pl
import pytest

from rubrica import __version__
from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.llm.breaker import CircuitBreaker
from rubrica.llm.model import ModelError
from rubrica.llm.settings import Settings
from rubrica.llm.shared_breakers import SharedBreakers
from rubrica.runs.bulk.pieces import pieces_of
from rubrica.runs.bulk.run import BulkOptions, bulk_rows
from rubrica.runs.bulk.turns import PlacedPiece
from rubrica.runs.cluster.bulk import PieceJob, judge_piece, piece_bytes
from rubrica.runs.cluster.connection import ClusterError, _joined, _open, connected
from rubrica.runs.cluster.shared_limits import ActorBoard, SharedLimits
from rubrica.runs.files.manifest import UsedRubric

WORDY = {
    "name": "wordy",
    "scale": {"min": 0, "max": 10},
    "dimensions": {"length": {"weight": 1, "formula": "min(10, word_count)"}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "long", "when": "score >= 5"}, {"label": "short"}],
}


def test_what_a_lost_worker_had_reserved_counts_as_spent() -> None:
    async def story() -> list[bool]:
        limits = SharedLimits(Settings(budget=1.0))
        first, _ = await limits.acquire("one", 0.6)
        waiting = asyncio.create_task(limits.acquire("two", 0.5))
        await asyncio.sleep(0)
        await limits.lost("one")
        refused, state = await waiting
        await limits.settle("one", 0.6, 0.1)  # it was only slow: too late
        assert (state.spent, state.reserved) == (0.6, 0.0)
        small, _ = await limits.acquire("two", 0.3)
        await limits.settle("two", 0.3, 0.0)
        again, _ = await limits.acquire("two", 0.4)
        return [first, refused, small, again]

    assert asyncio.run(story()) == [True, False, True, True]


def test_all_workers_wait_for_one_rate() -> None:
    async def story() -> list[float]:
        limits = SharedLimits(Settings(requests_per_minute=60))
        return [await limits.delay("place", 10) for _ in range(7)]

    delays = asyncio.run(story())
    assert delays[:5] == [0.0] * 5
    assert 1.0 < delays[5] < delays[6]


def test_a_model_that_one_worker_finds_down_is_left_alone_by_the_others() -> None:
    class Handle:
        """An actor as its callers see it."""

        def __init__(self, method: Callable[..., Awaitable[object]]) -> None:
            self.remote = method

    async def story() -> tuple[str, str, str, str]:
        limits = SharedLimits(Settings())
        actor = SimpleNamespace(publish=Handle(limits.publish), poll=Handle(limits.poll))
        one, two = CircuitBreaker("m", failures=2), CircuitBreaker("m", failures=2)
        workers = [SharedBreakers(ActorBoard(actor)) for _ in range(2)]
        for worker, breaker in zip(workers, (one, two), strict=True):
            worker.join("place", breaker)
        before = two.state
        for _ in range(2):
            one.settle(one.admit(), "overloaded", "HTTP 529")
        await workers[0].exchange()
        await workers[1].exchange()
        with pytest.raises(ModelError) as refused:
            two.check()
        return before, one.state, two.state, str(refused.value)

    *states, said = asyncio.run(story())
    assert states == ["closed", "open", "open"]
    assert "the last with 'HTTP 529, told by another process'" in said


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_pieces_that_travel_give_the_figures_of_the_file(tmp_path: Path, ending: str) -> None:
    rows = [{"id": f"c{n}", "response": "word " * (n % 17)} for n in range(3_000)]
    source = tmp_path / f"cases.{ending}"
    if ending == "jsonl":
        lines = [msgspec.json.encode(row) for row in rows]
        lines[1_500] = b"\xef\xbb\xbf" + lines[1_500]  # a mark that belongs to the beginning of a file only
        source.write_bytes(b"\n".join(lines))
    else:
        pl.DataFrame(rows).write_parquet(source)
    plan = compile_rubric(rubric_from_data(WORDY))
    job = PieceJob(UsedRubric.of(plan.rubric).document, plan.rubric.hash, "group", __version__)
    found = []
    for piece in pieces_of(source, 20_000):
        figures = judge_piece(job, PlacedPiece(piece, str(source)), piece_bytes(source, piece))
        assert not figures.problem
        found.append(pl.read_parquet(figures.table))
    bulk_rows(plan, source, tmp_path / "one", BulkOptions(group="group", processes=1, piece_bytes=20_000))
    one = pl.scan_parquet(tmp_path / "one" / "evaluations.parquet").collect().sort("line")
    assert len(found) > 1 or ending == "parquet"
    assert pl.concat(found).sort("line").equals(one)


def test_a_node_with_another_version_is_told(tmp_path: Path) -> None:
    source = tmp_path / "cases.jsonl"
    source.write_text('{"response": "Hi"}')
    plan = compile_rubric(rubric_from_data(WORDY))
    job = PieceJob(UsedRubric.of(plan.rubric).document, plan.rubric.hash, "group", "0.0")
    figures = judge_piece(job, PlacedPiece(next(pieces_of(source)), str(source)), b"")
    assert "install the same on both" in figures.problem


@pytest.mark.parametrize(
    ("address", "said"),
    [("head:10001", "names no cluster"), ("ray://127.0.0.1:1", "cannot be reached"), ("ray://", "names no cluster")],
)
def test_a_cluster_that_is_not_there_is_told_at_once(address: str, said: str) -> None:
    with pytest.raises(ClusterError, match=said), connected(address, 1):
        pass


def test_what_does_not_answer_as_a_cluster_is_asked_once() -> None:
    asked = []

    def init(**options: Any) -> None:
        asked.append(options["address"])
        raise ConnectionError("ray client connection timeout")

    ray = SimpleNamespace(init=init, shutdown=lambda: None)
    address = "ray://127.0.0.1:80"
    with pytest.raises(ClusterError, match=r"timeout \(is it started, and is that its port\?"):
        _open(ray, address, {"address": address})
    assert asked == [address]


def test_a_cluster_that_has_ended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"^the cluster ray://.*:1 cannot be reached"), connected("auto", 1):
        pass


def test_a_machine_without_a_cluster_is_told_what_to_name() -> None:
    def look(address: str) -> str:
        raise ConnectionError(f"{address}: set the --address flag")

    with pytest.raises(ClusterError, match=r"belongs to no cluster .* --cluster ray://HOST"):
        _joined(SimpleNamespace(canonicalize_bootstrap_address=look))
