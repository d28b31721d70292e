"""How many of a file's cases a run judges, and how often each: as a form says it and as ``rubrica run`` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rubrica.errors import InputError, RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.files.manifest import Manifest
from rubrica.runs.selection import Selection, sample_of

MOST_REPEATS = 100
"""How often a case is judged at most, here as by the command."""

OPTIONS = ("limit", "sample", "seed", "repeat")
"""What a manifest says of an extent."""


@dataclass(frozen=True, slots=True)
class RunExtent:
    """All cases once each, unless something else is said."""

    sample: str = ""  # so many cases, such as 200, or such a share of them, such as 5%; empty: all
    limit: int | None = None  # only the first so many
    repeat: int = 1  # how often each is judged
    seed: int = 0  # draws the sample, and the order in which judges see dimensions; 0: as written

    @property
    def selection(self) -> Selection:
        """Which cases, as a run selects them."""
        sample = sample_of(self.sample, self.seed) if self.sample else None
        return Selection(sample=sample, limit=self.limit)

    def evaluations(self, cases: int | None) -> int | None:
        """How many evaluations there will be of so many cases; None where their number is not known."""
        chosen = self.selection.expected(cases)
        return None if chosen is None else self.repeat * chosen

    def description(self, cases: int | None) -> str:
        """What will be judged, in words.

        >>> RunExtent("10", repeat=3).description(400), RunExtent().description(1)
        ('10 of 400 cases, 3 times each: 30 evaluations.', '1 case: 1 evaluation.')
        """
        made = self.evaluations(cases)
        if cases is None or made is None:
            return ""
        once = made // self.repeat
        about = "about " if self.sample.endswith("%") and once < cases else ""
        which = count_of(cases, "case") if once == cases else f"{about}{once:,} of {count_of(cases, 'case')}"
        times = f", {self.repeat} times each" if self.repeat > 1 else ""
        text = f"{which}{times}: {about}{count_of(made, 'evaluation')}."
        return text[0].upper() + text[1:]


EVERYTHING = RunExtent()
"""All cases, once each."""


def read_extent(sample: str, limit: object, repeat: object, seed: object) -> RunExtent:
    """What was written into a form; an InputError says what cannot be meant.

    >>> read_extent(" 5 % ", None, 2.0, None)
    RunExtent(sample='5%', limit=None, repeat=2, seed=0)
    """
    extent = RunExtent(
        "".join(sample.split()),
        None if limit is None else _whole_number(limit, "the first cases", 1),
        1 if repeat is None else _whole_number(repeat, "how often each case is judged", 1, MOST_REPEATS),
        0 if seed is None else _whole_number(seed, "the seed", 0),
    )
    try:
        _ = extent.selection
    except RubricaError:
        raise InputError("a sample is a number of cases, such as 200, or a share of them, such as 5%") from None
    return extent


def extent_of(manifest: Manifest) -> RunExtent | None:
    """The extent of a run that is there; None where the run was selected in a way that a form cannot say."""
    options = manifest.options
    if any(value not in (None, []) for name, value in options.items() if name not in OPTIONS):
        return None
    sample, seed = options.get("sample"), _seed_of(manifest.terms, options)
    if sample is not None and seed is None:
        return None  # drawn by an earlier version, which did not write down by which seed
    try:
        return read_extent("" if sample is None else str(sample), options.get("limit"), options.get("repeat"), seed)
    except InputError:
        return None


def _seed_of(terms: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    return options.get("seed", terms.get("seed"))


def _whole_number(value: object, what: str, least: int, most: int = 10**9) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise InputError(f"{what}: write a whole number")
    if not least <= value <= most:
        raise InputError(f"{what}: write a whole number from {least:,} to {most:,}")
    return int(value)
