"""What texts have in common: the response with its prompt, and with what was said before."""

from __future__ import annotations

import string
from collections.abc import Sequence
from itertools import repeat

from rubrica.text.texts import Field, Span, Texts
from rubrica.text.words import WORD, cached_reading, spaced_words, stems, words

ECHO_WORDS = 2_000  # words of each text that are compared for copied runs
_AROUND = string.punctuation + "“”‘’«»…–—¿¡。，？！"


def prompt_overlap(texts: Texts) -> float:
    """The share of the prompt's content words that the response takes up; 0 when the prompt has none.

    >>> prompt_overlap(Texts(prompt="Why do cats purr?", response="A cat purrs when content."))
    1.0
    """
    asked = stems(texts, "prompt")
    return len(asked & stems(texts, "response")) / len(asked) if asked else 0.0


def new_words(texts: Texts) -> float:
    """How many distinct content words of the response are not in the prompt, nor part of a word with a hyphen there.

    >>> new_words(Texts(prompt="Why do cats purr?", response="Cats purr because a cat does."))
    0.0
    """
    new = stems(texts, "response") - stems(texts, "prompt")
    if new and "-" in texts.prompt:
        new -= stems(Texts(prompt=texts.prompt.replace("-", " ")), "prompt")
    return float(len(new))


def history_overlap(texts: Texts) -> float:
    """The share of the response's content words that occurred in earlier rounds; 0 when it has none."""
    said = stems(texts, "response")
    return len(said & stems(texts, "history")) / len(said) if said else 0.0


@cached_reading
def shared_words(texts: Texts) -> frozenset[str]:
    """Distinct words, split at white space, lower-cased, without punctuation around them, in prompt and
    response.

    >>> sorted(shared_words(Texts(prompt="Is tea good?", response="Good tea is.")))
    ['good', 'is', 'tea']
    """
    return frozenset((_bare(texts, "prompt") & _bare(texts, "response")) - {""})


def shared_word_spans(texts: Texts, most: int) -> list[Span]:
    """The first shared words in the response."""
    shared, found = shared_words(texts), []
    for match in WORD.finditer(texts.response):
        if match.group().lower() in shared:
            found.append(Span("response", match.start(), match.end(), match.group()[:200], "also in the prompt"))
            if len(found) == most:
                break
    return found


def prompt_echo(texts: Texts) -> float:
    """The longest run of words copied from the prompt, as a share of the response; only the first 2,000 words
    of each count.

    >>> prompt_echo(Texts(prompt="name the capital of France", response="The capital of France is Paris"))
    0.6666666666666666
    """
    asked, said = words(texts, "prompt")[:ECHO_WORDS], words(texts, "response")[:ECHO_WORDS]
    return longest_common_run(asked, said) / len(said) if said else 0.0


def longest_common_run(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest run of words in both.

    Words become single characters, and the length is searched by halving: a run of n words implies one of n -
    1. With m words that is at most log(m) passes over m slices.
    """
    numbers = {word: chr(0xE000 + at) for at, word in enumerate(dict.fromkeys(first))}
    one = "".join([numbers[word] for word in first])
    other = "".join(map(numbers.get, second, repeat("\0")))
    shared = [run for run in other.split("\0") if run]  # no run goes across a word that is not in both
    if not shared:
        return 0
    low, high = 1, min(len(one), max(map(len, shared)))
    while low < high:
        length = (low + high + 1) // 2
        runs = {one[at : at + length] for at in range(len(one) - length + 1)}
        if any(run[at : at + length] in runs for run in shared for at in range(len(run) - length + 1)):
            low = length
        else:
            high = length - 1
    return low


@cached_reading
def _bare(texts: Texts, name: Field) -> frozenset[str]:
    return frozenset(word.strip(_AROUND) for word in map(str.lower, spaced_words(texts, name)))
