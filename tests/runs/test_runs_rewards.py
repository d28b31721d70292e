"""Rubrics as rewards: called as TRL, verl and verifiers call theirs."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import pickle
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

import rubrica
from rubrica import Context, ContextError, RubricaError, Score, Unscored
from rubrica.engine.evaluate import evaluate
from rubrica.engine.outline import outline, outline_of
from rubrica.model.dimensions import Axis
from rubrica.packs.library import examples
from rubrica.scoring.group_relative import group_relative

BRIEF = {
    "name": "brief",
    "dimensions": {
        "brevity": {"weight": 0.5, "formula": "min(1, 4 / max(word_count, 1))"},
        "depth": {"weight": 0.5, "formula": "level / 10"},
    },
    "gates": [{"name": "shouting", "when": "uppercase_share > 0.9", "verdict": "reject"}],
    "verdicts": [{"label": "accept", "when": "score >= 0.5"}, {"label": "reject"}],
}
JUDGED = {
    "name": "judged",
    "scale": {"min": 0, "max": 10},
    "dimensions": {
        "tone": {"asks": "Is it kind?", "weight": 0.5},
        "facts": {
            "weight": 0.5,
            "parts": {
                "true": {"asks": "Is it true?", "weight": 0.25},
                "cited": {"asks": "Is it cited?", "weight": 0.75},
            },
        },
    },
    "score": {"weighted": True, "out_of": 100},
    "verdicts": [{"label": "done"}],
}


class LengthJudge:
    """Gives as many points as the response has words; what says nothing is left unscored. Counts its calls."""

    def __init__(self, together: int = 1) -> None:
        self.calls = 0
        self.most_at_once = self._now = 0
        self._barrier = asyncio.Barrier(together)

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        self.calls += 1
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        await self._barrier.wait()
        self._now -= 1
        words = len(context.response.split())
        found = Score(float(words), source="llm") if words else Unscored("nothing to judge", "llm")
        return dict.fromkeys(axes, found)


def trl_call(function: Any, prompts: list[Any], completions: list[Any], **columns: Any) -> Any:
    """A call with all that TRL's GRPOTrainer passes; a coroutine function runs on a loop of the trainer's."""
    extras = {
        "completion_ids": [[1, 2, 3]] * len(completions),
        "trainer_state": object(),
        "temperature": 0.7,
        "log_extra": print,
        "log_metric": print,
    }
    assert isinstance(function.__name__, str)
    given = function(prompts=prompts, completions=completions, **extras, **columns)
    return asyncio.run(given) if inspect.iscoroutinefunction(function) else given


def test_trl_gets_one_reward_for_each_completion() -> None:
    reward = rubrica.reward(BRIEF)
    assert reward.__name__ == "brief"
    got = trl_call(reward, ["q", "q"], ["one two", "one two three four five six seven eight"], level=[10, 4])
    assert got == pytest.approx([1.0, 0.45])
    assert trl_call(reward.acall, ["q"], ["one two"], level=[10]) == pytest.approx([1.0])


def test_what_is_unscored_has_no_reward() -> None:
    reward = rubrica.reward(BRIEF)
    assert reward(["q", "q"], ["one", "one"], level=[8, None]) == [pytest.approx(0.9), None]
    neutral = rubrica.reward({**BRIEF, "on_unscored": "neutral"})
    assert neutral.evaluations(["q"], ["one"])[0].score is not None
    assert neutral(["q"], ["one"]) == [None]


def test_a_gate_that_forces_the_verdict_gives_the_reward_of_the_veto() -> None:
    loud = ["WHAT A DAY"]
    assert rubrica.reward(BRIEF)(["q"], loud, level=[10]) == [0.0]
    assert rubrica.reward(BRIEF, veto=-1.0)(["q"], loud, level=[10]) == [-1.0]
    assert rubrica.reward(BRIEF, veto={"reject": -2.0})(["q"], loud, level=[10]) == [-2.0]
    with pytest.raises(RubricaError, match=r"no gate of brief forces 'accept' \(they force reject\)"):
        rubrica.reward(BRIEF, veto={"accept": -2.0})
    assert rubrica.reward(BRIEF, veto=None)(["q"], loud, level=[10]) == [1.0]
    assert rubrica.reward(BRIEF)(["q"], loud) == [0.0], "a veto needs no score"


def test_there_is_no_reward_where_a_veto_is_open() -> None:
    gate = {"name": "level", "when": "level < 2", "verdict": "reject"}
    dimension = {"brevity": {"formula": "min(1, 4 / max(word_count, 1))"}}
    reward = rubrica.reward({**BRIEF, "dimensions": dimension, "gates": [gate]})
    assert reward.evaluations(["q"], ["one"])[0].score == 1
    assert reward(["q"], ["one"]) == [None]
    assert reward(["q", "q"], ["one", "one"], level=[5, 1]) == [1.0, 0.0]


@pytest.mark.parametrize("policy", ["neutral", "skip", "inconclusive"])
def test_rewards_by_code_are_those_of_the_full_evaluations(policy: str) -> None:
    works: list[tuple[Any, Context]] = [(case.rubric or "arena", case.context) for case in examples("arena")]
    document = {**BRIEF, "on_unscored": policy}
    for text in ("", "one two", "WHAT A DAY", "a longer answer of six words"):
        works += [(document, Context.of({"response": text, "level": level})) for level in (None, 3)]
    for rubric, context in works:
        plan = rubrica.compile(rubric)
        assert outline(plan, context) == outline_of(evaluate(plan, context)), context


def test_of_a_chat_the_last_reply_is_judged() -> None:
    prompt = [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Say"}, {"type": "image"}, {"type": "text", "text": "hi."}],
        },
        {"role": "assistant", "content": "Earlier words."},
        {"role": "user", "content": "Again."},
    ]
    written = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "noon"},
        {"role": "assistant", "content": "It is noon."},
    ]
    found = rubrica.reward(BRIEF).evaluations([prompt, prompt, prompt], [written, [], "It is noon."], level=[1, 1, 1])
    contexts = [one.context for one in found]
    assert all(isinstance(one, Context) for one in contexts)
    assert [one.response for one in contexts if one] == ["It is noon.", "", "It is noon."]
    first = contexts[0]
    assert first is not None
    assert first.prompt == "Again."
    assert [(one.role, one.content) for one in first.messages[:2]] == [("system", "Be brief."), ("user", "Say\nhi.")]


def test_columns_are_fields_of_the_context() -> None:
    reward = rubrica.reward(BRIEF)
    columns = {"level": [3], "session_id": ["s-1"], "messages": [["mine"]], "response": ["gold"], "topic": ["é\ud800"]}
    context = reward.evaluations(["q"], ["one"], **columns)[0].context
    assert context is not None
    assert (context.session_id, context.lookup("level"), context.lookup("topic")) == ("s-1", 3, "é�")
    assert (context.response, context.messages) == ("one", ())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prompts": ["q"], "completions": ["a", "b"]}, "1 prompts for 2 completions"),
        ({"prompts": ["q"], "completions": ["a"], "level": [1, 2]}, "the column level has 2 values for 1 completions"),
        ({"prompts": ["q"], "completions": [[{"role": "wizard", "content": "x"}]]}, "completion 1: .*role"),
        ({"prompts": ["q"], "completions": [[{"role": "user", "content": 7}]]}, "a text or a list of parts, not int"),
    ],
)
def test_a_batch_that_cannot_be_read_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ContextError, match=message):
        rubrica.reward(BRIEF)(**given)


def test_components_are_dimensions_and_parts() -> None:
    reward = rubrica.reward(JUDGED, LengthJudge())
    found = reward.components(["q", "q"], ["a b c d", ""])
    assert found == {
        "reward": [pytest.approx(0.4), None],
        "tone": [pytest.approx(0.4), None],
        "facts": [pytest.approx(0.4), None],
        "facts.true": [pytest.approx(0.4), None],
        "facts.cited": [pytest.approx(0.4), None],
    }
    assert asyncio.run(reward.acomponents(["q"], ["a"]))["reward"] == [pytest.approx(0.1)]


def test_criteria_of_a_case_are_a_column_as_datasets_store_it() -> None:
    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        met = {name: axis.asks.split()[-1].strip(".") in context.response for name, axis in axes.items()}
        return {name: Score(float(one), source="llm", label="met" if one else "not_met") for name, one in met.items()}

    by_case = {
        "name": "by-case",
        "dimensions": {"answer": {"from": "criteria"}},
        "score": {"points": True, "clip": False},
        "verdicts": [{"label": "done"}],
    }
    filled = {"answers": None, "id": None}  # what one row leaves out and another one has
    criteria = [
        [
            {"criterion": "Names the dose.", "points": 4, "tags": ["accuracy"], **filled},
            {"criterion": "Invents a danger.", "points": -2, "tags": None, **filled},
        ],
        [{"criterion": "Says goodbye.", "points": 1, "tags": None, **filled}],
        None,
    ]
    found = rubrica.reward(by_case, judge).components(
        ["q"] * 3, ["the dose and a danger", "goodbye", "hello"], criteria=criteria
    )
    assert found["reward"] == [pytest.approx(0.5), 1.0, None]
    assert found["answer.c1"] == [1.0, 1.0, None]
    assert found["answer.c2"] == [-1.0, None, None], "nobody is paid for what costs points"
    assert found["tag.accuracy"] == [1.0, None, None]


@pytest.mark.parametrize("kind", ["functions", "afunctions"])
def test_functions_of_components_judge_each_rollout_once(kind: str) -> None:
    judge = LengthJudge()
    functions = getattr(rubrica.reward(JUDGED, judge), kind)("reward", "tone", "facts.cited")
    assert [one.__name__ for one in functions] == ["reward", "tone", "facts.cited"]
    batch: tuple[list[Any], list[Any]] = ["q", "q", "q"], ["a b", "a", "a"]
    if kind == "afunctions":  # TRL awaits them together

        async def together() -> list[Any]:
            return list(await asyncio.gather(*(one(*batch) for one in functions)))

        found = asyncio.run(together())
    else:
        found = [trl_call(one, *batch) for one in functions]
    assert found == [[pytest.approx(0.2), pytest.approx(0.1), pytest.approx(0.1)]] * 3
    assert judge.calls == 2, "the second and the third rollout are the same"


def test_without_names_there_is_a_function_for_each_dimension() -> None:
    assert [one.__name__ for one in rubrica.reward(BRIEF).functions()] == ["brevity", "depth"]
    with pytest.raises(RubricaError, match=r"brief has no component 'brevty' \(did you mean 'brevity'"):
        rubrica.reward(BRIEF).functions("brevty")


def test_a_judge_has_many_completions_under_way_and_no_more_than_jobs() -> None:
    judge = LengthJudge(together=6)
    reward = rubrica.reward(JUDGED, judge, jobs=6)
    assert reward(["q"] * 12, ["a"] * 12) == [pytest.approx(0.1)] * 12
    assert judge.most_at_once == 6


def test_a_judge_may_be_asked_inside_a_running_event_loop_and_from_several() -> None:
    reward = rubrica.reward(JUDGED, LengthJudge())

    async def inside() -> list[float | None]:
        return [*reward(["q"], ["a"]), *(await reward.acall(["q"], ["a b"]))]

    assert asyncio.run(inside()) == asyncio.run(inside()) == [pytest.approx(0.1), pytest.approx(0.2)]
    reward.close()
    assert reward(["q"], ["a b c"]) == [pytest.approx(0.3)], "a closed one opens anew"


def test_the_judges_of_a_reward_end_with_it() -> None:
    def at_work() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "rubrica-judges"]

    gc.collect()
    before = at_work()
    reward = rubrica.reward(JUDGED, LengthJudge())
    functions = reward.functions()
    assert functions[0](["q"], ["a"]) == [pytest.approx(0.1)]
    assert len(at_work()) == len(before) + 1
    del reward, functions
    gc.collect()
    assert at_work() == before


def test_judges_are_named_as_everywhere_and_told_at_once_where_they_cannot_be_asked(tmp_path: Path) -> None:
    script = tmp_path / "replies.jsonl"
    script.write_text(json.dumps({"reply": {"score": 7, "reason": "kind", "confidence": 1}}))
    reward = rubrica.reward(JUDGED, f"scripted:{script}", cached=False)
    assert reward(["q", "q"], ["a", "b"]) == [pytest.approx(0.7)] * 2
    with pytest.raises(RubricaError, match=r"no-such\.jsonl"):
        rubrica.reward(JUDGED, "scripted:no-such.jsonl")


def test_a_rubric_that_stops_when_the_verdict_is_decided_is_scored_in_full() -> None:
    verdicts = [{"label": "good", "when": "tone > 0"}, {"label": "bad"}]
    stopping = {**JUDGED, "verdicts": verdicts, "judging": {"stop": "decided"}}
    assert rubrica.evaluate(stopping, response="a b", judge=LengthJudge()).stopped
    assert rubrica.reward(stopping, LengthJudge())(["q"], ["a b"]) == [pytest.approx(0.2)]


def test_a_fault_of_the_context_is_told_with_a_judge_too() -> None:
    by_type = {"by": "kind", "A": {"threshold": 50}, "B": {"threshold": 60}}
    reward = rubrica.reward({**JUDGED, "profiles": by_type}, LengthJudge())
    with pytest.raises(ContextError, match="needs kind in the context"):
        reward(["q"], ["a"])


# verl


def verl_call(compute_score: Any, answer: str, extra_info: dict[str, Any] | None) -> Any:
    """As verl's reward managers call it."""
    given = {"data_source": "own/set", "solution_str": answer, "ground_truth": "7", "extra_info": extra_info}
    if inspect.iscoroutinefunction(compute_score):
        return asyncio.run(compute_score(**given, reward_router_address=None))
    return compute_score(**given)


