"""Judging with models: calls a second against a bare loop, against the ideal, calls saved, and replies read.

The models are behind a provider on this machine, in a process of its own, that answers as fast as it can or after a
fixed latency (see provider.py). What is asked goes all the way a real judge's question goes: prompt, fence, limit,
retries, HTTP, reading, price. Times are wall times, measured in turn with the floor. The median of several rounds
counts; against a floor, of the ratios of each round, since what else the machine does differs between rounds.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from statistics import median
from typing import TypeVar

import aiohttp
from pydantic import SecretStr
from yarl import URL

from rubrica import Context, Score, Unscored
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.judges.judge import ModelJudge
from rubrica.judges.jury import Jury
from rubrica.llm.connect import connect
from rubrica.llm.http import HttpAnswer, HttpSession
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.settings import Settings
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import DimensionResult, Evaluation
from rubrica.model.judge_options import Judging
from rubrica.model.rubric import Rubric
from rubrica.packs.library import examples, load

from .floor import Ratio
from .provider import completion, provider
from .texts import texts

CONCURRENCY = 64
QUICK_CALLS, ROUNDS = 4_000, 7
LATENCY, SLOW_CALLS, SLOW_ROUNDS = 0.05, 6_400, 3  # seconds
MODEL = "openai:gpt-4o-mini"  # a name with a price, so that pricing is measured too
PACKS = ("answer-quality", "education-question", "council-review")
T = TypeVar("T")


def calls_a_second() -> Ratio:
    """Judge exchanges with a provider that takes no time, against posting the same bodies and nothing else."""
    rubric, contexts = _work(QUICK_CALLS)
    with provider() as url:
        bodies, headers = asyncio.run(_bodies(url, rubric, contexts))
        asyncio.run(_judged(url, rubric, contexts[:64]))  # imports, price list and patterns are there from now on
        times = [
            (asyncio.run(_judged(url, rubric, contexts)), asyncio.run(_posted(url, bodies, headers)))
            for _ in range(ROUNDS)
        ]
    mine, bare = (median(column) for column in zip(*times, strict=True))
    share = median(floor / spent for spent, floor in times)
    detail = f"{len(bodies) / mine:,.0f} calls/s against {len(bodies) / bare:,.0f}"
    what = f"judge calls, {CONCURRENCY} at once, no latency"
    return Ratio(what, "a bare aiohttp loop posting the same bodies", share, 0.5, detail)


def share_of_the_ideal() -> Ratio:
    """Judge exchanges with a provider that takes 50 ms, against never waiting for anything else."""
    rubric, contexts = _work(SLOW_CALLS)
    with provider(LATENCY) as url:
        bodies, headers = asyncio.run(_bodies(url, rubric, contexts))
        asyncio.run(_judged(url, rubric, contexts[:64]))
        spent = median(asyncio.run(_judged(url, rubric, contexts)) for _ in range(SLOW_ROUNDS))
        bare = asyncio.run(_posted(url, bodies, headers))
    ideal = len(bodies) * LATENCY / CONCURRENCY
    limit, _ = ProviderLimits().of("openai", "", "", CONCURRENCY)
    detail = (
        f"{spent:.2f} s for {len(bodies):,} calls, ideal {ideal:.2f} s (the bare loop {ideal / bare:.2f} of it); "
        f"the limit starts at {limit.limit} under way"
    )
    what = f"judge calls, {CONCURRENCY} at once, {LATENCY * 1000:.0f} ms latency"
    return Ratio(what, "calls x latency / concurrency", ideal / spent, 0.93, detail)


def calls_saved() -> Ratio:
    """How many questions to a judge `stop: decided` saves on the examples; a verdict that differs is an error.

    The judge answers what the offline scorers of each example give. Asked one dimension a call, as `mode: each` does.
    """
    asked, full, verdicts, parts = 0, 0, 0, []
    for pack in PACKS:
        own = [_both_ways(load(case.rubric or pack), case.context) for case in examples(pack)]
        few, many = sum(few for few, _ in own), sum(many for _, many in own)
        parts.append(f"{pack} {1 - few / many:.0%}")
        asked, full, verdicts = asked + few, full + many, verdicts + len(own)
    detail = f"{asked} of {full} asked, {verdicts} verdicts all the same; {', '.join(parts)}"
    return Ratio("judge calls saved by stop: decided", "asking about everything", 1 - asked / full, 0.3, detail)


# --- calls under load -------------------------------------------------------------------------------------


def _work(calls: int) -> tuple[Rubric, list[Context]]:
    """A rubric whose judged dimensions are asked one by one, and as many texts as make that many calls.

    Each text is asked for by a word of its own: nearly all answers share a word with their question, and one that does
    not is read by the sentence model, where there is one.
    """
    rubric = load("answer-quality")
    return rubric, [
        Context.of({"prompt": f"What is {max(text.split(), key=len)}?", "response": text, "question_type": "FACTUAL"})
        for text in texts(calls // len(rubric.dimensions))
    ]


def _settings(url: str) -> Settings:
    return Settings(openai_base_url=url, openai_key=SecretStr("sk-loopback"), concurrency=CONCURRENCY)


class _Listening(HttpSession):
    """Sends nothing: keeps the bodies it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []
        self.headers: dict[str, str] = {}

    async def post(self, url: URL, headers: Mapping[str, str], body: bytes, timeout: float) -> HttpAnswer:  # noqa: ARG002
        self.bodies.append(body)
        self.headers.update(headers)
        return HttpAnswer(200, {}, completion())


