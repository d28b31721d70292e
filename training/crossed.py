"""Examples that cross subjects with tasks: the same things asked about in every way, so that only the task tells them.

The file of a model says which fillings there are, by field of knowledge, and which templates make which label. Each
template is filled a few times, from fields that take turns; a few words about who asks stand around some of them,
whatever the label. Nothing is drawn at random: the same file makes the same examples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import yaml

from .examples import Example

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class CrossedExample:
    """An example, and what must stay together when some are kept apart."""

    example: Example
    template: str
    fields: frozenset[str]  # of knowledge, that its fillings come from


@dataclass(frozen=True, slots=True)
class Crossing:
    """Fillings by kind and field of knowledge, templates by label, and words that stand around them."""

    fillings: Mapping[str, Mapping[str, Sequence[str]]]
    wrappers: Mapping[str, Sequence[str]]
    templates: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, file: Path) -> Crossing:
        return cls(**yaml.safe_load(file.read_text(encoding="utf-8")))

    def examples(self, times: int) -> list[CrossedExample]:
        """Every template, filled this many times; one that cannot be filled stands once."""
        return [
            self._filled(label, template, turn)
            for label, templates in self.templates.items()
            for template in templates
            for turn in range(times if _SLOT.search(template) else 1)
        ]

    def _filled(self, label: str, template: str, turn: int) -> CrossedExample:
        seed = crc32(template.encode())
        fields = set()
        place = 0

        def filling(match: re.Match[str]) -> str:
            nonlocal place
            by_field = self.fillings[match[1]]
            names = list(by_field)
            at = seed // 7 + turn + 3 * place  # the fields take turns, and two places of a template get two of them
            field = names[at % len(names)]
            fields.add(field)
            choices = by_field[field]
            place += 1
            return choices[(seed // 13 + turn // len(names) + place + turn * 5) % len(choices)]

        text = _SLOT.sub(filling, template)
        before, after = self.wrappers["before"], self.wrappers["after"]
        around = crc32(f"{template} {turn}".encode())
        opening, closing = before[around % len(before)], after[around // 64 % len(after)]
        text = text[0].upper() + text[1:] if template[0] == "{" and around % 3 else text
        if closing and text[-1] not in ".?!":
            closing = f".{closing}"
        return CrossedExample(Example(f"{opening}{text}{closing}", label), template, frozenset(fields))
