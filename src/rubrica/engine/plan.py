"""The Plan: a rubric compiled for use, reusable for any number of contexts and safe to share between threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rubrica.errors import ContextError
from rubrica.formula import Formula
from rubrica.model.context import Context
from rubrica.model.judge import Judge
from rubrica.model.rubric import Axis, Rubric
from rubrica.model.scale import Scale
from rubrica.scorers.lexicon import Lexicon, Slot
from rubrica.scorers.recipe import Scorer
from rubrica.scorers.situation import Situation
from rubrica.scoring.conclude import Conclusion
from rubrica.scoring.ruling import Ruling, Terms


@dataclass(frozen=True, slots=True)
class AxisPlan:
    """One dimension, or one part of one, ready to be scored."""

    name: str
    spec: Axis
    scale: Scale
    scorer: Scorer | None  # None: only a judge can score it
    judged: bool
    applies: Formula | None = None
    parts: tuple[AxisPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled rubric. Make one with `rubrica.compile`, use it with `rubrica.evaluate`."""

    rubric: Rubric
    ruling: Ruling
    axes: tuple[AxisPlan, ...]
    lexicon: Lexicon
    named: Mapping[str, Slot]
    settings: Mapping[str, object]
    defaults: Mapping[str, float | None]  # of context names that need not be given
    conclusions: dict[object, Conclusion]  # by scores, where nothing else has a say: scores repeat, explaining costs
    judge: Judge | None = None

    def situation(self, context: Context, terms: Terms) -> Situation:
        """A context as this rubric's scorers and formulas see it."""
        known = self.settings if terms.threshold is None else {**self.settings, "threshold": terms.threshold}
        return Situation(context, self.lexicon, self.named, known, self.defaults)

    def terms(self, context: Context) -> tuple[Terms, str]:
        """The profile a context asks for, and a note where it asks for none or an unknown one."""
        profiles = self.rubric.profiles
        if profiles is None:
            return self.ruling.terms[None], ""
        wanted = context.lookup(profiles.by)
        if isinstance(wanted, str) and wanted in self.ruling.terms:
            return self.ruling.terms[wanted], ""
        if profiles.default is None:
            raise ContextError(
                f"{self.rubric.name} needs {profiles.by} in the context, one of {', '.join(profiles.named)}"
                + (f"; {wanted!r} is none of them" if wanted is not None else "")
            )
        said = f"{profiles.by} {wanted!r} is unknown" if wanted is not None else f"no {profiles.by} was given"
        return self.ruling.terms[profiles.default], f"{said}: profile {profiles.default} was used"
