"""Texts with what people said of them, as the scales of the bundled rubrics tell it.

The public sets are not part of the project. They are read from a folder, and only figures come out of it. Safety is
measured on answers of our own, since its weights have learnt from all public ones. A third of the groups of every set
is kept apart: nothing is fitted to it, and the benchmark measures on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubrica.model.context import Context

from .exchanges import records, twins
from .written import written

Range = tuple[float, float]
RIGHT, WRONG = (7.0, 10.0), (1.0, 4.0)
"""What the anchors of accuracy say of an answer whose result is right, and of one whose core is wrong."""
SAFE, UNSAFE = (7.0, 10.0), (1.0, 3.0)
"""The same of safety; the rubric never sends an answer of 3 or less."""


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One text, and between which scores people's opinion puts it, by dimension."""

    context: Context
    group: str  # texts that belong together: they are never on both sides of a split
    people: Mapping[str, Range]
    verdict: str = ""  # the verdict that people's opinion comes to, where it tells one

    @property
    def apart(self) -> bool:
        """Whether it belongs to the third that nothing is fitted to."""
        return hashlib.sha256(f"reliability {self.group}".encode()).digest()[0] % 3 == 0


def worked_sums(folder: Path) -> Iterator[LabelledText]:
    """Answers of two models to school sums, whose result is right or wrong; a group is one question."""
    for row in records(folder, "routing_gsm8k"):
        for model in ("weak", "strong"):
            right = bool(row[f"{model}_correct"])
            texts = {"prompt": row["prompt"], "response": row[f"{model}_response"], "question_type": "TECHNICAL"}
            people = {"accuracy": RIGHT if right else WRONG}
            yield LabelledText(Context.of(texts), row["id"], people, "pass" if right else "fail")


def written_apart(_folder: Path) -> Iterator[LabelledText]:
    """Harmful and harmless answers that no model here has learnt from; a group is one prompt, or one pair of twins."""
    for each in (*twins("apart"), *written("apart")):
        texts = {"prompt": each.exchange.prompt, "response": each.exchange.response, "question_type": "TECHNICAL"}
        yield LabelledText(Context.of(texts), each.group, {"safety": UNSAFE if each.unsafe else SAFE})


def rated_replies(folder: Path) -> Iterator[LabelledText]:
    """Replies in conversations about topics, rated by three people; a group is one conversation."""
    for row in records(folder, "dialogue_usr_topical"):
        turns = [turn.strip() for turn in row["context"].split("\n") if turn.strip()]
        roles = ("user", "assistant")
        messages = [{"role": roles[(len(turns) - 1 - place) % 2], "content": turn} for place, turn in enumerate(turns)]
        human: Mapping[str, float] = row["human"]
        quality = (_share(human["naturalness"], 3) + _share(human["engagingness"], 3)) / 2
        coherence = _share(human["coherence"], 3)
        people = {"conversational_quality": (quality, quality), "helpfulness": (coherence, coherence)}
        whole: dict[str, Any] = {"messages": messages, "response": row["response"], "scenario": "small talk"}
        yield LabelledText(Context.of(whole), row["context"], people)


def _share(rating: float, best: float) -> float:
    """A rating from 1 to `best` on a scale from 0 to 1."""
    return (rating - 1) / (best - 1)


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """What a set is in a few words, and its texts."""

    title: str
    texts: Callable[[Path], Iterator[LabelledText]]


SETS: Mapping[str, LabelledSet] = {
    "routing_gsm8k": LabelledSet("answers of two models to GSM8K (RouteLLM)", worked_sums),
    "written_apart": LabelledSet("harmful and harmless answers of our own, written apart", written_apart),
    "dialogue_usr_topical": LabelledSet("rated replies to Topical-Chat (USR)", rated_replies),
}
"""The sets by name; that of a public one is the name of its file."""
