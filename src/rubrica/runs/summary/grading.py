"""How the figures of a run are to be read: the scales of its dimensions, and what its verdicts mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

import msgspec

from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.model.rubric import Rubric
from rubrica.report.roles import Role, role_of

Ends = tuple[float, float]


class Grading(msgspec.Struct, frozen=True, omit_defaults=True):
    """What rows of figures leave out, by the rubric's name. What is not known of a rubric is read as words say.

    >>> Grading().role("any@1.0.0", "reject")
    'bad'
    """

    scales: Mapping[str, Mapping[str, Ends]] = {}  # by rubric, then dimension
    roles: Mapping[str, Mapping[str, Role]] = {}  # by rubric, then verdict
    hashes: Mapping[str, str] = {}  # by rubric: what tells two documents of one version apart

    @classmethod
    def of(cls, rubrics: Iterable[Rubric]) -> Self:
        """As rubrics say it."""
        known = list(rubrics)
        return cls(
            {rubric.name: {name: rubric.scale_of(name).ends for name in rubric.dimensions} for rubric in known},
            {rubric.name: {label: role_of(label, rubric) for label in _labels(rubric)} for rubric in known},
            {rubric.name: rubric.hash for rubric in known},
        )

    def scale(self, rubric: str, dimension: str) -> Ends | None:
        """From where to where a dimension is scored; None where that is not known. `rubric` is a name@version."""
        return self.scales.get(name_of(rubric), {}).get(dimension)

    def role(self, rubric: str, verdict: str) -> Role:
        """What a verdict means for its reader."""
        return self.roles.get(name_of(rubric), {}).get(verdict) or role_of(verdict)


def name_of(rubric: str) -> str:
    """The name in a name@version.

    >>> name_of("answer-quality@1.0.0")
    'answer-quality'
    """
    return rubric.partition("@")[0]


def _labels(rubric: Rubric) -> list[str]:
    forced = [gate.verdict for gate in rubric.gates if gate.verdict is not None]
    return list(dict.fromkeys([*(rule.label for rule in rubric.verdicts), *forced, INCONCLUSIVE]))
