"""What responses are called in a reply, and their ranks: ``B``, ``(b)``, ``Response B``, ``the second``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

NOUN = r"(?:output|response|answer|assistant|option|model|candidate|text|summary|reply)"
TIE_WORDS = ("tie", "tied", "both", "equal", "equally", "neither", "draw", "same", "none")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
"""What responses are called by their place."""
Ranks = Mapping[str, float]


class ResponseNames:
    """What the responses are called in a reply: ``B``, ``(b)``, ``Response B``, ``Output (b)``."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self.exact = len({label.lower() for label in labels}) < len(labels)  # m and M differ by case alone
        self.pattern = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
        self.flags = 0 if self.exact else re.IGNORECASE

    def label(self, answer: object) -> str | None:
        """Which response is meant; None where it is none of them."""
        if isinstance(answer, int) and not isinstance(answer, bool):
            answer = str(answer)
        if not isinstance(answer, str):
            return None
        named = rf"\s*(?i:{NOUN}[\s_-]?)?[\[(]{{0,2}}({self.pattern})[\])]{{0,2}}[\s.]*"
        if found := re.fullmatch(named, answer, self.flags):
            return self.own(found[1])
        numbered = re.fullmatch(rf"\s*(?i:{NOUN})[\s_-]?[\[(]?(\d)[\])]?[\s.]*", answer)
        return self.by_place(int(numbered[1])) if numbered else None

    @property
    def written(self) -> str:
        """Labels that cannot be taken for words of a sentence: ``A``, and neither ``a`` nor ``first``."""
        plain = [label for label in self.labels if label.isupper() or label.isdigit()]
        return "|".join(map(re.escape, plain)) or "(?!)"

    def at(self, ordinal: str) -> str | None:
        """The response that was shown first, second and so on; of two, also the former and the latter."""
        if ordinal.lower() in ("former", "latter"):
            return self.by_place(1 if ordinal.lower() == "former" else 2) if len(self.labels) == 2 else None
        return self.by_place(ORDINALS.index(ordinal.lower()) + 1)

    def by_place(self, number: int) -> str | None:
        """The response that a judge calls by its place: ``Response 1`` is the first one, unless labels are digits."""
        if any(label.isdigit() for label in self.labels):
            return None
        return self.labels[number - 1] if 0 < number <= len(self.labels) else None

    def own(self, answer: str) -> str:
        return answer if self.exact else next(label for label in self.labels if label.lower() == answer.lower())

    def best(self, label: str | None) -> dict[str, float] | None:
        """The ranks of two where one is better, or neither."""
        if len(self.labels) != 2:
            return None
        if label is None:
            return dict.fromkeys(self.labels, 1.5)
        return {own: 1.0 if own == label else 2.0 for own in self.labels}

    def ranked(self, groups: Sequence[Sequence[str]]) -> dict[str, float] | None:
        """Ranks from groups of equals, best first; None unless each response is in one of them, once."""
        answer = [label for group in groups for label in group]
        if sorted(answer) != sorted(self.labels):
            return None
        ranks: dict[str, float] = {}
        for group in groups:
            place = len(ranks) + (len(group) + 1) / 2
            ranks |= dict.fromkeys(group, place)
        return {label: ranks[label] for label in self.labels}

    def by_number(self, given: Mapping[str, float]) -> dict[str, float] | None:
        """Ranks from places, which may be shared or left out; None of numbers that are no places, such as scores."""
        groups = [[label for label in given if given[label] == place] for place in sorted(set(given.values()))]
        best = min(given.values(), default=0.0)
        places = best in (1.0, (len(groups[0]) + 1) / 2) and max(given.values()) <= len(self.labels) if given else False
        return self.ranked(groups) if places else None

    def by_score(self, given: Mapping[str, float]) -> dict[str, float] | None:
        """Ranks from scores, of which the highest is best."""
        return self.ranked(
            [[label for label in given if given[label] == score] for score in sorted(set(given.values()), reverse=True)]
        )