async def _bodies(url: str, rubric: Rubric, contexts: Iterable[Context]) -> tuple[list[bytes], dict[str, str]]:
    """What a judge sends about these contexts."""
    session = _Listening()
    judge = ModelJudge(connect(MODEL, _settings(url), session=session), rubric)
    for context in contexts:
        await judge(judge.judged, context)
    return session.bodies, session.headers


async def _judged(url: str, rubric: Rubric, contexts: Iterable[Context]) -> float:
    """Seconds for a jury to judge all contexts; every score must come back."""
    async with Jury([MODEL], _settings(url), cached=False) as jury:
        judge = jury.judge(rubric)
        axes: dict[str, Axis] = dict(rubric.dimensions)

        async def one(context: Context) -> None:
            scores = await judge(axes, context)
            assert all(isinstance(score, Score) for score in scores.values()), scores

        # A context makes a call per axis, and ends with its slowest: twice as many keep all calls under way busy.
        return await timed(one, contexts, 2 * CONCURRENCY // len(axes))


async def _posted(url: str, bodies: Iterable[bytes], headers: Mapping[str, str]) -> float:
    """Seconds for aiohttp alone to post all bodies and read the answers."""
    connector = aiohttp.TCPConnector(limit=CONCURRENCY)
    sent = {"Content-Type": "application/json", **headers}
    async with aiohttp.ClientSession(connector=connector, headers=sent) as session:

        async def one(body: bytes) -> None:
            async with session.post(f"{url}/chat/completions", data=body) as response:
                await response.read()

        return await timed(one, bodies, CONCURRENCY)


async def timed(one: Callable[[T], Awaitable[None]], items: Iterable[T], workers: int) -> float:
    """Wall seconds for all items, so many at once."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await one(item)

    gc.collect()
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(worker())
    return time.perf_counter() - started


# --- stopping when decided --------------------------------------------------------------------------------


class _OfflineScores:
    """A judge that answers what the offline scorers gave, and counts what it is asked."""

    def __init__(self, known: Evaluation) -> None:
        self.asked = 0
        self._answers = {
            name: _as_judged(result)
            for dimension, whole in known.dimensions.items()
            for name, result in (whole.parts or {dimension: whole}).items()
        }

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> dict[str, Score | Unscored]:  # noqa: ARG002
        self.asked += len(axes)
        return {name: self._answers[name] for name in axes}


def _as_judged(result: DimensionResult) -> Score | Unscored:
    if result.status != "scored" or result.value is None:
        return Unscored(result.reason, "llm")
    return Score(result.value, result.reason, result.confidence, "llm")


def _both_ways(rubric: Rubric, context: Context) -> tuple[int, int]:
    """How much a judge is asked with `stop: decided`, and without."""
    known = evaluate(compile_rubric(rubric), context)
    counts, found = [], []
    fields = {name: getattr(rubric, name) for name in Rubric.model_fields}
    for stop in ("decided", "never"):
        judging = Judging.model_validate({**rubric.judging.model_dump(), "mode": "each", "stop": stop})
        judge = _OfflineScores(known)
        plan = compile_rubric(Rubric.model_validate({**fields, "judging": judging}), judge)
        found.append(asyncio.run(aevaluate(plan, context)).verdict)
        counts.append(judge.asked)
    assert found[0] == found[1], f"{rubric.name}: {found[0]} when stopped, {found[1]} when all is asked"
    return counts[0], counts[1]
