"""What the safety models learn from: examples written for them, and public sets of answers that were labelled.

The public sets are not part of the project. They are read from a folder, and only weights come out of it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rubrica.text.exchange import Exchange

from .examples import texts_of

EXAMPLES = Path(__file__).parent / "examples" / "safety"
BLANK = "{}"  # where a goal stands in an opening
TAIL = 0.5  # what the last part of an answer counts beside the whole one
TAIL_FROM, TAIL_LEAST = 60, 16  # words before it, and words that it has at least
REQUESTS = ("Write {}.", "How do I get {}?", "Give me {}", "I need {} for my work. Please help.")
IN_TURN = 4  # openings that each goal is put into, in turn
WILLING = (
    "Sure, here is the answer:",
    "Sure! Here is how it is done. Step 1:",
    "Certainly! Here's what you asked for:",
    "Of course. Below is a guide: 1.",
)
WRITTEN = 3.0  # what an exchange teaches that was written for the models: few stand beside the public sets
SAFE, UNSAFE = "+ ", "- "  # how the lines of a file of twins begin

Source = Literal["own", "twins", "gate", "written", "framed", "everyday", "sums", "attacks", "conversations"]
OURS: frozenset[Source] = frozenset({"own", "twins", "gate", "written", "framed"})  # nothing public


@dataclass(frozen=True, slots=True)
class Labelled:
    """An exchange, whether it is unsafe, and what it shares with others: no group is both learnt from and measured."""

    exchange: Exchange
    unsafe: bool
    source: Source = "own"
    group: str = ""
    attack: str = ""  # how the answer was got
    counts: float = 1.0  # how much it teaches
    part: bool = False  # of another one: it is learnt from with that one, and nothing is measured on it
    kind: str = ""  # what is at stake, where the set says it: each kind has a head of its own


class ReaderText(NamedTuple):
    """A text for the reader to learn from, and the question that it answers: 0 for answers, 1 for replies."""

    text: Labelled
    question: int


class ReaderPart(NamedTuple):
    """What the reader learns from at a time, and what it is then asked about."""

    learnt: Sequence[ReaderText]
    apart: Sequence[Exchange]
    seed: int = 0  # of the order of texts


# --- examples written for the models ------------------------------------------------------------------------


def own_examples(folder: Path = EXAMPLES) -> list[Labelled]:
    """Goals put into openings and refusals, and whole texts; what refuses is safe, whatever it names."""
    harmful, benign = _texts(folder, "harmful_goals"), _texts(folder, "benign_goals")
    openings, declining = _texts(folder, "openings"), _texts(folder, "declining")
    return [
        *_filled(harmful, openings, unsafe=True),
        *_filled(harmful, declining, unsafe=False),
        *_filled(benign, openings, unsafe=False),
        *(Labelled(Exchange("", text), True) for text in _texts(folder, "unsafe")),
        *(Labelled(Exchange("", text), False) for name in ("safe", "refusals") for text in _texts(folder, name)),
    ]


def _texts(folder: Path, name: str) -> list[str]:
    return list(texts_of((folder / f"{name}.txt").read_text(encoding="utf-8")))


def _filled(goals: Sequence[str], openings: Sequence[str], *, unsafe: bool) -> Iterator[Labelled]:
    for place, goal in enumerate(goals):
        for number in range(place, place + min(IN_TURN, len(openings))):
            asked = REQUESTS[number % len(REQUESTS)].replace(BLANK, goal)
            yield Labelled(Exchange(asked, openings[number % len(openings)].replace(BLANK, goal)), unsafe)


def twins(name: Literal["learnt", "apart"], folder: Path = EXAMPLES) -> list[Labelled]:
    """Near twins: much the same words, one harmless and one harmful. Those kept apart are never learnt from."""
    lines = (folder / "twins" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    found: list[Labelled] = []
    for line in lines:
        if line.startswith((SAFE, UNSAFE)):
            prompt, _, response = line[len(SAFE) :].partition(" => ")
            exchange, pair = Exchange(prompt, response), str(len(found) // 2)
            found.append(Labelled(exchange, line.startswith(UNSAFE), "twins", pair, counts=WRITTEN))
    return found


# --- public sets --------------------------------------------------------------------------------------------


def records(folder: Path, name: str) -> list[dict[str, Any]]:
    """The records of a set."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def answers(folder: Path) -> list[Labelled]:
    """Answers to attacks. A behaviour is one goal, tried by many attacks on many models; its number ends the id."""
    return [
        Labelled(
            _exchange(record),
            record["unsafe"],
            "attacks",
            group=record["id"].rpartition("-")[2],
            attack=record["id"].split("-")[1],
        )
        for record in records(folder, "safety_responses")
        if record["source"] == "jailbreakbench"
    ]


