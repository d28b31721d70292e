"""Who takes part: models by name, connected together, given up in time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from council_stage import Member, council, ranked, seated

from rubrica.council.members import Members, open_members
from rubrica.council.session import run
from rubrica.council.settings import CouncilSettings
from rubrica.errors import InputError, RubricaError
from rubrica.llm.model import Model, Reply, Request, Usage
from rubrica.llm.scripted import ScriptedModel
from rubrica.llm.settings import Settings


async def opened(*names: str, settings: Settings | None = None) -> Mapping[str, Any]:
    async with open_members(names, settings or Settings(cache=None), seconds=1) as members:
        return members.models


@pytest.mark.parametrize(
    ("name", "said"),
    [("gpt-4", "names no model"), ("openai:gpt-4o-mini", "there is no key"), ("scripted:none.jsonl", "none")],
)
def test_a_model_that_cannot_be_reached_is_told_before_anything_is_asked(name: str, said: str) -> None:
    with pytest.raises((RubricaError, OSError), match=said):
        asyncio.run(opened("http://127.0.0.1:9/v1#x", name))


def test_a_budget_needs_known_prices() -> None:
    with pytest.raises(RubricaError, match="price unknown"):
        asyncio.run(opened("http://127.0.0.1:9/v1#x", settings=Settings(cache=None, budget=1.0)))


class Broken:
    """A model of somebody else's that fails in a way of its own."""

    name = "broken"

    async def __call__(self, request: Request) -> Reply:
        raise KeyError("choices")

    async def close(self) -> None:
        """Nothing is open."""


class Deaf(Broken):
    """A model that keeps no time."""

    name = "deaf"

    async def __call__(self, request: Request) -> Reply:
        await asyncio.sleep(60)
        return Reply("late", self.name, Usage())


def test_models_of_any_make_are_held_to_the_deadline_and_their_faults_are_told() -> None:
    models: dict[str, Model] = {
        "ann": ScriptedModel(["hi"]),
        "bo": ScriptedModel(["ho"]),
        "broken": Broken(),
        "deaf": Deaf(),
    }
    settings = CouncilSettings(models=tuple(models), deadline=0.2, seed=1)
    result = asyncio.run(run("Hello?", settings, Members(models)))
    reasons = {one.model: one.reason for one in result.dropped if one.stage == "answers"}
    assert reasons["broken"] == "the model failed: KeyError: 'choices'"
    assert reasons["deaf"] == "no answer within the deadline of 0.2 s"
    assert {answer.model for answer in result.answers} == {"ann", "bo"}


def test_a_model_that_is_not_connected_is_named() -> None:
    settings = CouncilSettings(models=("ann", "bo"), chair="cy")
    models = {"ann": ScriptedModel(["hi"]), "bo": ScriptedModel(["ho"])}
    with pytest.raises(RubricaError, match="cy is not connected"):
        asyncio.run(run("Hello?", settings, Members(models)))
    assert models["ann"].requests == []


@pytest.mark.parametrize(("question", "models"), [(" ", ("a", "b")), ("Why?", ("a",)), ("Why?", ())])
def test_a_council_needs_a_question_and_two_models(question: str, models: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        asyncio.run(run(question, CouncilSettings(models=models), Members({})))


def test_members_are_asked_at_the_same_time() -> None:
    members = {name: Member(f"quality {at}", latency=1.2) for at, name in enumerate(("ann", "bo", "cy", "di"), 5)}
    result = council(members)
    assert ranked(result) == ["di", "cy", "bo", "ann"]
    assert result.stages[0].seconds < 4.5  # one after another they would take 4.8
    assert result.stages[1].seconds < 4.5


def test_a_session_that_is_given_up_leaves_no_call_behind() -> None:
    members = {name: Member(faults=["hang"] * 3) for name in ("ann", "bo")}

    async def given_up() -> list[int]:
        async with seated(members) as names:
            settings = CouncilSettings(models=list(names.values()), deadline=30)
            async with open_members(list(names.values()), Settings(cache=None), seconds=30) as seats:
                task = asyncio.create_task(run("Hello?", settings, seats))
                while not all(member.server.seen for member in members.values()):
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                for _ in range(100):
                    await asyncio.sleep(0.02)
                    if all(member.server.left for member in members.values()):
                        break
            return [member.server.left for member in members.values()]

    assert asyncio.run(given_up()) == [1, 1]
