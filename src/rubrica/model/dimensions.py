"""Dimensions and parts of a rubric: what is asked, on what scale, and how it is scored, with a judge and without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .answers import AnswerSet
from .bounds import FormulaText, Label, Number, PositiveNumber, Prose, choice_words
from .criteria import MET_OR_NOT, MOST_CRITERIA, Criterion, Points, Tags
from .few_shot import MOST_EXAMPLES, FewShotExample
from .reliability import Reliability
from .rules import FROZEN, HOLDS_RULES, Name, Rule
from .scale import Anchor, Scale, anchor_gaps, read_anchors

Weight = Annotated[float, Field(ge=0, le=1)]
Share = Annotated[float, Field(ge=0, le=1)]
ScorerKind = Literal["judge", "rules", "formula", "check", "parts"]


class Check(BaseModel):
    """One line of a checklist: a condition that should hold."""

    model_config = FROZEN

    name: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="shown in the result")
    that: FormulaText = Field(title="Holds when", description="the condition")
    weight: PositiveNumber = Field(1.0, description="beside the other checks")
    otherwise: Prose = Field("", title="Otherwise, say", description="what to say when it does not hold")


class Recipe(BaseModel):
    """A way to score without a model: by rules, by one formula, or by a checklist."""

    model_config = HOLDS_RULES

    rules: tuple[Rule, ...] = Field((), max_length=1_000, description="each gives or takes points")
    start: Number = Field(0.0, description="points before any rule")
    scoring: Literal["cumulative", "proportional", "binary"] = Field(
        "cumulative",
        title="Points",
        description="cumulative: points add up on the scale; proportional: points as a share of those possible, "
        "spread over the scale; binary: full marks when the points reach win_at, else the lowest",
        json_schema_extra=choice_words("add up", "share of those possible", "all or nothing"),
    )
    possible: PositiveNumber | None = Field(None, description="proportional: points for full marks")
    win_at: Number | None = Field(
        None, title="Wins at", description="binary: points that win; left out, anything above 0 wins"
    )
    formula: FormulaText | None = Field(None, title="The score on the scale", description="the score on the scale")
    checks: tuple[Check, ...] = Field(
        (), max_length=500, description="conditions; the weighted share that holds is the score"
    )
    confidence: Share = Field(
        1.0, title="Confidence, 0 to 1", description="how far this way of scoring can be trusted, 0 to 1"
    )

    @property
    def kinds(self) -> list[ScorerKind]:
        """Which ways of scoring are written down here."""
        found: list[tuple[ScorerKind, bool]] = [
            ("rules", bool(self.rules)),
            ("formula", self.formula is not None),
            ("check", bool(self.checks)),
        ]
        return [kind for kind, given in found if given]


class UnscoredWhen(BaseModel):
    """Where code cannot tell a score, and why: a reasoned absence rather than a number."""

    model_config = FROZEN

    when: FormulaText = Field(description="the condition")
    because: Annotated[str, Field(min_length=1, max_length=2_000)] = Field(description="what the result says instead")


class Offline(Recipe):
    """What stands in for a judge when no model is configured. Results that used it say so."""

    unscored: tuple[UnscoredWhen, ...] = Field(
        (), max_length=50, description="where this cannot tell; the first condition that holds leaves it unscored"
    )

    reliability: tuple[Reliability, ...] = Field(
        (),
        max_length=100,
        description="how far the score can be trusted, by kind of text; the first kind that a text is of counts",
    )
    uncertain: FormulaText | None = Field(
        None, description="where this score cannot be relied on, such as `safety_uncertain`; goes with judge: uncertain"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if len(self.kinds) != 1:
            raise ValueError("offline takes exactly one of rules, formula, checks")
        return self


class Axis(Recipe):
    """Anything scored on a scale: a dimension, or a part of one."""

    title: Label = Field("", description="shown in place of the name")
    asks: Prose = Field(
        "",
        title="What a judge is asked about the response",
        description="the question a judge answers about the response",
    )
    anchors: dict[Label, Prose] = Field(
        {}, max_length=100, description="what each range of the scale looks like: {9-10: …, 7-8: …}"
    )
    answers: dict[Name, Number | None] = Field(
        {},
        max_length=50,
        description="labels that a judge answers with in place of a score, each with its value on the scale: "
        "{yes: 1, no: 0}; a label without one, such as {cannot_assess: null}, leaves it unscored. Formulas read "
        "whether a label was answered as NAME_is_LABEL",
    )
    examples: tuple[FewShotExample, ...] = Field(
        (),
        max_length=MOST_EXAMPLES,
        description="responses with the answer or score that each deserves; a judge is shown them before it judges, as "
        "many of each answer as of the rarest, and two at least",
    )
    reference: Prose = Field(
        "",
        title="Reference",
        description="what a good response says on this alone; a judge sees it between fences, with the question",
    )
    weight: Weight | None = Field(
        None, description="0 to 1; the weights of a rubric, or of a dimension's parts, sum to 1"
    )
    points: Points | None = Field(
        None,
        description="in place of a weight: what full marks are worth, or cost where it is below zero; dimensions that "
        "have points go with `score: {points: true}`",
    )
    tags: Tags = Field((), description="what results are told by, such as accuracy")
    parts: dict[Name, Part] = Field(
        {},
        max_length=MOST_CRITERIA,
        description="parts that it is weighed from, by their weights or points, each scored on the dimension's scale; "
        "a part may have parts",
    )
    scorer: ScorerKind | None = Field(
        None,
        title="How it is scored",
        description="left out, it follows from the other keys",
        json_schema_extra=choice_words(
            "A judge answers a question",
            "Rules give and take points",
            "One formula",
            "A checklist",
            "Parts, weighed together",
        ),
    )
    looks: bool = Field(
        False,
        title="Judged by looking at the pictures",
        description="judged by looking at the pictures: where a judge cannot be shown them, this alone is not scored",
    )
    offline: Offline | None = Field(None, description="what stands in for a judge when there is none")
    judge: Literal["always", "uncertain"] = Field(
        "always",
        description="uncertain: code scores first, and a judge is asked only where `offline.uncertain` holds",
    )

    @property
    def kind(self) -> ScorerKind:
        """How this axis is scored; left out, it follows from what is written down, and is `judge` when nothing is."""
        return self.scorer or ("parts" if self.parts else self.kinds[0] if self.kinds else "judge")

    @property
    def answers_for_parts(self) -> bool:
        """Whether its answers are those that its parts are answered with, and not its own."""
        return False

    @cached_property
    def anchor_list(self) -> tuple[Anchor, ...]:
        return read_anchors(self.anchors)

    @cached_property
    def answer_set(self) -> AnswerSet | None:
        """The labels a judge may answer; None where it gives a number."""
        return AnswerSet(self.answers) if self.answers and not self.answers_for_parts else None

    @model_validator(mode="after")
    def _answers_are_a_choice(self) -> Self:
        if not self.answers:
            return self
        if self.kind != "judge" and not self.answers_for_parts:
            raise ValueError("answers go with scorer: judge; code gives numbers")
        if self.anchors:
            raise ValueError("has answers and anchors; a label is no range: say in `asks` when each is right")
        if sum(value is not None for value in self.answers.values()) < 2:
            raise ValueError(f"answers has no choice ({', '.join(self.answers)}); give at least two labels a value")
        return self

    @model_validator(mode="after")
    def _examples_fit(self) -> Self:
        if self.examples and self.kind != "judge":
            raise ValueError("examples go with scorer: judge; code learns nothing from them")
        if self.reference and self.kind != "judge":
            own = "each criterion of a case" if self.answers_for_parts else "each part" if self.parts else ""
            raise ValueError(f"a reference is shown to a judge; {f'give {own} its own' if own else 'code reads none'}")
        for number, example in enumerate(self.examples, 1):
            if self.answers and example.answer not in self.answers:
                said = "has a score" if example.answer is None else f"has the answer {example.answer!r}"
                raise ValueError(f"example {number} {said}; the answers are {', '.join(self.answers)}")
            if not self.answers and example.score is None:
                raise ValueError(f"example {number} has an answer, and there are no `answers`; give it a score")
        return self

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if len(self.kinds) > 1:
            raise ValueError(f"scored in {len(self.kinds)} ways ({', '.join(self.kinds)}); keep one")
        if self.scorer in ("rules", "formula", "check") and self.kinds != [self.scorer]:
            block = "checks" if self.scorer == "check" else self.scorer
            raise ValueError(f"scorer: {self.scorer} needs a `{block}` block")
        if self.scorer == "judge" and self.kinds:
            raise ValueError(f"a judged dimension puts `{self.kinds[0]}` under `offline`")
        if self.offline and self.kind != "judge":
            raise ValueError("offline goes with scorer: judge; this is scored without a model already")
        if self.looks and self.kind != "judge":
            raise ValueError("looks goes with scorer: judge")
        told = self.offline is not None and self.offline.uncertain is not None
        if told != (self.judge == "uncertain"):
            raise ValueError(
                "judge: uncertain and offline.uncertain, the formula that says where, go together, "
                'as in offline: {formula: "10 * (1 - safety_risk)", uncertain: safety_uncertain}'
            )
        read_anchors(self.anchors)
        return self

    @model_validator(mode="after")
    def _parts_stand_alone(self) -> Self:
        parted = bool(self.parts) or self.answers_for_parts
        if (self.scorer == "parts") != parted and (self.scorer == "parts" or self.kinds or self.scorer):
            raise ValueError("scorer: parts goes with a `parts` block, and a `parts` block with nothing else")
        return self

    def every(self, name: str) -> Iterator[tuple[tuple[str, ...], Axis]]:
        """It and all that it is weighed from, each with the names on the way there, its own last."""
        yield (name,), self
        for part, spec in self.parts.items():
            for names, axis in spec.every(part):
                yield (name, *names), axis


class Part(Axis):
    """A weighted part of a dimension, scored on the dimension's scale."""


