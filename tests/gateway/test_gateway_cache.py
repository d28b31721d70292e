"""Which answers are given again, to whom, and for how long."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from gateway_stage import GOOD, Scripted, completion

from rubrica import load
from rubrica.gateway.answer_reuse import AnswerReuse, RepeatedAnswer
from rubrica.gateway.bill import RequestBill
from rubrica.gateway.cache import AnswerCache
from rubrica.gateway.chat import Chat, read_chat
from rubrica.gateway.classifier import Classifier
from rubrica.gateway.controls import Controls
from rubrica.gateway.flow import Route
from rubrica.gateway.grading import Grade, Grader
from rubrica.gateway.routed_answer import RoutedAnswer
from rubrica.gateway.setting_groups import CacheSettings
from rubrica.gateway.upstream import Completion
from rubrica.gateway.variants import with_thresholds
from rubrica.llm.model import Usage

RUBRIC = load("answer-quality")
PAID = RequestBill(0.001, 0.0, 0.0, 0.002, 0.01)


def chat(question: str = "What is the capital of France?", **more: Any) -> Chat:
    body = {"model": "gpt-4", "temperature": 0, "messages": [{"role": "user", "content": question}], **more}
    return read_chat(json.dumps(body).encode())


def route(first: str = "openai:gpt-4o-mini", **thresholds: float) -> Route:
    grader = Grader(with_thresholds(RUBRIC, thresholds), deadline=5.0)
    return Route(Scripted(first), Scripted("openai:gpt-4o"), grader, Classifier())


ROUTE = route()


def answer(**more: Any) -> RoutedAnswer:
    whole = Completion(completion(GOOD), GOOD, "scripted-1", Usage(20, 8), "stop")
    return RoutedAnswer("tier-0", ROUTE.tier0, whole, grade=Grade("FACTUAL", 85, 90, True), **more)


class Kept:
    """A cache with one answer in it, and what others get out of it."""

    def __init__(self, asked: Chat | None = None, routed: RoutedAnswer | None = None, **settings: Any) -> None:
        self.answers = AnswerReuse(CacheSettings(**settings))
        self.answers.keep(asked or chat(), Controls(), ROUTE, "ann", routed or answer(), PAID)

    def get(
        self, asked: Chat | None = None, way: Route = ROUTE, owner: str = "ann", **controls: Any
    ) -> RepeatedAnswer | None:
        return self.answers.find(asked or chat(), Controls(**controls), way, owner)


def test_an_equal_request_gets_the_same_bytes_for_nothing() -> None:
    again = Kept().get()
    assert again is not None
    assert again.cached == "exact"
    assert again.routed.completion == answer().completion
    assert (again.bill.total, again.bill.baseline, again.bill.savings) == (0.0, 0.01, 0.01)
    assert again.routed.grade is not None
    assert again.routed.grade.score == 90
    assert [step.name for step in again.routed.steps] == ["decision"]


@pytest.mark.parametrize("more", [{"stream": True}, {"user": "ben"}, {"metadata": {"a": "b"}}])
def test_what_does_not_change_an_answer_does_not_count(more: dict[str, Any]) -> None:
    assert Kept().get(chat(**more)) is not None


@pytest.mark.parametrize(
    "more", [{"max_tokens": 5}, {"seed": 1}, {"tools": []}, {"model": "gpt-5"}, {"response_format": {"type": "text"}}]
)
def test_whatever_else_differs_is_another_request(more: dict[str, Any]) -> None:
    assert Kept().get(chat(**more)) is None


@pytest.mark.parametrize(
    "controls", [{"force": "tier-1"}, {"question_type": "CREATIVE"}, {"threshold": 90.0}, {"grading": False}]
)
def test_what_a_request_chooses_makes_it_another(controls: dict[str, Any]) -> None:
    assert Kept().get(**controls) is None


def test_another_model_or_rubric_makes_it_another() -> None:
    assert Kept().get(way=route("openai:gpt-5-mini")) is None
    assert Kept().get(way=route(FACTUAL=70)) is None
    assert Kept().get(way=route()) is not None


def test_debug_is_no_part_of_the_answer() -> None:
    assert Kept().get(debug="full") is not None


@pytest.mark.parametrize("temperature", [None, 0.7, 1])
def test_other_temperatures_are_not_kept_unless_asked_for(temperature: Any) -> None:
    warm = chat(temperature=temperature)
    assert Kept(warm).get(warm) is None
    answers = AnswerReuse(CacheSettings())
    answers.keep(warm, Controls(cache=True), ROUTE, "ann", answer(), PAID)
    assert answers.find(warm, Controls(cache=True), ROUTE, "ann") is not None
    assert answers.find(warm, Controls(), ROUTE, "ann") is None


def test_a_request_may_want_a_new_answer() -> None:
    assert Kept().get(cache=False) is None


def test_nothing_is_kept_where_the_cache_is_off() -> None:
    assert Kept(exact=False).get() is None


def test_a_degraded_answer_is_not_given_again() -> None:
    assert Kept(routed=answer(degraded="tier-1 failed")).get() is None


def test_answers_grow_old_and_the_least_used_go_first() -> None:
    now = 0.0
    cache = AnswerCache[str](entries=2, seconds=60, clock=lambda: now)
    for name in ("one", "two"):
        cache.put(chat(name), name)
    assert cache.get(chat("one")) is not None
    cache.put(chat("three"), "three")
    assert [name for name in ("one", "two", "three") if cache.get(chat(name))] == ["one", "three"]
    assert len(cache) == 2
    now = 61.0
    assert cache.get(chat("one")) is None


@pytest.mark.parametrize(
    "question", ["what is the capital of france", "What is the capital of France ?", "WHAT IS THE CAPITAL OF FRANCE?"]
)
def test_the_same_question_in_other_dress_is_answered_where_that_is_wanted(question: str) -> None:
    again = Kept(semantic=True).get(chat(question))
    assert again is not None
    assert again.cached == "semantic"
    assert Kept().get(chat(question)) is None


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Ghana?",
        "What is not the capital of France?",
        "What is the capital of France in 1940?",
        "Tell me about the weather.",
    ],
)
def test_another_question_is_not(question: str) -> None:
    assert Kept(semantic=True).get(chat(question)) is None


def test_the_same_question_is_never_somebody_elses() -> None:
    kept = Kept(semantic=True)
    assert kept.get(chat("what is the capital of france"), owner="ben") is None
    assert kept.get(chat("what is the capital of france"), owner="ann") is not None


def test_the_same_words_say_nothing_about_files() -> None:
    def shown(name: str, question: str) -> Chat:
        parts = [{"type": "text", "text": question}, {"type": "file", "file": {"file_id": name}}]
        return read_chat(json.dumps({"temperature": 0, "messages": [{"role": "user", "content": parts}]}).encode())

    kept = Kept(shown("a", "What does it say?"), semantic=True)
    assert kept.get(shown("b", "what does it say")) is None
    assert kept.get(shown("a", "What does it say?")) is not None


@pytest.mark.parametrize("semantic", [False, True])
def test_an_answer_is_given_to_another_key_only_where_that_is_set(semantic: bool) -> None:
    assert Kept(semantic=semantic).get(owner="ben") is None
    assert Kept(semantic=semantic).get(owner="ann") is not None
    assert Kept(semantic=semantic, shared=True).get(owner="ben") is not None


def test_answers_that_are_kept_have_a_bound_in_bytes() -> None:
    cache = AnswerCache[int](entries=1_000, seconds=60, most_bytes=1_000)
    for number in range(100):
        cache.put(chat(str(number)), number, size=20)
    assert len(cache) == 50
    assert cache.get(chat("99")) is not None
    cache.put(chat("99"), 1, size=20)
    assert len(cache) == 50
    cache.put(chat("large"), 1, size=21)
    assert cache.get(chat("large")) is None


def test_a_large_request_is_not_compared_with_others() -> None:
    large = chat("Why? " * 250_000)
    assert Kept(large).get(large) is None
    begun = time.perf_counter()
    long = chat("Why? " * 20_000)
    kept = Kept(long, semantic=True)
    assert kept.get(long) is not None
    assert kept.get(chat("why? " * 20_000)) is None  # too long to have a form
    assert time.perf_counter() - begun < 1
