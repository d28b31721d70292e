"""Prompts come from Langfuse; datasets, runs and scores go to it, over a server that speaks its API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from langfuse_server import LangfuseServer

import rubrica
from rubrica.companion.candidate import Candidate
from rubrica.companion.judgement import ReplyJudges
from rubrica.companion.langfuse import LangfuseRun, send
from rubrica.companion.scenarios import load_scenarios
from rubrica.companion.trial import Trial, run_trial
from rubrica.llm.scripted import ScriptedModel
from rubrica.telemetry.langfuse import Account, Langfuse, LangfuseError, StoredPrompt

T = TypeVar("T")


async def no_wait(_: float) -> None:
    """Retries need not wait here."""


def over(server: LangfuseServer, work: Callable[[Langfuse], Awaitable[T]], **changes: str) -> T:
    async def whole() -> T:
        async with server, Langfuse(Account.of(server.environment | changes), no_wait) as client:
            return await work(client)

    return asyncio.run(whole())


async def trial() -> Trial:
    candidate = Candidate(ScriptedModel(["That sounds hard. What happened?"]), "Be kind.")
    bench = ReplyJudges.of(rubrica.load("voice-companion"))
    return await run_trial(candidate, load_scenarios(["support"]), bench, name="mira")


def stored(version: int, prompt: Any, *labels: str) -> dict[str, Any]:
    kind = "text" if isinstance(prompt, str) else "chat"
    return {"name": "mira", "version": version, "type": kind, "prompt": prompt, "labels": list(labels), "config": {}}


def test_a_prompt_is_had_by_label_by_version_and_by_default_from_production() -> None:
    chat = [{"role": "system", "content": "Be kind."}]
    server = LangfuseServer(
        prompts={
            ("mira", "production"): stored(2, "Be Mira.", "production"),
            ("mira", "staging"): stored(3, chat, "staging"),
            ("mira", "1"): stored(1, "Be old."),
        }
    )

    async def work(client: Langfuse) -> list[StoredPrompt]:
        return [
            await client.prompt("mira"),
            await client.prompt("mira", label="staging"),
            await client.prompt("mira", version=1),
        ]

    found = over(server, work)
    assert [(prompt.version, prompt.text) for prompt in found] == [(2, "Be Mira."), (3, "Be kind."), (1, "Be old.")]


def test_a_trial_becomes_a_run_with_a_score_for_every_dimension_and_the_whole() -> None:
    server = LangfuseServer()

    async def work(client: Langfuse) -> tuple[Trial, int]:
        held = await trial()
        return held, await send(
            held, client, LangfuseRun("week-46", "companion", began=10**18, prompt=StoredPrompt("mira", 2, ""))
        )

    held, count = over(server, work)
    assert len(server.scores) == count
    assert len(server.items) == len({reply.spoken.scenario.id for reply in held.replies})
    assert len(server.spans) == len(held.replies)
    reply = held.replies[0]
    span = next(facts for facts in server.spans.values() if facts["rubrica.case"] == reply.spoken.case)
    assert span["langfuse.experiment.name"] == "week-46"
    assert span["langfuse.experiment.dataset.id"] == "dataset-companion"
    assert span["langfuse.experiment.item.id"] in server.items
    assert (span["langfuse.observation.prompt.name"], span["langfuse.observation.prompt.version"]) == ("mira", "2")
    own = {score["name"]: score for score in server.scores.values() if score["traceId"] == span["traceId"]}
    assert own["overall"]["value"] == reply.score
    scored = {name: result for name, result in reply.evaluation.dimensions.items() if result.status == "scored"}
    assert own.keys() == {"overall", "verdict", *scored}
    assert all(own[name]["value"] == result.share for name, result in scored.items())
    assert all(own[name]["comment"] for name in scored)


def test_sending_a_run_again_changes_nothing() -> None:
    server = LangfuseServer()

    async def work(client: Langfuse) -> list[tuple[int, int, int]]:
        held, sizes = await trial(), []
        for _ in range(2):
            await send(held, client, LangfuseRun("week-46", "companion"))
            sizes.append((len(server.scores), len(server.spans), len(server.items)))
        return sizes

    first, second = over(server, work)
    assert first == second


def test_a_busy_server_is_asked_again() -> None:
    server = LangfuseServer(faults=[429, 503, 500], prompts={("mira", "production"): stored(2, "Be Mira.")})
    assert over(server, lambda client: client.prompt("mira")).text == "Be Mira."


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"LANGFUSE_SECRET_KEY": "wrong"}, "401.*LANGFUSE_PUBLIC_KEY"), ({}, "404 Prompt not found")],
)
def test_a_refusal_says_what_was_refused_and_the_way_out(changes: dict[str, str], said: str) -> None:
    with pytest.raises(LangfuseError, match=said) as caught:
        over(LangfuseServer(), lambda client: client.prompt("mira"), **changes)
    assert "wrong" not in str(caught.value)


def test_scores_that_were_not_taken_are_an_error() -> None:
    server = LangfuseServer(reject_scores=2)

    async def work(client: Langfuse) -> None:
        await send(await trial(), client, LangfuseRun("week-46", "companion"))

    with pytest.raises(LangfuseError, match="refused 2 of its scores: configId is not known"):
        over(server, work)


async def send_scores(client: Langfuse, count: int = 150) -> None:
    scores = [{"id": str(n), "name": "tone", "value": n / count, "dataType": "NUMERIC"} for n in range(count)]
    await client.scores(scores)


@pytest.mark.parametrize("unknown", [400, 404, 405, 422])
@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ("list", ["list", "list"]),
        ("single", ["list", *["single"] * 150]),
        ("events", ["list", "single", "events", "events"]),
    ],
)
def test_scores_go_in_the_form_that_the_server_takes(form: str, asked: list[str], unknown: int) -> None:
    server = LangfuseServer(forms=(form,), unknown_form=unknown)
    over(server, send_scores)
    assert len(server.scores) == 150
    assert server.asked == asked


def test_a_batch_of_events_that_was_taken_in_part_is_an_error_with_the_reason() -> None:
    server = LangfuseServer(forms=("events",), reject_scores=2)
    with pytest.raises(LangfuseError, match="refused 2 of its scores: configId is not known; configId is not known"):
        over(server, send_scores)
    assert len(server.scores) == 98


def test_a_server_that_takes_no_form_is_told_by_its_answer_to_the_first() -> None:
    with pytest.raises(LangfuseError, match="404 scores as list are not taken"):
        over(LangfuseServer(forms=(), unknown_form=404), send_scores)


def test_no_other_form_is_tried_where_the_keys_are_refused() -> None:
    server = LangfuseServer(faults=[401])
    with pytest.raises(LangfuseError, match="401"):
        over(server, send_scores)
    assert server.asked == []


def test_a_dead_server_and_missing_keys_are_told() -> None:
    with pytest.raises(LangfuseError, match=r"LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY are not set"):
        Account.of({})

    async def dead() -> None:
        account = Account("a", "b", "http://127.0.0.1:1")
        async with Langfuse(account, no_wait) as client:
            await client.prompt("mira")

    with pytest.raises(LangfuseError, match=r"127\.0\.0\.1:1"):
        asyncio.run(dead())


@pytest.mark.parametrize("address", ["localhost:3000", "my-host", "http://pk-1:sk-2@127.0.0.1:3000", "ftp://host"])
def test_an_address_that_cannot_be_used_is_told_without_repeating_it(address: str) -> None:
    keys = {"LANGFUSE_PUBLIC_KEY": "pk-1", "LANGFUSE_SECRET_KEY": "sk-2"}
    with pytest.raises(LangfuseError, match="LANGFUSE_BASE_URL") as caught:
        Account.of({**keys, "LANGFUSE_BASE_URL": address})
    assert address not in str(caught.value)


def test_keys_that_a_server_sends_back_are_not_repeated() -> None:
    account = Account("pk-1", "sk-2")
    assert account.hidden("no project for pk-1 with sk-2") == "no project for *** with ***"
