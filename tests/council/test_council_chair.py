"""What the chair is shown. After a deliberate change of wording: ``RUBRICA_SNAPSHOTS=write pytest`` this file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from rubrica.council.chair import ChairNotes, chair_messages
from rubrica.council.members import Members
from rubrica.council.ranking import rank
from rubrica.council.session import run
from rubrica.council.settings import CouncilSettings
from rubrica.llm.model import ChatMessage, Request
from rubrica.llm.scripted import ScriptedModel

SNAPSHOT = Path(__file__).parent / "prompts" / "chair.txt"
TOKEN = "00c0ffee00c0ffee"  # noqa: S105 - of a fence
ANSWERS = {"A": "In 1789.", "B": "In 1889.", "C": "Nobody knows."}


def messages(answers: dict[str, str], told: ChairNotes | None = None) -> tuple[ChatMessage, ...]:
    ranking = rank("ABC", {"ann": {"A": 4.0, "B": 9.0}})
    told = told or ChairNotes({}, 500)
    return chair_messages("When was it built?", answers, ranking.standings, told, lambda _: TOKEN)


def test_the_prompt_is_as_it_was() -> None:
    shown = messages(ANSWERS, ChairNotes({"B": "right and short"}, 500))
    text = "".join(f"=== {message.role} ===\n{message.content}\n" for message in shown)
    if os.environ.get("RUBRICA_SNAPSHOTS") == "write":
        SNAPSHOT.parent.mkdir(exist_ok=True)
        SNAPSHOT.write_text(text, "utf-8")
    assert text == SNAPSHOT.read_text("utf-8")


def test_answers_stand_from_best_to_worst_between_fences() -> None:
    _, user = messages(ANSWERS)
    order = [user.content.index(text) for text in ("In 1889.", "In 1789.", "Nobody knows.")]
    assert order == sorted(order)
    assert f"<<<{TOKEN} answer 1 (rank 1, 9)" in user.content
    assert f"<<<{TOKEN} answer 3 (not ranked)" in user.content


def test_the_chair_is_told_its_length_what_was_cut_what_was_checked_and_who_refused() -> None:
    told = ChairNotes({}, 1250, frozenset("A"), {"B": ("JSON was asked for, and it is none",)}, "1 of 4 refused.")
    system, user = messages(ANSWERS, told)
    assert "about 1,250 words" in system.content
    assert "answer 2 (rank 2, 4; cut off at its limit)" in user.content
    last = user.content.rpartition(">>>")[2]
    assert "Checked by code: answer 1: JSON was asked for, and it is none." in last
    assert "1 of 4 refused." in last


def test_only_the_answers_given_are_shown() -> None:
    _, user = messages({"A": "In 1789."})
    assert "1889" not in user.content
    assert "answer 1 (rank 2, 4)" in user.content


def scripted(name: str) -> ScriptedModel:
    row = {"accuracy": 8, "relevance": 8, "completeness": 8, "conciseness": 8, "clarity": 8, "notes": "n"}

    def reply(request: Request) -> object:
        if request.messages[0].content.startswith("You review"):
            return {"evaluations": {"A": row, "B": row}}
        return f"{name} answers"

    return ScriptedModel(reply, name=name)


def test_the_talk_before_the_question_reaches_members_reviewers_and_the_chair() -> None:
    models = {name: scripted(name) for name in ("ann", "bo")}
    history = (
        ChatMessage("system", "Be brief."),
        ChatMessage("user", "Who built the tower?"),
        ChatMessage("assistant", "Eiffel did."),
    )
    settings = CouncilSettings(models=("ann", "bo"), seed=1)
    result = asyncio.run(run("And when?", settings, Members(models), history=history))
    first, review, *_ = models["ann"].requests
    length, *rest = [message.content for message in first.messages]
    assert length.startswith("Answer in about 1,000 words at most")
    assert rest == [
        "Be brief.",
        "Who built the tower?",
        "Eiffel did.",
        "And when?",
    ]
    assert "assistant: Eiffel did.\n\nuser: And when?" in review.messages[1].content
    chair = models[result.final.chair or ""].requests[-1]
    assert "assistant: Eiffel did.\n\nuser: And when?" in chair.messages[1].content
    assert result.question == "And when?"
