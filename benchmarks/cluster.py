"""A cluster of two workers on this machine: bulk against two local processes, judged against never waiting.

Ray is started once and warmed up, and neither is measured: on a cluster that is there already, both are over.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import replace

import rubrica
from rubrica import Context
from rubrica.engine.cases import Case
from rubrica.engine.compile import compile_rubric
from rubrica.model.evaluation import Evaluation
from rubrica.runs.batch import CaseWork
from rubrica.runs.bulk.run import BulkOptions, bulk_rows
from rubrica.runs.cluster.bulk import PIECE_BYTES, judge_pieces
from rubrica.runs.cluster.connection import LOCAL, connected
from rubrica.runs.cluster.session import start_workers
from rubrica.runs.jury_session import jury_session
from rubrica.runs.request import JudgeSettings

from .bulk import _write
from .floor import Ratio
from .judges import LATENCY, MODEL, _settings
from .provider import provider
from .rules import rubric
from .texts import texts

WORKERS = 2
BULK_TEXTS, BULK_ROUNDS = 300_000, 3
IN_FLIGHT, CASES, JUDGED_ROUNDS = 32, 3_200, 3
JUDGED = {
    "name": "judged",
    "scale": {"min": 1, "max": 10},
    "dimensions": {"truth": {"weight": 1, "asks": "Are the facts right?"}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "pass", "when": "score >= 5"}, {"label": "fail"}],
}


def on_a_cluster() -> list[Ratio]:
    """Both kinds of run on two Ray workers."""
    with connected(LOCAL, WORKERS) as ray:
        return [_bulk(ray), _judged(ray)]


def _bulk(ray: Any) -> Ratio:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "texts.parquet"
        _write(file, BULK_TEXTS)
        plan = rubrica.compile(rubric())
        remote = BulkOptions(piece_bytes=PIECE_BYTES, judge_pieces=partial(judge_pieces, ray))
        local = BulkOptions(piece_bytes=PIECE_BYTES, processes=WORKERS)

        def spent(how: BulkOptions) -> float:
            with tempfile.TemporaryDirectory() as place:
                started = time.perf_counter()
                found = bulk_rows(plan, file, Path(place) / "run", how)
                seconds = time.perf_counter() - started
            assert found.rows == BULK_TEXTS
            return seconds

        spent(remote)  # starts the processes of the workers
        times = [(spent(remote), spent(local)) for _ in range(BULK_ROUNDS)]
    ratio = median(here / there for there, here in times)
    there, here = (min(column) for column in zip(*times, strict=True))
    detail = f"{BULK_TEXTS / there:,.0f} texts/s against {BULK_TEXTS / here:,.0f}"
    return Ratio(f"bulk on {WORKERS} Ray workers", f"{WORKERS} local processes", ratio, 0.8, detail)


def _judged(ray: Any) -> Ratio:
    judging = JudgeSettings((MODEL,), jobs=IN_FLIGHT, cached=False)
    plan = compile_rubric(rubrica.load(JUDGED))
    work = [
        CaseWork(Case(str(number), number, context := Context.of({"prompt": "How?", "response": text})), plan, context)
        for number, text in enumerate(texts(CASES))
    ]
    with provider(LATENCY) as url, jury_session(replace(judging, dry=True), _unheard, warm=False) as dry:
        session = start_workers(ray, judging, _settings(url), dry)
        try:
            session.begin()
            list(session.evaluator(work[:200]))
            times = []
            for _ in range(JUDGED_ROUNDS):
                started = time.perf_counter()
                found = [outcome for _, outcome in session.evaluator(work)]
                times.append(time.perf_counter() - started)
                assert all(isinstance(one, Evaluation) and one.score is not None for one in found)
        finally:
            session.close()
    ideal, spent = CASES * LATENCY / IN_FLIGHT, median(times)
    detail = f"{CASES / spent:,.0f} calls/s, ideal {CASES / ideal:,.0f}; {IN_FLIGHT} under way in all"
    what = f"judged on {WORKERS} Ray workers, {LATENCY * 1000:.0f} ms latency"
    return Ratio(what, "calls x latency / in flight", ideal / spent, 0.95, detail)


def _unheard(_note: str) -> None:
    """Notes of a jury, which nobody needs here."""
