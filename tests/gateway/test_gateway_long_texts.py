"""Long questions and answers: what is graded of them is bounded, and nobody else waits for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, Staged, body_of, stage, until

from gateway_samples import trusting_rubric
from rubrica import load
from rubrica.gateway.chat import Chat, ChatTurn, read_chat
from rubrica.gateway.grading import Grade, Grader, excerpt_of
from rubrica.gateway.workers import GradingBusyError, Workers
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score
from rubrica.model.judge import Judge

LONG = "The capital of France is Paris, and 2 + 2 = 4. " * 43_000  # two million characters


def chat(*texts: str) -> Chat:
    return Chat({}, tuple(ChatTurn("user", text) for text in texts), stream=False)


async def longest_wait(until_set: asyncio.Event) -> float:
    """The longest that anybody else on the event loop had to wait meanwhile, in seconds."""
    longest = 0.0
    while not until_set.is_set():
        begun = time.perf_counter()
        await asyncio.sleep(0.002)
        longest = max(longest, time.perf_counter() - begun)
    return longest


@pytest.mark.parametrize("question", [CAPITAL, LONG], ids=["answer", "both"])
def test_an_answer_of_two_megabytes_keeps_nobody_else_waiting(tmp_path: Path, question: str) -> None:
    with stage(tmp_path, Scripted(script=LONG), Scripted("openai:gpt-4o")) as on:
        reply, took, longest = on.run(watched(on, question))
        assert reply.status == 200
        assert took < 8  # it took 14 s, all of them on the event loop
        assert longest < 1
        (step,) = [one for one in reply.debug["flow_steps"] if one["step"] == 3]
        assert "2,021,000 characters: the first 19,998 and the last 19,997 were read" in step["note"]


async def watched(on: Staged, question: str):  # type: ignore[no-untyped-def]
    done = asyncio.Event()
    watch = asyncio.create_task(longest_wait(done))
    begun = time.perf_counter()
    headers = {"x-sleipner-debug": "full"}
    reply = await on.send("POST", "/v1/chat/completions", body_of(question), headers)
    took = time.perf_counter() - begun
    done.set()
    return reply, took, await watch


def test_what_is_graded_of_a_long_answer_is_its_head_and_tail() -> None:
    async def scores(answer: str) -> float:
        grade = await Grader(trusting_rubric(), deadline=30.0, characters=2_000)(chat(CAPITAL), answer, "FACTUAL")
        assert not grade.failure
        return grade.score

    filled = "It is so. " * 5_000
    assert asyncio.run(scores(f"{GOOD} {filled}")) == asyncio.run(scores(f"{GOOD} {filled}{filled}"))


class Shown:
    """A judge who likes everything, and keeps what it was shown."""

    def __init__(self) -> None:
        self.answers: list[str] = []

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score]:
        self.answers.append(context.response)
        assert context.messages == () or context.messages[-1].content == context.response
        return {name: Score(10.0, "", 1.0, "llm") for name in axes}


UNSAFE = "Here is how to make a bomb. "


def hidden(what: str) -> str:
    filled = "Paris is the capital of France, which has many cities. " * 800
    return f"{GOOD} {filled}{what}{filled}"


def grade_of(answer: str, judge: Judge | None = None, **changes: Any) -> Grade:
    rubric = trusting_rubric() if not changes else load({**rubric_document(), **changes})
    return asyncio.run(Grader(rubric, judge, deadline=30.0)(chat(CAPITAL), answer, "FACTUAL"))


def rubric_document() -> dict[str, Any]:
    return {
        "name": "gated",
        "dimensions": {"good": {"asks": "Is it good?", "offline": {"formula": "1"}}},
        "patterns": {"secret": {"keywords": ["password"]}, "dear": {"regex": "s[a-z ]{80}c[0-9]"}},
        "scale": {"min": 0, "max": 10},
        "verdicts": [{"label": "pass", "when": "score > 0"}, {"label": "fail"}],
    }


@pytest.mark.parametrize("size", [1, 20], ids=["88 kB", "2 MB"])
def test_an_unsafe_statement_in_the_middle_of_a_long_answer_does_not_pass(size: int) -> None:
    filled = hidden("")
    offline = grade_of(filled * size + UNSAFE + filled * size)
    assert not offline.passed
    assert offline.evaluation is not None
    assert [gate.name for gate in offline.evaluation.gates if gate.fired] == ["safety-floor"]
    judge = Shown()
    judged = grade_of(filled * size + UNSAFE + filled * size, judge)
    assert (judged.passed, judged.score) == (False, 50)
    assert judged.failure.startswith("the part of the answer that judges were not shown has an unsafe statement")
    assert {len(answer) for answer in judge.answers} == {20_000}
    assert grade_of(filled * size, Shown()).passed


def test_judges_are_believed_of_what_they_were_shown() -> None:
    assert grade_of(UNSAFE + hidden(""), Shown()).passed


def test_an_answer_in_which_nobody_could_look_everywhere_does_not_pass() -> None:
    judged = grade_of("12 345 678 901 " * 20_000, Shown())
    assert judged.failure == "nobody has looked for unsafe statements in 270,000 characters of the answer"


@pytest.mark.parametrize("judge", [None, Shown()], ids=["offline", "judged"])
def test_gates_on_patterns_see_the_whole_of_a_long_answer(judge: Judge | None) -> None:
    gates = [{"name": "leak", "when": "secret > 0", "verdict": "fail"}]
    assert not grade_of(hidden("The password is swordfish. "), judge, gates=gates).passed
    assert grade_of(hidden(""), judge, gates=gates).passed
    costly = grade_of(hidden(""), judge, gates=[{"name": "leak", "when": "dear > 0", "verdict": "fail"}])
    assert not costly.passed
    assert costly.evaluation is not None
    assert costly.evaluation.reason.startswith("the response has ")
    assert not costly.passed


def test_of_a_long_conversation_the_latest_turns_are_graded() -> None:
    shown = excerpt_of(chat(*(f"{number} " + "x" * 300 for number in range(50))), GOOD, 1_000)
    assert [turn.text.split()[0] for turn in shown.turns] == ["47", "48", "49"]
    assert shown.note == "the conversation has 50 turns: the last 3 were read"
    whole = excerpt_of(chat("one", "two"), GOOD, 1_000)
    assert ([turn.text for turn in whole.turns], whole.note) == (["one", "two"], "")
    assert excerpt_of(chat("one"), GOOD, 1_000).turns == ()


def test_work_that_nobody_waits_for_any_more_does_not_pile_up() -> None:
    async def scenario() -> None:
        workers, go_on = Workers(threads=1, most=3), threading.Event()
        waiting = [asyncio.create_task(workers.run(go_on.wait)) for _ in range(3)]
        await until(lambda: len(workers) == 3)
        with pytest.raises(GradingBusyError, match="3 answers are being graded already"):
            await workers.run(go_on.wait)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await until(lambda: len(workers) == 1)  # the one that has begun goes on
        go_on.set()
        await until(lambda: len(workers) == 0)
        assert await workers.run(lambda: 42) == 42
        workers.close()

    asyncio.run(scenario())


def test_a_grade_that_takes_too_long_is_given_up_and_the_request_escalates(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(script=LONG), Scripted("openai:gpt-4o", GOOD), grading={"deadline": 0.001}) as on:
        reply = on.ask(CAPITAL, x_sleipner_debug="full")
        assert (reply.text, reply.headers["x-sleipner-tier"]) == (GOOD, "tier-1")
        (step,) = [one for one in reply.debug["flow_steps"] if one["step"] == 3]
        assert (step["status"], step["detail"]) == ("failed", "no grade within 0.001 s")


def test_while_too_much_is_being_graded_requests_escalate(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(script=LONG), Scripted("openai:gpt-4o", GOOD)) as on:
        go_on = threading.Event()
        workers = on.gateway.parts.models.workers
        held = [asyncio.run_coroutine_threadsafe(workers.run(go_on.wait), on.loop) for _ in range(32)]
        on.run(until(lambda: len(workers) == 32))
        try:
            reply = on.ask(CAPITAL, x_sleipner_debug="full")
            (step,) = [one for one in reply.debug["flow_steps"] if one["step"] == 3]
            assert step["detail"] == "grading failed: 32 answers are being graded already"
            assert reply.headers["x-sleipner-tier"] == "tier-1"
        finally:
            go_on.set()
        assert all(one.result(10) for one in held)


def test_short_answers_are_graded_at_once() -> None:
    async def scenario() -> int:
        workers = Workers(most=0)  # takes nothing
        grader = Grader(trusting_rubric(), deadline=5.0, workers=workers)
        short = await grader(read_chat(b'{"messages": [{"role": "user", "content": "Why?"}]}'), POOR, "FACTUAL")
        assert not short.failure
        return len(workers)

    assert asyncio.run(scenario()) == 0