def with_tails(texts: Sequence[Labelled]) -> list[Labelled]:
    """The texts, and of the longer ones once more what follows their beginning: how harm goes on when it is begun."""
    tails = []
    for each in texts:
        words = each.exchange.response.split()[TAIL_FROM:]
        if len(words) >= TAIL_LEAST:
            exchange = each.exchange._replace(response=" ".join(words))
            tails.append(replace(each, exchange=exchange, counts=TAIL, part=True))
    return [*texts, *tails]


def with_openings(texts: Sequence[Labelled]) -> list[Labelled]:
    """The texts, and each once more behind a willing opening: it is no sign of harm where none follows."""
    opened = [
        replace(each, exchange=each.exchange._replace(response=f"{opening} {each.exchange.response}"), part=True)
        for number, each in enumerate(texts)
        for opening in (WILLING[number % len(WILLING)],)
    ]
    return [*texts, *opened]


def replies(folder: Path) -> list[Labelled]:
    """Replies in conversations; a group is one prompt."""
    return [
        Labelled(
            _exchange(record),
            record["unsafe"],
            "conversations",
            group=record["prompt"].strip().lower(),
            kind=record["category"],
        )
        for record in records(folder, "safety_responses")
        if record["source"].startswith("diasafety")
    ]


def everyday(folder: Path) -> list[Labelled]:
    """Answers to everyday requests, two of each: nothing that harms. A group is one request."""
    return [
        Labelled(
            Exchange(f"{record['instruction']} {record['input'] or ''}".strip(), str(record[answer]).strip()),
            False,
            "everyday",
            str(number),
        )
        for number, record in enumerate(records(folder, "pandalm"))
        for answer in ("response_1", "response_2")
    ]


def sums(folder: Path) -> list[Labelled]:
    """Worked sums: what is never an offence, and too easy to be measured on."""
    return [
        Labelled(Exchange(record["question"], re.sub(r"<<.*?>>", "", record["answer"])), False, "sums")
        for record in records(folder, "gsm8k_train_sample")[::4]
    ]


def _exchange(record: dict[str, Any]) -> Exchange:
    return Exchange(record["prompt"].strip(), record["response"].strip())


# --- keeping groups apart -----------------------------------------------------------------------------------

_WORD = re.compile(r"[a-z]{4,}")


def not_near(own: Iterable[Labelled], measured: Sequence[Labelled]) -> list[Labelled]:
    """The own examples that name none of the measured behaviours: else the figures would flatter.

    An example is near a behaviour when it has two of the words (their first five letters) that at least half of the
    behaviour's prompts have and that fewer than a tenth of all behaviours have.
    """
    prompts: dict[str, list[set[str]]] = {}
    for each in measured:
        prompts.setdefault(each.group, []).append(_stems(each.exchange.prompt))
    frequent = {group: _in_half_of(stems) for group, stems in prompts.items()}
    spread = Counter(stem for stems in frequent.values() for stem in stems)
    telling = [{stem for stem in stems if spread[stem] < len(frequent) / 10} for stems in frequent.values()]
    return [
        each
        for each in own
        if all(len(stems & _stems(each.exchange.prompt or each.exchange.response)) < 2 for stems in telling)
    ]


def _stems(text: str) -> set[str]:
    return {word[:5] for word in _WORD.findall(text.lower())}


def _in_half_of(sets: Sequence[set[str]]) -> set[str]:
    counts = Counter(stem for stems in sets for stem in stems)
    return {stem for stem, count in counts.items() if count >= len(sets) / 2}
