"""A trial in Langfuse: the scenarios as a dataset, the trial as a run of it, and a score per dimension."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from rubrica.telemetry.langfuse import Langfuse, StoredPrompt

from .judgement import OVERALL, JudgedReply
from .scenarios import Scenario
from .trial import Trial

EXPERIMENT = "langfuse.experiment."
ENVIRONMENT = "sdk-experiment"
LONGEST_COMMENT = 500
_OURS = uuid5(NAMESPACE_URL, "rubrica:companion")


@dataclass(frozen=True, slots=True)
class LangfuseRun:
    """A run of a dataset. Its name makes the ids of all it sends, so that sending it again changes nothing."""

    name: str
    dataset: str
    dataset_id: str = ""
    began: int = 0  # nanoseconds since 1970
    prompt: StoredPrompt | None = None

    def id(self, *parts: str) -> UUID:
        return uuid5(_OURS, "\n".join([self.dataset, self.name, *parts]))

    def trace(self, case: str) -> str:
        return self.id("trace", case).hex

    def span(self, case: str) -> str:
        return self.id("span", case).hex[:16]


async def send(trial: Trial, client: Langfuse, run: LangfuseRun) -> int:
    """Send a trial; how many scores that were."""
    dataset_id = await client.dataset(run.dataset, "What users say to a voice companion")
    run = LangfuseRun(run.name, run.dataset, dataset_id, run.began, run.prompt)
    sent: set[str] = set()
    for reply in trial.replies:
        scenario = reply.spoken.scenario
        if scenario.id not in sent:
            sent.add(scenario.id)
            await client.dataset_item(
                run.dataset, item_id(run.dataset, scenario), _scenario_input(scenario), _facts(scenario)
            )
    await client.spans([span_of(reply, trial, run) for reply in trial.replies])
    scores = [score for reply in trial.replies for score in scores_of(reply, run)]
    await client.scores(scores)
    return len(scores)


def item_id(dataset: str, scenario: Scenario) -> str:
    """The id of a scenario in a dataset; ids are shared by all datasets of a project."""
    return hashlib.sha256(f"{dataset}\n{scenario.id}".encode()).hexdigest()[:32]


def span_of(reply: JudgedReply, trial: Trial, run: LangfuseRun) -> dict[str, Any]:
    """A reply as one span in OTLP's JSON form."""
    spoken = reply.spoken
    span = run.span(spoken.case)
    facts = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps(_scenario_input(spoken.scenario, spoken.turn), ensure_ascii=False),
        "langfuse.observation.output": json.dumps(spoken.reply, ensure_ascii=False),
        "langfuse.observation.model.name": trial.model,
        "langfuse.trace.name": f"companion {spoken.case}",
        "langfuse.environment": ENVIRONMENT,
        f"{EXPERIMENT}id": str(run.id("run")),
        f"{EXPERIMENT}name": run.name,
        f"{EXPERIMENT}dataset.id": run.dataset_id,
        f"{EXPERIMENT}item.id": item_id(run.dataset, spoken.scenario),
        f"{EXPERIMENT}item.root_observation_id": span,
        "rubrica.case": spoken.case,
        "rubrica.flags": ", ".join(reply.flags),
    }
    if run.prompt is not None:
        facts["langfuse.observation.prompt.name"] = run.prompt.name
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in facts.items() if value]
    if run.prompt is not None:
        version = {"intValue": str(run.prompt.version)}
        attributes.append({"key": "langfuse.observation.prompt.version", "value": version})
    return {
        "traceId": run.trace(spoken.case),
        "spanId": span,
        "name": spoken.case,
        "kind": 1,
        "startTimeUnixNano": str(run.began),
        "endTimeUnixNano": str(run.began + int(spoken.duration_ms * 1e6)),
        "attributes": attributes,
    }


def scores_of(reply: JudgedReply, run: LangfuseRun) -> Iterator[dict[str, Any]]:
    """A score for every dimension that has one, for the whole, and the verdict as a category."""
    evaluation = reply.evaluation
    whole = evaluation.dimensions.get(OVERALL)
    if reply.score is not None:
        yield _score(reply, run, OVERALL, reply.score, evaluation.reason if whole is None else whole.why)
    for name, result in evaluation.dimensions.items():
        if name != OVERALL and result.status in ("scored", "neutral") and result.share is not None:
            yield _score(reply, run, name, result.share, result.why)
    yield _score(reply, run, "verdict", evaluation.verdict, evaluation.reason)


def _score(reply: JudgedReply, run: LangfuseRun, name: str, value: float | str, comment: str) -> dict[str, Any]:
    case = reply.spoken.case
    return {
        "id": str(run.id("score", case, name)),
        "traceId": run.trace(case),
        "observationId": run.span(case),
        "name": name,
        "value": value,
        "dataType": "CATEGORICAL" if isinstance(value, str) else "NUMERIC",
        "comment": comment[:LONGEST_COMMENT],
        "environment": ENVIRONMENT,
    }


def _scenario_input(scenario: Scenario, turn: int | None = None) -> dict[str, Any]:
    """What a scenario puts to the candidate; up to one turn of it."""
    earlier = [message.model_dump() for message in scenario.earlier]
    turns = scenario.turns if turn is None else scenario.turns[: turn + 1]
    return {"earlier": earlier, "turns": list(turns)} if earlier else {"turns": list(turns)}


def _facts(scenario: Scenario) -> dict[str, Any]:
    facts = {"scenario": scenario.id, "group": scenario.title, "about": scenario.about, "tests": scenario.tests}
    return {name: fact for name, fact in facts.items() if fact}
