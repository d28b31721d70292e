"""Graders by question type: other models grade technical answers than poems, where the settings say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rubrica.judges.jury import Jury
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric


@dataclass(frozen=True, slots=True)
class GraderJuries:
    """The models that grade: those for most question types, and those for single ones."""

    usual: Jury | None = None  # None: offline scorers grade
    by_type: Mapping[str, Jury] = field(default_factory=dict)

    def judge(self, rubric: Rubric) -> Judge | None:
        """Who judges by a rubric; None: nobody."""
        if self.usual is None:
            return None
        usual = self.usual.judge(rubric)
        if not self.by_type:
            return usual
        return TypeJudge(usual, {name: jury.judge(rubric) for name, jury in self.by_type.items()})


@dataclass(frozen=True, slots=True)
class TypeJudge:
    """Passes a context on to the judge of its question type."""

    usual: Judge
    by_type: Mapping[str, Judge]

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        judge = self.by_type.get(str(context.lookup("question_type")), self.usual)
        return await judge(axes, context)
