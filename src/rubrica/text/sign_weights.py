"""A logistic regression over a few signs that can be read off a text, stored as JSON beside the code that uses it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from math import exp

import msgspec

from rubrica.errors import StoredError


class SignWeights(msgspec.Struct, frozen=True):
    """What each sign is on average, how far it spreads, and what it counts then."""

    signs: tuple[str, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    made_from: str = ""  # a digest of what it was trained with

    def chance(self, signs: Mapping[str, float]) -> float:
        """The chance that a text with such signs has what was learnt."""
        score = self.bias
        for name, mean, spread, weight in zip(self.signs, self.means, self.spreads, self.weights, strict=True):
            score += weight * (signs[name] - mean) / spread
        return 1 / (1 + exp(-score))


def read_sign_weights(name: str) -> SignWeights:
    """The weights in a file of this package, or of one within it."""
    path = resources.files(__package__) / name
    try:
        return msgspec.json.decode(path.read_bytes(), type=SignWeights)
    except (OSError, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the weights of a model: {error} (train it again)") from None
