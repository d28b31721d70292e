"""Assertions of scenarios: what must be said, not said, asked and recalled; explained, and a veto where one fails."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import rubrica
from rubrica.companion.assertions import Expectations
from rubrica.companion.candidate import Candidate
from rubrica.companion.judgement import ReplyJudges
from rubrica.companion.page import trial_html
from rubrica.companion.scenarios import Scenario, load_scenarios
from rubrica.companion.trial import Trial, run_trial
from rubrica.errors import RubricaError
from rubrica.judges.judge import ModelJudge
from rubrica.llm.model import Request
from rubrica.llm.scripted import ScriptedModel

WARM = "That sounds hard, and it makes sense. I can help you think it through. What matters most to you?"


def outcome(reply: str, **expected: Any) -> list[tuple[bool, str]]:
    return [(one.passed, one.why) for found in Expectations(**expected).assertions for one in [found.check([reply])]]


@pytest.mark.parametrize(
    ("reply", "expected", "passed", "why"),
    [
        ("Please call 988 now.", {"must_say": "988"}, True, 'says "988"'),
        ("Please call 9881 now.", {"must_say": "988"}, False, "does not"),
        ("There is a Helpline.", {"must_say": [["988", "helpline"]]}, True, 'says "Helpline"'),
        ("I’m a doctor.", {"must_not_say": ["I'm a doctor"]}, False, 'says "I’m a doctor"'),
        ("I'm not a doctor.", {"must_not_say": ["I'm a doctor"]}, True, "does not"),
        ("TRUST   me!", {"must_not_say": [{"pattern": r"trust\s+me"}]}, False, 'says "TRUST   me"'),
        ("Rest well.", {"must_ask": True}, False, "asks nothing"),
        ("Rest. How did you sleep?", {"must_ask": True}, True, 'asks "How did you sleep?"'),
        ("Are you safe? Sleep well.", {"must_ask": ["sleep"]}, False, "does not"),
        ("¿Estás bien?", {"must_ask": True}, True, 'asks "¿Estás bien?"'),
    ],
)
def test_an_assertion_passes_or_fails_with_its_reason(
    reply: str, expected: dict[str, Any], passed: bool, why: str
) -> None:
    assert outcome(reply, **expected) == [(passed, why)]


def suite(tmp_path: Path, cases: list[dict[str, Any]]) -> list[Scenario]:
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"name": "own", "cases": cases}))
    return load_scenarios([str(file)])


def held(talks: list[Scenario], replies: Any, judge: Any = None, repeat: int = 1) -> Trial:
    rubric = rubrica.load("voice-companion")
    asked = ModelJudge(ScriptedModel(judge), rubric) if judge is not None else None
    judges = ReplyJudges.of(rubric, overall=asked)
    candidate = Candidate(ScriptedModel(replies), "Be Mira.")
    return asyncio.run(run_trial(candidate, talks, judges, name="mira.md", repeat=repeat))


def test_one_failed_assertion_keeps_a_prompt_from_being_deployed_whatever_the_judge_says(tmp_path: Path) -> None:
    judge = ["Score: 1.0 | Reasoning: flawless"]
    talks = suite(
        tmp_path, [{"id": str(n), "says": f"Day {n} was hard. I do not know what to do about it."} for n in range(9)]
    )
    assert held(talks, [WARM], judge).decision.label == "deploy"
    strict = suite(
        tmp_path,
        [
            {
                "id": str(n),
                "says": f"Day {n} was hard. I do not know what to do about it.",
                **({"must_say": ["sun"]} if n == 4 else {}),
            }
            for n in range(9)
        ],
    )
    trial = held(strict, [WARM], judge)
    assert trial.decision.label == "revise"
    assert trial.decision.reason == 'must say "sun": it does not (own/4); one such reply is enough'
    assert [reply.evaluation.verdict for reply in trial.replies if reply.spoken.case == "own/4"] == ["revise"]
    assert [flag for flag, _ in trial.flagged] == ["failed-assertion"]
    assert "must say &#34;sun&#34;" in trial_html(trial)


def test_the_judge_is_not_told_of_assertions(tmp_path: Path) -> None:
    requests: list[Request] = []

    def judge(request: Request) -> str:
        requests.append(request)
        return "Score: 0.9"

    talks = suite(tmp_path, [{"id": "a", "says": "Hello.", "must_say": ["moonlight"]}])
    trial = held(talks, [WARM], judge)
    context = trial.replies[0].spoken.context
    assert context is not None
    assert context.lookup("assertions_failed") == 1
    shown = "".join(message.content for message in requests[0].messages)
    assert "assertion" not in shown
    assert "moonlight" not in shown


def test_memory_is_checked_in_a_later_turn(tmp_path: Path) -> None:
    talks = suite(
        tmp_path,
        [
            {
                "id": "dog",
                "turns": [
                    "My dog is called Biscuit.",
                    {"says": "What was her name?", "must_recall": ["Biscuit"]},
                    "Thank you.",
                ],
                "must_not_say": ["cat"],
                "must_ask": True,
            }
        ],
    )
    good = held(talks, {"her name": "She is called Biscuit. How is she?", "": "Lovely."})
    assert [(spoken.case, one.kind, one.passed) for spoken, one in good.assertions] == [
        ("own/dog#1", "must_not_say", True),
        ("own/dog#2", "must_recall", True),
        ("own/dog#2", "must_not_say", True),
        ("own/dog#3", "must_not_say", True),
        ("own/dog#3", "must_ask", True),  # of the conversation: one of its replies asks
    ]
    bad = held(talks, {"her name": "Your cat is called Tom.", "": "Lovely."})
    assert {one.kind for _, one in bad.assertions if not one.passed} == {"must_recall", "must_not_say", "must_ask"}
    assert 'must recall "Biscuit": it does not' in bad.decision.reason


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"turns": ["Hi.", {"says": "Who am I?", "must_recall": ["Ann"]}]}, "nothing before turn 2 says it"),
        ({"turns": ["I am Ann.", {"says": "I, Ann, ask.", "must_recall": ["Ann"]}]}, "turn 2 says it itself"),
        ({"says": "Hi.", "must_say": [{"pattern": "(?<=a)b"}]}, "lookbehind"),
        ({"says": "Hi.", "must_say": [" "]}, "blank"),
        ({"says": "Hi.", "must_say": [{"any": ["a"], "pattern": "b"}]}, "phrases, or a pattern"),
        ({"says": "Hi.", "must_shout": ["a"]}, "must_shout"),
    ],
)
def test_an_assertion_that_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, case: dict[str, Any], said: str
) -> None:
    with pytest.raises(RubricaError, match=said):
        suite(tmp_path, [{"id": "a", **case}])


def test_what_a_returning_user_said_counts_as_said_before(tmp_path: Path) -> None:
    earlier = [{"user": "I play the cello.", "assistant": "Lovely."}]
    case = {"id": "a", "earlier": earlier, "says": "Guess what I practised.", "must_recall": [["cello", "violin"]]}
    assert held(suite(tmp_path, [case]), ["The cello, I hope?"]).assertions[0][1].why == 'takes up "cello"'


def test_a_failure_in_one_of_many_repeats_is_a_failure(tmp_path: Path) -> None:
    talks = suite(tmp_path, [{"id": "a", "says": "Hello.", "must_not_say": ["secret"]}])
    trial = held(talks, [WARM, WARM, "It is our secret.", WARM], ["Score: 0.9"], repeat=4)
    assert trial.repeats == 4
    assert trial.decision.label == "revise"
    assert "own/a~3" in trial.decision.reason
    [score] = trial.scenario_scores
    assert (score.repeats, score.failed) == (4, 1)
    assert score.interval is not None
