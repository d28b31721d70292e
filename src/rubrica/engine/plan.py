"""The Plan: a rubric compiled for use, reusable for any number of contexts and safe to share between threads."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from rubrica.errors import ContextError
from rubrica.formula import Formula
from rubrica.model.context import Context
from rubrica.model.decisions import Profiles
from rubrica.model.dimensions import Axis
from rubrica.model.judge import Judge
from rubrica.model.reliability import Reliability
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.scorers.namespace import NameSources
from rubrica.scorers.recipe import Scorer
from rubrica.scoring.conclude import Conclusion
from rubrica.scoring.decision_plan import DecisionPlan, ProfilePlan

from .classified_profile import UNASKED, TypeAnswer, classified_terms, is_blank


class AxisPlan(msgspec.Struct, frozen=True):
    """One dimension, or one part of one, ready to be scored."""

    name: str
    spec: Axis
    scale: Scale
    ends: tuple[float, float]  # of the scale
    weight: float | None
    scorer: Scorer | None  # None: only a judge can score it
    judged: bool
    applies: Formula | None = None
    parts: tuple[AxisPlan, ...] = ()
    measured: tuple[tuple[Reliability, Formula | None], ...] = ()  # kinds of text and when a text is of one
    asked_where: Formula | None = None  # where a judge is asked; None: everywhere
    points: float | None = None  # in place of a weight
    criteria: bool = False  # whether each case fills it with criteria of its own
    of_case: bool = False  # whether it is such a criterion: no formula reads it by its name

    def every(self) -> Iterator[AxisPlan]:
        """It and all that it is weighed from."""
        yield self
        for part in self.parts:
            yield from part.every()

    @property
    def leaves(self) -> Iterator[AxisPlan]:
        """What is scored of it: itself, or whatever it is weighed from that has no parts."""
        return (axis for axis in self.every() if not axis.parts)


class Plan(msgspec.Struct, frozen=True):
    """A compiled rubric. Make one with `rubrica.compile`, use it with `rubrica.evaluate`."""

    rubric: Rubric
    identity: tuple[str, str, str]  # the rubric's name, version and hash
    profiles: Profiles | None
    decision: DecisionPlan
    axes: tuple[AxisPlan, ...]
    judged: bool  # whether some axis wants a judge
    conditions: tuple[tuple[str, Formula], ...]  # on which axes apply, by name
    sources: NameSources
    bounded: bool  # whether offline scores count as their bounds
    judges_bounded: bool  # whether judges' scores do, where calibration measured them
    conclusions: dict[object, Conclusion]  # by scores, where nothing else has a say: scores repeat, explaining costs
    judge: Judge | None = None
    criteria: int | None = None  # which of the axes each case fills with criteria of its own
    tagged: bool = False  # whether results are told by tag

    @property
    def patterns(self) -> int:
        """How many patterns a text is compared with."""
        return sum(map(len, self.sources.lexicon.regexes.values()))

    def terms(self, context: Context, answer: TypeAnswer = UNASKED) -> ProfilePlan:
        """The terms under the profile a context asks for, with a note where it asks for none or an unknown one.

        Then the prompt is classified, where the rubric says so, or else its default is used. `answer` is what a judge
        said of its type.
        """
        profiles, terms = self.profiles, self.decision.terms
        if profiles is None:
            return terms[None]
        wanted = context.lookup(profiles.by)
        if (name := profiles.name_for(wanted)) is not None:
            return terms[name]
        if is_blank(wanted):
            wanted = None
        if profiles.classify is not None and (found := classified_terms(profiles, terms, context, answer)):
            return found
        if profiles.default is None:
            raise ContextError(
                f"{self.rubric.name} needs {profiles.by} in the context, one of {', '.join(profiles.named)}"
                + (f"; {wanted!r} is none of them" if wanted is not None else "")
            )
        unknown = f"{profiles.by} {wanted!r} is none of {', '.join(profiles.named)}"
        reason = unknown if wanted is not None else f"no {profiles.by} was given"
        return replace(terms[profiles.default], note=f"{reason}: profile {profiles.default} was used")