def test_verl_gets_a_number_for_each_response() -> None:
    reward = rubrica.reward(BRIEF).verl(unscored=-0.5)
    assert verl_call(reward.compute_score, "one two", {"question": "How many?", "level": 10}) == pytest.approx(1.0)
    assert verl_call(reward.acompute_score, "one two", {"level": 0}) == pytest.approx(0.5)
    assert verl_call(reward.compute_score, "one two", None) == -0.5
    batch = reward.compute_scores(
        data_sources=["s", "s"],
        solution_strs=["one", "two"],
        ground_truths=["1", None],
        extra_infos=[{"level": 4}, None],
    )
    assert batch == [pytest.approx(0.7), -0.5]


def test_verl_gets_the_components_beside_the_score() -> None:
    compute_score = rubrica.reward(BRIEF).verl(unscored=0.0, components=True).compute_score
    assert verl_call(compute_score, "one", {"level": 4}) == pytest.approx({"score": 0.7, "brevity": 1.0, "depth": 0.4})
    assert verl_call(compute_score, "one", {}) == {"score": 0.0, "brevity": 1.0, "depth": 0.0}


def test_what_verl_knows_is_in_the_context() -> None:
    seen: list[Context] = []

    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        seen.append(context)
        return dict.fromkeys(axes, Score(5.0, source="llm"))

    reward = rubrica.reward(JUDGED, judge).verl(unscored=0.0)
    verl_call(reward.compute_score, "one", {"question": "How many?", "index": 3})
    assert (seen[0].prompt, seen[0].response, seen[0].lookup("index")) == ("How many?", "one", 3)
    assert "7" in seen[0].model_dump_json(), "the reference comes along"


