"""Weights learnt from preferences, rubrics by task, members with keys of their own, and replies kept by seed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback

from rubrica.council.ballots import clean_ballot
from rubrica.council.member_access import MemberAccess
from rubrica.council.members import open_members
from rubrica.council.reviewer_fit import PreferredAnswer, learn_reviewers, read_preferences
from rubrica.council.rubric import review_plan, task_for
from rubrica.council.saved import SavedCouncil, read_council
from rubrica.council.settings import CouncilSettings, load_council
from rubrica.council.task_rubrics import choose_task
from rubrica.errors import RubricaError, StoredError
from rubrica.jsontext import closed_json
from rubrica.llm.model import ChatMessage, Request
from rubrica.llm.settings import Settings

ASK = Request((ChatMessage("user", "Why?"),), seed=7)


def sessions(count: int, *, coin: bool) -> tuple[dict[int, SavedCouncil], list[PreferredAnswer]]:
    """Saved sessions of three answers: `keen` scores as people prefer, `blind` scores by chance."""
    chance = Random(5)  # noqa: S311 - a test's dice
    found, wanted = {}, []
    for number in range(1, count + 1):
        names = [f"Response {letter}" for letter in "ABC"]
        best = chance.choice(names)
        reviews: list[dict[str, Any]] = [
            {"reviewer": reviewer, "response": name, "position": 1, "own": False, "status": "scored", "scores": {},
             "holistic": None,
             "score": 9.0 if reviewer == "keen" and name == best and not coin else float(chance.randint(1, 8))}
            for reviewer in ("keen", "blind")
            for name in names
        ]  # fmt: skip
        line = {
            "reviews": reviews,
            "answers": {name: {"model": f"m{name[-1]}", "words": 5} for name in names},
            "metadata": {"rubric": "r", "scoring": "rubric", "pool": "mean", "out_of": 10, "tops": {}},
        }
        found[number] = read_council(json.dumps(line).encode())
        wanted.append(PreferredAnswer(number, best if number % 2 else f"m{best[-1]}"))
    return found, wanted


def test_forty_preferences_teach_who_sides_with_people() -> None:
    fit = learn_reviewers(*sessions(40, coin=False))
    assert (fit.sessions, fit.pairs) == (40, 80)
    assert fit.weights["keen"] > 1.5 > 0.5 > fit.weights["blind"]
    assert fit.learned is not None
    assert fit.learned >= (fit.alike or 0) > 0.5
    weighed = CouncilSettings(models=("keen", "blind"), reviewer_weights=fit.to_dict()["reviewer_weights"])
    assert weighed.reviewer_weights["keen"] == fit.weights["keen"]


def test_too_few_preferences_teach_nothing_and_say_so() -> None:
    fit = learn_reviewers(*sessions(5, coin=False))
    assert (dict(fit.weights), fit.pairs) == ({}, 10)
    assert "20 are the fewest" in fit.reason


def test_preferences_that_name_nothing_are_told() -> None:
    found, _ = sessions(2, coin=False)
    with pytest.raises(StoredError, match="session 1: there is no 'Response Q'"):
        learn_reviewers(found, [PreferredAnswer(1, "Response Q")])
    with pytest.raises(StoredError, match="no session in line 9"):
        learn_reviewers(found, [PreferredAnswer(9, "A")])
    with pytest.raises(StoredError, match="line 1: not a preference"):
        read_preferences([b'{"preferred": 3}'])


@pytest.mark.parametrize(
    ("question", "task"),
    [
        ("Write a Python function that merges two sorted lists.", "code"),
        ("Why does this fail?\n```python\nfor i in range(3)\n```", "code"),
        ("Solve 3x + 7 = 22.", "maths"),
        ("What is 17 * 23?", "maths"),
        ("Write a limerick about taxes.", "creative"),
        ("What class of antibiotics is penicillin?", "general"),
        ("Which countries were neutral in 1914-1918?", "general"),
        ("Is it ethical to eat meat?", "general"),
    ],
)
def test_the_question_decides_what_it_is_reviewed_by(question: str, task: str) -> None:
    assert choose_task(question).task == task


def test_task_rubrics_keep_the_dimensions_and_ceilings_and_change_the_weights() -> None:
    general, code = review_plan(CouncilSettings()), review_plan(CouncilSettings(), "code")
    assert (general.rubric.name, code.rubric.name) == ("council-review", "council-review-code")
    assert list(code.rubric.dimensions) == list(general.rubric.dimensions)
    assert code.rubric.gates == general.rubric.gates
    assert code.rubric.dimensions["accuracy"].weight == 0.45
    assert sum(spec.weight or 0 for spec in code.rubric.dimensions.values()) == pytest.approx(1)
    assert "run" in (code.rubric.dimensions["accuracy"].asks or "")


def test_a_rubric_or_weights_that_are_set_are_kept() -> None:
    poem = "Write a poem about the sea."
    assert task_for(CouncilSettings(rubric="council-review"), poem) is None
    weighed = task_for(CouncilSettings(weights={"accuracy": 0.35}), poem)
    assert weighed is not None
    assert weighed.task == "general"
    chosen = task_for(CouncilSettings(), poem)
    assert chosen is not None
    assert chosen.task == "creative"


def test_members_of_a_file_may_have_keys_and_tiers_their_own_members(tmp_path: Path) -> None:
    file = tmp_path / "council.yaml"
    file.write_text(
        "models:\n  - 'local:'\n"
        "  - {name: europe, model: openai:gpt-4o, base_url: 'https://eu.example/v1', key_env: EU}\n"
        "tiers: {reasoning: {models: [openai:o4-mini, 'local:'], max_tokens: 9000, deadline: 30}}\n"
    )
    usual = load_council(file, environ={})
    assert (usual.models, usual.spec_of("europe")) == (("local:", "europe"), "openai:gpt-4o")
    deep = load_council(file, environ={}, options={"tier": "reasoning"})
    assert deep.models == ("openai:o4-mini", "local:")
    assert (deep.limits.tokens, deep.seconds, deep.limits.debate) == (9000, 30, 1)
    assert usual.roster == ("local:", "europe", "openai:o4-mini")


def test_a_key_goes_only_to_the_address_it_was_named_with() -> None:
    usual = Settings(openai_key="sk-usual-0123456789", cache=None)
    moved = MemberAccess(model="openai:x", base_url="https://other.example/v1").settings(usual, {})
    assert (moved.base_url_of("openai"), moved.key_of("openai")) == ("https://other.example/v1", None)
    own = MemberAccess(model="openai:x", key_env="MINE").settings(usual, {"MINE": "sk-mine"})
    assert (own.key_of("openai"), own.base_url_of("openai")) == ("sk-mine", usual.base_url_of("openai"))
    with pytest.raises(RubricaError, match="MINE is not set"):
        MemberAccess(model="openai:x", key_env="MINE").settings(usual, {})
    with pytest.raises(RubricaError, match="no key and no address"):
        MemberAccess(model="local:", key_env="MINE").settings(usual, {})


def test_two_members_of_one_model_are_asked_with_their_own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_A", "sk-a-0123456789")
    monkeypatch.setenv("KEY_B", "sk-b-0123456789")

    async def asked() -> list[list[str]]:
        async with Loopback(key=None) as one, Loopback(key=None) as two:
            access = [
                MemberAccess(name="one", model="openai:m", base_url=one.openai_url, key_env="KEY_A"),
                MemberAccess(name="two", model="openai:m", base_url=two.openai_url, key_env="KEY_B"),
            ]
            async with open_members(["one", "two"], Settings(cache=None), access=access) as members:
                assert [members.named(name).name for name in ("one", "two")] == ["one", "two"]
                for name in ("one", "two"):
                    await members.named(name)(ASK)
            return [[seen.headers["authorization"] for seen in server.seen] for server in (one, two)]

    assert asyncio.run(asked()) == [["Bearer sk-a-0123456789"], ["Bearer sk-b-0123456789"]]


def test_with_a_cache_equal_requests_are_asked_once_and_fences_stay_the_same(tmp_path: Path) -> None:
    kept = Settings(cache=tmp_path / "replies.sqlite")

    async def asked(server: Loopback, **options: Any) -> tuple[bool, str]:
        name = f"{server.openai_url}#m"
        async with open_members([name], kept, **options) as members:
            return (await members.named(name)(ASK)).cached, members.fence_source("text")

    async def all_of_it() -> list[tuple[bool, str]]:
        async with Loopback(key=None) as server:
            found = [await asked(server, cache=True), await asked(server, cache=True), await asked(server)]
            assert server.requests == 2
            return found

    first, second, without = asyncio.run(all_of_it())
    assert (first[0], second[0], without[0]) == (False, True, False)
    assert first[1] == second[1] != without[1]


@given(st.lists(st.text(max_size=12) | st.sampled_from(["A", "Response B", "c", "**C**"]), max_size=8))
@settings(max_examples=60, deadline=None)
def test_a_clean_ballot_names_every_answer_at_most_once_and_nobody_else(names: list[str]) -> None:
    ballot = clean_ballot(names, "ABC")
    assert len(set(ballot.order)) == len(ballot.order)
    assert set(ballot.order) <= set("ABC")
    assert bool(ballot.notes) or len(names) == 3


@given(st.text(max_size=80), st.integers(0, 79))
@settings(max_examples=100, deadline=None)
def test_an_object_that_is_cut_anywhere_is_closed_to_one_that_can_be_read(text: str, end: int) -> None:
    whole = json.dumps({"a": {"x": text, "y": 1}, "b": [1, 2, {"z": text}]})
    closed = closed_json(whole[: end % len(whole)])
    assert closed == "" or isinstance(json.loads(closed), dict)
