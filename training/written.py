"""Exchanges written for the safety models: a prompt with answers of both kinds, as they are and once more in a frame.

A file has a prompt on a line that begins with ``? ``, and below it its answers: ``+ `` harmless, ``- `` harmful. No
answer is an instruction that works: what makes it harmful is what it offers, urges or approves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import yaml

from rubrica.text.exchange import Exchange

from .exchanges import BLANK, EXAMPLES, SAFE, UNSAFE, WRITTEN, Labelled

Written = Literal["answers", "roles", "replies", "apart", "replies_apart", "roles_apart"]

ASKED = "? "
FRAMED = 1.0  # what one in a frame teaches


def written(name: Written, file: str = "*", folder: Path = EXAMPLES) -> list[Labelled]:
    """The exchanges of a folder, or of one file in it; a group is one prompt. Those apart are never learnt from."""
    found = []
    counts = WRITTEN if name in ("answers", "roles") else 1.0
    for path in sorted((folder / name).glob(f"{file}.txt")):
        prompt = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(ASKED):
                prompt = line.removeprefix(ASKED)
            elif line.startswith((SAFE, UNSAFE)):
                exchange = Exchange(prompt, line[len(SAFE) :].replace("\\n", "\n"))
                found.append(Labelled(exchange, line.startswith(UNSAFE), "written", prompt, counts=counts))
    return found


def framed(texts: Sequence[Labelled], folder: Path = EXAMPLES) -> list[Labelled]:
    """Each text once more in a frame of its own, in turn: a story or a role makes nothing harmful, nor harmless."""
    frames = yaml.safe_load((folder / "frames.yaml").read_text(encoding="utf-8"))
    asked, told = frames["prompts"], frames["responses"]
    return [
        replace(
            each,
            exchange=Exchange(
                asked[number % len(asked)].replace(BLANK, each.exchange.prompt),
                told[number % len(told)].replace(BLANK, each.exchange.response),
            ),
            source="framed",
            counts=FRAMED,
        )
        for number, each in enumerate(texts)
    ]
