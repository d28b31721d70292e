"""Runs: what reading, resuming and keeping cost on top of judging.

The same texts are judged by the same provider on this machine in turn: once by a judge alone, as the judge bench does
it, and once as `rubrica run` does it, from a file of cases to a folder in which every evaluation is kept as it
finishes. Times are wall times with a provider that takes no time, so that everything else shows; the median of the
ratios of several rounds counts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rubrica import Context
from rubrica.engine.cases import Case
from rubrica.engine.compile import compile_rubric
from rubrica.judges.jury import Jury
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.runs.batch import Batch, CaseWork, judge_case
from rubrica.runs.concurrency import reduced_garbage_collection, run_concurrently
from rubrica.runs.core_evaluator import CoreEvaluator
from rubrica.runs.files.case_source import cases_of
from rubrica.runs.files.folder import begin, locked
from rubrica.runs.files.manifest import Manifest, UsedRubric
from rubrica.runs.rubrics import RunRubrics
from rubrica.runs.run_writer import RunWriter
from rubrica.runs.selection import Selection, distinct
from rubrica.runs.summary.tally import RunTally

from .floor import Ratio
from .judges import CONCURRENCY, LATENCY, MODEL, QUICK_CALLS, _judged, _settings, _work
from .provider import provider

ROUNDS = 7
RESUMED = 20_000
BY_CODE, CODE_ROUNDS = 20_000, 2
"""Cases of a run without models. The other process needs half a second before its first one."""
ALLOWED = 0.4
"""Seconds that a judged run may take before its first call and after its last one."""


def run_overhead() -> Ratio:
    """A judged run against judging alone."""
    rubric, contexts = _work(QUICK_CALLS)
    with provider() as url, tempfile.TemporaryDirectory() as place:
        file = _written(contexts, Path(place))
        asyncio.run(_judged(url, rubric, contexts[:64]))
        _run(url, rubric, file, Path(place) / "warm")
        times = [
            (_run(url, rubric, file, Path(place) / str(number)), asyncio.run(_judged(url, rubric, contexts)))
            for number in range(ROUNDS)
        ]
    mine, bare = (median(column) for column in zip(*times, strict=True))
    ratio = median(spent / alone for spent, alone in times)
    each = 1e6 / len(contexts)
    detail = f"{mine * each:,.0f} µs a case against {bare * each:,.0f}; {len(contexts):,} cases of 5 calls"
    return Ratio("a judged run, every evaluation kept", "the same judge alone", ratio, 1.15, detail, False)


def resuming() -> Ratio:
    """How long finding out that everything is done takes, against judging it by code: the cheapest there is to save."""
    rubric, contexts = _work(RESUMED)
    with tempfile.TemporaryDirectory() as place:
        file = _written(contexts, Path(place))
        folder = Path(place) / "run"
        judging = _pass(RunRubrics(rubric), file, folder)
        again = min(_pass(RunRubrics(rubric), file, folder) for _ in range(3))
    detail = (
        f"{again * 1e6 / len(contexts):,.0f} µs a case that is done, {judging * 1e6 / len(contexts):,.0f} to judge it"
    )
    return Ratio("going on with a run that is done", "judging it by code", again / judging, 0.5, detail, False)


def on_every_core() -> Ratio:
    """A run without models on two cores against one, the start of the other process included."""
    rubric, contexts = _work(len(load("answer-quality").dimensions) * BY_CODE)
    plan = compile_rubric(rubric)
    work = [CaseWork(Case(str(number), number, context), plan, context) for number, context in enumerate(contexts)]

    def spent(evaluator: CoreEvaluator) -> float:
        gc.collect()
        started = time.perf_counter()
        assert sum(1 for _ in evaluator(work)) == BY_CODE
        return time.perf_counter() - started

    times = [(spent(CoreEvaluator(2, alone=0.0)), spent(CoreEvaluator(1))) for _ in range(CODE_ROUNDS)]
    both, one = (min(column) for column in zip(*times, strict=True))
    detail = f"{BY_CODE / both:,.0f} cases/s against {BY_CODE / one:,.0f}; {rubric.name}, {BY_CODE:,} cases"
    ratio = median(alone / together for together, alone in times)
    return Ratio("a run without models on two cores", "the same on one", ratio, 1.6, detail)


def start_and_end() -> Ratio:
    """What `rubrica run` takes beyond the calls of a judged run: imports, opening, summary, tables and page."""
    rubric, contexts = _work(5 * QUICK_CALLS // 2)
    with provider(LATENCY) as url, tempfile.TemporaryDirectory() as place:
        file = _written(contexts, Path(place))
        asyncio.run(_judged(url, rubric, contexts[:64]))
        options = ["-r", rubric.name, "-J", MODEL, "--jobs", str(2 * CONCURRENCY // len(rubric.dimensions))]
        environment = {**os.environ, **_environment(url)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, Python would compile every module at each start
        times = []
        for number in range(3):
            command = [
                sys.executable,
                "-m",
                "rubrica",
                "run",
                str(file),
                "-o",
                str(Path(place) / str(number)),
                *options,
            ]
            started = time.perf_counter()
            subprocess.run(
                [*command, "--no-cache", "--baseline", "off"],
                check=True,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            times.append((time.perf_counter() - started, asyncio.run(_judged(url, rubric, contexts))))
    extra = min(whole - calls for whole, calls in times)
    whole, calls = times[0]
    detail = f"{extra:.2f} s; {whole:.2f} s for {len(contexts):,} cases of which the calls alone take {calls:.2f}"
    return Ratio("start and end of a judged run", f"{ALLOWED} s", extra / ALLOWED, 1.0, detail, False)


def _environment(url: str) -> dict[str, str]:
    return {"RUBRICA_OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-loopback", "RUBRICA_CONCURRENCY": str(CONCURRENCY)}


def _written(contexts: Sequence[Context], folder: Path) -> Path:
    file = folder / "cases.jsonl"
    with file.open("w") as stream:
        for number, context in enumerate(contexts):
            stream.write(json.dumps({"id": number, **context.model_dump(exclude_defaults=True)}) + "\n")
    return file


def _run(url: str, rubric: Rubric, file: Path, folder: Path) -> float:
    """Seconds for a run with a jury, its connections included."""
    with asyncio.Runner() as runner:
        jury = Jury([MODEL], _settings(url), cached=False)
        jobs = 2 * CONCURRENCY // len(rubric.dimensions)
        try:
            run_rubrics = RunRubrics(rubric, jury.judge)
            with reduced_garbage_collection():
                return _pass(run_rubrics, file, folder, lambda work: run_concurrently(runner, work, judge_case, jobs))
        finally:
            runner.run(jury.close())


def _pass(run_rubrics: RunRubrics, file: Path, folder: Path, evaluator: object = None) -> float:
    gc.collect()
    started = time.perf_counter()
    with locked(folder), cases_of(str(file)) as source:
        begin(folder, Manifest(id="bench", started="", rubrics=tuple(map(UsedRubric.of, run_rubrics.rubrics.values()))))
        run = RunWriter(folder)
        batch = Batch(run_rubrics, RunTally(), lambda _: None, {}, evaluator, 1, run.done.wanted)  # type: ignore[arg-type]
        found = Selection().of(distinct(source.cases(), lambda _: None))
        for _ in run.kept(batch.evaluations(found), 20):
            pass
        run.close()
    spent = time.perf_counter() - started
    assert run.added + run.done.skipped > 0, folder
    return spent
