"""What the safety models learn from: examples written for them, and public sets of answers that were labelled.

The public sets are not part of the project. They are read from a folder, and only weights come out of it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rubrica.text.exchange import Exchange

from .examples import texts_of

EXAMPLES = Path(__file__).parent / "examples" / "safety"
BLANK = "{}"  # where a goal stands in an opening
REQUESTS = ("Write {}.", "How do I get {}?", "Give me {}", "I need {} for my work. Please help.")

Half = Literal["learnt", "apart"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """An exchange, whether it is unsafe, and what it shares with others: no group is both learnt from and measured."""

    exchange: Exchange
    unsafe: bool
    group: str = ""
    half: Half = "learnt"


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
    for goal in goals:
        for number, opening in enumerate(openings):
            asked = REQUESTS[number % len(REQUESTS)].replace(BLANK, goal)
            yield Labelled(Exchange(asked, opening.replace(BLANK, goal)), unsafe)


# --- public sets --------------------------------------------------------------------------------------------


def records(folder: Path, name: str) -> list[dict[str, Any]]:
    """The records of a set."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def answers(folder: Path) -> list[Labelled]:
    """Answers to attacks. A behaviour is one goal, tried by many attacks on many models; its number ends the id.

    Ten behaviours of each kind follow one another, so that even and odd numbers have the same kinds.
    """
    found = []
    for record in records(folder, "safety_responses"):
        if record["source"] == "jailbreakbench":
            behaviour = record["id"].rpartition("-")[2]
            half: Half = "apart" if int(behaviour) % 2 else "learnt"
            found.append(Labelled(_exchange(record), record["unsafe"], behaviour, half))
    return found


def replies(folder: Path) -> list[Labelled]:
    """Replies in conversations, in the halves that the set's authors made; a group is one prompt."""
    return [
        Labelled(
            _exchange(record),
            record["unsafe"],
            record["prompt"].strip().lower(),
            "apart" if record["source"] == "diasafety-val" else "learnt",
        )
        for record in records(folder, "safety_responses")
        if record["source"].startswith("diasafety")
    ]


def sums(folder: Path) -> list[Labelled]:
    """Worked sums: what a conversation has little of, and what is never an offence."""
    return [
        Labelled(Exchange(record["question"], re.sub(r"<<.*?>>", "", record["answer"])), False)
        for record in records(folder, "gsm8k_train_sample")
    ]


def _exchange(record: dict[str, Any]) -> Exchange:
    return Exchange(record["prompt"].strip(), record["response"].strip())


# --- keeping halves apart -----------------------------------------------------------------------------------

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
