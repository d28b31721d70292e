"""The driver's side of a judged run on a cluster: hands cases out to workers, and takes evaluations in."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from rubrica import __version__
from rubrica.errors import RubricaError
from rubrica.llm.settings import Settings, load_settings
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of
from rubrica.runs.batch import CaseWork, Judged
from rubrica.runs.case_messages import CaseMessage, ResultMessage, case_message, outcome_of, rubric_message
from rubrica.runs.cores import cores
from rubrica.runs.jury_session import JurySession, jury_session
from rubrica.runs.request import JudgeSettings

from .connection import ClusterError, connected, token_hint
from .shared_limits import SharedLimits
from .worker import CaseWorker
from .worker_task import WorkerTask

STARTING = 120.0
"""Seconds that the first worker may take to be ready."""
ABANDONED = 900.0
"""Seconds without any worker after which a run gives up."""
AFTER_THE_FIRST = 5.0
"""Seconds that the others may take then, before judging begins without them."""
LOOK = 0.25
"""Seconds between two looks at whether something has come."""
MOST_WORKERS = 256


@dataclass(slots=True)
class ClusterWorker:
    """A worker as the driver sees it."""

    name: str
    actor: Any
    node: str = ""
    turn: int = 0  # another one after each loss
    given: dict[int, CaseWork] = field(default_factory=dict)  # cases that it has, by ticket
    rubrics: set[str] = field(default_factory=set)  # hashes of those that it was sent


class ClusterSession:
    """Workers of a cluster. They are given cases once they are ready, and what a lost one had is given to others."""

    def __init__(self, ray: Any, workers: list[ClusterWorker], limits: Any, jury: JurySession, each: int) -> None:
        self.repeated = 0  # cases that were under way on a worker that was lost
        self._ray, self._limits, self._jury = ray, limits, jury
        self._all = workers
        self._most = each + max(2, each // 2)  # some wait with a worker, so that none of its slots stays empty
        self._starting = {worker.actor.ready.remote(): worker for worker in workers}
        self._idle: list[ClusterWorker] = []
        self._asked: dict[Any, ClusterWorker] = {}  # exchanges under way
        self._again: deque[CaseWork] = deque()
        self._ticket = 0
        self._seen = time.monotonic()  # when there was a worker last

    def judge_of(self, rubric: Rubric, turn: int = 0) -> Judge:
        """A judge that says what would be asked: the driver makes plans with it, and asks nobody."""
        return self._jury.judge_of(rubric, turn)

    @property
    def nodes(self) -> int:
        """How many nodes have a worker now."""
        return len({worker.node for worker in (*self._idle, *self._asked.values())})

    @property
    def workers(self) -> int:
        """How many workers are ready now."""
        return len(self._idle) + len(self._asked)

    def begin(self, patience: float = STARTING) -> None:
        """Wait for the first workers. A ClusterError says why there is none."""
        until = time.monotonic() + patience
        while not self._idle and time.monotonic() < until:
            self._look()
        if not self._idle:
            said = f"no node took a worker within {patience:g} s: each needs a free CPU of the cluster"
            raise ClusterError(said + token_hint())
        until = time.monotonic() + min(patience, AFTER_THE_FIRST)
        while self._starting and time.monotonic() < until:
            self._look()

    def evaluator(self, work: Iterable[CaseWork]) -> Iterator[Judged]:
        """Evaluations as they arrive."""
        waiting, is_over = iter(work), False  # over: there is nothing more to give out; some may be under way
        while True:
            idle, self._idle = self._idle, []
            for worker in idle:  # one that has given back some of its cases is asked for the others
                is_over = not self._give(worker, waiting) or is_over
            if is_over and not self._asked and not self._again:
                return
            for answer in self._look():
                yield from self._taken(answer)

    def _look(self) -> list[Any]:
        """Wait a moment for news: workers that are ready are noted, exchanges that ended are given back."""
        ready, _ = self._ray.wait([*self._asked, *self._starting], num_returns=1, timeout=LOOK)
        for started in [one for one in ready if one in self._starting]:
            worker = self._starting.pop(started)
            try:
                problem, worker.node = self._ray.get(started)
            except self._ray.exceptions.RayError as error:
                if _is_fatal(self._ray, error):
                    raise ClusterError(f"a node cannot judge: {_first_line(error)}") from error
                self._starting[worker.actor.ready.remote()] = worker
                time.sleep(LOOK)
                continue
            if problem:
                raise ClusterError(problem)
            self._idle.append(worker)
        now = time.monotonic()
        if self._idle or self._asked:
            self._seen = now
        elif now - self._seen > ABANDONED:
            raise ClusterError(f"no node had a worker for {ABANDONED / 60:g} minutes; the same command goes on")
        return [one for one in ready if one in self._asked]

    def _give(self, worker: ClusterWorker, waiting: Iterator[CaseWork]) -> bool:
        """Fill a worker up, and ask for what it has finished; False where there is nothing for it."""
        messages: list[CaseMessage] = []
        rubrics: dict[str, bytes] = {}
        while len(worker.given) < self._most:
            work = self._again.popleft() if self._again else next(waiting, None)
            if work is None:
                break
            self._ticket += 1
            message = case_message(self._ticket, work)
            if message.rubric not in worker.rubrics:
                worker.rubrics.add(message.rubric)
                rubrics[message.rubric] = rubric_message(work.plan.rubric)
            worker.given[self._ticket] = work
            messages.append(message)
        if not worker.given:
            self._idle.append(worker)
            return False
        self._asked[worker.actor.exchange.remote(worker.turn, messages, rubrics)] = worker
        return True

    def _taken(self, answer: Any) -> Iterator[Judged]:
        worker = self._asked.pop(answer)
        try:
            results: list[ResultMessage] = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:  # a fault of ours, which would come again
            raise RubricaError(f"a worker failed: {error.cause!r}") from error
        except self._ray.exceptions.RayError:
            self._lose(worker)
            return
        self._idle.append(worker)
        for result in results:
            if (work := worker.given.pop(result.ticket, None)) is not None:
                yield work, outcome_of(result)

    def _lose(self, worker: ClusterWorker) -> None:
        """A worker is gone, and all it had is given out again. Ray starts it anew where there is room."""
        self.repeated += len(worker.given)
        self._again.extend(worker.given.values())
        worker.given.clear()
        worker.rubrics.clear()
        worker.turn += 1
        self._limits.lost.remote(worker.name)
        self._starting[worker.actor.ready.remote()] = worker

    def close(self) -> None:
        for worker in self._all:
            with suppress(Exception):  # the cluster may be gone
                self._ray.kill(worker.actor)
        with suppress(Exception):
            self._ray.kill(self._limits)


@contextmanager
def cluster_session(
    address: str, judging: JudgeSettings, note: Callable[[str], None], *, warm: bool
) -> Iterator[ClusterSession]:
    """Workers on every node of a cluster, with one budget and one rate between them."""
    if judging.record is not None:
        raise RubricaError("a recording is made on one machine (leave --cluster out)")
    settings = load_settings()
    if judging.budget is not None:
        settings = settings.model_copy(update={"budget": judging.budget})
    with jury_session(replace(judging, dry=True), note, warm=warm) as dry, connected(address, cores()) as ray:
        session = start_workers(ray, judging, settings, dry, warm=warm)
        try:
            session.begin()
            note(f"{count_of(session.workers, 'worker')} on {count_of(session.nodes, 'node')} of {address}")
            yield session
        finally:
            session.close()
            if session.repeated:
                cases = count_of(session.repeated, "case was", "cases were")
                note(f"{cases} under way on workers that were lost, and judged by others")


def start_workers(
    ray: Any, judging: JudgeSettings, settings: Settings, dry: JurySession, *, warm: bool = False
) -> ClusterSession:
    """Workers on every node of an open cluster. Wait for them with `begin`, and close the session."""
    count = int(max(1, min(ray.cluster_resources().get("CPU", 1), judging.jobs, MOST_WORKERS)))
    each = -(-judging.jobs // count)
    task = WorkerTask(judging, settings, each, warm, __version__, f"rubrica-limits-{uuid4().hex}")
    limits = ray.remote(SharedLimits).options(
        name=task.limits, num_cpus=0, max_concurrency=10_000, **_beside_the_head(ray)
    )
    shared = limits.remote(settings)
    kind = ray.remote(CaseWorker).options(
        num_cpus=1, max_restarts=-1, max_task_retries=0, max_concurrency=10_000, scheduling_strategy="SPREAD"
    )
    names = [f"worker-{number}" for number in range(count)]
    workers = [ClusterWorker(name, kind.remote(task, name)) for name in names]
    return ClusterSession(ray, workers, shared, dry, each)


def _beside_the_head(ray: Any) -> dict[str, Any]:
    """Where an actor is put that must not vanish with a worker's node: where the driver of the cluster's job is."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}


def _is_fatal(ray: Any, error: Exception) -> bool:
    """Whether a worker cannot be started at all, as where Rubrica is not installed on a node."""
    return isinstance(error, ray.exceptions.RayTaskError | ray.exceptions.RuntimeEnvSetupError) or (
        isinstance(error, ray.exceptions.ActorDiedError) and "creation task" in str(error)
    )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = next((line for line in reversed(lines) if "Error" in line), lines[0] if lines else type(error).__name__)
    return f"{line} (is the same Rubrica installed there, with the extra cluster?)"