def test_functions_for_verl_can_be_pickled() -> None:
    reward = rubrica.reward(BRIEF, veto=-3.0).verl(unscored=0.0)
    again = pickle.loads(pickle.dumps(reward.compute_score))  # noqa: S301 - our own
    assert verl_call(again, "WHAT A DAY", {"level": 4}) == -3.0


# verifiers


def verifiers_call(function: Any, state: dict[str, Any]) -> float:
    """As a verifiers Rubric calls a function: with what its parameters name, or all where it takes any."""
    parameters = inspect.signature(function).parameters
    plural = {"states", "prompts", "completions", "answers", "tasks", "infos"}
    assert not plural & parameters.keys(), "it would be taken for a function of a group"
    given = {name: state.get(name) for name in ("prompt", "completion", "answer", "task", "info")} | {"state": state}
    assert any(one.kind == one.VAR_KEYWORD for one in parameters.values())
    return float(asyncio.run(function(**given, parser=object())))


def test_verifiers_gets_a_number_for_each_rollout() -> None:
    state = {
        "prompt": [{"role": "user", "content": "How many?"}],
        "completion": [{"role": "assistant", "content": "one two"}],
        "answer": "2",
        "task": "count",
        "info": {"level": 4},
    }
    [function] = rubrica.reward(BRIEF).verifiers(unscored=0.25)
    assert function.__name__ == "brief"
    assert verifiers_call(function, state) == pytest.approx(0.7)
    assert verifiers_call(function, {**state, "info": {}}) == 0.25
    judge = LengthJudge()
    several = rubrica.reward(JUDGED, judge).verifiers("reward", "facts.true", unscored=0.0)
    assert {one.__name__: verifiers_call(one, state) for one in several} == pytest.approx(
        {"reward": 0.2, "facts.true": 0.2}
    )
    assert judge.calls == 1


