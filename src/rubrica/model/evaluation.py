"""The Evaluation: one rubric applied to one context, fully explained.

Results are msgspec structs: a frozen one of 25 fields costs 0.2 µs to make where a frozen dataclass costs 2.5, and
they are read from and written to JSON without a second description of their shape. Nothing in a result points back
to it, so those made by the million are spared the garbage collector (``gc=False``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from rubrica.errors import ContextError, StoredError

from .context import Context
from .evidence import Span, SpansOnDemand
from .notebook import html_table

Source = Literal["human", "llm", "code"]
Status = Literal["scored", "neutral", "unscored", "not_applicable", "not_needed"]
Effect = Literal["cap", "floor", "verdict"]
INCONCLUSIVE = "inconclusive"


class RuleHit(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one rule gave or took, and why."""

    rule: str
    type: str
    points: float
    reason: str = ""
    category: str = ""
    count: int = 1
    spans: tuple[Span, ...] = ()
    error: str = ""  # why the rule could not be applied; its points are then 0


class Cost(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a score cost. `usd` is None where the price is not known."""

    usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0


def total_cost(costs: Sequence[Cost]) -> Cost:
    """What several scores cost together; the sum is unknown where one price is."""
    prices = [cost.usd for cost in costs]
    usd = None if None in prices else sum(price for price in prices if price is not None)
    return Cost(usd, sum(cost.input_tokens for cost in costs), sum(cost.output_tokens for cost in costs))


class Vote(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one judge gave one axis, once. `value` is on the axis's scale; None: it gave none, `reason` says why."""

    judge: str
    value: float | None
    reason: str = ""
    confidence: float = 1.0  # the judge's own, 0 to 1
    repeat: int = 0  # counted from 0
    label: str = ""  # its answer, where it chose among answers


class Remarks(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a judge says besides its scores."""

    issues: tuple[str, ...] = ()
    strengths: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    sections: Mapping[str, str] = msgspec.field(default_factory=dict)  # a note per section


class Score(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A value on the dimension's own scale, with its reason. `confidence` is the scorer's own, 0 to 1."""

    value: float
    reason: str = ""
    confidence: float = 1.0
    source: Source = "code"
    offline: bool = False  # scored by an offline recipe instead of a judge
    hits: tuple[RuleHit, ...] = ()
    start: float = 0.0  # points before any rule
    cost: Cost | None = None
    duration_ms: float = 0.0
    votes: tuple[Vote, ...] = ()  # of a panel, or of repeats
    judge: str = ""  # the model that was asked
    bounds: tuple[float, float] | None = None  # people's scores of such a text lie between these
    kind: str = ""  # what was measured: of an offline score the kind of text, of a judge's the calibration
    label: str = ""  # the answer, where a judge chose among answers


class Unscored(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reasoned absence; never a number."""

    reason: str
    source: Source = "code"
    hits: tuple[RuleHit, ...] = ()
    cost: Cost | None = None
    duration_ms: float = 0.0
    votes: tuple[Vote, ...] = ()
    judge: str = ""  # the model that was asked
    between: tuple[float, float] | None = None  # what it can be, where a text could not be read in full
    may_not_apply: bool = False  # whether the dimension applies is open too
    label: str = ""  # the answer, where it is one without a value


class DimensionResult(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How one dimension (or part) came out. `value` is on its own scale, `share` is 0 to 1."""

    value: float | None
    share: float | None
    status: Status = "scored"
    reason: str = ""
    confidence: float = 1.0
    source: Source = "code"
    offline: bool = False
    weight: float | None = None  # in the profile that was used; None where the score is a formula
    low: float = 0.0  # the scale
    high: float = 1.0
    band: str = ""
    hits: tuple[RuleHit, ...] = ()
    start: float = 0.0  # points before any rule
    parts: Mapping[str, DimensionResult] = msgspec.field(default_factory=dict)
    cost: Cost | None = None
    duration_ms: float = 0.0
    votes: tuple[Vote, ...] = ()  # of a panel, or of repeats
    judge: str = ""  # the model that was asked
    bounds: tuple[float, float] | None = None  # people's scores of such a text lie between these
    kind: str = ""  # what was measured: of an offline score the kind of text, of a judge's the calibration
    label: str = ""  # the answer, where a judge chose among answers
    between: tuple[float, float] | None = None  # what the value can be, where a text could not be read in full
    points: float | None = None  # in place of a weight: what full marks are worth, or cost
    earned: float | None = None  # of those points
    tags: tuple[str, ...] = ()
    asks: str = ""  # of a criterion that the case brought

    @property
    def split(self) -> dict[str, int]:
        """The votes by label, where judges chose among answers: the most first."""
        return dict(Counter(vote.label for vote in self.votes if vote.label).most_common())

    @property
    def why(self) -> str:
        """The reason in words; what the rules gave and took stands before it: ``start 0.6, +0.2 good length``.

        A value that is only known within bounds is followed by those.
        """
        return self._told(ranged=True)

    @property
    def grounds(self) -> str:
        """The same for where the bounds are shown beside it: only why they are as narrow as they are."""
        return self._told(ranged=False)

    def _told(self, *, ranged: bool) -> str:
        parts = [f"answer {self.label}"] if self.label else []
        parts += [f"start {self.start:g}"] if self.start else []
        moved = [hit for hit in self.hits if hit.points and hit.type != "check"]
        parts += [f"{round(hit.points, 3):+g} {hit.reason or hit.rule}" for hit in moved]
        parts += [f"not: {hit.reason or hit.rule}" for hit in self.hits if hit.type == "check" and not hit.points]
        parts += [f"could not apply {hit.rule}: {hit.error}" for hit in self.hits if hit.error]
        parts += ["no rule applied"] if self.start and not (self.hits or self.reason) else []
        parts += [self.reason] if self.reason else []
        parts += ["the neutral value stands in"] if self.status == "neutral" else []
        if self.bounds is not None and not ranged:
            parts += [f"range: {self.kind}"] if self.kind else []
        elif self.bounds is not None:
            kind = f" ({self.kind})" if self.kind else ""
            parts.append(f"known within {self.bounds[0]:g} to {self.bounds[1]:g}{kind}")
        return ", ".join(parts) or ("no rule applied" if self.status == "scored" else "")


def every_result(results: Mapping[str, DimensionResult]) -> Iterator[tuple[str, DimensionResult]]:
    """Every dimension and every part, however deep, with its name."""
    for name, result in results.items():
        yield name, result
        yield from every_result(result.parts)


def leaves_of(results: Mapping[str, DimensionResult]) -> Iterator[DimensionResult]:
    """All that was scored itself, and not worked out from its parts."""
    return (result for _, result in every_result(results) if not result.parts)


class TagResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was earned by all that has one tag. What has no points counts 1."""

    earned: float
    possible: float
    share: float | None  # 0 to 1; None where nothing could be earned
    count: int  # of those that have a score
    met: int  # of those with full marks
    unscored: int = 0


class GateResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A gate that fired, or may have: what it reads is not known well enough (`fired` is None)."""

    name: str
    fired: bool | None
    effect: Effect
    when: str
    limit: float | None = None  # cap or floor, on out_of
    verdict: str | None = None
    reason: str = ""
    spans: tuple[Span, ...] = ()


class Step(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One step on the way to the score: `amount` is what it added, `total` the score after it."""

    kind: Literal["base", "dimension", "criterion", "clip", "rounding", "gate"]
    label: str
    amount: float
    total: float


class SectionResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The aggregate of one section on the rubric's out_of, and its own verdict where the rubric gives it rules."""

    score: float | None
    verdict: str | None = None
    reason: str = ""


class ProfileChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a profile was found that the context did not name."""

    by: Literal["offline", "judge"]
    confidence: float  # how likely it is the right one, 0 to 1
    plausible: Mapping[str, float]  # the profiles under which the verdict was tried, the likeliest first
    cost: Cost | None = None  # of asking a judge; None: none was asked, or it had said so before


def _shown_value(result: DimensionResult) -> str:
    value = "" if result.value is None else f"{result.value:g} of {result.high:g}"
    return f"{value} {result.label}".strip()


class Evaluation(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One rubric applied to one context: the stored record, from which every point can be traced."""

    rubric: str
    version: str
    hash: str
    verdict: str
    reason: str  # why this verdict
    score: float | None  # on out_of; an estimate where the bounds lie apart, None where a score is missing for one
    out_of: float
    bounds: tuple[float, float]  # the score lies between these
    dimensions: Mapping[str, DimensionResult]
    threshold: float | None = None
    profile: str | None = None
    band: str = ""
    confidence: float | None = None  # mean over the scored dimensions
    variance: float | None = None  # population variance of the dimension values
    sections: Mapping[str, SectionResult] = msgspec.field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()
    steps: tuple[Step, ...] = ()
    errors: tuple[str, ...] = ()  # rules, gates and formulas that could not be applied
    notes: tuple[str, ...] = ()  # what was assumed, such as a default profile
    offline: bool = False
    stopped: bool = False  # scoring ended early because the verdict was decided
    remarks: Remarks | None = None  # what a judge said beside its scores
    duration_ms: float = 0.0
    cost: Cost | None = None
    context: Context | None = None
    case: str | None = None  # the case's id
    repeat: int = 0  # of the same case in the same run, counted from 0
    classified: ProfileChoice | None = None  # None: the context named the profile, or nothing was classified
    tags: Mapping[str, TagResult] = msgspec.field(default_factory=dict)  # what was earned, by tag
    right: float | None = None  # share of measured texts on which people agreed with such a verdict by points

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_encode)
        return plain

    def to_json(self) -> str:
        """One line of JSON."""
        return _ENCODER.encode(self).decode()

    def _repr_html_(self) -> str:
        score = "no score" if self.score is None else f"{self.score:g} of {self.out_of:g}"
        rows = [(name, _shown_value(one), str(one.status), one.why) for name, one in self.dimensions.items()]
        rows += [(gate.name, "", "gate", gate.reason or gate.when) for gate in self.gates if gate.fired]
        title = f"{self.rubric} {self.version}: {self.verdict}, {score} ({self.reason})"
        return html_table(title, ("dimension", "score", "status", "why"), rows)

    @classmethod
    def from_json(cls, line: str | bytes) -> Evaluation:
        """Reads back what `to_json` wrote."""
        try:
            return _DECODER.decode(line)
        except (msgspec.DecodeError, ContextError, RecursionError, UnicodeError) as error:
            raise StoredError(f"not a stored evaluation: {error}") from None


def _encode(value: object) -> object:
    if isinstance(value, Context):
        return value.as_given()
    if isinstance(value, SpansOnDemand):
        return value.found
    raise NotImplementedError(type(value))


def _decode(kind: type, value: object) -> object:
    if kind is Context and isinstance(value, dict):
        return Context.of(value)
    raise msgspec.ValidationError(f"{kind.__name__} expected, not {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode)
_DECODER = msgspec.json.Decoder(Evaluation, dec_hook=_decode)
