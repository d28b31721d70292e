"""Examples as people write them: one text file per label, one example per line.

An example of several lines stands between a line ``<<<`` and a line ``>>>``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

OPEN, CLOSE = "<<<", ">>>"


@dataclass(frozen=True, slots=True)
class Example:
    """A text and the label it should get."""

    text: str
    label: str


def read_examples(folder: Path, labels: Sequence[str]) -> list[Example]:
    """The examples of each label, from the file that has its name in small letters."""
    return [
        Example(text, label)
        for label in labels
        for text in texts_of((folder / f"{label.lower()}.txt").read_text(encoding="utf-8"))
    ]


def texts_of(written: str) -> Iterator[str]:
    """The examples in a file.

    >>> list(texts_of("one\\n\\n<<<\\ntwo\\nlines\\n>>>\\n"))
    ['one', 'two\\nlines']
    """
    block: list[str] | None = None
    for line in written.splitlines():
        if line == OPEN:
            block = []
        elif line == CLOSE and block is not None:
            yield "\n".join(block)
            block = None
        elif block is not None:
            block.append(line)
        elif line.strip():
            yield line


def read_groups(file: Path) -> dict[str, tuple[str, ...]]:
    """The word groups of a model: names with their words, parted by spaces."""
    return {name: tuple(words.split()) for name, words in yaml.safe_load(file.read_text(encoding="utf-8")).items()}


def digest(*parts: object) -> str:
    """What weights were made from, in a few letters."""
    said = repr(parts).replace("FeatureLayout(", "Layout(")  # as the class was called when the weights were made
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]