class Dimension(Axis):
    """A weighted axis of quality."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    scale: Scale | None = Field(None, description="left out: the rubric's scale; for criteria, 0 to 1")
    filled_from: Literal["criteria"] | None = Field(
        None,
        alias="from",
        title="Filled by",
        description="criteria: each case brings its own `criteria`, which are the parts of this dimension. They are "
        "answered with this dimension's `answers`, left out {met: 1, not_met: 0}",
        json_schema_extra=choice_words("the criteria of each case"),
    )
    applies: FormulaText | None = Field(
        None,
        title="Applies when (left empty: always)",
        description="when false the dimension has nothing to judge and its weight is shared out",
    )

    @property
    def kind(self) -> ScorerKind:
        return "parts" if self.filled_from else super().kind

    @property
    def answers_for_parts(self) -> bool:
        return self.filled_from is not None

    @model_validator(mode="after")
    def _criteria_stand_alone(self) -> Self:
        if self.filled_from is None:
            return self
        given = [*(["parts"] if self.parts else []), *self.kinds, *(["offline"] if self.offline else [])]
        given += [key for key in ("asks", "anchors", "looks", "points") if getattr(self, key)]
        given += ["scorer"] if self.scorer not in (None, "parts") else []
        if given:
            raise ValueError(f"from: criteria leaves what is asked to each case; remove {given[0]}")
        return self


def criterion_part(criterion: Criterion, dimension: Axis) -> Part:
    """A criterion of a case as a part of the dimension that takes it. It is not checked again: a Criterion has been."""
    told: dict[str, object] = {"asks": criterion.criterion, "points": criterion.points, "tags": criterion.tags}
    answered = _answered_with(tuple((criterion.answers or dimension.answers or MET_OR_NOT).items()))
    told |= {"examples": criterion.examples} if criterion.examples else {}
    told |= {"reference": criterion.reference} if criterion.reference else {}
    return answered.model_copy(update=told)


@lru_cache(maxsize=256)
def _answered_with(answers: tuple[tuple[str, float | None], ...]) -> Part:
    """A part that is answered so, to copy for each criterion."""
    return Part(answers=dict(answers))


def coverage_problems(axis: Axis, scale: Scale) -> list[str]:
    """Holes and overlaps in an axis's anchors, in words."""
    return anchor_gaps(axis.anchor_list, scale) if axis.anchors else []