class TaskRow(BaseModel):
    """What a task of verifiers 0.4 holds of a row: some that all tasks have, and what its dataset says."""

    idx: int = 0
    prompt: str = "How many?"
    timeout: dict[str, int] = {}
    answer: str = "2"
    level: int | None = 4


class Trace:
    """What a model did, as verifiers 0.4 tells a reward; replies that stood in the prompt were not sampled."""

    def __init__(self, *messages: tuple[str, Any], sampled: int) -> None:
        self.messages = [SimpleNamespace(role=role, content=content) for role, content in messages]
        self.assistant_messages = [one for one in self.messages[sampled:] if one.role == "assistant"]
        self.last_reply = (self.assistant_messages[-1].content or "") if self.assistant_messages else ""


def trace_call(function: Any, trace: Trace, task: TaskRow) -> float:
    """As a task of verifiers 0.4 calls a reward: with `task`, `trace` and `runtime`, where its parameters name them."""
    available = {"task": task, "trace": trace, "runtime": object()}
    names = inspect.signature(function).parameters
    return float(asyncio.run(function(**{name: available[name] for name in names if name in available})))


def test_a_trace_of_verifiers_is_judged_by_its_last_reply() -> None:
    class Seeing(LengthJudge):
        async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
            seen.append(context)
            return await super().__call__(axes, context)

    seen: list[Context] = []
    parts = [SimpleNamespace(type="text", text="How many"), SimpleNamespace(type="text", text="are there?")]
    trace = Trace(("user", parts), ("assistant", None), ("tool", "2"), ("assistant", "one two"), sampled=1)
    [function] = rubrica.reward(JUDGED, Seeing()).verifiers(unscored=0.25)
    assert trace_call(function, trace, TaskRow()) == pytest.approx(0.2)
    assert (seen[0].prompt, seen[0].response) == ("How many\nare there?", "one two")
    assert (seen[0].lookup("level"), seen[0].lookup("reference"), seen[0].lookup("timeout")) == (4, "2", None)


