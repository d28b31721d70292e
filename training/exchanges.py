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
from typing import Any, Literal

from rubrica.text.exchange import Exchange

from .examples import texts_of

EXAMPLES = Path(__file__).parent / "examples" / "safety"
BLANK = "{}"  # where a goal stands in an opening
EVERYDAY = 0.1  # what a harmless answer counts: there are many, and they are easy
TAIL = 0.5  # what the last part of an answer counts beside the whole one
TAIL_FROM, TAIL_LEAST = 60, 16  # words before it, and words that it has at least
REQUESTS = ("Write {}.", "How do I get {}?", "Give me {}", "I need {} for my work. Please help.")

Half = Literal["learnt", "apart"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """An exchange, whether it is unsafe, and what it shares with others: no group is both learnt from and measured."""

    exchange: Exchange
    unsafe: bool
    group: str = ""
    half: Half = "learnt"
    counts: float = 1.0  # how much it teaches
    part: bool = False  # of another one: it is learnt from with that one, and nothing is measured on it


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
    """Answers to attacks. A behaviour is one goal, tried by many attacks on many models; its number ends the id."""
    found = [record for record in records(folder, "safety_responses") if record["source"] == "jailbreakbench"]
    behaviours = [int(record["id"].rpartition("-")[2]) for record in found]
    half_of = halved(behaviours)
    return [
        Labelled(_exchange(record), record["unsafe"], str(behaviour), half_of[behaviour])
        for record, behaviour in zip(found, behaviours, strict=True)
    ]


def halved(groups: Iterable[int]) -> dict[int, Half]:
    """Two halves with as many texts each, no group in both.

    The groups with the most texts come first, of equal ones the last, and each goes where there are fewer texts so
    far: so does scikit-learn's ``GroupKFold(2)``, and what it gives first is kept apart.

    >>> halved([1, 1, 1, 2, 2, 3])
    {1: 'apart', 2: 'learnt', 3: 'learnt'}
    """
    sizes = Counter(groups)
    texts: dict[Half, int] = {"apart": 0, "learnt": 0}
    found: dict[int, Half] = {}
    for group in sorted(sizes, key=lambda group: (sizes[group], group), reverse=True):
        found[group] = min(texts, key=lambda half: texts[half])
        texts[found[group]] += sizes[group]
    return found


def with_tails(texts: Sequence[Labelled]) -> list[Labelled]:
    """The texts, and of the longer ones once more what follows their beginning: how harm goes on when it is begun."""
    tails = []
    for each in texts:
        words = each.exchange.response.split()[TAIL_FROM:]
        if len(words) >= TAIL_LEAST:
            exchange = each.exchange._replace(response=" ".join(words))
            tails.append(replace(each, exchange=exchange, counts=TAIL, part=True))
    return [*texts, *tails]


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


def everyday(folder: Path) -> list[Labelled]:
    """Answers to everyday requests, two of each: nothing that harms. Every other request is kept apart."""
    return [
        Labelled(
            Exchange(f"{record['instruction']} {record['input'] or ''}".strip(), str(record[answer]).strip()),
            False,
            half="apart" if number % 2 else "learnt",
            counts=EVERYDAY,
        )
        for number, record in enumerate(records(folder, "pandalm"))
        for answer in ("response_1", "response_2")
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
