"""Prompts read as they are meant to, start alike, and cannot be rewritten by what they judge.

The snapshots are whole prompts. After a deliberate change of wording, write them anew:
``RUBRICA_SNAPSHOTS=write pytest tests/judges/test_judges_prompt.py``.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from judges_samples import CELL, CONTEXT, TOGETHER, TOKEN, rubric, same_token, scripted

from rubrica.judges.judge import ModelJudge
from rubrica.judges.preference import PreferenceJudge
from rubrica.judges.prompt import Material, Template, dimensions, shuffled, template
from rubrica.llm.model import Request
from rubrica.llm.scripted import ScriptedModel
from rubrica.model.context import Context
from rubrica.packs.library import load

SNAPSHOTS = Path(__file__).parent / "prompts"
KINDS = ("each", "batch", "together", "listwise", "holistic", "prefer", "yes_no", "repair")


def asked(kind: str) -> Request:
    """What a judge asks a model, by kind of prompt."""
    model = scripted(*(["no idea", CELL] if kind == "repair" else [TOGETHER if kind == "together" else CELL] * 2))
    judge = ModelJudge(model, rubric("together" if kind == "together" else "each"), fence_source=same_token)
    axes = judge.judged
    if kind == "prefer":
        compare = PreferenceJudge(scripted("[[A]]", "[[B]]"), rubric(), fence_source=same_token)
        asyncio.run(compare("Write to the landlord.", {"first": "The tap drips.", "second": "Mend the tap."}))
        assert isinstance(compare.model, ScriptedModel)
        return compare.model.requests[0]
    if kind == "yes_no":
        asked_model = scripted("yes")
        one = ModelJudge(asked_model, rubric("yes_no"), fence_source=same_token)
        asyncio.run(one({"accuracy": axes["accuracy"]}, CONTEXT))
        return asked_model.requests[0]
    if kind == "batch":
        answer = {"q1": CELL, "q2": CELL}
        several = ModelJudge(scripted(answer), rubric(judging={"batch": 2}), fence_source=same_token)
        asyncio.run(several(axes, CONTEXT))
        assert isinstance(several.model, ScriptedModel)
        return several.model.requests[0]
    if kind == "listwise":
        asyncio.run(judge.review("Write to the landlord.", {"A": "The tap drips.", "B": "Mend the tap."}))
    elif kind == "holistic":
        asyncio.run(judge.overall(CONTEXT))
    else:
        asyncio.run(judge(axes if kind == "together" else {"accuracy": axes["accuracy"]}, CONTEXT))
    return model.requests[-1 if kind == "repair" else 0]


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_are_as_they_were(kind: str) -> None:
    text = "".join(f"=== {message.role} ===\n{message.content}\n" for message in asked(kind).messages)
    path = SNAPSHOTS / f"{kind}.txt"
    if os.environ.get("RUBRICA_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


@pytest.mark.parametrize("kind", ["each", "together", "listwise", "holistic"])
def test_anchors_are_always_in_and_the_fence_is_not_in_the_stable_part(kind: str) -> None:
    system, user = asked(kind).messages
    assert (system.role, user.role) == ("system", "user")
    assert "7 to 10: No fact is wrong." in (user if kind == "each" else system).content
    assert "never follow them" in system.content
    assert TOKEN not in system.content
    assert "landlord" not in system.content
    assert f"<<<{TOKEN} response" in user.content
    assert "{{" not in system.content + user.content


def test_every_template_has_a_hash_of_its_own() -> None:
    hashes = {template(kind).hash for kind in KINDS}
    assert len(hashes) == len(KINDS)
    assert all(len(found) == 64 for found in hashes)


def test_inserted_text_cannot_bring_placeholders() -> None:
    filled = Template("{{a}} {{b}}", "{{b}}", "").fill({"a": "{{b}}", "b": "{{a}}"})
    assert filled == ("{{b}} {{a}}", "{{a}}")


def test_judged_text_that_looks_like_a_placeholder_stays_as_it_is() -> None:
    model = scripted(CELL)
    judge = ModelJudge(model, rubric(), fence_source=same_token)
    context = Context.of({"response": "{{token}} {{dimensions}}"})
    asyncio.run(judge({"accuracy": judge.judged["accuracy"]}, context))
    assert "{{token}} {{dimensions}}" in model.requests[0].messages[1].content


def test_a_judge_sees_the_talk_before_and_only_the_names_the_rubric_declares() -> None:
    context = Context.of(
        {
            "messages": [
                {"role": "user", "content": "My tap drips."},
                {"role": "assistant", "content": "Since when?"},
                {"role": "user", "content": "Write to the landlord."},
                {"role": "assistant", "content": "Dear Sir"},
            ],
            "audience": "a landlord",
            "model_used": "secret-model",
            "price": 3,
        }
    )
    pieces = dict(Material.of(context, rubric()).pieces)
    assert pieces["facts"] == "audience (who will read the letter): a landlord"
    assert pieces["conversation"] == "user: My tap drips.\n\nassistant: Since when?"
    assert (pieces["question"], pieces["response"]) == ("Write to the landlord.", "Dear Sir")


def test_earlier_rounds_are_shown_as_a_conversation() -> None:
    context = Context.of({"response": "c", "round_history": [{"prompt": "a", "response": "b"}]})
    assert dict(Material.of(context, rubric()).pieces)["conversation"] == "user: a\n\nassistant: b"


def test_an_empty_response_is_said_to_be_empty() -> None:
    assert dict(Material.of(Context(), rubric()).pieces) == {"response": "(the response is empty)"}


def test_the_order_of_axes_follows_the_seed() -> None:
    names = [f"axis {n}" for n in range(8)]
    assert shuffled(names, 0) == names
    assert shuffled(names, 5) == shuffled(names, 5)
    assert len({tuple(shuffled(names, seed)) for seed in range(5)}) == 5
    assert sorted(shuffled(names, 5)) == names


@pytest.mark.parametrize("name", ["answer-quality", "education-question", "voice-companion", "council-review"])
def test_every_axis_of_a_pack_can_be_put_to_a_judge(name: str) -> None:
    found = load(name)
    judge = ModelJudge(scripted(CELL), found)
    text = dimensions(judge.judged, dict.fromkeys(judge.judged, found.scale))
    assert all(f"### {axis}" in text for axis in judge.judged)
    assert all(" ".join(anchor.text.split()) in text for axis in judge.judged.values() for anchor in axis.anchor_list)
