"""Texts to measure with: about 60 words each, made from a seed, with the variety of ordinary prose."""

from __future__ import annotations

import random
from collections.abc import Iterator

SYLLABLES = [
    "ba",
    "be",
    "bi",
    "bo",
    "bu",
    "da",
    "de",
    "di",
    "do",
    "du",
    "fa",
    "fe",
    "fi",
    "fo",
    "ga",
    "ge",
    "gi",
    "go",
    "ha",
    "he",
    "hi",
    "ho",
    "ka",
    "ke",
    "ki",
    "ko",
    "la",
    "le",
    "li",
    "lo",
    "ma",
    "me",
    "mi",
    "mo",
]
COMMON = [
    "the",
    "of",
    "and",
    "a",
    "to",
    "in",
    "is",
    "you",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "they",
    "at",
    "be",
    "this",
    "have",
    "from",
    "or",
    "one",
    "had",
    "by",
    "but",
    "not",
    "what",
    "all",
    "were",
    "we",
    "when",
    "your",
    "can",
    "said",
    "there",
    "use",
    "an",
    "each",
    "which",
    "do",
    "how",
    "their",
    "if",
    "will",
    "up",
    "other",
    "about",
    "out",
    "many",
    "then",
    "them",
]
NOTABLE = [
    "doctor",
    "method",
    "because",
    "understand",
    "1975",
    "95%",
    "$40",
    "first",
    "second",
    "help",
    "support",
    "reasonable",
    "approach",
    "colour",
    "http://x.org",
    "ann@example.org",
    "WAIT",
    "really?!",
    "technique",
    "joke",
    "sorry",
    "natural",
]

REGEXES = (
    r"\b(?:19|20)\d{2}\b",
    r"\b\d+(?:\.\d+)?%",
    r"[\w.+-]+@[\w-]+\.[\w.]+",
    r"https?://\S+",
    r"[$€£]\s?\d[\d,.]*",
    r"\b(?:first|second|third|finally)\b[^.]*\.",
    r'"[^"]{3,80}"',
    r"[!?]{2,}",
    r"\b[A-Z]{4,}\b",
    r"\b(?:because|therefore|so that)\b",
)
KEYWORDS = [
    "podiatrist",
    "medical",
    "doctor",
    "physician",
    "methodology",
    "method",
    "approach",
    "technique",
    "funny",
    "humor",
    "joke",
    "comedy",
    "understand",
    "feel",
    "sorry",
    "help",
    "support",
    "valid",
    "reasonable",
    "natural",
]


def texts(count: int, seed: int = 7) -> Iterator[str]:
    """The same texts for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    rare = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(5000)]
    for _ in range(count):
        words = [
            chance.choice(NOTABLE)
            if (draw := chance.random()) < 0.02
            else chance.choice(COMMON if draw < 0.6 else rare)
            for _ in range(60)
        ]
        for stop in range(chance.randint(8, 14), 60, chance.randint(8, 14)):
            words[stop] = words[stop].capitalize()
            words[stop - 1] += "."
        yield " ".join(words) + "."
