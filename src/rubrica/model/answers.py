"""Answers in place of a score: the labels that a judge may choose among, each with its value on the scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec


class AnswerSet(msgspec.Struct, frozen=True):
    """The labels of one axis. A label without a value leaves the axis unscored, with the judge's reason."""

    values: Mapping[str, float | None]

    def __str__(self) -> str:
        return ", ".join(self.values)

    @property
    def listed(self) -> str:
        """The labels with their values.

        >>> AnswerSet({"yes": 1, "no": 0, "cannot_assess": None}).listed
        'yes (1), no (0), cannot_assess (not scored)'
        """
        values = {label: "not scored" if value is None else f"{value:g}" for label, value in self.values.items()}
        return ", ".join(f"{label} ({value})" for label, value in values.items())

    def find(self, text: str) -> str | None:
        """The label that somebody wrote, letter case, spaces and hyphens aside; None where it is none of them.

        >>> AnswerSet({"met": 1, "partly_met": 0.5, "unmet": 0}).find("Partly met.")
        'partly_met'
        """
        wanted = _plain(text)
        return next((label for label in self.values if _plain(label) == wanted), None)

    def label_of(self, value: float) -> str:
        """The label of a value; none where no label has it, or several have."""
        found = [label for label, own in self.values.items() if own == value]
        return found[0] if len(found) == 1 else ""

    def readings(self, name: str, answer: str | None) -> Iterator[tuple[str, float | None]]:
        """What formulas read of each label: 1 where it is the answer, else 0; None where there is nothing to read.

        >>> dict(AnswerSet({"yes": 1, "no": 0}).readings("sourced", "no"))
        {'sourced_is_yes': 0.0, 'sourced_is_no': 1.0}
        """
        for label in self.values:
            yield label_name(name, label), None if answer is None else float(label == answer)


def label_name(name: str, label: str) -> str:
    """The name under which a formula reads whether a label was answered: 1 or 0.

    >>> label_name("tone", "rude")
    'tone_is_rude'
    """
    return f"{name}_is_{label}"


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split()).strip(" .!\"'`*")