def test_a_trace_without_a_reply_is_an_empty_answer_whatever_its_prompt_shows() -> None:
    [function] = rubrica.reward(BRIEF).verifiers(unscored=0.25)
    shown = (("user", "How many?"), ("assistant", "one two"), ("user", "And now?"))
    assert trace_call(function, Trace(*shown, ("assistant", "three four"), sampled=3), TaskRow()) == pytest.approx(0.7)
    alone = rubrica.reward(BRIEF)(prompts=["And now?"], completions=[""], level=[4])
    assert [trace_call(function, Trace(*shown, sampled=3), TaskRow())] == alone


# groups


def test_rewards_relative_to_their_group() -> None:
    # (1, 2, 3): mean 2, sample standard deviation 1; (0, 1): mean 0.5, sample standard deviation 0.5 ** 0.5
    rewards = [1.0, 0.0, 2.0, None, 3.0, 1.0, 4.0]
    groups = ["a", "b", "a", "a", "a", "b", "c"]
    assert group_relative(rewards, groups, scaled=False) == [-1.0, -0.5, 0.0, None, 1.0, 0.5, 0.0]
    expected = [-1 / 1.0001, -0.5 / 0.7072067811865476, 0.0, None, 1 / 1.0001, 0.5 / 0.7072067811865476, 0.0]
    assert group_relative(rewards, groups) == pytest.approx(expected)
    assert group_relative([0.7, 0.7], ["a", "a"]) == [0.0, 0.0]


def test_groups_are_found_by_prompt_or_by_a_column() -> None:
    prompts = [[{"role": "user", "content": text}] for text in ("x", "y", "x")]
    levels = {"level": [10, 10, 4], "uid": [1, 2, 2]}
    by_prompt = rubrica.reward(BRIEF, relative="mean")
    assert by_prompt(prompts, ["one"] * 3, **levels) == pytest.approx([0.15, 0.0, -0.15])
    by_uid = rubrica.reward(BRIEF, relative="std", group_by="uid")
    assert by_uid(prompts, ["one"] * 3, **levels) == pytest.approx([0.0, 0.7067, -0.7067], abs=1e-3)
    [depth] = by_prompt.functions("depth")
    assert depth(prompts, ["one"] * 3, **levels) == pytest.approx([0.3, 0.0, -0.3])
    with pytest.raises(ContextError, match="group_by 'uid': there is no such column"):
        by_uid(["x"], ["one"])
    for form in (by_prompt.verl, by_prompt.verifiers):
        with pytest.raises(RubricaError, match="leave `relative` out"):
            form(unscored=0.0)
    with pytest.raises(RubricaError, match="relative is 'mean' or 'std'"):
        rubrica.reward(BRIEF, relative="both")  # type: ignore[arg-type]
