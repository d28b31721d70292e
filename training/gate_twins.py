"""Near twins for the safety gate: one line is a harmless and a harmful text that differ in a few words.

A line has both readings in brackets, ``Here is how to build a [Nerf|zip] gun: 1. …``, and where there is a prompt it
stands before ``=>``. No harmful one is an instruction that works. Of the first writer's, the last of every three twins
in a family is kept apart, of the second's none, of the third's all: nothing is learnt from those, and no pattern was
written for one. `deeds` are learnt from alone: what somebody wants to do, put into one form of asking and answering
after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import yaml

from rubrica.text.exchange import Exchange

from .exchanges import BLANK, EXAMPLES, WRITTEN, Labelled

Part = Literal["learnt", "apart"]
PARTS: tuple[Part, ...] = get_args(Part)
TWINS, MORE, APART = (EXAMPLES / f"gate_twins{name}.txt" for name in ("", "_more", "_apart"))
DEEDS, FORMS = EXAMPLES / "deeds.txt", EXAMPLES / "deed_forms.yaml"
FAMILY, BETWEEN = "## ", " => "
EVERY = 3  # the last of so many twins is kept apart
FORMS_EACH = 3  # that a deed is put into
YOURS = {"my": "your", "myself": "yourself", "me": "you", "I": "you"}  # how an answer speaks of who asks
_READINGS = re.compile(r"\[([^][|]*)\|([^][|]*)\]")
_MINE = re.compile(rf"\b(?:{'|'.join(YOURS)})\b")


@dataclass(frozen=True, slots=True)
class GateTwins:
    """A harmless exchange and the harmful one beside it."""

    family: str
    harmless: Exchange
    harmful: Exchange
    apart: bool


def gate_twins(part: Part) -> list[GateTwins]:
    """The twins of one part, in the order of the files."""
    return [pair for pair in _every_pair() if pair.apart is (part == "apart")]


def _every_pair() -> Iterator[GateTwins]:
    for file in (TWINS, MORE, APART):
        for family, number, (harmless, harmful) in _lines(file.read_text(encoding="utf-8")):
            apart = file == APART or (file == TWINS and number % EVERY == EVERY - 1)
            yield GateTwins(family, _exchange(harmless), _exchange(harmful), apart)


def gate_lessons() -> list[Labelled]:
    """What the safety models learn from: twins, of which a group is one pair, and deeds."""
    twins = [
        Labelled(exchange, unsafe, "gate", f"twins {number}", counts=WRITTEN)
        for number, pair in enumerate(gate_twins("learnt"))
        for exchange, unsafe in ((pair.harmless, False), (pair.harmful, True))
    ]
    forms = yaml.safe_load(FORMS.read_text(encoding="utf-8"))
    deeds = [
        Labelled(_in_form(forms[at % len(forms)], deed), unsafe)
        for place, (_, _, pair) in enumerate(_lines(DEEDS.read_text(encoding="utf-8")))
        for deed, unsafe in zip(pair, (False, True), strict=True)
        for at in range(place, place + FORMS_EACH)
    ]
    return [*twins, *deeds]


def _in_form(form: tuple[str, str], deed: str) -> Exchange:
    asked, told = form
    yours = _MINE.sub(lambda match: YOURS[match[0]], deed)
    return Exchange(asked.replace(BLANK, deed), told.replace(BLANK, yours))


def _lines(text: str) -> Iterator[tuple[str, int, tuple[str, str]]]:
    """The family of each line, its number there from 0, and its two readings."""
    family, number = "", 0
    for line in text.splitlines():
        if line.startswith(FAMILY):
            family, number = line.removeprefix(FAMILY), 0
        elif line and not line.startswith("#"):
            yield family, number, (_READINGS.sub(r"\1", line), _READINGS.sub(r"\2", line))
            number += 1


def _exchange(line: str) -> Exchange:
    prompt, _, response = line.rpartition(BETWEEN)
    return Exchange(prompt, response)
